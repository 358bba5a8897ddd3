"""Projections, distances, support functions and margins of every kind of set, against cvxpy and their definitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import nnls

from evenhand.sets import Ball, Box, Convex, DownwardClosed, Halfspaces, Intersection, Polytope, Simplex
from evenhand.sets.units import in_units
from tests.examples.sets import lens
from tests.rows import for_each
from tests.sets import twins

NORMS = ("euclidean", "sup", "one", 1.5, 3.0)
EACH = pytest.mark.parametrize("s", twins.SETS, ids=lambda s: f"{type(s).__name__}{s.dim}")


def precision(s):
    """What the solver behind a set can do."""
    return 1e-6 if isinstance(s, Convex) else 1e-9


def cloud(s, n=12, seed=0, size=1.5):
    rng = np.random.default_rng(seed)
    return rng.normal(0.3, size, (n, s.dim))


def inside(s, n=40, seed=1):
    """Points of the set: projections, and their mixtures."""
    z = s.project(cloud(s, n, seed))
    return np.concatenate([z, 0.5 * (z + z[::-1])])


@pytest.mark.parametrize(("h", "c"), [(1.0, 1.0), (1e-6, 1e6), (1e6, 1e-6)])
def test_facets_of_a_polytope_that_are_axes_read_one_coordinate_and_nothing_else(h, c):
    rows, bounds = Polytope(((0.0, 0.0), (0.4 * h, 0.0), (0.0, 0.4 * c), (0.3 * h, 0.3 * c))).halfspaces()
    axes = (rows == 0.0).any(1)
    assert sorted(rows[axes].tolist()) == [[-1.0, 0.0], [0.0, -1.0]]
    assert (bounds[axes] == 0.0).all()
    np.testing.assert_allclose(rows[~axes] * [h, c] / bounds[~axes, None], [[1 / 1.2, 3 / 1.2], [3 / 1.2, 1 / 1.2]])


@EACH
def test_projections_are_in_the_set_and_no_other_point_is_nearer(s):
    z = cloud(s)
    p, y, tiny = s.project(z), inside(s), precision(s)
    assert s.contains(p, 10 * tiny).all()
    # <z - p, y - p> <= 0 for every point y of the set
    slope = (z - p) @ y.T - ((z - p) * p).sum(1)[:, None]
    assert slope.max() <= 20 * tiny
    top = np.array([twins.support(s, g, -3 * np.ones(s.dim), 3 * np.ones(s.dim)) for g in z[:3] - p[:3]])
    assert np.allclose(top, ((z - p) * p).sum(1)[:3], atol=1e-6) or (p[:3] < -3).any() or (p[:3] > 3).any()


@EACH
@for_each("norm", NORMS)
def test_distances_are_those_that_cvxpy_finds(s, norm):
    z = cloud(s, 4)
    found = s.distance(z, norm)
    for row, d in zip(z, found, strict=True):
        assert d == pytest.approx(twins.distance(s, row, norm), abs=2e-6)
    assert s.distance(inside(s, 4), norm) == pytest.approx(0.0, abs=1e-6)


@EACH
def test_supports_are_those_that_cvxpy_finds_and_are_reached_in_the_set(s):
    rng = np.random.default_rng(3)
    low, high = np.full(s.dim, -0.5), np.full(s.dim, 1.0)
    if s.dim == 1:
        high[:] = 2.5
    slopes = np.concatenate([rng.normal(size=(5, s.dim)), np.eye(s.dim)[:1], np.zeros((1, s.dim))])
    value, at = s.support(slopes, low, high)
    assert value == pytest.approx((slopes * at).sum(1), abs=1e-12)
    assert s.contains(at, 20 * precision(s)).all()
    assert (at >= low - 1e-7).all()
    assert (at <= high + 1e-7).all()
    for g, h in zip(slopes, value, strict=True):
        assert h == pytest.approx(twins.support(s, g, low, high), abs=2e-6)
        assert ((np.clip(inside(s), low, high) @ g <= h + 1e-6) | ~s.contains(np.clip(inside(s), low, high))).all()


@EACH
def test_a_batch_is_what_each_point_is_alone(s):
    z = cloud(s, 5)
    low, high = np.full(s.dim, -0.5), np.full(s.dim, 2.5)
    whole = s.project(z), s.distance(z, "sup"), s.contains(z, 0.5), *s.support(z, low, high)
    for i, row in enumerate(z):
        alone = s.project(row), s.distance(row, "sup"), s.contains(row, 0.5), *s.support(row, low, high)
        assert all(np.array_equal(a[i], b) for a, b in zip(whole, alone, strict=True))
    deep = s.project(z.reshape(5, 1, -1))
    assert np.array_equal(deep[:, 0], whole[0])
    assert s.distance(z.reshape(5, 1, -1)).shape == (5, 1)


@EACH
def test_half_spaces_are_the_set(s):
    stated = s.halfspaces()
    if stated is None:
        assert not isinstance(s, Box | Simplex | Halfspaces)
        return
    a, b = stated
    z = np.concatenate([inside(s), s.project(cloud(s)), cloud(s)])
    far = (z @ a.T - b).max(1) if len(a) else np.full(len(z), -1.0)
    assert np.array_equal(far <= 1e-8, s.distance(z) <= 1e-8)


@EACH
@for_each("norm", NORMS)
def test_what_is_near_a_shrunk_set_is_in_the_set(s, norm):
    rng = np.random.default_rng(5)
    try:
        small = s.shrunk(0.02, norm)
    except ValueError:
        flat = s.halfspaces() is not None and Ball(tuple(s.project(np.zeros(s.dim))), 0.0)
        assert flat or isinstance(s, Convex | Ball | Polytope | Intersection)
        return
    z = small.project(cloud(s))
    step = rng.normal(size=z.shape)
    order = {"euclidean": 2, "sup": np.inf, "one": 1}.get(norm, norm)
    step *= 0.02 / np.linalg.norm(step, order, axis=1)[:, None]
    corner = 0.02 * np.sign(step) / s.dim ** (1.0 / order)
    for away in (step, corner):
        assert s.contains(z + away, 1e-7).all()
    assert s.shrunk(0.0, norm).distance(z) == pytest.approx(0.0, abs=1e-6)


def test_margins_of_half_spaces_cost_the_dual_norm_of_a_row():
    s = Halfspaces(((3.0, 4.0),), (2.0,))
    for norm, dual in (("euclidean", 5.0), ("sup", 7.0), ("one", 4.0), (3.0, (3**1.5 + 4**1.5) ** (2 / 3))):
        assert s.shrunk(0.1, norm).bounds[0] == pytest.approx(2.0 - 0.1 * dual)
        assert s.distance(np.array([1.0, 1.0]), norm) == pytest.approx(5.0 / dual)


SIMPLE = [twins.STRAIGHT[i] for i in (0, 3, 8, 10, 15, 18)] + [twins.CURVED[i] for i in (0, 3, 5, 7)]
number = st.floats(-3, 3)


@pytest.mark.parametrize("s", SIMPLE, ids=lambda s: f"{type(s).__name__}{s.dim}")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_projections_stay_put_and_bring_no_points_apart(s, data):
    y, z = (np.array(data.draw(st.lists(number, min_size=s.dim, max_size=s.dim))) for _ in range(2))
    p, q = s.project(y), s.project(z)
    assert s.contains(p, 1e-9)
    assert np.abs(s.project(p) - p).max() <= 1e-9
    assert np.linalg.norm(p - q) <= np.linalg.norm(y - z) + 1e-9
    for norm in NORMS:
        assert s.distance(p, norm) <= 1e-8


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_sets_in_other_units_and_places_are_the_same_sets(unit):
    z, shift = cloud(Simplex(3), 6), np.array([0.5, -0.25, 2.0])
    points = np.array(twins.HULL)
    rows, bounds = np.array(twins.STRAIGHT[8].rows), np.array(twins.STRAIGHT[8].bounds)
    low, high, c = np.array((0.1, 0, 0)), np.array((0.6, 0.4, 1)), np.array((0.4, 0.5, 0.3))
    kinds = [
        lambda u, v: Box(u * low + v, u * high + v),
        lambda u, v: Halfspaces(rows, u * bounds + rows @ v),
        lambda u, v: Ball(u * c + v, u * 0.2),
        lambda u, v: Polytope(u * points + v),
        lambda u, v: DownwardClosed(Polytope(u * points + v)),
        lambda u, v: Intersection((Ball(u * c + v, u * 0.6), Halfspaces(rows, u * bounds + rows @ v))),
    ]
    least, most, v = np.full(3, -1.0), np.full(3, 2.0), unit * shift
    for make in kinds:
        one, other = make(1.0, np.zeros(3)), make(unit, v)
        assert np.allclose(other.project(unit * z + v), unit * one.project(z) + v, rtol=0, atol=1e-8 * unit)
        for norm in NORMS:
            gap = other.distance(unit * z + v, norm) - unit * one.distance(z, norm)
            assert np.abs(gap).max() <= 1e-6 * unit
        h, g = one.support(z, least, most)[0], other.support(z, unit * least + v, unit * most + v)[0]
        assert np.allclose(g, unit * h + z @ v, rtol=0, atol=1e-7 * unit)


def test_sets_are_equal_by_what_they_are():
    assert Convex(2, lens) == twins.WRITTEN[0]
    assert hash(Convex(2, lens)) == hash(twins.WRITTEN[0])
    assert Convex(3, lambda z: z <= 1) != Convex(3, lambda z: z <= 2)
    for s in (*twins.STRAIGHT, *twins.CURVED, twins.WRITTEN[0]):
        again = pickle.loads(pickle.dumps(s))
        assert again == s
        assert np.array_equal(again.project(cloud(s)), s.project(cloud(s)))


def test_many_inequalities_keep_their_precision():
    rng = np.random.default_rng(0)
    for m, k in ((2, 40), (8, 60), (30, 100)):
        a = rng.normal(size=(k, m))
        s = Halfspaces(a, np.abs(rng.normal(size=k)))
        z = rng.normal(size=(20, m)) * 3
        p = s.project(z)
        assert s.contains(p, 1e-11).all()
        normals = a[None] * (np.abs(p @ a.T - np.array(s.bounds)) < 1e-9)[:, :, None]
        for i in range(20):  # z - p is a combination of active rows, none with a negative price
            assert nnls(normals[i].T, z[i] - p[i])[1] <= 1e-9


@for_each("seed", range(12))
def test_projections_with_hidden_coordinates_reach_the_nearest_point(seed):
    """Hulls whose facets are too many to list, and what is below hulls: points inside are a hard case."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(6, 15), 9))
    hull, below = Polytope(points), DownwardClosed(Polytope(points[:, :4]))
    z = rng.normal(size=(6, 9))
    z[:3] = rng.dirichlet(np.ones(len(points)), 3) @ points
    p = hull.project(z)
    assert np.abs(p[:3] - z[:3]).max() <= 1e-9
    assert hull.distance(p, "sup").max() <= 1e-9
    assert (((z - p) @ points.T).max(1) - ((z - p) * p).sum(1)).max() <= 1e-8
    q = below.project(z[:, :4])
    assert np.abs(below.project(q) - q).max() <= 1e-9
    away = z[:, :4] - q
    assert (away >= -1e-9).all()  # else more would be below
    assert ((away @ points[:, :4].T).max(1) - (away * q).sum(1)).max() <= 1e-8


def test_in_other_units_coordinates_that_a_projection_leaves_stay_exactly_where_they_are():
    """49 times 1/49 is not 1: a run at the edge of a set would tell units apart by such a difference."""
    scaled, unit = in_units(Intersection((Ball((0.0, 0.0), 49.0), Box((0.0, 0.0), (9.0, 49.0)))), np.full(2, 49.0))
    for y in (0.11, 0.22, 0.67):
        found = scaled.project(np.array([0.5, y]))
        assert found[1] == y
        np.testing.assert_allclose(found[0], 9.0 / 49.0, rtol=1e-15)
    np.testing.assert_array_equal(unit, [49.0, 49.0])
