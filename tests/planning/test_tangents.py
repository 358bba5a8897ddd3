"""Which tangent makes room for another, and what becomes of its price."""

import numpy as np

from evenhand.planning.tangents import Shape, tangents
from evenhand.sets import Ball

DISC = Shape(Ball((0.0, 0.0), 1.0), np.array([0, 1]))


def full(n_replicas=1):
    """A disc with tangents at four points, in the order in which they were found."""
    kept, mu = tangents((DISC,), 2, n_replicas), np.zeros((n_replicas, 4))
    for z in ((2.0, 0.0), (0.0, 2.0), (-2.0, 0.0), (0.0, -2.0)):
        assert kept.add((DISC,), np.tile(np.array(z), (n_replicas, 1)), mu, np.ones(n_replicas, bool)).all()
    return kept


def test_empty_places_are_filled_first_whatever_the_prices():
    kept, mu = tangents((DISC,), 2, 1), np.zeros((1, 4))
    for i, z in enumerate(((2.0, 0.0), (0.0, 2.0), (-2.0, 0.0))):
        kept.add((DISC,), np.array([z]), mu, np.ones(1, bool))
        assert np.isinf(kept.bound).sum() == 3 - i
    np.testing.assert_allclose(kept.of(np.array([[3.0, 0.5]]))[0][np.isfinite(kept.bound[0])].max(), 3.0)


def test_the_cheapest_makes_room_then_the_one_furthest_away():
    for mu, place in (([0.3, 0.2, 0.1, 0.4], 2), ([0.0, 0.5, 0.0, 0.0], 2), ([0.2, 0.2, 0.2, -0.1], 3)):
        kept, prices = full(), np.array([mu])
        kept.add((DISC,), np.array([[3.0, 0.5]]), prices, np.ones(1, bool))
        np.testing.assert_allclose(kept.normal[0, place], np.array([3.0, 0.5]) / np.hypot(3.0, 0.5))
        expected = np.array(mu)
        expected[place] = 0.0  # the price belonged to the tangent that is gone
        np.testing.assert_array_equal(prices[0], expected)


def test_only_replicas_that_are_asked_for_and_points_outside_change():
    kept, mu, z = full(3), np.full((3, 4), 0.1), np.array([[3.0, 0.5], [3.0, 0.5], [0.5, 0.0]])
    before = kept.normal.copy()
    assert kept.add((DISC,), z, mu, np.array([True, False, True])).tolist() == [True, False, False]
    np.testing.assert_array_equal(kept.normal[1:], before[1:])
    assert (kept.normal[0] != before[0]).any()
    assert (mu[1:] == 0.1).all()


def test_a_tangent_that_is_there_already_keeps_its_place_and_its_price():
    kept, mu = full(), np.array([[0.3, 0.2, 0.1, 0.4]])
    before = kept.normal.copy(), kept.bound.copy(), mu.copy()
    for z in ((0.0, 3.0), (1e-7, 2.0)):
        assert kept.add((DISC,), np.array([z]), mu, np.ones(1, bool)).all()
    for now, then in zip((kept.normal, kept.bound, mu), before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-7)
