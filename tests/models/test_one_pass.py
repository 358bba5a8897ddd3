import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand.models import Fixed, GeneralizedLinear, OnePass
from tests.calls import ask, tell
from tests.models.test_generalized_linear import PRICE, feed, size, start
from tests.numerics.test_likelihood import LINKS, MEAN, data, losses
from tests.states import unchanged


def one(link, n=3, **settings):
    return OnePass(n_features=n, link=link, **{"width": Fixed(0.5), **settings})


def argmin(link, x, y, theta, metric, eta, norm):
    """Of <g, theta> + 1/2 |theta - now|^2 in H + Q / eta, by SciPy without its Hessian; then nearest in the ball."""
    _, gradient, hessian = losses(link, x, y, theta)
    form = hessian + metric / eta

    def surrogate(to):
        return gradient @ (to - theta) + 0.5 * (to - theta) @ form @ (to - theta), gradient + form @ (to - theta)

    found = minimize(surrogate, theta, jac=True, method="BFGS", options={"gtol": 1e-11}).x
    return found * min(1.0, norm / np.linalg.norm(found))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("eta", "norm", "ridge"), [(1.0, None, 5.0), (2.5, 10.0, 0.7), (1.0, 0.4, 1.0)])
def test_a_step_is_the_argmin_of_its_surrogate_and_q_grows_by_hessians_at_the_new_iterate(link, eta, norm, ridge):
    rng = np.random.default_rng(1)
    model = one(link, step=eta, norm_bound=norm, ridge=ridge)
    state, theta, q, seen_in_all = start(model, link), np.zeros(3), ridge * np.eye(3), 0
    radius = math.sqrt(3) if norm is None else norm
    bound = 0
    for t in range(12):
        x, y = data(link, 6, 3, 100 + t)
        seen = rng.random(6) < 0.7
        tell(model, state, x[None], np.where(seen, y, np.nan)[None, :, None], np.ones(1), PRICE)
        theta = argmin(link, x[seen], y[seen], theta, q, eta, radius)
        q = q + losses(link, x[seen], y[seen], theta)[2]
        seen_in_all += seen.sum()
        bound += np.linalg.norm(theta) > radius - 1e-9
        np.testing.assert_allclose(state.theta[0], theta, atol=1e-6)
        np.testing.assert_allclose(np.tril(state.metric[0]), np.tril(q), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(state.inverse[0], np.linalg.inv(q), rtol=1e-5, atol=1e-7)
        assert state.log_det[0] == pytest.approx(np.linalg.slogdet(q / ridge)[1], rel=1e-5)
    assert state.count[0] == seen_in_all < 72
    assert (bound > 0) == (norm == 0.4)


def test_the_plays_of_a_round_are_one_batch():
    """In any order, and not the same as one after another, which is what late outcomes are."""
    x, y = data("logistic", 20, 3, 2)
    states = []
    for users, order in ((20, np.arange(20)), (20, np.arange(20)[::-1]), (1, np.arange(20))):
        states.append(start(one("logistic")))
        feed(one("logistic"), states[-1], np.ascontiguousarray(x[order]), np.ascontiguousarray(y[order]), users)
    np.testing.assert_allclose(states[0].theta, states[1].theta, rtol=1e-12)
    assert np.abs(states[0].theta - states[2].theta).max() > 1e-4


def test_a_round_in_which_nothing_was_seen_changes_nothing():
    model = one("logistic")
    state = start(model)
    feed(model, state, *data("logistic", 20, 3, 2), 20)
    with unchanged(state):
        tell(model, state, np.ones((1, 4, 3)), np.full((1, 4, 1), np.nan), np.ones(1), PRICE)


@pytest.mark.parametrize(("link", "steepest"), [("logistic", 0.25), ("identity", 1.0)])
def test_the_default_radius_is_the_papers(link, steepest):
    model = OnePass(n_features=5, link=link, ridge=4.0, step=1.5, delta=0.1)
    state = start(model, link)
    for rounds in (0, 1, 30):
        feed(model, state, *data(link, 50 * rounds, 5, 3), 50)
        n_obs = state.count[0]
        beta2 = 4 * 4.0 * 5 + 2 * 1.5 * math.log(10) + 5 * (6 * 1.5**2 + 1.5) * math.log(1 + steepest * n_obs / 4.0)
        assert model.radius(state)[0] == pytest.approx(math.sqrt(beta2))
    smaller = replace(model, norm_bound=1.0).radius(start(model, link))[0]
    assert smaller == pytest.approx(math.sqrt(16.0 + 3.0 * math.log(10)))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("width", [Fixed(), Fixed(0.7), None])
def test_optimism_is_inside_of_the_link(link, width):
    if width is None and link == "exponential":
        return
    model = one(link, width=width)
    state = start(model, link)
    feed(model, state, *data(link, 60, 3, 4), 20)
    x = data(link, 5, 3, 5)[0]
    prices = np.array([1.0, -2.0, 0.0])
    mean, bonus = ask(model, state, x[None], prices[None, :, None])
    u = x @ state.theta[0]
    half = model.radius(state)[0] * np.sqrt(np.einsum("ai,ij,aj->a", x, state.inverse[0], x))
    for k, price in enumerate(prices):
        end = MEAN[link](u + np.sign(price) * half)
        np.testing.assert_allclose(mean[0, k], price * MEAN[link](u), rtol=1e-12)
        np.testing.assert_allclose(bonus[0, k], price * (end - MEAN[link](u)), rtol=1e-9, atol=1e-12)
    assert (bonus >= 0.0).all()


def test_means_and_optimism_of_counts_stay_within_the_declared_range():
    model = one("exponential", width=Fixed(50.0))
    state = model.start(1, np.array([0.5]), np.array([20.0]), 100)
    feed(model, state, *data("exponential", 60, 3, 4), 20)
    mean, bonus = ask(model, state, np.array([[[9.0, 9.0, 9.0], [1.0, 0.0, 0.0]]]), np.array([[[1.0], [-1.0]]]))
    ends = (mean + bonus)[0]
    np.testing.assert_allclose(ends[:, 1], [20.0, -0.5])
    assert mean[0, 0, 0] == 20.0


@pytest.mark.parametrize("link", LINKS)
def test_it_is_soon_as_good_as_maximum_likelihood_at_a_constant_size(link):
    """After 1,000 rounds of 20 plays: predictions within 1 % of those of a model that is fitted to all observations."""
    x, y = data(link, 20_000, 3, 6)
    model, other = one(link), GeneralizedLinear(n_features=3, link=link, growth=1.0)
    state, exact = start(model, link), start(other, link)
    before = size(state)
    feed(model, state, x, y, 20)
    feed(other, exact, x, y, 20)
    ours, best = MEAN[link](x[:1000] @ state.theta[0]), MEAN[link](x[:1000] @ exact.theta[0])
    assert np.abs(ours - best).mean() < 0.01 * np.abs(best).mean()
    assert size(state) == before
