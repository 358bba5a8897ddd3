"""Contract checks for parts, evenhand's and your own: each raises an `AssertionError` that names a broken promise.

They need no test framework and are deterministic: their inputs are pure functions of fixed seeds. Call one in a test
on an instance of your part, in each configuration that matters to you.
"""

from evenhand.core import registry
from evenhand.testing.blocks import check_compiled as check_compiled
from evenhand.testing.choices import check_allocation as check_allocation, check_choice as check_choice
from evenhand.testing.constraints import check_constraint as check_constraint
from evenhand.testing.estimators import check_estimator as check_estimator
from evenhand.testing.objectives import check_objective as check_objective
from evenhand.testing.parts import check_goal as check_goal, check_model as check_model
from evenhand.testing.runs import check_environment as check_environment, check_policy as check_policy
from evenhand.testing.sets import check_set as check_set
from evenhand.testing.stores import check_store as check_store

__all__ = registry.public(__name__)
