"""Draws against the posteriors' closed forms; every tolerance is five standard errors of that many draws."""

import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.models import (
    Bootstrapped,
    Fixed,
    Logistic,
    Ridge,
    Sampled,
    Stacked,
    Tabular,
)
from tests.calls import ask, tell
from tests.numerics.test_newton import derivatives

DRAWS = 20_000


def luck(draws, count=DRAWS, seed=1):
    return Luck(seed=seed, replicas=np.arange(count)).uniform(Stream.MODEL, np.zeros(1, np.int64), draws)


def taught(model, rounds=40, seed=0, low=0.0, high=1.0, x=None):
    """A state of one replica that has seen some plays, and what it saw."""
    rng = np.random.default_rng(seed)
    state = model.start(1, np.full(model.n_outcomes, low), np.full(model.n_outcomes, high), 100)
    x = rng.normal(size=(rounds, 1, 1, model.n_features)) if x is None else x
    y = low + (high - low) * (rng.random((rounds, 1, 1, model.n_outcomes)) < 0.4)
    for t in range(rounds):
        tell(model, state, x[t], y[t], np.ones(1), np.zeros((1, 1, model.n_outcomes)))
    return state, x[:, 0, 0], y[:, 0, 0]


def drawn(model, state, x, w, count=DRAWS):
    """Worth under each of many draws, (draws, K, A)."""
    u = luck(model.draws(x.shape[1]), count)
    out = []
    for row in u:
        worth = model.value(state, x, w, row[None])
        assert worth.random
        out.append(worth.mean[0] + worth.bonus[0])
    return np.array(out)


def agrees(draws, mean, covariance):
    """The sample's mean and covariance are these of a normal number, within five standard errors of each entry."""
    count, centred = len(draws), draws - mean
    variance = np.diag(covariance)
    assert (np.abs(centred.mean(0)) <= 5 * np.sqrt(variance / count)).all()
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / count)
    assert (np.abs(centred.T @ centred / count - covariance) <= 5 * spread).all()


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_a_ridges_draws_have_the_posteriors_mean_and_covariance(scale):
    """Candidates that are unit vectors, at the price of one outcome each, show the parameters themselves."""
    n, m = 3, 2
    model = Sampled(inner=Ridge(n_features=n, n_outcomes=m, ridge=0.5), scale=scale)
    state, x, y = taught(model)
    shown = drawn(model, state, np.eye(n)[None], np.eye(m)[None, :, None]).reshape(DRAWS, n * m)
    inverse = np.linalg.inv(0.5 * np.eye(n) + x.T @ x)
    agrees(shown, (inverse @ x.T @ y).T.ravel(), scale**2 * np.kron(np.eye(m), inverse))


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_a_logistics_draws_are_laplaces_approximation(scale):
    """The inverse Hessian at the estimate, of the observations that it was fitted to."""
    model = Sampled(inner=Logistic(n_features=3, ridge=0.5, growth=1.5, tolerance=1e-12), scale=scale)
    state, x, y = taught(model)
    fitted = int(state.fitted[0])
    assert fitted < 40
    p = drawn(model, state, np.eye(3)[None], np.ones((1, 1, 1, 1)))[:, 0]
    _, hessian = derivatives(x[:fitted], y[:fitted, 0], state.theta[0], 0.5)
    agrees(np.log(p / (1 - p)), state.theta[0], scale**2 * np.linalg.inv(hessian))


def test_before_any_data_a_logistics_draws_are_its_penalty():
    model = Sampled(inner=Logistic(n_features=2, ridge=4.0))
    p = drawn(model, model.start(1, np.zeros(1), np.ones(1), 100), np.eye(2)[None], np.ones((1, 1, 1, 1)))[:, 0]
    agrees(np.log(p / (1 - p)), np.zeros(2), np.eye(2) / 4.0)


def test_the_default_tolerance_of_a_fit_leaves_the_precision_within_a_percent():
    model = Sampled(inner=Logistic(n_features=3, ridge=0.5, growth=1.0))
    state, x, y = taught(model)
    _, hessian = derivatives(x, y[:, 0], state.theta[0], 0.5)
    root = np.tril(state.root[0])
    np.testing.assert_allclose(root @ root.T, hessian, rtol=0.01, atol=0.01 * np.diag(hessian).min())


