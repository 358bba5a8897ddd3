"""Estimates of the values of policies by a log whose actions were randomised, before any policy runs."""

from evenhand.offline.bandit_feedback import from_bandit_feedback, to_bandit_feedback
from evenhand.offline.contexts.plans import Plan, plan
from evenhand.offline.curve_table import Curve
from evenhand.offline.curves import curve
from evenhand.offline.evidence import Evidence
from evenhand.offline.lists.assignments import assign
from evenhand.offline.lists.table import Assignment
from evenhand.offline.outcome_models import Logistic, Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import FairFrontier
from evenhand.offline.plans.frontier import Frontier
from evenhand.offline.saved_policies import Saved, frozen
from evenhand.offline.scores import Estimate
from evenhand.offline.stack import Stack
from evenhand.offline.targeting import ForWhom, for_whom
from evenhand.offline.trees.rules import rules
from evenhand.offline.trees.table import Rules
from evenhand.offline.value_table import Value
from evenhand.offline.values import value

__all__ = [
    "Assignment",
    "Curve",
    "Estimate",
    "Evidence",
    "FairFrontier",
    "ForWhom",
    "Frontier",
    "Logistic",
    "Plan",
    "Regressor",
    "RidgeByErrors",
    "Rules",
    "Saved",
    "Stack",
    "Value",
    "assign",
    "curve",
    "for_whom",
    "from_bandit_feedback",
    "frozen",
    "plan",
    "rules",
    "to_bandit_feedback",
    "value",
]
