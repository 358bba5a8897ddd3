import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import DistancePenalty, Moreau
from evenhand.objectives.smoothing import moreau_gradient
from evenhand.sets import Box, Convex, Halfspaces
from evenhand.testing import check_objective
from tests.objectives.envelopes import envelope
from tests.sets.twins import SETS

NAMES, BOUNDS = ("a", "b", "c"), (0.5, 0.25, -0.5)
WITHIN = DistancePenalty(NAMES, Box.below(BOUNDS))


def test_it_is_minus_the_distance_to_the_nearest_point_within():
    rng = np.random.default_rng(1)
    for z in rng.normal(size=(10, 3)):
        y = cp.Variable(3)
        cp.Problem(cp.Minimize(cp.sum_squares(y - z)), [y <= np.array(BOUNDS)]).solve()
        assert WITHIN.value(z) == pytest.approx(-np.linalg.norm(y.value - z), abs=1e-5)


def test_inside_and_on_the_boundary_nothing_is_to_be_gained():
    z = np.array([[0.0, 0.0, -1.0], BOUNDS, [0.5, -9.0, -0.5]])
    assert not WITHIN.value(z).any()
    assert not WITHIN.supergradient(z).any()
    assert not WITHIN.intercept(WITHIN.supergradient(z)).any()
    np.testing.assert_array_equal(WITHIN.prox(z, 0.3), z)


def test_the_prox_goes_back_by_beta_and_ends_exactly_on_the_bounds():
    z = np.array([0.8, 0.65, -0.5])  # 0.3 and 0.4 beyond: 0.5 away
    np.testing.assert_allclose(WITHIN.prox(z, 0.25), [0.65, 0.45, -0.5])
    for beta in (0.6, 2.0):
        np.testing.assert_array_equal(WITHIN.prox(z, beta), BOUNDS)
    assert not WITHIN.value(WITHIN.prox(np.random.default_rng(2).random((50, 3)), 9.0)).any()


@pytest.mark.parametrize("eta", [0.01, 0.2, 3.0])
def test_its_envelope_is_the_smooth_distance_of_lemma_5_5(eta):
    z = np.random.default_rng(3).normal(size=(40, 3))
    excess = np.maximum(z - np.array(BOUNDS), 0.0)
    far = np.linalg.norm(excess, axis=1)
    np.testing.assert_allclose(envelope(WITHIN, z, eta), -np.where(far >= eta, far - eta / 2, far**2 / (2 * eta)))
    expected = -excess / np.maximum(far, eta)[:, None]
    np.testing.assert_allclose(moreau_gradient(WITHIN, z, eta), expected, atol=1e-12)
    np.testing.assert_allclose(Moreau(eta).gradient(WITHIN, z, np.zeros(40), np.zeros(0)), expected, atol=1e-12)


def test_the_intercept_is_the_support_function():
    """The most of phi.y over what is within, phi being minus the slope."""
    for phi in np.random.default_rng(4).random((5, 3)) / 2:
        y = cp.Variable(3)
        most = cp.Problem(cp.Maximize(phi @ y), [y <= np.array(BOUNDS)]).solve()
        assert WITHIN.intercept(-phi) == pytest.approx(most, abs=1e-6)


@pytest.mark.parametrize("s", [s for s in SETS if s.dim > 1], ids=lambda s: f"{type(s).__name__}{s.dim}")
def test_the_distance_from_any_set_keeps_the_contract_of_an_objective(s):
    ends = (-1.0,) * s.dim, (2.0,) * s.dim
    penalty = DistancePenalty(tuple("abcdefghi"[: s.dim]), s, *ends)
    check_objective(penalty, tolerance=1e-4 if isinstance(s, Convex) else 1e-7)
    z = np.random.default_rng(5).normal(size=(30, s.dim))
    assert penalty.value(z) == pytest.approx(-s.distance(z), abs=1e-12)


def test_a_set_without_end_needs_ranges_for_its_intercept():
    corner = DistancePenalty(("a", "b"), Halfspaces(((1.0, 1.0),), (0.5,)))
    with pytest.raises(InvalidInput, match=r"^Halfspaces\.support: expected a set that is bounded"):
        corner.intercept(np.array([-1.0, 0.0]))
    cut = DistancePenalty(corner.outcomes, corner.within, (0.0, 0.0), (1.0, 1.0))
    assert cut.intercept(np.array([-1.0, 0.0])) == pytest.approx(0.5)
