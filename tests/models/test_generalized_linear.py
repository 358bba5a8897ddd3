from dataclasses import replace

import numpy as np
import pytest

from evenhand.models import BayesianLogistic, Fixed, GeneralizedLinear, Logistic, SelfNormalised
from evenhand.numerics.newton import fit
from evenhand.policy.saving import flatten
from tests.calls import ask, tell
from tests.numerics.test_likelihood import CURVE, LINKS, MEAN, data, expansion, fitted, optimum
from tests.numerics.test_newton import nothing, room
from tests.rows import for_each

ENDS = {"identity": (-np.inf, np.inf), "logistic": (0.0, 1.0), "exponential": (0.0, np.inf)}
PRICE = np.ones((1, 1, 1))


def start(model, link="logistic", replicas=1):
    low, high = ENDS[link]
    return model.start(replicas, np.array([low]), np.array([high]), 100)


def feed(model, state, x, y, users):
    """Rounds of `users` plays each, one replica."""
    for t in range(0, len(x), users):
        tell(model, state, x[None, t : t + users], y[None, t : t + users, None], np.ones(1), PRICE)


def size(state):
    return sum(z.nbytes for _, z in flatten(state))


def stretch(ours, exact):
    """By how much a matrix stretches what another one makes round: all 1 if they are equal."""
    half = np.linalg.inv(np.linalg.cholesky(exact))
    return np.linalg.eigvalsh(half @ ours @ half.T)


@pytest.mark.parametrize("link", LINKS)
def test_until_something_is_folded_a_refit_in_every_round_is_scipys_optimum(link):
    x, y = data(link, 60, 3, 1)
    model = GeneralizedLinear(n_features=3, link=link, ridge=0.3, growth=1.0, tolerance=1e-12)
    state = start(model, link)
    for t in range(0, 60, 6):
        feed(model, state, x[t : t + 6], y[t : t + 6], 6)
        np.testing.assert_allclose(state.theta[0], optimum(link, x[: t + 6], y[: t + 6], 0.3), atol=1e-5)
    assert state.past.kept[0] == 60
    assert not state.past.curve.any()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("most", "users"), [(8, 1), (9, 1), (20, 7), (8, 25)])
