"""Distances in L_q norms for a number q: as cvxpy finds them, in any unit."""

import numpy as np
import pytest

from evenhand.sets import Ball, Box, Convex, DownwardClosed, Halfspaces, Intersection, Polytope, Simplex, conic
from tests.examples.sets import lens
from tests.rows import for_each
from tests.sets import twins

SHIPPED = [*twins.STRAIGHT, *twins.CURVED]
PAIR = Intersection((Ball((0.3, 0.3), 0.2), Ball((0.4, 0.4), 0.2)))


def in_unit(s, u):
    """The set u S."""
    if isinstance(s, Box):
        return Box(u * np.array(s.low), u * np.array(s.high))
    if isinstance(s, Simplex):
        return Simplex(s.dim, u * s.total)
    if isinstance(s, Halfspaces):
        return Halfspaces(s.rows, u * np.array(s.bounds))
    if isinstance(s, Ball):
        return Ball(u * np.array(s.centre), u * s.radius)
    if isinstance(s, Polytope):
        return Polytope(u * np.array(s.points))
    if isinstance(s, DownwardClosed):
        return DownwardClosed(in_unit(s.inner, u), u * s.margin)
    return Intersection(tuple(in_unit(part, u) for part in s.parts))


@pytest.mark.parametrize("s", [*SHIPPED, PAIR], ids=lambda s: f"{type(s).__name__}{s.dim}")
@for_each("q", [1.2, 1.5, 3.0, 20.0])
def test_distances_are_those_that_cvxpy_finds_in_any_unit(s, q):
    z = np.random.default_rng(1).normal(0.3, 1.0, (2, s.dim))
    there = [twins.distance(s, row, q) for row in z]
    for unit in (1e-9, 1e-3, 1.0, 1e9):
        assert in_unit(s, unit).distance(unit * z, q) / unit == pytest.approx(there, abs=2e-7)


@for_each("q", [1.0001, 20.0, 1000.0, 1e6])
@pytest.mark.parametrize("s", [*SHIPPED, PAIR], ids=lambda s: f"{type(s).__name__}{s.dim}")
def test_orders_far_from_2_are_between_those_that_have_closed_forms(s, q):
    z = np.random.default_rng(2).normal(0.3, 1.0, (2, s.dim))
    found, sup, one = s.distance(z, q), s.distance(z, "sup"), s.distance(z, "one")
    m = s.dim
    assert (found >= sup - 1e-7).all()
    assert (found <= m ** (1.0 / q) * sup + 1e-7).all()
    assert (found >= m ** (1.0 / q - 1.0) * one - 1e-7).all()
    assert (found <= one + 1e-7).all()


@pytest.mark.parametrize(
    ("s", "z", "q"),
    [
        (Ball((0.3,) * 3, 0.2), (0.45766198005588293, 0.06370150452445317, 0.03678145266531602), 20.0),
        (Ball((0.3,) * 3, 0.2), (0.45766198005588293, 0.06370150452445317, 0.03678145266531602), 1000.0),
        (PAIR, (0.2971500150998484, 0.16895561275356663), 1.5),
    ],
)
def test_a_distance_takes_some_fifty_newton_steps(s, z, q, monkeypatch):
    """46, 46 and 52: some 10 milliseconds."""
    steps, derivatives = [], conic._derivatives
    monkeypatch.setattr(conic, "_derivatives", lambda *given: steps.append(1) or derivatives(*given))
    s.distance(np.array(z), q)
    assert 0 < len(steps) <= 100


def test_a_set_of_ones_own_beside_a_ball_is_reached_by_cuts():
    s = Intersection((Ball((0.3, 0.3), 0.3), Convex(2, lens)))
    z = np.array([1.0, 0.2])
    assert s.distance(z, 3.0) == pytest.approx(twins.distance(s, z, 3.0), abs=2e-7)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-10, 0.0])
def test_points_near_a_set_and_in_it_are_as_far_as_they_are(gap):
    s = Ball((0.5, 0.5), 0.25)
    z = np.array([0.5, 0.75 + gap])
    assert s.distance(z, 3.0) == pytest.approx(gap, abs=1e-12)
    assert s.distance(np.array([0.5, 0.6]), 3.0) == 0.0


@pytest.mark.parametrize("s", [Ball((0.0, 0.0), 1e-3), PAIR, Polytope(((0.0, 0.0), (1e-3, 0.0), (0.0, 1e-3)))])
def test_small_sets_far_from_0_are_as_they_are_near_it(s):
    place, z = np.array([1e4, -2e4]), np.array([0.002, 0.7])
    assert moved(s, place).distance(place + z, 3.0) == pytest.approx(float(s.distance(z, 3.0)), abs=1e-9)


def moved(s, place):
    """The set s + place."""
    if isinstance(s, Ball):
        return Ball(np.array(s.centre) + place, s.radius)
    if isinstance(s, Polytope):
        return Polytope(np.array(s.points) + place)
    return Intersection(tuple(moved(part, place) for part in s.parts))
