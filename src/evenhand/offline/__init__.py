"""Estimates of the values of policies by a log whose actions were randomised, before any policy runs."""

from evenhand.core import registry
from evenhand.offline.bandit_feedback import (
    from_bandit_feedback as from_bandit_feedback,
    to_bandit_feedback as to_bandit_feedback,
)
from evenhand.offline.contexts.plans import Plan as Plan, plan as plan
from evenhand.offline.curve_table import Curve as Curve
from evenhand.offline.curves import curve as curve
from evenhand.offline.evidence import Evidence as Evidence
from evenhand.offline.lists.assignments import assign as assign
from evenhand.offline.lists.table import Assignment as Assignment
from evenhand.offline.outcome_models import Logistic as Logistic, Regressor as Regressor, RidgeByErrors as RidgeByErrors
from evenhand.offline.plans.fold_plans import FairFrontier as FairFrontier
from evenhand.offline.plans.frontier import Frontier as Frontier
from evenhand.offline.saved_policies import Saved as Saved, frozen as frozen
from evenhand.offline.scores import Estimate as Estimate
from evenhand.offline.stack import Stack as Stack
from evenhand.offline.targeting import ForWhom as ForWhom, for_whom as for_whom
from evenhand.offline.trees.rules import rules as rules
from evenhand.offline.trees.table import Rules as Rules
from evenhand.offline.value_table import Value as Value
from evenhand.offline.values import value as value

__all__ = registry.public(__name__)
