"""Every kind of set with examples, and written a second time with cvxpy."""

import warnings
from functools import cache

import cvxpy as cp
import numpy as np

from evenhand.sets import Ball, Box, Convex, DownwardClosed, Halfspaces, Intersection, Polytope, Simplex
from tests.examples.sets import lens

INF = np.inf


HULL = ((0.1, 0.2, 0.0), (0.9, 0.1, 0.3), (0.4, 0.8, 0.2), (0.3, 0.4, 0.9), (0.4, 0.4, 0.3), (0.5, 0.1, 0.6))
STRAIGHT = [
    Box((0.1, -INF, 0.0), (0.6, 0.4, INF)),
    Box.below((0.3, 0.2)),
    Box((0.25,), (0.25,)),
    Simplex(3),
    Simplex(5, 0.7),
    Simplex(1, 2.0),
    Halfspaces(((1.0, -2.0),), (0.1,)),
    Halfspaces(((1.0, -2.0), (-2.0, 1.0)), (0.0, 0.0)),
    Halfspaces(((1.0, 1.0, 0.0), (0.0, 3.0, 1.0), (-1.0, 0.2, -0.5), (1.0, 1.0, 0.001)), (0.8, 0.9, -0.1, 0.8)),
    Halfspaces(((1.0, 1.0), (-1.0, -1.0), (2.0, 2.0), (1.0, 0.0)), (0.6, -0.6, 1.2, 0.5)),
    Polytope(HULL),
    Polytope(((0.0, 0.0), (1.0, 0.5))),
    Polytope(((0.2, 0.3),)),
    Polytope(((0.1,), (0.7,), (0.3,))),
    Polytope(tuple(tuple(row) for row in np.eye(9) * 0.7 + 0.05)),
    DownwardClosed(Simplex(3, 0.8)),
    DownwardClosed(Polytope(((0.2, 0.7), (0.6, 0.6), (0.8, 0.1))), margin=0.05),
    DownwardClosed(Halfspaces(((1.0, -1.0), (0.2, 1.0)), (0.0, 0.6))),
    Intersection((Simplex(3), Box((0.2, 0.0, 0.0), (0.5, 0.5, 1.0)))),
    Intersection((Polytope(HULL), Halfspaces(((1.0, 1.0, 1.0),), (1.1,)))),
    Intersection((DownwardClosed(Simplex(2)), Box((0.3, 0.0), (INF, INF)))),
]
CURVED = [
    Ball((0.4, 0.5, 0.3), 0.2),
    Ball((0.5,), 0.1),
    Ball((0.3, 0.3), 0.0),
    DownwardClosed(Ball((0.2, 0.3), 0.25)),
    DownwardClosed(Ball((0.2, 0.3), 0.25), margin=0.1),
    Intersection((Ball((0.4, 0.5, 0.3), 0.3), Box((0.0, 0.0, 0.0), (0.5, 1.0, 0.35)))),
    Intersection((Ball((0.5, 0.5), 0.3), Halfspaces(((1.0, -1.0), (1.0, 1.0)), (0.1, 1.2)))),
    Intersection((Ball((1 / 3, 1 / 3, 1 / 3), 0.25), Simplex(3))),
    Intersection((Ball((0.3, 0.5), 0.4), Ball((0.7, 0.5), 0.3), Box((0.0, 0.4), (1.0, 0.9)))),
    Intersection((Ball((0.3, 0.5), 0.4), DownwardClosed(Ball((0.4, 0.3), 0.2)))),
]
WRITTEN = [Convex(2, lens), Convex(3, lambda z: cp.norm(z, 1) <= 0.5)]
SETS = [*STRAIGHT, *CURVED, *WRITTEN]


def constraints(s, z):
    """The set as constraints on a cvxpy variable."""
    if isinstance(s, Box):
        low, high = np.array(s.low), np.array(s.high)
        at, to = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
        return ([z[at] >= low[at]] if len(at) else []) + ([z[to] <= high[to]] if len(to) else [])
    if isinstance(s, Simplex):
        return [z >= 0, cp.sum(z) == s.total]
    if isinstance(s, Halfspaces):
        return [np.array(s.rows) @ z <= np.array(s.bounds)]
    if isinstance(s, Ball):
        return [cp.norm(z - np.array(s.centre)) <= s.radius]
    if isinstance(s, Polytope):
        w = cp.Variable(len(s.points))
        return [w >= 0, cp.sum(w) == 1, z == np.array(s.points).T @ w]
    if isinstance(s, DownwardClosed):
        y = cp.Variable(s.dim)
        return [z + s.margin <= y, *constraints(s.inner, y)]
    if isinstance(s, Intersection):
        return [c for part in s.parts for c in constraints(part, z)]
    return list(np.ravel(s._build(z)))


def solve(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it stops short of 1e-10, but beyond 1e-6
        return problem.solve(
            solver="CLARABEL",
            **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10),
            **dict.fromkeys(("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-6),
        )


@cache
def distances(s, norm):
    """The program of the distance of any point, which takes longer to state than to solve."""
    z, point = cp.Variable(s.dim), cp.Parameter(s.dim)
    size = cp.norm(z - point, {"euclidean": 2, "sup": "inf", "one": 1}.get(norm, norm))
    return cp.Problem(cp.Minimize(size), constraints(s, z)), point


def distance(s, point, norm):
    problem, place = distances(s, norm)
    place.value = point
    return solve(problem)


@cache
def supports(s):
    """The program of the support of the part of a set that is in a box, for any slope and box."""
    z, slope, low, high = cp.Variable(s.dim), *(cp.Parameter(s.dim) for _ in range(3))
    return cp.Problem(cp.Maximize(slope @ z), [*constraints(s, z), z >= low, z <= high]), slope, low, high


def support(s, *given):
    problem, *places = supports(s)
    for place, value in zip(places, given, strict=True):
        place.value = value
    return solve(problem)
