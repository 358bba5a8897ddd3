"""Draws against the definition of H; every tolerance of a covariance is five standard errors (`agrees`)."""

import math

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.models import Fixed, GeneralizedLinear, Logistic, OnePass, Perturbed, Sampled
from tests.models.test_generalized_linear import feed, start
from tests.models.test_sampled import DRAWS, agrees, drawn, luck
from tests.numerics.test_likelihood import CURVE, LINKS, data

ONE = np.ones((1, 1, 1, 1))


def taught(model, link="logistic", count=300, seed=1):
    x, y = data(link, count, model.n_features, seed)
    state = start(model, link)
    feed(model, state, x, y, 10)
    return state, x


def added(model, state, x, w=ONE, count=DRAWS):
    """The bonus under each of many draws, (draws, A), of the first reading."""
    mean = model.value(state, x, w, np.zeros((1, 0))).mean[0, 0]
    return drawn(model, state, x, w, count)[:, 0] - mean


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("scale", [1.0, math.sqrt(3 * 50)])
def test_the_covariance_is_the_inverse_hessian_of_the_whole_objective(link, scale):
    """H = ridge I + sum mu'(x.theta) x x^T at the last fit: unit vectors show e itself."""
    inner = GeneralizedLinear(n_features=3, link=link, ridge=2.0, growth=1.0, tolerance=1e-12)
    model = Perturbed(inner=inner, scale=scale)
    state, x = taught(model, link)
    curves = CURVE[link](x @ state.theta[0])
    hessian = 2.0 * np.eye(3) + (x * curves[:, None]).T @ x
    agrees(added(model, state, np.eye(3)[None]), np.zeros(3), scale**2 * np.linalg.inv(hessian))


def test_the_hessian_differs_from_the_papers_by_what_is_stated():
    """H of Algorithm 2: sum mu' (x x^T + lambda_0 / n_obs I); ours, with ridge = kappa lambda_0, is smaller."""
    kappa, lam = 0.1, 5.0
    inner = Logistic(n_features=3, ridge=kappa * lam, growth=1.0, tolerance=1e-12)
    state, x = taught(inner)
    curves = CURVE["logistic"](x @ state.theta[0])
    papers = sum(c * (np.outer(z, z) + lam / len(x) * np.eye(3)) for c, z in zip(curves, x, strict=True))
    root = np.tril(state.root[0])
    np.testing.assert_allclose(papers - root @ root.T, lam * (curves.mean() - kappa) * np.eye(3), atol=1e-5)
    assert curves.mean() > kappa
    first = start(inner)  # H_1 = L_mu lambda_0 I there, kappa lambda_0 I here
    np.testing.assert_allclose(first.root[0] @ first.root[0].T, kappa * lam * np.eye(3))


def test_after_folding_what_was_folded_is_part_of_the_covariance():
    inner = Logistic(n_features=3, growth=1.0, tolerance=1e-12, buffer=40)
    model = Perturbed(inner=inner)
    state, x = taught(model)
    kept = x[300 - int(state.past.kept[0]) :]
    own = (kept * CURVE["logistic"](kept @ state.theta[0])[:, None]).T @ kept
    assert state.past.curve[0, 0, 0] > own[0, 0]
    hessian = np.eye(3) + state.past.curve[0] + own
    agrees(added(model, state, np.eye(3)[None]), np.zeros(3), np.linalg.inv(hessian))


@pytest.mark.parametrize("kind", [Perturbed, Sampled])
def test_draws_of_users_are_independent_and_those_of_a_users_arms_are_one(kind):
    """Four users with the same two arms. `Sampled` draws inside of the link: its log-odds are shown."""
    model = kind(inner=Logistic(n_features=3, growth=1.0, tolerance=1e-12), scale=0.8, n_blocks=4)
    state, x = taught(model)
    arms = np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 0.3]])
    query = np.tile(arms, (1, 4, 1))
    if kind is Perturbed:
        shown, center = added(model, state, query), np.zeros(8)
    else:
        p = drawn(model, state, query, ONE)[:, 0]
        shown, center = np.log(p / (1 - p)), query[0] @ state.theta[0]
    curves = CURVE["logistic"](x @ state.theta[0])
    inverse = np.linalg.inv(np.eye(3) + (x * curves[:, None]).T @ x)
    agrees(shown, center, 0.8**2 * np.kron(np.eye(4), arms @ inverse @ arms.T))


def test_there_is_no_link_and_a_price_multiplies_it():
    model = Perturbed(inner=Logistic(n_features=3), scale=50.0)
    state, _ = taught(model)
    x, u = data("logistic", 4, 3, 2)[0][None], luck(model.draws(4), 1)
    w = np.array([1.0, -2.0, 0.0])[None, :, None, None]
    bonus = model.value(state, x, w, u).bonus[0]
    assert np.abs(bonus[0]).max() > 1.0
    np.testing.assert_allclose(bonus[1:], [-2.0 * bonus[0], 0.0 * bonus[0]])
    twice = model.value(state, 2.0 * x, w, u).bonus[0]
    np.testing.assert_allclose(twice, 2.0 * bonus)
    each = np.array([1.0, -2.0, 0.0, 3.0])[None, None, :, None]
    np.testing.assert_allclose(model.value(state, x, each, u).bonus[0, 0], each[0, 0, :, 0] * bonus[0])


def test_for_the_identity_link_it_is_sampling():
    inner = GeneralizedLinear(n_features=3, link="identity")
    state, _ = taught(inner, "identity")
    x, u = data("identity", 6, 3, 2)[0][None], luck(6, 1)
    one, other = (kind(inner=inner, scale=0.7, n_blocks=2).value(state, x, ONE, u) for kind in (Perturbed, Sampled))
    np.testing.assert_allclose(one.bonus, other.bonus, atol=1e-12)


@pytest.mark.parametrize("inner", [OnePass(n_features=3), OnePass(n_features=3, ridge=0.5, width=Fixed(1.0))], ids=repr)
def test_a_one_pass_model_draws_by_its_metric(inner):
    state, _ = taught(inner)
    q = np.tril(state.metric[0]) + np.tril(state.metric[0], -1).T
    agrees(added(Perturbed(inner=inner), state, np.eye(3)[None]), np.zeros(3), np.linalg.inv(q))


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_without_luck_the_bonus_is_nothing_and_the_mean_that_of_the_inner_model(scale):
    inner = Logistic(n_features=3, width=Fixed(0.3))
    model = Perturbed(inner=inner, scale=scale, n_blocks=4)
    assert model.draws(8) == (12 if scale else 0)
    state, x = taught(model)
    worth = model.value(state, x[None, :5], ONE, np.zeros((1, 0)))
    assert not worth.random
    np.testing.assert_array_equal(worth.bonus, 0.0)
    np.testing.assert_array_equal(worth.mean, inner.value(state, x[None, :5], ONE, np.zeros((1, 0))).mean)


def test_candidates_that_do_not_divide_into_blocks_are_refused():
    good = Perturbed(inner=Logistic(n_features=3), n_blocks=4)
    state, x = taught(good)
    with pytest.raises(InvalidInput, match=r"^candidates: expected a multiple of Perturbed\.n_blocks = 4"):
        good.value(state, x[None, :6], ONE, luck(good.draws(6), 1))
