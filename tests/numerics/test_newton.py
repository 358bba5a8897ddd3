import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand.numerics.likelihood import LOGISTIC
from evenhand.numerics.newton import fit, sigmoid, solve
from evenhand.numerics.precision import dot
from tests.rows import for_each


def nothing(n):
    """The quadratic of observations that were folded, before there are any."""
    return np.zeros(n), np.zeros(n), np.zeros((n, n))


def fit_logistic(x, y, theta, root, ridge, tolerance):
    return fit(LOGISTIC, (x, y, np.zeros(0)), nothing(len(theta)), theta, root, ridge, tolerance)


def room(theta):
    return np.empty((len(theta), len(theta)))


def objective(x, y, theta, ridge):
    u = x @ theta
    return (np.logaddexp(0.0, u) - y * u).sum() + 0.5 * ridge * theta @ theta


def derivatives(x, y, theta, ridge):
    u = x @ theta
    e = np.exp(-np.abs(u))
    mean, curve = np.where(u >= 0, 1.0, e) / (1.0 + e), e / (1.0 + e) ** 2
    hessian = (x * curve[:, None]).T @ x + ridge * np.eye(len(theta))
    return x.T @ (mean - y) + ridge * theta, hessian


def reference(x, y, ridge):
    """SciPy's optimum: quasi-Newton steps and no Hessian, so that nothing is shared with what is tested."""
    fit = minimize(
        lambda theta: objective(x, y, theta, ridge),
        np.zeros(x.shape[1]),
        jac=lambda theta: derivatives(x, y, theta, ridge)[0],
        method="BFGS",
        options={"maxiter": 20_000, "gtol": 1e-9},
    )
    return fit.x, fit.fun


def undamped(x, y, theta, ridge, steps=100):
    for _ in range(steps):
        gradient, hessian = derivatives(x, y, theta, ridge)
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta


def random_data(s, n, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(s, n)) * scale
    return x, (rng.random(s) < 1 / (1 + np.exp(-2 * x[:, 0] / scale))).astype(float)


def collinear(scale, s=300):
    x, y = random_data(s, 2, 8, scale)
    return np.concatenate([x, x, x[:, :1] + x[:, 1:]], 1), y


def separable(scale, s=20):
    x = np.random.default_rng(4).normal(size=(s, 3)) * scale
    return x, (x[:, 0] > 0).astype(float)


FRACTIONS = np.random.default_rng(9).random(30)
CASES = {
    "random": (*random_data(60, 5, 1), 1.0),
    "random, tiny ridge": (*random_data(60, 5, 2), 1e-6),
    "long": (*random_data(3000, 4, 3), 1e-6),
    "fewer rows than features": (*random_data(3, 5, 4), 1e-6),
    "separable": (*separable(1.0), 1e-6),
    "separable, ridge 1": (*separable(1.0), 1.0),
    "one observation of 1": (np.array([[1.0, 0.0, 2.0]]), np.ones(1), 1e-6),
    "one observation of 0": (np.array([[1.0, 0.0, 2.0]]), np.zeros(1), 1e-6),
    "one feature, one answer": (np.ones((40, 1)), np.ones(40), 1e-3),
    "fractions": (random_data(30, 3, 5)[0], FRACTIONS, 1e-6),
    "large features": (*random_data(60, 5, 6, 1e5), 1e-6),
    "tiny features": (*random_data(60, 5, 7, 1e-5), 1e-6),
    "collinear": (*collinear(1.0), 1e-6),
    "collinear, scale 1e3": (*collinear(1e3), 1e-6),
    "collinear, scale 1e5": (*collinear(1e5), 1e-6),
}


@for_each("name", CASES)
def test_the_fit_is_scipys_optimum(name):
    x, y, ridge = CASES[name]
    theta = np.zeros(x.shape[1])
    fit_logistic(x, y, theta, room(theta), ridge, 1e-10)
    found, least = reference(x, y, ridge)
    # At a squared decrement of 1e-10 before the last step the objective is within 1e-10 of its least value.
    assert objective(x, y, theta, ridge) <= least + 1e-9 * (1 + abs(least))
    # BFGS is least sure of its own point in directions that only a tiny ridge bends: compare what is predicted.
    np.testing.assert_allclose(1 / (1 + np.exp(-x @ theta)), 1 / (1 + np.exp(-x @ found)), atol=1e-4)