def test_a_tabulars_draws_are_independent_and_as_wide_as_their_arms_were_played_little():
    model = Sampled(inner=Tabular(arms=3, n_outcomes=2, confidence=0.5), scale=0.7)
    which = np.array([0] * 25 + [2] * 15)
    state, _, y = taught(model, low=-1.0, high=3.0, x=np.eye(3)[which][:, None, None])
    shown = drawn(model, state, np.eye(3)[None], np.eye(2)[None, :, None]).reshape(DRAWS, 6)
    count = np.array([25, 0, 15])
    v = np.stack([(y[which == a] + 1).sum(0) / 4 / (count[a] + 1) for a in range(3)])
    agrees(shown, (4 * v - 1).T.ravel(), np.diag(np.tile((0.7 * 4) ** 2 / (count + 1), 2)))


KINDS = [
    Ridge(n_features=3, n_outcomes=2, width=Fixed(0.3)),
    Logistic(n_features=3, width=Fixed(0.3)),
    Tabular(arms=3, n_outcomes=2, confidence=0.5),
]
WRAPPERS = [*(Sampled(inner=k) for k in KINDS), *(Bootstrapped(inner=k, members=5) for k in KINDS)]


def started(model, seed=3):
    """A state of two replicas with data, six candidates that come in threes alike, and prices per reading."""
    rng = np.random.default_rng(seed)
    state, m = model.start(2, np.zeros(model.n_outcomes), np.ones(model.n_outcomes), 100), model.n_outcomes
    for _ in range(10):
        x = np.eye(3)[rng.integers(0, 3, (2, 1))]
        tell(model, state, x, (rng.random((2, 1, m)) < 0.5) * 1.0, np.ones(2), np.zeros((2, 1, m)))
    return state, np.tile(np.eye(3), (2, 2, 1)), rng.normal(size=(2, 2, 1, m))


@pytest.mark.parametrize("model", WRAPPERS, ids=repr)
def test_one_draw_is_shared_by_all_candidates_and_all_readings(model):
    state, x, w = started(model)
    u = luck(model.draws(6), 2)
    worth = model.value(state, x, w, u)
    np.testing.assert_array_equal(worth.bonus[:, :, :3], worth.bonus[:, :, 3:])  # the same candidates, twice
    total = model.value(state, x, w.sum(1, keepdims=True), u)
    np.testing.assert_allclose(worth.bonus.sum(1), total.bonus[:, 0], atol=1e-12)


@pytest.mark.parametrize("model", [m for m in WRAPPERS if m != Sampled(inner=KINDS[1])], ids=repr)
def test_blocks_share_a_draw_within_and_none_between(model):
    """Two units of three candidates: each is valued as it would be alone, with its half of the luck."""
    two = replace(model, n_blocks=2)
    state, x, w = started(two)
    u = luck(two.draws(6), 2)
    halves = np.split(u, 2, 1)
    worth = two.value(state, x, w, u)
    for i, half in enumerate(halves):
        own = slice(3 * i, 3 * i + 3)
        alone = model.value(state, x[:, own].copy(), w, half.copy())
        np.testing.assert_array_equal(worth.bonus[:, :, own], alone.bonus)
    assert (worth.bonus[:, :, :3] != worth.bonus[:, :, 3:]).any()  # the same candidates, drawn twice


def test_blocks_are_uncorrelated_and_candidates_of_one_are_not():
    """An odd number of parameters: numbers of a Box-Muller pair belong to different blocks."""
    model = Sampled(inner=Ridge(n_features=3), n_blocks=2)
    state, _, _ = taught(model)
    x = np.tile([[0.5, -1.0, 2.0], [1.0, 0.0, 0.5]], (1, 2, 1))
    shown = drawn(model, state, x, np.ones((1, 1, 1, 1)))[:, 0]
    form = x[0, :2] @ state.inverse[0] @ x[0, :2].T
    agrees(shown, x[0] @ state.theta[0, 0], np.kron(np.eye(2), form))


