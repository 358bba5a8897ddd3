"""Conjugates over boxes other than the unit cube, and Lipschitz constants in other units."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.objectives import AlphaFair, Conjugate, EqualExposure, GeneralizedGini, Linear, WeightedSum
from evenhand.objectives.base import conjugate
from evenhand.objectives.steepness import steepness
from tests.examples.objectives import OBJECTIVES
from tests.objectives import twins
from tests.rows import for_each

CONJUGATES = pytest.mark.parametrize(
    "objective", [f for f in OBJECTIVES if isinstance(f, Conjugate) and twins.written(f)], ids=repr
)


def box(rng, m):
    """Ends of which some are equal, some ranges have no width and some do not overlap."""
    low = rng.choice([0.1, 0.5, 1.0, 2.0], m)
    return low, low + rng.choice([0.0, 0.4, 1.0, 3.0], m)


@CONJUGATES
@for_each("seed", range(6))
def test_the_conjugate_is_that_of_cvxpy(objective, seed):
    rng = np.random.default_rng(seed)
    m = len(objective.outcomes)
    low, high = box(rng, m)
    for theta in (rng.normal(size=m), np.round(rng.normal(size=m)), -objective.supergradient(0.5 * (low + high))):
        y = objective.maximizer(theta, low, high)
        assert ((low <= y) & (y <= high)).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            expected = twins.conjugate(objective, theta, low, high)
        assert conjugate(objective, theta, low, high) == pytest.approx(expected, abs=1e-6)


@CONJUGATES
@given(seed=st.integers(0, 10_000))
def test_the_maximizer_is_the_slope_of_the_conjugate(objective, seed):
    """By the inequality of Fenchel and Young, and by the rise to any other theta."""
    rng = np.random.default_rng(seed)
    m = len(objective.outcomes)
    low, high = box(rng, m)
    theta, other, y = rng.normal(size=m), rng.normal(size=m), low + (high - low) * rng.random(m)
    value = conjugate(objective, theta, low, high)
    assert theta @ y + objective.value(y) <= value + 1e-9
    rise = objective.maximizer(theta, low, high) @ (other - theta)
    assert conjugate(objective, other, low, high) >= value + rise - 1e-9


@pytest.mark.parametrize("m", [2, 3, 5])
def test_a_gini_function_over_a_box_is_at_one_of_the_corners_of_its_levels(m):
    """Against every assignment of levels, of which one is a maximum."""
    rng = np.random.default_rng(m)
    for _ in range(30):
        w = -np.sort(-rng.normal(size=m))
        gini, (low, high), theta = GeneralizedGini([f"o{i}" for i in range(m)], w), box(rng, m), rng.normal(size=m)
        levels = np.unique([low, high])
        points = np.stack(np.meshgrid(*[levels[(levels >= a) & (levels <= b)] for a, b in zip(low, high, strict=True)]))
        points = points.reshape(m, -1).T
        best = (points @ theta + gini.value(points)).max()
        assert conjugate(gini, theta, low, high) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@pytest.mark.parametrize("norm", ["euclidean", "sup"])
@given(seed=st.integers(0, 10_000))
def test_it_is_as_steep_as_it_says_in_any_units(objective, norm, seed):
    rng = np.random.default_rng(seed)
    m = len(objective.outcomes)
    unit = 10.0 ** rng.integers(-2, 3, m)
    y, z = 0.01 + rng.random((2, m))
    far = np.linalg.norm((y - z) / unit, 2 if norm == "euclidean" else np.inf)
    steep = min(steepness(objective, unit, norm), 1e300)
    assert abs(objective.value(y) - objective.value(z)) <= steep * far * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("norm", ["euclidean", "sup"])
def test_steepness_moves_with_units(norm):
    """Cents for euros: the same constant per unit of the range; one outcome at a time where parts have their own."""
    items, unit = ("a", "b"), np.array([2.0, 2.0])
    for objective in (GeneralizedGini(items), EqualExposure(items)):
        assert steepness(objective, unit, norm) == pytest.approx(2 * steepness(objective, np.ones(2), norm))
    linear = steepness(Linear({"a": 3.0, "b": 4.0}), np.ones(2), norm)
    assert steepness(Linear({"a": 3.0, "b": 0.04}), np.array([1.0, 100.0]), norm) == pytest.approx(linear)
    fair = WeightedSum(((1.0, AlphaFair(("a",), 2.0, offset=0.1)), (1.0, Linear({"b": 4.0}))))
    cents = WeightedSum(((1.0, AlphaFair(("a",), 2.0, offset=0.1)), (1.0, Linear({"b": 0.04}))))
    assert steepness(cents, np.array([1.0, 100.0]), norm) == pytest.approx(steepness(fair, np.ones(2), norm))
    assert steepness(Linear({"a": 3.0, "b": 4.0}), np.ones(2), "sup") == 7.0
    assert steepness(AlphaFair(("a",), 1.0), np.ones(1), norm) == np.inf
