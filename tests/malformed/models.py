"""Models, widths and priors that make no sense."""

import math
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier, SGDRegressor

from evenhand import models as m
from evenhand.environments import Court
from evenhand.models import advised
from evenhand.models.links import code
from evenhand.problem import Outcome
from evenhand.recipes import uniform
from tests.malformed.problems import problem
from tests.malformed.tables import changes, each, named, wrong

NAN, INF = math.nan, math.inf
PLAIN = Court(horizon=200).problem
RIDGE, LOGISTIC = m.Ridge(n_features=1), m.Logistic(n_features=1)
EYE = m.Experts(np.eye(2))
NUMBER = "expected a finite number"
newton = partial(m.GeneralizedLinear, n_features=2, link="logistic")
one_pass, tabular = partial(m.OnePass, n_features=2), partial(m.Tabular, arms=2, confidence=0.5)
sklearn = partial(m.Sklearn, estimator=LinearRegression(), n_features=1)
bilinear, blind = (
    partial(m.Bilinear, n_user_features=2, n_item_features=2),
    partial(m.BayesianBilinear, n_user_features=2, n_item_features=2),
)
hoelder = partial(m.Cover.hoelder, horizon=10)
worst = partial(m.WorstCase, n_parameters=2, delta=0.1)
LUCKY = (m.Sampled(inner=RIDGE), m.Bootstrapped(inner=RIDGE), m.Stacked((m.Sampled(inner=RIDGE),)))
PARTIAL = m.Sklearn(estimator=SGDRegressor(), n_features=1, mode="partial_fit")


def started(model, low=0.0, high=1.0):
    """A call that starts the model for one outcome of this range."""
    return partial(model.start, 1, np.array([low]), np.array([high]), 100)


