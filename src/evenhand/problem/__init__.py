"""What a user states: actions, outcomes, groups, an objective, constraints and a horizon."""

from evenhand.problem.constraints import Budget, Constraint, Floor, Parity
from evenhand.problem.problem import Groups, Outcome, Problem

__all__ = ["Budget", "Constraint", "Floor", "Groups", "Outcome", "Parity", "Problem"]
