"""What fades is what plain sums with falling weights are, and what is forgotten is as it was before any data."""

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Logistic,
    Memories,
    NullModel,
    PerAction,
    Prior,
    Restarting,
    Ridge,
    Sampled,
    SelfNormalised,
    Stacked,
    Tabular,
)
from evenhand.models.base import fades
from evenhand.policy.saving import flatten
from tests.calls import ask, tell
from tests.rows import for_each

KEEP, ROUNDS, REPLICAS = 0.9, 40, 3
RIDGES = [
    BayesianRidge(n_features=2, n_outcomes=2),
    BayesianRidge(n_features=2, n_outcomes=2, prior=Prior(mean=0.3, sd=0.1)),
    PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2), actions=2),
    Ridge(n_features=2, n_outcomes=2, ridge=0.5, width=SelfNormalised(delta=0.1)),
    PerAction(inner=Ridge(n_features=2, n_outcomes=2, ridge=0.5), actions=2),
]
OTHERS = [
    Tabular(arms=2, n_outcomes=2, confidence=0.5),
    BayesianLogistic(n_features=2),
    BayesianLogistic(n_features=2, buffer=8),
    PerAction(inner=BayesianLogistic(n_features=2), actions=2),
    Stacked((BayesianLogistic(n_features=2), BayesianRidge(n_features=2))),
]
NAMED = {"ids": lambda model: repr(model)[:60]}


def history(model, rng):
    """One play a round: features as the model takes them, and outcomes, 0 or 1."""
    x = rng.normal(size=(ROUNDS, REPLICAS, 1, 2))
    if isinstance(model, Tabular):
        x = np.eye(2)[rng.integers(0, 2, x.shape[:3])]
    if isinstance(model, PerAction):
        x = np.concatenate([rng.integers(0, 2, (*x.shape[:3], 1)), x], 3)
    return x, (rng.random((ROUNDS, REPLICAS, 1, model.n_outcomes)) < 0.5).astype(float)


def start(model):
    return model.start(REPLICAS, np.zeros(model.n_outcomes), np.ones(model.n_outcomes), 500)


def learned(model, x, y, keep=KEEP):
    """A state that fades before every round."""
    state, w = start(model), np.ones((REPLICAS, 1, model.n_outcomes))
    for t in range(len(x)):
        model.fade(state, np.full(REPLICAS, keep), np.full(REPLICAS, 0.5))
        tell(model, state, x[t], y[t], np.ones(REPLICAS), w)
    return state


def predictions(model, state, x):
    """Mean and bonus of every outcome by itself."""
    return np.stack(ask(model, state, x, np.tile(np.eye(model.n_outcomes), (REPLICAS, 1, 1))))


def rows(model):
    return model.actions if isinstance(model, PerAction) else 1


@pytest.mark.parametrize("model", RIDGES, **NAMED)
def test_a_faded_ridge_is_a_regression_with_falling_weights(model):
    x, y = history(model, np.random.default_rng(0))
    state = learned(model, x, y)
    weights, actions = KEEP ** np.arange(ROUNDS - 1, -1, -1), rows(model)
    for row in range(REPLICAS * actions):
        r, a = divmod(row, actions)
        z, own = x[:, r, 0, -2:], weights * (x[:, r, 0, 0] == a if actions > 1 else 1.0)
        rho = getattr(model, "inner", model).ridge if not hasattr(state, "ridge") else state.ridge[r]
        origin = state.origin[row] if hasattr(state, "origin") else np.zeros((2, 2))
        gram = rho * np.eye(2) + (own[:, None] * z).T @ z
        theta = origin + np.linalg.solve(gram, (own[:, None] * z).T @ (y[:, r, 0] - z @ origin.T)).T
        np.testing.assert_allclose(state.inverse[row], np.linalg.inv(gram), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.theta[row], theta, rtol=1e-8, atol=1e-10)
        if hasattr(state, "log_det"):
            np.testing.assert_allclose(state.log_det[row], np.linalg.slogdet(gram / rho)[1], rtol=1e-9)
            np.testing.assert_allclose(state.count[row], own.sum())
    if hasattr(state, "rounds"):
        np.testing.assert_allclose([state.count, state.rounds], weights.sum())


def test_a_faded_table_has_sums_with_falling_weights():
    model = OTHERS[0]
    x, y = history(model, np.random.default_rng(0))
    state, weights = learned(model, x, y), KEEP ** np.arange(ROUNDS - 1, -1, -1)
    np.testing.assert_allclose(state.count, np.einsum("t,tra->ra", weights, x[:, :, 0]))
    np.testing.assert_allclose(state.total, np.einsum("t,tra,trm->ram", weights, x[:, :, 0], y[:, :, 0]))