def test_folds_are_those_of_the_definition(link, most, users):
    """The older half of a full history goes, at the optimum of all that is kept; SciPy finds every optimum."""
    x, y = data(link, 75, 2, 2)
    model = GeneralizedLinear(n_features=2, link=link, ridge=0.5, growth=1.0, tolerance=1e-12, buffer=most)
    state = start(model, link)
    feed(model, state, x, y, users)
    older, first = [], 0
    for s in range(75):
        if s - first == most:
            theta = optimum(link, x[first:s], y[first:s], 0.5, older)
            half = slice(first, first + most // 2)
            older.append(expansion(link, x[half], y[half], theta))
            first += most // 2
    np.testing.assert_array_equal(state.past.x[0, : 75 - first], x[first:])
    np.testing.assert_array_equal(state.past.y[0, : 75 - first], y[first:])
    assert state.past.kept[0] == 75 - first
    assert state.count[0] == 75
    np.testing.assert_allclose(state.theta[0], optimum(link, x[first:], y[first:], 0.5, older), atol=2e-5)
    v = 0.5 * np.eye(2) + x.T @ x  # widths count all observations
    np.testing.assert_allclose(state.inverse[0], np.linalg.inv(v), rtol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_the_root_is_that_of_the_whole_objective(link):
    x, y = data(link, 500, 3, 3)
    model = GeneralizedLinear(n_features=3, link=link, growth=1.0, tolerance=1e-12, buffer=60)
    state = start(model, link)
    feed(model, state, x, y, 10)
    kept = x[500 - int(state.past.kept[0]) :]
    own = (kept * CURVE[link](kept @ state.theta[0])[:, None]).T @ kept
    root = np.tril(state.root[0])
    np.testing.assert_allclose(root @ root.T, np.eye(3) + state.past.curve[0] + own, rtol=1e-5)
    whole = (x * CURVE[link](x @ state.theta[0])[:, None]).T @ x + np.eye(3)
    assert np.abs(stretch(root @ root.T, whole) - 1.0).max() < 0.1  # what was folded was folded near the estimate


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_ten_thousand_rounds_are_predicted_as_by_exact_refits(link):
    """Mean absolute differences of predictions over their mean: at most 5e-4 by folding, 3e-3 with the default growth.

    At 100 rounds the default has last been fitted up to 9 rounds before, so that it may be off by 1e-2 there.
    """
    rounds, users, marks = 10_000, 50, (100, 1000, 10_000)
    x, y = data(link, rounds * users, 5, 4)
    query = data(link, 1000, 5, 5)[0]
    often, default = (GeneralizedLinear(n_features=5, link=link, growth=g) for g in (1.0, 1.1))
    for model, bounds in ((often, (5e-4, 5e-4, 5e-4)), (default, (1e-2, 3e-3, 3e-3))):
        state, before, sizes, theta = start(model, link), 0, [], np.zeros(5)
        for mark, bound in zip(marks, bounds, strict=True):
            if model is often and mark == 10_000:
                continue
            feed(model, state, x[before * users : mark * users], y[before * users : mark * users], users)
            past_x, past_y = x[: mark * users], y[: mark * users]
            fit(LINKS[link], (past_x, past_y, np.zeros(0)), nothing(5), theta, room(theta), 1.0, 1e-12)
            exact, ours = (MEAN[link](query @ z) for z in (theta, state.theta[0]))
            assert np.abs(ours - exact).mean() <= bound * np.abs(exact).mean()
            before = mark
            sizes.append(size(state))
        assert len(set(sizes)) == 1


def test_the_work_of_a_round_does_not_grow():
    """Fits in each thousand rounds, the observations of each, and its passes; the default history is 2,000 long."""
    rounds, users = 5000, 50
    x, y = data("logistic", rounds * users, 3, 6)
    model = Logistic(n_features=3)
    state = start(model)
    work = np.zeros(5)
    for t in range(rounds):
        before = state.fitted[0]
        feed(model, state, x[t * users : (t + 1) * users], y[t * users : (t + 1) * users], users)
        work[t // 1000] += (state.fitted[0] > before) * state.past.kept[0]
        assert state.past.kept[0] <= 2000
    assert (work[1:] <= work[0]).all()
    assert state.past.y.shape == (1, 2000)
    kept, theta = int(state.past.kept[0]), state.theta[0].copy()
    older = state.past.anchor[0], state.past.slope[0], state.past.curve[0]
    assert (
        fit(1, (state.past.x[0, :kept], state.past.y[0, :kept], np.zeros(0)), older, theta, room(theta), 1.0, 1e-4) <= 2
    )


@pytest.mark.parametrize("most", [2, 3, 300, 1000])
def test_arrays_grow_up_to_the_room_and_no_further(most):
    x, y = data("logistic", 1500, 2, 7)
    model = Logistic(n_features=2, buffer=most)
    state = start(model)
    assert state.past.y.shape[1] == min(most, 256)
    feed(model, state, x, y, 3)
    assert state.past.y.shape[1] == most
    assert np.abs(state.theta[0] - fitted("logistic", x, y, 1.0)[0]).max() < 0.2  # even with room for two


def test_replicas_that_learn_at_different_rates_fold_at_different_times():
    x, y = data("logistic", 400, 2, 8)
    model = Logistic(n_features=2, buffer=16)
    state, rng = start(model, replicas=2), np.random.default_rng(9)
    alone = start(model), start(model)
    for t in range(400):
        rounds = np.array([1.0, float(rng.random() < 0.4)])
        own = np.broadcast_to(x[t], (2, 1, 2)).copy(), np.full((2, 1, 1), y[t])
        tell(model, state, *own, rounds, np.ones((2, 1, 1)))
        for r in range(2):
            tell(model, alone[r], own[0][:1], own[1][:1], rounds[r : r + 1], PRICE)
    for r in range(2):
        for (_, both), (_, one) in zip(flatten(state.past), flatten(alone[r].past), strict=True):
            np.testing.assert_array_equal(both[r], one[0])
        np.testing.assert_array_equal(state.theta[r], alone[r].theta[0])
    assert state.count[0] > 2 * state.count[1] > 100


def test_logistic_is_the_logistic_case():
    x, y = data("logistic", 90, 3, 10)
    settings = {"ridge": 0.2, "width": Fixed(0.3), "growth": 1.3, "buffer": 40, "clipped": False}
    answers = []
    for model in (Logistic(n_features=3, **settings), GeneralizedLinear(n_features=3, link="logistic", **settings)):
        state = start(model)
        feed(model, state, x, y, 3)
        answers.append(ask(model, state, x[None, :5], PRICE))
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("link", LINKS)
def test_a_width_that_is_not_clipped_is_the_bonus_of_the_paper(link):
    """c1 ||x||_{V^-1}, V = lambda_0 I + sum x x^T, lambda_0 = n, c1 = sqrt(n), and down where prices are negative.

    The estimate has the ridge kappa lambda_0.
    """
    x, y = data(link, 40, 4, 11)
    settings = {"width": Fixed(2.0), "growth": 1.0, "tolerance": 1e-12, "clipped": False}
    model = GeneralizedLinear(n_features=4, link=link, ridge=0.4, width_ridge=4.0, **settings)
    state = start(model, link)
    feed(model, state, x, y, 8)
    np.testing.assert_allclose(state.theta[0], optimum(link, x, y, 0.4), atol=1e-5)
    assert state.log_det[0] == pytest.approx(np.linalg.slogdet(np.eye(4) + x.T @ x / 4.0)[1])
    query = np.array([[[1.0, 0.0, 2.0, 0.0], [0.0] * 4, [3.0, 3.0, 3.0, 3.0]]])
    bonus = ask(model, state, query, np.array([[[1.0], [2.0], [-1.0]]]))[1]
    norms = np.sqrt(np.einsum("ai,ij,aj->a", query[0], np.linalg.inv(4.0 * np.eye(4) + x.T @ x), query[0]))
    np.testing.assert_allclose(bonus[0], np.outer([1.0, 2.0, 1.0], 2.0 * norms), rtol=1e-9, atol=1e-12)
    clipped = ask(replace(model, clipped=True), state, query, PRICE)
    assert (clipped[0] + clipped[1] <= ENDS[link][1]).all()
    if link == "logistic":
        assert bonus[0, 0].max() > clipped[1].max()


def test_widths_know_where_v_starts():
    own, other = (
        GeneralizedLinear(n_features=2, link="logistic", ridge=a, width_ridge=b, width=SelfNormalised(delta=0.1))
        for a, b in ((4.0, None), (1.0, 4.0))
    )
    one = np.ones((1, 1, 2))
    np.testing.assert_array_equal(ask(own, start(own), one, PRICE)[1], ask(other, start(other), one, PRICE)[1])


def test_widths_stay_in_units_of_the_range_where_they_are_not_clipped():
    model = GeneralizedLinear(n_features=1, link="identity", width=Fixed(0.5), clipped=False)
    state = model.start(1, np.array([-2.0]), np.array([6.0]), 100)
    np.testing.assert_allclose(ask(model, state, np.ones((1, 1, 1)), PRICE)[1], 0.5 * 8.0)


def test_means_of_counts_stay_within_the_declared_range_and_those_of_the_identity_do_not():
    x, y = data("exponential", 300, 2, 12)
    model = GeneralizedLinear(n_features=2, link="exponential")
    state = model.start(1, np.array([0.25]), np.array([10.0]), 100)
    feed(model, state, x, y, 10)
    query = np.array([[[50.0, 50.0], [-50.0, -50.0], [0.1, 0.1], [1e6, 1e6]]])
    mean = ask(model, state, query, PRICE)[0][0, 0]
    np.testing.assert_allclose(mean, [10.0, 0.25, np.exp(query[0, 2] @ state.theta[0]), 10.0])
    drawn = model.sample(state, query, np.ones((1, 1, 1, 1)), np.full((1, 1, 2), 5.0))
    assert ((drawn >= 0.25) & (drawn <= 10.0)).all()
    free = start(model, "exponential")
    feed(model, free, x, y, 10)
    assert np.isfinite(ask(model, free, query, PRICE)[0]).all()
    line = GeneralizedLinear(n_features=2, link="identity")
    state = start(line, "identity")
    feed(line, state, x, -y, 10)
    assert ask(line, state, query, PRICE)[0].min() < -10.0


def test_counts_at_features_far_from_all_others_leave_the_estimate_sound():
    x, y = data("exponential", 200, 2, 13)
    model = GeneralizedLinear(n_features=2, link="exponential", growth=1.0)
    state = start(model, "exponential")
    feed(model, state, x[:100], y[:100], 10)
    feed(model, state, np.array([[1e4, 0.0]]), np.zeros(1), 1)  # its mean was exp(5,000)
    feed(model, state, x[100:], y[100:], 10)
    assert all(np.isfinite(z).all() for path, z in flatten(state) if path != ".high")
    every = np.concatenate([x[:100], [[1e4, 0.0]], x[100:]]), np.concatenate([y[:100], [0.0], y[100:]])
    np.testing.assert_allclose(state.theta[0], fitted("exponential", *every, 1.0)[0], atol=1e-3)


@for_each("seed", range(3))
def test_folding_leaves_the_evidence_of_a_bayesian_logistic_as_it_is(seed):
    x, y = data("logistic", 6000, 3, seed)
    states = []
    for most in (1000, 10_000):
        model = BayesianLogistic(n_features=3, growth=1.001, buffer=most)  # fits in every round
        states.append(start(model))
        feed(model, states[-1], x, y, 20)
    ours, exact = states
    assert ours.past.y.shape[1] == 1000
    assert exact.past.kept[0] == 6000
    assert ours.count[0] == exact.count[0] == 6000
    error = np.sqrt(np.diag(exact.inverse[0]))
    assert (np.abs(ours.theta[0] - exact.theta[0]) < 0.1 * error).all()
    np.testing.assert_allclose(ours.ridge, exact.ridge, rtol=0.02)
    assert np.abs(stretch(ours.inverse[0], exact.inverse[0]) - 1.0).max() < 0.05
