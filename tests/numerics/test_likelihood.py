"""Fits and folds of every canonical link against NumPy's sums and SciPy's optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand.models.links import CANONICAL, code, mean_of
from evenhand.numerics.likelihood import EXPONENTIAL, IDENTITY, LOGISTIC, add_losses, add_quadratic, fold
from evenhand.numerics.newton import fit
from tests.numerics.test_newton import nothing, room

NONE = np.zeros(0)  # no weights: 1 for all
LINKS = {"identity": IDENTITY, "logistic": LOGISTIC, "exponential": EXPONENTIAL}
POTENTIAL = {"identity": lambda u: 0.5 * u**2, "logistic": lambda u: np.logaddexp(0.0, u), "exponential": np.exp}
MEAN = {"identity": lambda u: u, "logistic": lambda u: 1.0 / (1.0 + np.exp(-u)), "exponential": np.exp}
CURVE = {
    "identity": np.ones_like,
    "logistic": lambda u: MEAN["logistic"](u) * (1.0 - MEAN["logistic"](u)),
    "exponential": np.exp,
}


def losses(link, x, y, theta):
    """Value, gradient and Hessian of the observations' costs."""
    u = x @ theta
    value = (POTENTIAL[link](u) - y * u).sum()
    return value, x.T @ (MEAN[link](u) - y), (x * CURVE[link](u)[:, None]).T @ x


def expansion(link, x, y, theta):
    """The second-order expansion of the costs at theta, up to a constant, as a function with its gradient."""
    _, gradient, hessian = losses(link, x, y, theta)
    return lambda to: (
        gradient @ (to - theta) + 0.5 * (to - theta) @ hessian @ (to - theta),
        gradient + hessian @ (to - theta),
    )


def optimum(link, x, y, ridge, older=()):
    """SciPy's, of costs, ridge and expansions of others: quasi-Newton steps and no Hessian."""

    def objective(theta):
        value, slope = losses(link, x, y, theta)[:2]
        value, slope = value + 0.5 * ridge * theta @ theta, slope + ridge * theta
        for more in older:
            value, slope = value + more(theta)[0], slope + more(theta)[1]
        return value, slope

    options = {"maxiter": 20_000, "gtol": 1e-8}
    with np.errstate(over="ignore", invalid="ignore"):  # trial steps of its line search
        return minimize(objective, np.zeros(x.shape[1]), jac=True, method="BFGS", options=options).x


def data(link, s, n, seed, scale=0.7):
    rng = np.random.default_rng(seed)
    x, truth = scale * rng.normal(size=(s, n)), rng.random(n)
    u = x @ truth
    draw = {
        "identity": lambda: u + rng.normal(size=s),
        "logistic": lambda: (rng.random(s) < MEAN["logistic"](u)) * 1.0,
        "exponential": lambda: rng.poisson(np.exp(u)) * 1.0,
    }
    return x, draw[link]()


def fitted(link, x, y, ridge, older=None, start=None, tolerance=1e-14):
    theta = np.zeros(x.shape[1]) if start is None else start.copy()
    passes = fit(LINKS[link], (x, y, NONE), older or nothing(x.shape[1]), theta, room(theta), ridge, tolerance)
    return theta, passes


def test_the_numbers_of_links_are_those_of_the_models():
    assert {link: code(link) for link in CANONICAL} == LINKS
    for link, number in LINKS.items():
        assert mean_of(number, 0.3) == pytest.approx(MEAN[link](0.3))


@pytest.mark.parametrize("link", LINKS)
def test_costs_their_gradient_and_their_hessian_are_numpys_and_add_to_what_is_there(link):
    x, y = data(link, 40, 3, 1)
    x[x < -0.5] = 0.0
    theta, gradient, hessian = np.array([0.2, -0.4, 0.9]), np.ones(3), np.ones((3, 3))
    value = add_losses(LINKS[link], (x, y, NONE), theta, 5.0, gradient, hessian, np.empty(3, np.int64))
    expected = losses(link, x, y, theta)
    assert value == pytest.approx(5.0 + expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, 1.0 + expected[1], rtol=1e-11)
    np.testing.assert_allclose(np.tril(hessian), np.tril(1.0 + expected[2]), rtol=1e-11)