@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
@for_each("seed", range(5))
def test_a_warm_start_at_every_observation_stays_at_the_optimum(ridge, seed):
    """The first rounds of a run, which are separable more often than not, refitted as each observation comes."""
    x, y = random_data(40, 4, 10 + seed)
    x = np.abs(x) * (np.random.default_rng(seed).random(x.shape) < 0.7)
    theta = np.zeros(4)
    for s in range(1, 41):
        fit_logistic(x[:s], y[:s], theta, room(theta), ridge, 1e-10)
        gradient, hessian = derivatives(x[:s], y[:s], theta, ridge)
        assert gradient @ np.linalg.solve(hessian, gradient) <= 1e-9  # the squared decrement: twice the gap, about


def test_without_damping_the_third_observation_would_diverge():
    """Two ones on one feature send theta to where the curvature is gone; a zero then sends Newton to the moon."""
    x, ridge = np.ones((3, 1)), 1e-6
    first = np.zeros(1)
    fit_logistic(x[:2], np.ones(2), first, room(first), ridge, 1e-10)
    y = np.array([1.0, 1.0, 0.0])
    lost = undamped(x, y, first.copy(), ridge)
    theta = first.copy()
    passes = fit_logistic(x, y, theta, room(theta), ridge, 1e-10)
    assert theta[0] == pytest.approx(np.log(2.0), abs=1e-5)  # two of three, up to the ridge
    assert passes < 60
    assert abs(lost[0]) > 1e3
    assert objective(x, y, lost, ridge) > 1e3 * objective(x, y, theta, ridge)


def test_without_damping_most_runs_of_separable_beginnings_would_diverge():
    diverged = 0
    for seed in range(20):
        x, y = random_data(12, 3, 100 + seed)
        theta = np.zeros(3)
        for s in range(1, 13):
            alone = undamped(x[:s], y[:s], theta.copy(), 1e-6)
            fit_logistic(x[:s], y[:s], theta, room(theta), 1e-6, 1e-10)
            best = objective(x[:s], y[:s], theta, 1e-6)
            diverged += objective(x[:s], y[:s], alone, 1e-6) > best + 1.0
    assert diverged >= 10


def test_a_loose_tolerance_is_already_close():
    x, y, ridge = CASES["random"]
    loose, tight = np.zeros(5), np.zeros(5)
    fit_logistic(x, y, loose, room(loose), ridge, 1e-4)
    fit_logistic(x, y, tight, room(tight), ridge, 1e-14)
    np.testing.assert_allclose(loose, tight, atol=1e-4)  # the step after a squared decrement of 1e-4 is a last one


def test_a_fit_at_its_optimum_takes_one_pass():
    x, y, ridge = CASES["random"]
    theta = np.zeros(5)
    fit_logistic(x, y, theta, room(theta), ridge, 1e-10)
    again = theta.copy()
    assert fit_logistic(x, y, again, room(again), ridge, 1e-4) == 1
    np.testing.assert_allclose(again, theta, atol=1e-6)


@pytest.mark.parametrize("start", [-50.0, -5.0, 0.0, 5.0, 50.0])
def test_any_start_leads_to_the_optimum(start):
    x, y, ridge = CASES["random, tiny ridge"]
    theta, best = np.full(5, start), np.zeros(5)
    fit_logistic(x, y, theta, room(theta), ridge, 1e-10)
    fit_logistic(x, y, best, room(best), ridge, 1e-10)
    np.testing.assert_allclose(theta, best, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_solve_agrees_with_numpy_and_reads_the_lower_half_only(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, right, out = root @ root.T + 0.1 * np.eye(n), rng.normal(size=n), np.empty(n)
    expected = np.linalg.solve(matrix, right)
    half = np.tril(matrix) + np.triu(np.full((n, n), np.nan), 1)
    solve(half, right, out)
    np.testing.assert_allclose(out, expected, rtol=1e-8, atol=1e-10)


def test_solve_treats_a_singular_matrix_as_barely_definite():
    x = np.random.default_rng(3).normal(size=(50, 2)) * 1e4
    x = np.concatenate([x, x], 1)
    matrix, out = x.T @ x, np.empty(4)
    right = matrix @ np.array([1.0, 2.0, 1.0, 2.0])
    solve(matrix.copy(), right, out)
    np.testing.assert_allclose(matrix @ out, right, rtol=1e-6)  # any solution will do: there are many


def test_sigmoid_neither_overflows_nor_loses_its_tails():
    u = np.array([-1e4, -40.0, -1.0, 0.0, 1.0, 40.0, 1e4])
    expected = np.array([0.0, np.exp(-40.0), 1 / (1 + np.e), 0.5, np.e / (1 + np.e), 1.0, 1.0])
    np.testing.assert_allclose([sigmoid(z) for z in u], expected, rtol=1e-12)
    assert dot(np.ones(2), np.array([sigmoid(-3.0), sigmoid(3.0)])) == pytest.approx(1.0)