@pytest.mark.parametrize("model", OTHERS[1:4], **NAMED)
def test_a_faded_logistic_regression_is_at_the_top_of_the_likelihood_with_falling_weights(model):
    """Where older observations were folded into a quadratic at other estimates, only about."""
    x, y = history(model, np.random.default_rng(0))
    state, actions = learned(model, x, y), rows(model)
    model.fade(state, np.full(REPLICAS, KEEP), np.ones(REPLICAS))  # which fits again
    weights = KEEP ** np.arange(ROUNDS, 0, -1)
    np.testing.assert_allclose([state.count, state.rounds], weights.sum())
    for row in range(REPLICAS * actions):
        r, a = divmod(row, actions)
        z, own = x[:, r, 0, -2:], weights * (x[:, r, 0, 0] == a if actions > 1 else 1.0)
        p = 1.0 / (1.0 + np.exp(-z @ state.theta[row]))
        slope = z.T @ (own * (p - y[:, r, 0, 0])) + state.ridge[r] * state.theta[row]
        np.testing.assert_allclose(slope, 0.0, atol=0.1 if getattr(model, "buffer", ROUNDS) < ROUNDS else 2e-3)


@pytest.mark.parametrize("model", RIDGES + OTHERS, **NAMED)
def test_what_is_forgotten_altogether_is_as_before_any_data(model):
    x, y = history(model, np.random.default_rng(1))
    state = learned(model, x, y)
    model.fade(state, np.full(REPLICAS, 1e-12), np.ones(REPLICAS))
    np.testing.assert_allclose(predictions(model, state, x[0]), predictions(model, start(model), x[0]), atol=1e-9)
    tell(model, state, x[0], y[0], np.ones(REPLICAS), np.ones((REPLICAS, 1, model.n_outcomes)))
    once = learned(model, x[:1], y[:1], keep=1.0)
    model.fade(once, np.ones(REPLICAS), np.ones(REPLICAS))
    np.testing.assert_allclose(predictions(model, state, x[1]), predictions(model, once, x[1]), atol=1e-5)


@pytest.mark.parametrize("model", RIDGES + OTHERS, **NAMED)
def test_replicas_that_keep_all_do_not_change_a_bit(model):
    x, y = history(model, np.random.default_rng(2))
    state, same = learned(model, x, y), learned(model, x, y)
    before = predictions(model, state, x[0])
    model.fade(state, np.array([1.0, 0.5, 1.0]), np.full(REPLICAS, 0.5))
    after = predictions(model, state, x[0])
    assert (before[:, [0, 2]] == after[:, [0, 2]]).all()
    assert (before[:, 1] != after[:, 1]).any()
    model.fade(same, np.ones(REPLICAS), np.full(REPLICAS, 0.5))
    assert all((a == b).all() for (_, a), (_, b) in zip(flatten(same), flatten(learned(model, x, y)), strict=True))


@pytest.mark.parametrize("model", [RIDGES[0], RIDGES[2], OTHERS[1], OTHERS[3]], **NAMED)
def test_exploration_neither_dies_nor_goes_beyond_that_of_a_model_without_data(model):
    """After a thousand fades without a play in a direction, its bonus is that of a new model with as many rounds."""
    x, y = history(model, np.random.default_rng(3))
    x[..., -2] = 0.0  # only the second feature is ever seen
    state = learned(model, np.tile(x, (25, 1, 1, 1)), np.tile(y, (25, 1, 1, 1)))
    asked = x[0].copy()
    asked[..., -2:] = 1.0, 0.0
    new = start(model)
    model.fade(new, np.ones(REPLICAS), np.full(REPLICAS, 0.5))
    there, first = (predictions(model, s, asked)[1] for s in (state, new))
    assert (there > 0.2 * first).all()
    assert (there <= 1.5 * first).all()


REFUSED = [NullModel(n_features=2), Logistic(n_features=2), Sampled(inner=Ridge(n_features=2))]
REFUSED += [PerAction(inner=Logistic(n_features=2), actions=2), Stacked((Ridge(n_features=2), NullModel(n_features=2)))]


@pytest.mark.parametrize("kind", [Memories, Restarting])
@pytest.mark.parametrize("inner", REFUSED, **NAMED)
def test_a_model_that_cannot_forget_is_refused_by_name(kind, inner):
    assert not fades(inner)
    with pytest.raises(
        InvalidInput, match=rf"^{kind.__name__}\.inner: expected a model that can forget.*BayesianRidge"
    ):
        kind(inner=inner)


WRONG = {
    "half_lives": (Memories, [(0.0,), (-3.0, 5.0), (np.inf,), (np.nan,)]),
    "judge": (Memories, [0.0, np.inf]),
    "doubt": (Memories, [-1.0, np.nan]),
    "every": (Memories, [0.5, np.inf]),
    "nats": (Restarting, [0.0, -1.0, np.nan, np.inf]),
    "young": (Restarting, [0, 1.5]),
    "alarm": (Restarting, [0, -5]),
}


@for_each(("kind", "name", "value"), [(k, n, v) for n, (k, some) in WRONG.items() for v in some])
def test_numbers_out_of_their_range_are_refused_by_name(kind, name, value):
    with pytest.raises(InvalidInput, match=rf"^{kind.__name__}\.{name}: expected"):
        kind(inner=Ridge(n_features=2), **{name: value})


def test_a_challenger_is_older_than_young_and_there_is_a_memory():
    with pytest.raises(InvalidInput, match=r"^Restarting\.every: expected a whole number of at least 151, got 150"):
        Restarting(inner=Ridge(n_features=2), every=150)
    with pytest.raises(InvalidInput, match=r"^Memories\.half_lives: expected at least one"):
        Memories(inner=Ridge(n_features=2), half_lives=(), keeps_all=False)