@pytest.mark.parametrize("link", LINKS)
def test_a_weight_of_3_is_three_observations(link):
    x, y = data(link, 40, 3, 1)
    weight = np.where(np.arange(40) % 2, 3.0, 1.0)
    often = np.repeat(np.arange(40), weight.astype(int))
    theta, found = np.array([0.2, -0.4, 0.9]), []
    for own in ((x, y, weight), (x[often], y[often], NONE)):
        gradient, hessian = np.zeros(3), np.zeros((3, 3))
        value = add_losses(LINKS[link], own, theta, 0.0, gradient, hessian, np.empty(3, np.int64))
        found.append((value, gradient, hessian))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("s", "ridge"), [(60, 1.0), (60, 1e-3), (2, 0.5), (2000, 1e-6)])
def test_fits_are_scipys_optimum(link, s, ridge):
    x, y = data(link, s, 4, 2)
    theta, _ = fitted(link, x, y, ridge)
    found = optimum(link, x, y, ridge)
    np.testing.assert_allclose(MEAN[link](x @ theta), MEAN[link](x @ found), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_a_folded_half_is_its_second_order_expansion_and_fits_take_it_as_part_of_the_objective(link):
    """Two folds at different points: anchors move, and the function stays."""
    x, y = data(link, 90, 3, 3)
    older, first, second = nothing(3), np.array([0.5, 0.1, 0.7]), np.array([0.4, 0.3, 0.6])
    fold(LINKS[link], (x[:30], y[:30], NONE), first, *older)
    fold(LINKS[link], (x[30:60], y[30:60], NONE), second, *older)
    np.testing.assert_array_equal(older[0], second)
    np.testing.assert_array_equal(older[2], older[2].T)
    parts = expansion(link, x[:30], y[:30], first), expansion(link, x[30:60], y[30:60], second)
    values = []
    for to in np.random.default_rng(4).normal(size=(5, 3)):
        gradient, hessian = np.zeros(3), np.zeros((3, 3))
        value = add_quadratic(*older, to, 0.0, gradient, hessian)
        values.append(value - sum(p(to)[0] for p in parts))
        np.testing.assert_allclose(gradient, sum(p(to)[1] for p in parts), atol=1e-10)
    np.testing.assert_allclose(values, values[0], atol=1e-9)  # up to a constant
    theta, _ = fitted(link, x[60:], y[60:], 0.5, older)
    np.testing.assert_allclose(theta, optimum(link, x[60:], y[60:], 0.5, parts), atol=1e-6)


def test_of_the_identity_link_nothing_is_lost_by_folding():
    x, y = data("identity", 60, 3, 5)
    older = nothing(3)
    fold(IDENTITY, (x[:50], y[:50], NONE), np.array([3.0, -2.0, 9.0]), *older)
    theta, _ = fitted("identity", x[50:], y[50:], 0.5, older)
    np.testing.assert_allclose(theta, np.linalg.solve(x.T @ x + 0.5 * np.eye(3), x.T @ y), rtol=1e-10)


@pytest.mark.parametrize("counts", ["none", "large", "one huge"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
def test_fits_of_counts_converge_where_full_steps_overflow(counts, scale):
    rng = np.random.default_rng(6)
    x = scale * rng.uniform(0.2, 1.0, size=(30, 2))
    y = {"none": np.zeros(30), "large": rng.poisson(2000.0, 30) * 1.0, "one huge": np.eye(30)[0] * 1e6}[counts]
    ridge = 1e-2 * scale**2
    theta, passes = fitted("exponential", x, y, ridge)
    assert passes < 100
    _, gradient, hessian = losses("exponential", x, y, theta)
    gradient, hessian = gradient + ridge * theta, hessian + ridge * np.eye(2)
    assert gradient @ np.linalg.solve(hessian, gradient) <= 1e-9


def test_a_fit_of_counts_starts_anew_where_the_mean_of_new_features_is_enormous():
    """From u = 400 Newton's method would step by one in u."""
    x, y = data("exponential", 50, 2, 7)
    x, y = np.concatenate([x, [[900.0, 0.0]]]), np.concatenate([y, [0.0]])
    theta, passes = fitted("exponential", x, y, 1.0, start=np.array([0.5, 0.5]))
    assert passes < 60
    np.testing.assert_allclose(theta, fitted("exponential", x, y, 1.0)[0], atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_a_warm_start_after_a_tenth_more_data_takes_few_passes(link):
    x, y = data(link, 2200, 5, 8)
    theta, _ = fitted(link, x[:2000], y[:2000], 1.0)
    assert fitted(link, x, y, 1.0, start=theta, tolerance=1e-4)[1] <= 3
