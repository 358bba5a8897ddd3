import math

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import box_muller
from evenhand.models import GeneralizedLinear, Logistic, OnePass, OptimisticDraw
from tests.models.test_generalized_linear import start
from tests.models.test_perturbed import ONE, taught
from tests.models.test_sampled import DRAWS, agrees, drawn, luck
from tests.numerics.test_likelihood import MEAN, data


def merit(mean, n_blocks):
    """Sum over users and arms of P mu, P = mu / sum of mu."""
    blocks = np.maximum(mean, 0.0).reshape(n_blocks, -1)
    total = blocks.sum(1)
    return ((blocks**2).sum(1)[total > 0] / total[total > 0]).sum()


def points(model, state, u):
    """The parameters that are drawn, (D, n), by the definition, from the same luck."""
    n, tries = model.n_features, model.tries
    normal = box_muller(np.ascontiguousarray(u[:, :-tries]), tries * n).reshape(tries, n)
    ball = normal / np.linalg.norm(normal, axis=1, keepdims=True) * u[0, -tries:, None] ** (1 / n)
    root = np.linalg.cholesky(state.inverse[0])  # V^-1 = C C^T: C u is as uniform in the ellipsoid as L^-T u
    return state.theta[0] + model.radius * ball @ root.T


@pytest.mark.parametrize("n", [2, 3])
def test_draws_are_uniform_in_the_ellipsoid_of_the_widths(n):
    """With one try the draw shows itself. In whitened coordinates: covariance I / (n + 2), |u|^n uniform."""
    model = OptimisticDraw(inner=Logistic(n_features=n, ridge=0.5), radius=0.8, tries=1)
    state, x = taught(model)
    p = drawn(model, state, np.eye(n)[None], ONE)[:, 0]
    v = 0.5 * np.eye(n) + x.T @ x
    ball = (np.log(p / (1 - p)) - state.theta[0]) @ np.linalg.cholesky(v) / 0.8
    far = np.linalg.norm(ball, axis=1)
    assert far.max() <= 1.0 + 1e-9  # none leaves the ellipsoid
    agrees(ball, np.zeros(n), np.eye(n) / (n + 2))
    for t in (0.1, 0.5, 0.9):
        assert abs((far**n < t).mean() - t) <= 5 * math.sqrt(t * (1 - t) / DRAWS)


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("link", ["logistic", "identity"])
def test_the_draw_with_the_most_merit_is_kept(link, n_blocks):
    inner = GeneralizedLinear(n_features=3, link=link)
    model = OptimisticDraw(inner=inner, radius=3.0, tries=9, n_blocks=n_blocks)
    state, _ = taught(model, link, count=40)
    x, best = data(link, 12, 3, 3)[0], set()
    for row in luck(model.draws(12), 40):
        u = row[None]
        drawn_points = points(model, state, u)
        means = [MEAN[link](x @ theta) for theta in drawn_points]
        d = int(np.argmax([merit(m, n_blocks) for m in means]))
        best.add(d)
        worth = model.value(state, x[None], ONE, u)
        assert worth.random
        np.testing.assert_allclose((worth.mean + worth.bonus)[0, 0], means[d], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(worth.mean[0, 0], MEAN[link](x @ state.theta[0]), rtol=1e-12)
    assert len(best) > 4


def test_prices_do_not_choose_the_draw():
    model = OptimisticDraw(inner=Logistic(n_features=3), tries=5, n_blocks=2)
    state, _ = taught(model)
    x, u = data("logistic", 4, 3, 3)[0][None], luck(model.draws(4), 1)
    plain = model.value(state, x, ONE, u)
    both = model.value(state, x, np.array([-1.0, 3.0])[None, :, None, None], u)
    np.testing.assert_allclose(both.bonus[0], np.array([[-1.0], [3.0]]) * plain.bonus[0], rtol=1e-12)


def test_more_tries_are_more_optimistic_and_a_radius_of_0_is_greedy():
    inner = Logistic(n_features=3)
    state, _ = taught(inner, count=50)
    x = data("logistic", 50, 3, 3)[0]
    merits = []
    for tries in (1, 50):
        model = OptimisticDraw(inner=inner, tries=tries, n_blocks=5)
        merits.append(np.mean([merit(m[0], 5) for m in drawn(model, state, x[None], ONE, 50)]))
    center = inner.value(state, x[None], ONE, np.zeros((1, 0))).mean[0, 0]
    assert merits[1] > max(merits[0], merit(center, 5))
    model = OptimisticDraw(inner=inner, radius=0.0, n_blocks=5)
    np.testing.assert_allclose(model.value(state, x[None], ONE, luck(model.draws(50), 1)).bonus, 0.0, atol=1e-15)


def test_a_one_pass_model_has_an_ellipsoid_too():
    model = OptimisticDraw(inner=OnePass(n_features=3), tries=1)
    state, _ = taught(model)
    u = luck(model.draws(3), 1)
    p = drawn(model, state, np.eye(3)[None], ONE, 1)[0, 0]
    np.testing.assert_allclose(np.log(p / (1 - p)), points(model, state, u)[0], rtol=1e-9)


def test_without_luck_the_bonus_is_nothing():
    model = OptimisticDraw(inner=Logistic(n_features=3), n_blocks=4)
    state = start(model)
    worth = model.value(state, np.ones((1, 3, 3)), ONE, np.zeros((1, 0)))
    assert not worth.random
    np.testing.assert_array_equal(worth.bonus, 0.0)


def test_candidates_that_do_not_divide_into_blocks_are_refused():
    good = OptimisticDraw(inner=Logistic(n_features=3), n_blocks=4)
    with pytest.raises(InvalidInput, match=r"^candidates: expected a multiple of OptimisticDraw\.n_blocks = 4"):
        good.value(start(good), np.ones((1, 6, 3)), ONE, luck(good.draws(6), 1))
