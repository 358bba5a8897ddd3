"""Constraints that a user states: budgets, parity between groups, floors, convex sets, and classes of your own."""

from evenhand.problem.constraints.base import Constraint, Curved, by_group, of_one_outcome
from evenhand.problem.constraints.budget import Budget
from evenhand.problem.constraints.floor import Floor
from evenhand.problem.constraints.parity import Parity
from evenhand.problem.constraints.stated import (
    Region,
    Stated,
    constraint_rows,
    per_row,
    regions,
    rows_and_sets,
    stated_rows,
    tightened,
)
from evenhand.problem.constraints.within import Within

__all__ = [
    "Budget",
    "Constraint",
    "Curved",
    "Floor",
    "Parity",
    "Region",
    "Stated",
    "Within",
    "by_group",
    "constraint_rows",
    "of_one_outcome",
    "per_row",
    "regions",
    "rows_and_sets",
    "stated_rows",
    "tightened",
]