ROWS = [
    # sizes and ridges
    *wrong(m.Ridge, "Ridge.n_features, n_outcomes: expected at least 1 each, got (0, 1)", n_features=(0,)),
    *(
        row
        for kind in (m.Ridge, m.Logistic, m.Glmtron, m.Gradient, partial(newton), one_pass)
        for row in wrong(kind, f"{named(kind)}.n_features, n_outcomes: expected at least 1 each", n_features=(0,))
    ),
    *(
        row
        for kind in (m.Ridge, m.Glmtron, m.Gradient)
        for row in wrong(
            partial(kind, n_features=1), f"{kind.__name__}.n_features, n_outcomes: expected at least 1", n_outcomes=(0,)
        )
    ),
    *wrong(m.Ridge, "Ridge.n_features: ...whole number", n_features=("5", 2.5)),
    *wrong(partial(m.Ridge, n_features=5), "Ridge.ridge: expected a number above 0", ridge=(0,)),
    *wrong(partial(m.Ridge, n_features=5), "Ridge.{}: ...", ridge=("1",), width=("0.1",)),
    *wrong(partial(m.Logistic, n_features=1), "Logistic.ridge: expected a number above 0", ridge=(-1, NAN)),
    *wrong(partial(m.Glmtron, n_features=1), "Glmtron.ridge", ridge=(0.0,)),
    *wrong(bilinear, "Bilinear.{}: expected a whole number of at least 1, got 0",
           n_user_features=(0,), n_item_features=(0,)),
    *wrong(bilinear, "Bilinear.n_item_features: expected a whole number", n_item_features=(1.5,)),
    *wrong(bilinear, "Bilinear.n_features, n_outcomes: expected at least 1 each", n_outcomes=(0,)),
    *wrong(bilinear, "Bilinear.ridge: expected a number above 0", ridge=(0.0, INF)),
    *wrong(blind, "BayesianBilinear...{}",
           n_user_features=(0,), n_item_features=(0,), n_outcomes=(0,), scale=(-1.0,), growth=(1,)),
    # logistic models
    *wrong(partial(m.Logistic, n_features=1), "Logistic.growth: expected a factor of at least 1", growth=(0.9, INF)),
    *wrong(partial(m.Logistic, n_features=1), "Logistic.tolerance: expected a number in (0, 1)", tolerance=(0, 1)),
    *wrong(partial(m.Logistic, n_features=1), "Logistic.buffer: expected a whole number of at least 2", buffer=(1,)),
    *changes(
        newton,
        ({"link": "probit"}, "GeneralizedLinear.link: expected one of ('identity', 'logistic', 'exponential')"),
        ({"buffer": 1}, "GeneralizedLinear.buffer: expected ... at least 2"),
        ({"buffer": 2.5}, "GeneralizedLinear.buffer: "),
        ({"growth": 0.5}, "GeneralizedLinear.growth: expected a factor of at least 1"),
        ({"tolerance": NAN}, "GeneralizedLinear.tolerance: expected a number in (0, 1)"),
        ({"ridge": 0.0}, "GeneralizedLinear.ridge: expected a number above 0"),
        ({"width_ridge": 0.0}, "GeneralizedLinear.width_ridge: expected a finite number above 0, or None"),
    ),
    *changes(
        one_pass,
        ({"link": "probit"}, "OnePass.link: expected one of"),
        ({"link": "exponential"}, "OnePass.width: expected a width, because the slope of the exponential link"),
        ({"step": 0.0}, f"OnePass.step: {NUMBER} above 0"),
        ({"norm_bound": INF}, f"OnePass.norm_bound: {NUMBER} above 0, or None"),
        ({"norm_bound": 0.0}, "OnePass.norm_bound: "),
        ({"delta": 1.0}, "OnePass.delta: expected a risk in (0, 1)"),
        ({"ridge": -1.0}, "OnePass.ridge: "),
    ),
    (lambda: code("log"), "link: expected one of ..., got log"),
    # Bayesian models
    *wrong(partial(m.BayesianRidge, n_features=1), f"BayesianRidge.{{}}: {NUMBER}", scale=(-1,), growth=(1,)),
    *wrong(partial(m.BayesianLogistic, n_features=1), f"BayesianLogistic.{{}}: {NUMBER}", scale=(NAN,), growth=(INF,)),
    *wrong(partial(m.BayesianLogistic, n_features=1), "BayesianLogistic.buffer: expected a whole number", buffer=(0,)),
    *each(lambda v: m.Prior(mean=v), "Prior.mean: expected numbers in [-1e+100, 1e+100]", NAN, 1e155, [0.0, -1e101]),
    *each(lambda v: m.Prior(mean=v), "Prior.mean: expected a number, or an array of numbers", [[1.0], [1.0, 2.0]]),
    *each(lambda v: m.Prior(sd=v), "Prior.sd: expected numbers in [1e-100, 1e+100], got", 0.0, INF, 1e300, 1e-320),
    (started(m.BayesianRidge(n_features=3, prior=m.Prior(mean=[1.0, 2.0]))),
     "Prior.mean: expected one number, or an array of the shape (3,), (1, 3)"),
    (started(m.BayesianRidge(n_features=3, prior=m.Prior(sd=[1.0, 2.0]))), "Prior.sd: expected one number, or 1"),
    # ranges that a model cannot have
    (started(m.BayesianLogistic(n_features=1), 0.0, 2.0), "BayesianLogistic: expected an outcome with a range within"),
    *((started(LOGISTIC, *ends), "Logistic: expected an outcome with a range within [0, 1]")
      for ends in ((-0.1, 1.0), (0.0, 1.5), (0.0, INF))),
    (started(newton(link="exponential"), -1.0, 5.0), "GeneralizedLinear: expected an outcome"),
    (started(newton(), 0.0, 2.0), "GeneralizedLinear: expected an outcome"),
    (started(one_pass(), 0.0, 2.0), "OnePass: expected an outcome with a range within [0, 1]"),
    *((started(m.Aggregation(experts=EYE), 0.0, high), "Aggregation: expected") for high in (INF, 0.0)),
    (started(tabular(), 0.0, INF), "Tabular: expected outcomes with finite declared ranges, got low="),
    (started(sklearn(estimator=LogisticRegression()), 0.0, 2.0),
     "Sklearn(LogisticRegression): expected outcomes with a range within"),
    # widths
    *each(m.Fixed, f"Fixed.value: {NUMBER} of at least 0, got -0.1", -0.1),
    *each(m.Logarithmic, f"Logarithmic.scale: {NUMBER} of at least 0, got nan", NAN),
    *wrong(m.SelfNormalised, "SelfNormalised.delta: expected a risk in (0, 1)", delta=(0, 1)),
    *wrong(partial(m.SelfNormalised, delta=0.1), f"SelfNormalised.{{}}: {NUMBER} of at",
           noise=(-1,), norm_bound=(INF,)),
    *wrong(worst, "WorstCase.n_parameters: expected a whole number of at least 2", n_parameters=(1,)),
    *wrong(worst, "WorstCase.delta: expected a risk in (0, 1)", delta=(0.0,)),
    *wrong(worst, f"WorstCase.{{}}: {NUMBER} of at least 0", noise=(-1.0,), length=(INF,)),
    # experts, tables, oracles
    *each(lambda c: m.Cover(**c), "Cover.cuts, levels",
          {"cuts": (), "levels": 3}, {"cuts": (0,), "levels": 3}, {"cuts": (3, 2), "levels": 0}),
    *wrong(hoelder, "n_features, horizon, arms", n_features=(0,)),
    *wrong(partial(hoelder, n_features=1), "smoothness, constant", smoothness=(1.5,), constant=(0.0,)),
    *each(m.Experts, "Experts.matrix", np.zeros(3), np.zeros((0, 3)), np.array([[NAN]])),
    *wrong(partial(m.Aggregation, experts=EYE), "Aggregation.n_features, n_outcomes", n_outcomes=(0,)),
    *wrong(tabular, f"Tabular.confidence: {NUMBER} of at least 0", confidence=(-0.1, NAN, INF)),
    *wrong(tabular, "Tabular.{}", arms=(0,), n_outcomes=(0,)),
    *(
        row
        for kind in (m.Glmtron, m.Gradient)
        for row in wrong(partial(kind, n_features=2), f"{kind.__name__}.{{}}", step=(0.0, INF), radius=(0.0, NAN),
                         projection=("ball",), start_at=(NAN,))
    ),
    *each(lambda kind: kind(n_features=2, link="log"), "link: expected one of ..., got log", m.Glmtron, m.Gradient),
    *wrong(partial(m.Gradient, n_features=1), "Gradient.{}", power=(1.5, -1.0), first_step=(-1.0, INF)),
    # wrappers
    *wrong(m.Stacked, "Stacked.parts: expected at least one model", parts=((),)),
    *wrong(m.Stacked, "Stacked.parts: expected equal numbers of features", parts=((RIDGE, m.Ridge(n_features=2)),)),
    *wrong(m.Stacked, "Stacked.parts...Model", parts=((LOGISTIC, "ridge"),)),
    *wrong(partial(m.Bootstrapped, inner=RIDGE), "Bootstrapped.{}", members=(1, 2.5), n_blocks=(0,)),
    *wrong(partial(m.Sampled, inner=RIDGE), "Sampled.{}", scale=(-1.0, INF), n_blocks=(0, 1.5)),
    *wrong(partial(m.Perturbed, inner=LOGISTIC), "Perturbed.{}", scale=(-1.0, INF), n_blocks=(0,)),
    *wrong(partial(m.OptimisticDraw, inner=LOGISTIC), "OptimisticDraw.{}",
           radius=(-1.0, NAN), tries=(0,), n_blocks=(0,)),
    *wrong(m.Perturbed, "Perturbed.inner: expected a model with parameters to draw", inner=(RIDGE,)),
    *wrong(m.OptimisticDraw, "OptimisticDraw.inner: expected a model with parameters to draw", inner=(RIDGE,)),
    *wrong(m.Sampled, "Sampled.inner: expected a model with a posterior to draw from",
           inner=(m.NullModel(n_features=1), m.Glmtron(n_features=1), m.Scalarised(n_features=1), *LUCKY[:2],
                  m.Stacked((RIDGE,)))),
    *(
        row
        for kind in (m.OnlineToBatch, m.Bootstrapped)
        for row in wrong(kind, f"{kind.__name__}.inner: expected a model without luck of its own", inner=LUCKY)
    ),
    *wrong(partial(m.OnlineToBatch, inner=RIDGE), "OnlineToBatch.snapshots: expected an even number of at least 2",
           snapshots=(0, 1, 7)),
    (started(m.OnlineToBatch(inner=PARTIAL)), "OnlineToBatch.inner: expected a model whose state is arrays"),
    *wrong(partial(m.PerAction, inner=RIDGE), "PerAction.actions: expected a whole number of at least 1", actions=(0,)),
    *wrong(partial(m.PerAction, actions=3), "PerAction.inner: ...`Sklearn` makes one", inner=(LogisticRegression(),)),
    (lambda: m.PerAction.of(uniform(PLAIN, n_features=5)), "problem: ...a Problem"),
    (lambda: m.PerAction.of(PLAIN, "ridge"), "kind: ...a class of models"),
    (lambda: m.PerAction.of(PLAIN, LogisticRegression), "kind: ...`Sklearn`"),
    (lambda: m.PerAction.of(problem(outcomes=(Outcome("gain"), Outcome("cost"))), m.BayesianLogistic),
     "kind: expected a model of several outcomes, such as BayesianRidge, as the problem has ('gain', 'cost')"),
    (lambda: advised(PLAIN, 0), "n_features: expected a whole number of at least 1, got 0"),
    # estimators of scikit-learn
    *changes(
        sklearn,
        ({"estimator": LinearRegression}, "Sklearn.estimator: expected an instance of a scikit-learn estimator"),
        ({"estimator": object()}, "Sklearn.estimator"),
        ({"estimator": SGDClassifier(loss="hinge")}, "Sklearn.estimator: ...predict_proba"),
        ({"mode": "partial_fit"}, "Sklearn.estimator: expected one with partial_fit and predict, got"),
        ({"mode": "online"}, "Sklearn.mode"),
        ({"growth": 0.9}, "Sklearn.growth: expected a factor of at least 1"),
        ({"buffer": 5}, "Sklearn.min_observations, buffer: expected 1 <= min_observations <= buffer"),
        ({"min_observations": 0}, "Sklearn.min_observations, buffer"),
        ({"n_features": -1}, "Sklearn.n_features, n_outcomes"),
        ({"estimator": SGDClassifier(loss="log_loss"), "mode": "partial_fit", "n_outcomes": 2, "per_outcome": False},
         "Sklearn.per_outcome"),
    ),
]  # fmt: skip