@pytest.mark.parametrize("model", WRAPPERS, ids=repr)
def test_without_luck_the_bonus_is_nothing_and_a_plan_may_ask_of_any_number(model):
    state, x, w = started(replace(model, n_blocks=4))
    worth = model.value(state, x, w, np.zeros((2, 0)))
    assert not worth.random
    np.testing.assert_array_equal(worth.bonus, 0.0)
    if isinstance(model, Sampled):
        np.testing.assert_array_equal(worth.mean, model.inner.value(state, x, w, np.zeros((2, 0))).mean)


def test_a_scale_of_0_is_greedy_and_draws_nothing():
    model = Sampled(inner=KINDS[0], scale=0.0)
    assert model.draws(6) == 0
    state, x, w = started(model)
    np.testing.assert_array_equal(ask(model, state, x, w[:, :, 0])[1], 0.0)


@pytest.mark.parametrize(
    "model", [Sampled(inner=KINDS[0], n_blocks=4), Bootstrapped(inner=KINDS[0], n_blocks=4)], ids=repr
)
def test_candidates_that_do_not_divide_into_blocks_are_refused(model):
    state, x, w = started(model)
    with pytest.raises(
        InvalidInput, match=rf"^candidates: expected a multiple of {type(model).__name__}\.n_blocks = 4"
    ):
        model.value(state, x, w, luck(model.draws(6), 2))


def test_models_side_by_side_draw_by_luck_of_their_own():
    parts = Sampled(inner=Ridge(n_features=3)), Ridge(n_features=3), Sampled(inner=Logistic(n_features=3), n_blocks=2)
    both = Stacked(parts)
    assert both.draws(6) == 4 + 0 + 6
    state, x, w = started(both)
    u = luck(10, 2)
    worth = both.value(state, x, w, u)
    assert worth.random
    slices = u[:, :4], u[:, :0], u[:, 4:]
    apart = [
        p.value(s, x, w[..., i : i + 1].copy(), v.copy())
        for i, (p, s, v) in enumerate(zip(parts, state.parts, slices, strict=True))
    ]
    np.testing.assert_allclose(worth.bonus, sum(a.bonus for a in apart), atol=1e-12)
    calm = both.value(state, x, w, u[:, :0])
    assert not calm.random
    np.testing.assert_array_equal(calm.mean, worth.mean)


@pytest.mark.parametrize("kind", KINDS, ids=lambda m: type(m).__name__)
def test_drawing_finds_the_best_arm_where_greed_locks_in(kind):
    """200 runs of 400 rounds: the share of runs whose last 50 rounds play the best arm mostly, sampled and greedy.

    The difference is held against five standard errors.
    """
    chances, runs = np.array([0.6, 0.7, 0.9]), 200
    inner = kind if kind.n_outcomes == 1 else replace(kind, n_outcomes=1)
    found = []
    for scale in (1.0, 0.0):
        model = Sampled(inner=inner, scale=scale)
        state = model.start(runs, np.zeros(1), np.ones(1), 100)
        x, w, last = np.tile(np.eye(3), (runs, 1, 1)), np.ones((runs, 1, 1, 1)), np.zeros(runs)
        lucky = Luck(seed=5, replicas=np.arange(runs))
        for t in range(400):
            now = np.array([t])
            worth = model.value(state, x, w, lucky.uniform(Stream.MODEL, now, model.draws(3)))
            play = (worth.mean + worth.bonus)[:, 0].argmax(1)
            y = (lucky.uniform(Stream.OUTCOME, now, 1)[:, 0] < chances[play]).astype(float)
            model.update(state, x[np.arange(runs), play][:, None], y[:, None, None], np.ones((runs, 1, 1), bool), w)
            last += (t >= 350) * (play == 2)
        found.append(last > 25)
    gain = found[0].astype(float) - found[1]
    assert gain.mean() >= 5 * gain.std() / math.sqrt(runs)
    assert found[0].mean() > 0.9
