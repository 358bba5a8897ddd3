"""Constraints that a user states: budgets, parity between groups, floors, and classes of your own."""

from evenhand.problem.constraints.base import Constraint, by_group, constraint_rows, of_one_outcome
from evenhand.problem.constraints.budget import Budget
from evenhand.problem.constraints.floor import Floor
from evenhand.problem.constraints.parity import Parity

__all__ = ["Budget", "Constraint", "Floor", "Parity", "by_group", "constraint_rows", "of_one_outcome"]
