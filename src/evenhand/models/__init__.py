"""Models predict the worth of outcomes at given prices, and its uncertainty.

Of every model, `n_features` is the number n of features and `n_outcomes` the number M of outcomes. Those and all other
numbers raise `InvalidInput` where they are out of their range.
"""

from evenhand.core import registry
from evenhand.models.advised import advised as advised
from evenhand.models.aggregation import Aggregation as Aggregation
from evenhand.models.base import (
    Averageable as Averageable,
    Fades as Fades,
    Model as Model,
    Parametric as Parametric,
    Posterior as Posterior,
)
from evenhand.models.bayesian_bilinear import BayesianBilinear as BayesianBilinear
from evenhand.models.bayesian_logistic import BayesianLogistic as BayesianLogistic
from evenhand.models.bayesian_ridge import BayesianRidge as BayesianRidge
from evenhand.models.bilinear import Bilinear as Bilinear
from evenhand.models.bootstrapped import Bootstrapped as Bootstrapped
from evenhand.models.experts import Cover as Cover, Experts as Experts, ExpertSet as ExpertSet
from evenhand.models.generalized_linear import GeneralizedLinear as GeneralizedLinear
from evenhand.models.logistic import Logistic as Logistic
from evenhand.models.memories import Memories as Memories
from evenhand.models.null_model import NullModel as NullModel
from evenhand.models.one_pass import OnePass as OnePass
from evenhand.models.online_to_batch import OnlineToBatch as OnlineToBatch
from evenhand.models.optimistic_draw import OptimisticDraw as OptimisticDraw
from evenhand.models.oracles import Glmtron as Glmtron, Gradient as Gradient
from evenhand.models.per_action import PerAction as PerAction
from evenhand.models.perturbed import Perturbed as Perturbed
from evenhand.models.prior import Prior as Prior
from evenhand.models.restarting import Restarting as Restarting
from evenhand.models.ridge import Ridge as Ridge
from evenhand.models.sampled import Sampled as Sampled
from evenhand.models.scalarised import Scalarised as Scalarised
from evenhand.models.sklearn import Sklearn as Sklearn
from evenhand.models.stacked import Stacked as Stacked
from evenhand.models.tabular import Tabular as Tabular
from evenhand.models.two_oracles import TwoOracles as TwoOracles
from evenhand.models.widths import (
    Fixed as Fixed,
    Logarithmic as Logarithmic,
    SelfNormalised as SelfNormalised,
    Width as Width,
    WorstCase as WorstCase,
)

__all__ = registry.public(__name__)
