"""An example of every model, width, prior and set of experts."""

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge as RidgeRegression,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenhand import models as m
from evenhand.core.row_pairs import Packed

WIDTHS = [m.Fixed(), m.Fixed(0.3), m.Logarithmic(0.2), m.SelfNormalised(delta=0.1)]
WIDTHS += [m.SelfNormalised(delta=0.5, noise=1, norm_bound=3), m.WorstCase(n_parameters=2, delta=0.1)]
WIDTHS += [m.WorstCase(n_parameters=5, delta=0.5, noise=1, norm_bound=3, length=2)]

PRIORS = [m.Prior(mean=0.2, sd=0.1), m.Prior(mean=((0.1, 0.0), (-0.3, 0.5)), sd=(0.2, 0.05))]

EXPERTS = [
    m.Cover(cuts=(2, 3), levels=5),
    m.Cover.hoelder(n_features=1, horizon=100, arms=4),
    m.Experts(np.array([[0.5, 0.2, 0.1], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]])),
]
MODELS = [
    m.Scalarised(n_features=3, n_outcomes=2, width=m.Fixed(0.2)),
    m.Scalarised(n_features=2, ridge=0.1, width=m.SelfNormalised(delta=0.1)),
    m.Scalarised(n_features=2, n_outcomes=2, width=m.WorstCase(n_parameters=4, delta=0.1), clipped=True),
    m.Ridge(n_features=3),
    m.Ridge(n_features=1, n_outcomes=3, ridge=1e-6, width=m.Logarithmic(0.2)),
    m.Ridge(n_features=4, n_outcomes=2, width=m.SelfNormalised(delta=0.1)),
    m.Bilinear(n_user_features=2, n_item_features=3, width=m.SelfNormalised(delta=0.1)),
    m.Bilinear(n_user_features=3, n_item_features=1, n_outcomes=2, ridge=0.1, width=m.Fixed(0.4)),
    m.Bilinear(n_user_features=1, n_item_features=2, n_outcomes=3),
    m.Bilinear(n_user_features=2, n_item_features=2, width=m.Fixed(0.4), clipped=False),
    m.Ridge(n_features=2, n_outcomes=2, width=m.Fixed(0.4), clipped=False),
    m.BayesianRidge(n_features=3),
    m.BayesianRidge(n_features=2, n_outcomes=2, prior=PRIORS[1]),
    m.BayesianLogistic(n_features=2, prior=PRIORS[0]),
    m.DiagonalRidge(n_features=3, n_outcomes=2, prior=PRIORS[0]),
    m.DiagonalRidge(packed=Packed(columns=9, pairs=3)),
    m.DiagonalLogistic(n_features=2, prior=PRIORS[0]),
    m.DiagonalRidge(n_features=4, n_outcomes=2, prior=PRIORS[0], block=2),
    m.DiagonalRidge(packed=Packed(columns=9, pairs=3), block=4),
    m.DiagonalLogistic(n_features=3, block=3),
    m.PerAction(inner=m.DiagonalLogistic(packed=Packed(columns=7, pairs=3), block=2), actions=3),
    m.PerAction(inner=m.DiagonalRidge(n_features=3, block=2), actions=2),
    m.DiagonalRidge(packed=Packed(columns=9, pairs=3), rank=4, prior=PRIORS[0]),
    m.PerAction(
        inner=m.DiagonalLogistic(packed=Packed(columns=7, pairs=3), block=1, rank=2, prior=PRIORS[0]), actions=2
    ),
    m.Memories(inner=m.DiagonalRidge(n_features=3, block=2), half_lives=(4, 9), judge=10, every=3),
    m.PerAction(inner=m.DiagonalRidge(n_features=2, n_outcomes=2), actions=3),
    m.PerAction(inner=m.DiagonalLogistic(packed=Packed(columns=7, pairs=2), scale=2.0), actions=2),
    m.Stacked((m.DiagonalLogistic(n_features=2), m.BayesianRidge(n_features=2))),
    m.Memories(inner=m.DiagonalRidge(n_features=3), half_lives=(4, 9), judge=10, every=3),
    m.BayesianBilinear(n_user_features=2, n_item_features=3),
    m.BayesianBilinear(n_user_features=1, n_item_features=2, n_outcomes=2, scale=2.0, growth=2.0),
    m.BayesianRidge(n_features=1, n_outcomes=3, scale=0.0),
    m.BayesianRidge(n_features=4, n_outcomes=2, scale=2.0, growth=2.0),
    m.BayesianLogistic(n_features=3),
    m.BayesianLogistic(n_features=1, scale=2.0, growth=1.01),
    m.Logistic(n_features=3),
    m.Logistic(n_features=2, ridge=1e-6, width=m.Fixed(0.3), growth=1.0),
    m.Logistic(n_features=5, width=m.Logarithmic(0.025), growth=2.0),
    m.Logistic(n_features=3, buffer=4, growth=1.0, width=m.Fixed(0.5), clipped=False),
    m.BayesianLogistic(n_features=2, buffer=5),
    m.GeneralizedLinear(n_features=3, link="logistic", buffer=7, width=m.Logarithmic(0.2)),
    m.GeneralizedLinear(n_features=3, link="exponential", ridge=0.1, buffer=8, width=m.Fixed(0.3)),
    m.GeneralizedLinear(n_features=2, link="identity", growth=1.0, buffer=2, width=m.SelfNormalised(delta=0.1)),
    m.OnePass(n_features=3),
    m.OnePass(n_features=2, link="identity", step=2.0, norm_bound=0.5, ridge=0.1),
    m.OnePass(n_features=4, link="exponential", width=m.Fixed(0.4)),
    m.Glmtron(n_features=3),
    m.Glmtron(n_features=2, n_outcomes=3, link="logistic", ridge=0.1, step=2.0, radius=1.0),
    m.Glmtron(n_features=4, n_outcomes=2, ridge=2.25, step=3.0, radius=1.0, projection="whole", start_at=0.5),
    m.Gradient(n_features=3),
    m.Gradient(
        n_features=2, n_outcomes=3, link="probit", step=0.5, power=0.0, first_step=1.5, radius=1.0, start_at=0.1
    ),
    m.Gradient(n_features=4, n_outcomes=2, link="exponential", step=0.2, radius=1.0, projection="whole"),
    m.Aggregation(experts=EXPERTS[0]),
    m.Aggregation(experts=EXPERTS[1], n_outcomes=3),
    m.Aggregation(experts=EXPERTS[2], n_outcomes=2),
    m.OnlineToBatch(inner=m.Glmtron(n_features=3, n_outcomes=2)),
    m.OnlineToBatch(inner=m.Gradient(n_features=2, link="logistic"), snapshots=4),
    m.OnlineToBatch(inner=m.Logistic(n_features=3, width=m.Fixed(0.3)), snapshots=2),
    m.OnlineToBatch(inner=m.Sampled(inner=m.Ridge(n_features=2), scale=0.0), snapshots=2),
    m.OnlineToBatch(inner=m.Stacked((m.Aggregation(experts=EXPERTS[0]), m.Ridge(n_features=2)))),
    m.OnlineToBatch(
        inner=m.Sklearn(estimator=LinearRegression(), n_features=3, min_observations=2, buffer=9), snapshots=4
    ),
    m.Sklearn(estimator=LinearRegression(), n_features=3, n_outcomes=2, min_observations=3),
    m.Sklearn(estimator=SGDRegressor(eta0=0.01), n_features=2, mode="partial_fit"),
    m.Tabular(arms=3, n_outcomes=2, confidence=0.5),
    m.Tabular(arms=1, confidence=0.0),
    m.Sampled(inner=m.Ridge(n_features=3, n_outcomes=2, width=m.Fixed(0.2))),
    m.Sampled(inner=m.Logistic(n_features=3, ridge=0.1), scale=0.5, n_blocks=2),
    m.Sampled(inner=m.Tabular(arms=3, n_outcomes=2, confidence=0.5), n_blocks=4),
    m.Sampled(inner=m.OnePass(n_features=3), scale=2.0, n_blocks=2),
    m.Perturbed(inner=m.Logistic(n_features=3, width=m.Fixed(0.2), buffer=6), scale=0.5, n_blocks=2),
    m.Perturbed(inner=m.GeneralizedLinear(n_features=1, link="exponential")),
    m.OptimisticDraw(inner=m.Logistic(n_features=3, buffer=6), tries=5, n_blocks=2),
    m.OptimisticDraw(inner=m.OnePass(n_features=2), tries=3, radius=2.0),
    m.Bootstrapped(inner=m.Sklearn(estimator=RidgeRegression(), n_features=2, min_observations=2), members=3),
    m.Sampled(inner=m.Bilinear(n_user_features=2, n_item_features=2, n_outcomes=2), scale=0.5, n_blocks=2),
    m.Bootstrapped(inner=m.Ridge(n_features=3, n_outcomes=2), n_blocks=2),
    m.Bootstrapped(inner=m.BayesianRidge(n_features=2, n_outcomes=2), members=3),
    m.Stacked((m.BayesianLogistic(n_features=3), m.BayesianRidge(n_features=3, n_outcomes=2))),
    m.OnlineToBatch(inner=m.Stacked((m.BayesianLogistic(n_features=3), m.BayesianRidge(n_features=3))), snapshots=2),
    m.NullModel(n_features=2),
    m.NullModel(n_features=1, n_outcomes=3),
    m.Stacked((m.Logistic(n_features=3), m.Ridge(n_features=3, n_outcomes=2, width=m.Fixed(0.1)))),
    m.Stacked(
        (
            m.Sampled(inner=m.Logistic(n_features=3)),
            m.Sampled(inner=m.Ridge(n_features=3), n_blocks=2),
            m.Ridge(n_features=3),
        )
    ),
    m.Stacked((m.Logistic(n_features=2), m.NullModel(n_features=1), m.Ridge(n_features=3)), shared=False),
    m.PerAction(inner=m.Ridge(n_features=2, n_outcomes=2, width=m.Fixed(0.2)), actions=3),
    m.PerAction(inner=m.BayesianRidge(n_features=3), actions=4),
    m.PerAction(inner=m.BayesianLogistic(n_features=1, buffer=5), actions=2),
    m.PerAction(inner=m.Sampled(inner=m.Logistic(n_features=2)), actions=3),
    m.OnlineToBatch(inner=m.PerAction(inner=m.BayesianRidge(n_features=2), actions=2), snapshots=2),
    m.TwoOracles(
        statistical=m.OnlineToBatch(inner=m.Glmtron(n_features=3, n_outcomes=2)),
        online=m.Ridge(n_features=3, n_outcomes=2, width=m.Fixed(0.2)),
        taught=4,
        answers=6,
    ),
    m.TwoOracles(
        statistical=m.Logistic(n_features=2),
        online=m.Sampled(inner=m.Logistic(n_features=2), scale=0.5),
        taught=2,
        answers=2,
    ),
    m.Bootstrapped(inner=m.PerAction(inner=m.Ridge(n_features=2), actions=3), members=3),
    m.Memories(inner=m.BayesianRidge(n_features=3, n_outcomes=2), half_lives=(4, 9), judge=10, every=3),
    m.Memories(inner=m.PerAction(inner=m.BayesianRidge(n_features=2), actions=3), half_lives=(5,), every=2),
    m.Memories(inner=m.Ridge(n_features=3, width=m.SelfNormalised(delta=0.1)), keeps_all=False, every=4),
    m.Memories(inner=m.PerAction(inner=m.Ridge(n_features=2), actions=2), half_lives=(7, 3), doubt=0.0, every=1),
    m.Memories(inner=m.Tabular(arms=3, n_outcomes=2, confidence=0.5), half_lives=(6,), judge=4, every=1.5),
    m.Memories(inner=m.BayesianLogistic(n_features=2, buffer=5), half_lives=(6, 2), judge=8, every=2),
    m.Memories(
        inner=m.Stacked((m.BayesianLogistic(n_features=2), m.BayesianRidge(n_features=2))), half_lives=(5,), every=2
    ),
    m.Stacked((m.Memories(inner=m.Ridge(n_features=2), half_lives=(3,), every=1), m.NullModel(n_features=2))),
    m.Restarting(inner=m.BayesianRidge(n_features=3, n_outcomes=2), nats=0.5, young=4, every=12),
    m.Restarting(
        inner=m.PerAction(inner=m.BayesianLogistic(n_features=1, buffer=5), actions=2), nats=0.2, young=3, every=9
    ),
    m.Restarting(inner=m.PerAction(inner=m.Ridge(n_features=2), actions=3), nats=0.2, young=3, every=9),
    m.Restarting(inner=m.Tabular(arms=3, confidence=0.5), nats=0.5, young=2, every=8),
]
_FOREST = RandomForestRegressor(n_estimators=5, max_depth=3)
_SCALED = make_pipeline(StandardScaler(), _FOREST)
_CLASSIFIER = m.Sklearn(estimator=LogisticRegression(), n_features=2, min_observations=2)
# More estimators of other libraries and mixtures of models, which take longer to check.
MORE_MODELS = [
    m.Sklearn(estimator=LinearRegression(), n_features=3, n_outcomes=2),
    m.Sklearn(estimator=_SCALED, n_features=2, n_outcomes=2, per_outcome=False, min_observations=2),
    m.Sklearn(estimator=LogisticRegression(), n_features=3, min_observations=2, growth=1.0, buffer=9),
    m.Sklearn(estimator=SGDRegressor(eta0=0.01), n_features=3, n_outcomes=2, mode="partial_fit"),
    m.Sklearn(estimator=SGDClassifier(loss="log_loss"), n_features=2, mode="partial_fit"),
    m.Stacked((m.Sklearn(estimator=_FOREST, n_features=3, min_observations=1), m.NullModel(n_features=3))),
    m.Bootstrapped(inner=m.Sklearn(estimator=SGDRegressor(eta0=0.01), n_features=2, mode="partial_fit"), members=3),
    m.Bootstrapped(inner=_CLASSIFIER, members=2, n_blocks=2),
    m.Bootstrapped(inner=m.Stacked((m.Ridge(n_features=2), m.NullModel(n_features=2)))),
    m.Stacked((m.Bootstrapped(inner=m.Ridge(n_features=2)), m.Sampled(inner=m.Ridge(n_features=2)))),
]


def one_hot(u):
    """A 1 where a number is largest."""
    return np.eye(u.shape[-1])[u.argmax(-1)]


def packed_rows(model, packed):
    """How to make packed rows of numbers, after the index of an action if the model has coefficients by action."""

    def rows(u):
        lead, found = u.shape[-1] - 2 * packed.pairs, u.copy()
        found[..., :lead] = np.floor((model.by_action or 1 if lead else 1) * found[..., :lead])
        start = np.floor(packed.columns * found[..., lead : lead + 1])
        found[..., lead::2] = (start + np.arange(packed.pairs)) % packed.columns
        return found

    return rows


def takes(model):
    """How to make features for a model that does not take any numbers."""
    inner = getattr(model, "inner", model)
    if getattr(inner, "packed", None) is not None:
        return packed_rows(model, inner.packed)
    return one_hot if isinstance(inner, m.Tabular) else None
