"""What policies would have been worth, from a log whose actions were randomised: before anything runs."""

from evenhand.offline.assignments import Assignment, assign
from evenhand.offline.cross_fitting import RidgeByErrors, cross_fit
from evenhand.offline.curves import Curve, curve
from evenhand.offline.evidence import Evidence
from evenhand.offline.fair import FairFrontier
from evenhand.offline.frontier import Frontier
from evenhand.offline.frozen import frozen
from evenhand.offline.logistic import Logistic
from evenhand.offline.outcome_models import Regressor
from evenhand.offline.scores import Estimate
from evenhand.offline.values import Value, value

__all__ = [
    "Assignment",
    "Curve",
    "Estimate",
    "Evidence",
    "FairFrontier",
    "Frontier",
    "Logistic",
    "Regressor",
    "RidgeByErrors",
    "Value",
    "assign",
    "cross_fit",
    "curve",
    "frozen",
    "value",
]
