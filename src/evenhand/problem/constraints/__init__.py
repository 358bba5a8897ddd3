"""Constraints that a user states: budgets, parity between groups, floors, convex sets, and classes of your own."""

from evenhand.problem.constraints.base import (
    Constraint,
    Curved,
    Region,
    by_group,
    constraint_rows,
    lacking,
    of_one_outcome,
    regions,
    rows_and_sets,
    stated_rows,
    tightened,
)
from evenhand.problem.constraints.budget import Budget
from evenhand.problem.constraints.floor import Floor
from evenhand.problem.constraints.parity import Parity
from evenhand.problem.constraints.within import Within

__all__ = [
    "Budget",
    "Constraint",
    "Curved",
    "Floor",
    "Parity",
    "Region",
    "Within",
    "by_group",
    "constraint_rows",
    "lacking",
    "of_one_outcome",
    "regions",
    "rows_and_sets",
    "stated_rows",
    "tightened",
]
