"""What policies would have been worth, from a log whose actions were randomised: before anything runs."""

from evenhand.offline.assigned import Assignment
from evenhand.offline.assignments import assign
from evenhand.offline.bandit_feedback import from_bandit_feedback, to_bandit_feedback
from evenhand.offline.context_plans import Plan, plan
from evenhand.offline.cross_fitting import Logistic, RidgeByErrors, cross_fit
from evenhand.offline.curve_table import Curve
from evenhand.offline.curves import curve
from evenhand.offline.evidence import Evidence
from evenhand.offline.fair import FairFrontier
from evenhand.offline.fold_models import Regressor
from evenhand.offline.frontier import Frontier
from evenhand.offline.frozen import Saved, frozen
from evenhand.offline.scores import Estimate
from evenhand.offline.value_table import Value
from evenhand.offline.values import value
from evenhand.offline.whom import ForWhom, for_whom

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
    "Saved",
    "Value",
    "assign",
    "cross_fit",
    "curve",
    "for_whom",
    "from_bandit_feedback",
    "frozen",
    "plan",
    "to_bandit_feedback",
    "value",
]
