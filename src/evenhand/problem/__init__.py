"""The statement of a problem: actions, outcomes, groups, an objective, constraints and a horizon."""

from evenhand.core import registry
from evenhand.problem.clock import Between as Between
from evenhand.problem.constraints import *  # noqa: F403
from evenhand.problem.descriptions import Actions as Actions
from evenhand.problem.features import Categorical as Categorical, Feature as Feature, Numeric as Numeric
from evenhand.problem.groups import Groups as Groups
from evenhand.problem.hashes import Cross as Cross, Hashed as Hashed
from evenhand.problem.holdout import Holdout as Holdout
from evenhand.problem.measures import Measure as Measure
from evenhand.problem.outcome import Outcome as Outcome
from evenhand.problem.problem import Problem as Problem
from evenhand.problem.rows import Rows as Rows
from evenhand.problem.traffic import Traffic as Traffic
from evenhand.problem.unit import Cap as Cap, Unit as Unit

__all__ = registry.public(__name__)
