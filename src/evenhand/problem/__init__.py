"""The statement of a problem: actions, outcomes, groups, an objective, constraints and a horizon."""

from evenhand.problem.constraints import Budget, Constraint, Floor, Parity, Within
from evenhand.problem.features import Categorical, Feature, Numeric
from evenhand.problem.groups import Groups
from evenhand.problem.measures import Measure
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows

__all__ = [
    "Budget",
    "Categorical",
    "Constraint",
    "Feature",
    "Floor",
    "Groups",
    "Measure",
    "Numeric",
    "Outcome",
    "Parity",
    "Problem",
    "Rows",
    "Within",
]
