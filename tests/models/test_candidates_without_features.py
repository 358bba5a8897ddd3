"""A candidate without features, such as doing nothing, has outcome 0 for sure in every model of features."""

from __future__ import annotations

import numpy as np

from evenhand.models import (
    BayesianBilinear,
    BayesianLogistic,
    BayesianRidge,
    Fixed,
    GeneralizedLinear,
    Glmtron,
    Gradient,
    Logistic,
    Model,
    OnePass,
    OptimisticDraw,
    PerAction,
    Perturbed,
    Ridge,
    Sampled,
    Stacked,
    Tabular,
)
from tests.rows import for_each

N = 4
WIDE = Fixed(0.5)
LOGISTIC = Logistic(n_features=N, width=WIDE)
MODELS: dict[str, Model] = {
    "ridge": Ridge(n_features=N, width=WIDE),
    "bayesian ridge": BayesianRidge(n_features=N),
    "bayesian bilinear": BayesianBilinear(n_user_features=2, n_item_features=2),
    "tabular": Tabular(arms=N, confidence=1.0),
    "logistic": LOGISTIC,
    "bayesian logistic": BayesianLogistic(n_features=N),
    "exponential": GeneralizedLinear(n_features=N, link="exponential", width=WIDE),
    "one pass": OnePass(n_features=N, link="logistic", width=WIDE),
    "sampled": Sampled(inner=LOGISTIC),
    "perturbed": Perturbed(inner=LOGISTIC),
    "optimistic draw": OptimisticDraw(inner=LOGISTIC),
    "glmtron": Glmtron(n_features=N, link="logistic"),
    "gradient": Gradient(n_features=N, link="probit"),
    "stacked": Stacked((LOGISTIC,)),
    "per action": PerAction(inner=Logistic(n_features=N - 1, width=WIDE), actions=1),
}


@for_each("name", MODELS)
def test_no_features_mean_no_outcome(name):
    model, rng = MODELS[name], np.random.default_rng(0)
    state = model.start(2, np.zeros(1), np.ones(1), 100)
    w = np.ones((2, 1, 1, 1))
    x = np.zeros((2, 3, N))  # the second and the third candidate have no features
    for _ in range(30):
        x[:, 0] = np.eye(N)[rng.integers(N)] if name == "tabular" else rng.random(N)
        if name == "per action":
            x[:, 0, 0] = 0.0
        y = np.zeros((2, 3, 1))
        y[:, 0] = rng.random() < 0.8
        model.update(state, x, y, np.ones((2, 3, 1), bool), w)
    worth = model.value(state, x, w, rng.random((2, model.draws(3))))
    assert (worth.mean[:, :, 0] > 0.1).all()  # it has learned something
    assert (worth.mean[:, :, 1:] == 0.0).all()
    assert (worth.bonus[:, :, 1:] == 0.0).all()
