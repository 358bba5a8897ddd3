"""Models predict the worth of outcomes at given prices, and its uncertainty.

Of every model, `n_features` is the number n of features and `n_outcomes` the number M of outcomes. Those and all other
numbers raise `InvalidInput` where they are out of their range.
"""

from evenhand.core import registry
from evenhand.models.advised import advised as advised
from evenhand.models.aggregation import (
    Aggregation as Aggregation,
    Cover as Cover,
    Experts as Experts,
    ExpertSet as ExpertSet,
)
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
from evenhand.models.diagonal.logistic import DiagonalLogistic as DiagonalLogistic
from evenhand.models.diagonal.ridge import DiagonalRidge as DiagonalRidge
from evenhand.models.drift import Memories as Memories, Restarting as Restarting
from evenhand.models.generalized_linear import GeneralizedLinear as GeneralizedLinear, Logistic as Logistic
from evenhand.models.one_pass import OnePass as OnePass
from evenhand.models.oracles import (
    Glmtron as Glmtron,
    Gradient as Gradient,
    OnlineToBatch as OnlineToBatch,
    TwoOracles as TwoOracles,
)
from evenhand.models.per_action import PerAction as PerAction
from evenhand.models.prior import Prior as Prior
from evenhand.models.ridge import Bilinear as Bilinear, Ridge as Ridge
from evenhand.models.sampling import (
    Bootstrapped as Bootstrapped,
    OptimisticDraw as OptimisticDraw,
    Perturbed as Perturbed,
    Sampled as Sampled,
)
from evenhand.models.scalarised import Scalarised as Scalarised
from evenhand.models.sklearn import Sklearn as Sklearn
from evenhand.models.stacked import Stacked as Stacked
from evenhand.models.tabular import NullModel as NullModel, Tabular as Tabular
from evenhand.models.widths import (
    Fixed as Fixed,
    Logarithmic as Logarithmic,
    SelfNormalised as SelfNormalised,
    Width as Width,
    WorstCase as WorstCase,
)

__all__ = registry.public(__name__)
