"""Models predict the worth of outcomes at given prices, and its uncertainty.

Of every model, `n_features` is the number n of features and `n_outcomes` the number M of outcomes. Those and all other
numbers raise `InvalidInput` where they are out of their range.
"""

from evenhand.models.advised import advised
from evenhand.models.aggregation import Aggregation
from evenhand.models.base import Averageable, Model, Parametric, Posterior
from evenhand.models.bayesian_bilinear import BayesianBilinear
from evenhand.models.bayesian_logistic import BayesianLogistic
from evenhand.models.bayesian_ridge import BayesianRidge
from evenhand.models.bilinear import Bilinear
from evenhand.models.bootstrapped import Bootstrapped
from evenhand.models.experts import Cover, Experts, ExpertSet
from evenhand.models.generalized_linear import GeneralizedLinear
from evenhand.models.logistic import Logistic
from evenhand.models.null_model import NullModel
from evenhand.models.one_pass import OnePass
from evenhand.models.online_to_batch import OnlineToBatch
from evenhand.models.optimistic_draw import OptimisticDraw
from evenhand.models.oracles import Glmtron, Gradient
from evenhand.models.per_action import PerAction
from evenhand.models.perturbed import Perturbed
from evenhand.models.prior import Prior
from evenhand.models.ridge import Ridge
from evenhand.models.sampled import Sampled
from evenhand.models.scalarised import Scalarised
from evenhand.models.sklearn import Sklearn
from evenhand.models.stacked import Stacked
from evenhand.models.tabular import Tabular
from evenhand.models.two_oracles import TwoOracles
from evenhand.models.widths import Fixed, Logarithmic, SelfNormalised, Width, WorstCase

__all__ = [
    "Aggregation",
    "Averageable",
    "BayesianBilinear",
    "BayesianLogistic",
    "BayesianRidge",
    "Bilinear",
    "Bootstrapped",
    "Cover",
    "ExpertSet",
    "Experts",
    "Fixed",
    "GeneralizedLinear",
    "Glmtron",
    "Gradient",
    "Logarithmic",
    "Logistic",
    "Model",
    "NullModel",
    "OnePass",
    "OnlineToBatch",
    "OptimisticDraw",
    "Parametric",
    "PerAction",
    "Perturbed",
    "Posterior",
    "Prior",
    "Ridge",
    "Sampled",
    "Scalarised",
    "SelfNormalised",
    "Sklearn",
    "Stacked",
    "Tabular",
    "TwoOracles",
    "Width",
    "WorstCase",
    "advised",
]
