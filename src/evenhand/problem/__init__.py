"""The statement of a problem: actions, outcomes, groups, an objective, constraints and a horizon."""

from evenhand.problem import constraints
from evenhand.problem.constraints import *  # noqa: F403
from evenhand.problem.features import Categorical, Feature, Numeric
from evenhand.problem.groups import Groups
from evenhand.problem.measures import Measure
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows

__all__ = [
    "Categorical",
    "Feature",
    "Groups",
    "Measure",
    "Numeric",
    "Outcome",
    "Problem",
    "Rows",
]
__all__ += constraints.__all__
