"""Sets that cannot be used are refused, and the field is named."""

import re

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.sets import Ball, Box, Convex, DownwardClosed, Halfspaces, Intersection, Polytope, Simplex

ONE, NAN = np.ones(2), float("nan")
BALL = Ball((0.0, 0.0), 1.0)
ABOVE = Halfspaces(((-1.0, 0.0),), (0.0,))

REFUSED = {
    "no range": (lambda: Box((1.0,), (0.0,)), "Box: expected low <= high"),
    "nothing": (lambda: Box((), ()), "Box: expected low <= high in at least one coordinate"),
    "NaN": (lambda: Box((0.0, NAN), ONE), "Box.low: expected 2 numbers"),
    "lengths": (lambda: Box((0.0,), ONE), "Box.low: expected 2 numbers"),
    "below infinity": (lambda: Box((0.0,), (-np.inf,)), "Box.high: expected 1 numbers"),
    "no total": (lambda: Simplex(2, 0.0), "Simplex.total: expected a finite number above 0"),
    "half a coordinate": (lambda: Simplex(1.5), "Simplex.dim: expected a whole number of at least 1"),
    "ragged": (lambda: Halfspaces(((1.0, 2.0), (1.0,)), ONE), "Halfspaces.rows: expected rows of finite numbers"),
    "a vector": (lambda: Halfspaces((1.0, 2.0), ONE), "Halfspaces.rows: expected rows of finite numbers"),
    "text": (lambda: Halfspaces((("a",),), (1.0,)), "Halfspaces.rows: expected rows of finite numbers"),
    "bounds": (lambda: Halfspaces(((1.0, 2.0),), ONE), "Halfspaces.bounds: expected 1 finite numbers, one per row"),
    "contradiction": (
        lambda: Halfspaces(((1.0, 1.0), (-1.0, -1.0)), (0.0, -1.0)),
        "Halfspaces: expected inequalities that have a point in common",
    ),
    "a false row": (lambda: Halfspaces(((0.0, 0.0),), (-1.0,)), "Halfspaces: expected inequalities that have a point"),
    "no radius": (lambda: Ball(ONE, -0.1), "Ball.radius: expected a finite number of at least 0"),
    "no centre": (lambda: Ball((), 1.0), "Ball.centre: expected at least one number"),
    "a far centre": (lambda: Ball((0.0, np.inf), 1.0), "Ball.centre: expected finite numbers"),
    "no points": (lambda: Polytope(()), "Polytope.points: expected rows of finite numbers"),
    "below what is convex": (
        lambda: DownwardClosed(Convex(1, lambda z: z <= 1)),
        "DownwardClosed.inner: expected a Ball, or a set with straight sides",
    ),
    "up": (lambda: DownwardClosed(BALL, -1.0), "DownwardClosed.margin: expected a finite number of at least 0"),
    "no parts": (lambda: Intersection(()), "Intersection.parts: expected at least one set"),
    "numbers": (lambda: Intersection((BALL, 3)), "Intersection.parts: expected at least one set"),
    "dimensions": (
        lambda: Intersection((BALL, Simplex(3))),
        "Intersection.parts: expected sets of the same number of coordinates, got [2, 3]",
    ),
    "apart": (
        lambda: Intersection((BALL, Box((2.0, 2.0), (3.0, 3.0)))),
        "Intersection.parts: expected sets that have a point in common",
    ),
    "balls apart": (lambda: Intersection((BALL, Ball((3.0, 0.0), 1.0))), "Intersection.parts: expected sets that"),
    "sides apart": (
        lambda: Intersection((Simplex(2), Box((2.0, 2.0), (3.0, 3.0)))),
        "Intersection.parts: expected sets that have a point in common",
    ),
    "no constraint": (lambda: Convex(2, lambda z: 3), "Convex.build: expected a function that returns cvxpy constr"),
    "not convex": (lambda: Convex(2, lambda z: cp.norm(z) >= 1), "Convex.build: expected constraints that are convex"),
    "empty": (lambda: Convex(1, lambda z: [z >= 1, z <= 0]), "Convex.build: expected constraints that some point"),
    "what raises": (lambda: Convex(1, lambda z: z[4]), "Convex.build: expected a function that builds constraints"),
    "others": (lambda: Convex(1, lambda z: z <= cp.Variable(1)), "Convex.build: expected constraints on nothing but z"),
    "short points": (lambda: BALL.project(np.ones(3)), "Ball.project(z): expected points of 2 numbers"),
    "a number": (lambda: BALL.contains(1.0), "Ball.contains(z): expected points of 2 numbers"),
    "NaN points": (lambda: Simplex(2).project(np.array([0.1, NAN])), "Simplex.project(z): expected finite numbers"),
    "a norm": (lambda: BALL.distance(ONE, "two"), "Ball.distance(norm): expected one of"),
    "NaN slopes": (lambda: ABOVE.support(np.array([NAN, 1.0])), "Halfspaces.support(direction): expected finite"),
    "ends crossed": (lambda: ABOVE.support(ONE, ONE, 0 * ONE), "Halfspaces.support(low, high): expected low <= high"),
    "an end": (lambda: ABOVE.support(ONE, np.ones(3)), "Halfspaces.support(low): expected 2 numbers"),
    "an end in words": (lambda: ABOVE.support(ONE, "ab"), "Halfspaces.support(low): expected 2 numbers"),
    "no bound": (lambda: ABOVE.support(ONE), "Halfspaces.support: expected a set that is bounded in this direction"),
    "an open box": (lambda: Box.below(ONE).support(-ONE), "Box.support: expected a set that is bounded"),
    "below a ball": (lambda: DownwardClosed(BALL).support(-ONE), "DownwardClosed.support: expected a set that is bou"),
    "an open half": (
        lambda: Convex(2, lambda z: z <= 1).support(-ONE),
        "Convex.support: expected a set that is bounded in this direction",
    ),
    "out of range": (lambda: BALL.support(ONE, 2 * ONE, 3 * ONE), "Ball.support(low, high): expected ends between"),
    "shares out of range": (lambda: Simplex(2).support(ONE, high=0.2 * ONE), "Simplex.support(low, high): expected en"),
    "rows out of range": (lambda: ABOVE.support(ONE, high=-ONE), "Halfspaces.support(low, high): expected ends"),
    "parts out of range": (
        lambda: Intersection((BALL, ABOVE)).support(ONE, high=-ONE),
        "Intersection.support(low, high): expected ends between which the set has points",
    ),
    "all of a ball": (lambda: BALL.shrunk(1.1), "Ball.shrunk(margin): expected a margin that leaves some"),
    "all of a box": (lambda: Box(0 * ONE, ONE).shrunk(0.6), "Box.shrunk(margin): expected a margin that leaves some"),
    "inside of shares": (lambda: Simplex(2).shrunk(0.1), "Simplex.shrunk(margin): expected a margin that leaves some"),
    "a flat hull": (lambda: Polytope((ONE, -ONE)).shrunk(0.1), "Polytope.shrunk(margin): expected a margin that leav"),
    "all in common": (
        lambda: Intersection((BALL, Simplex(2))).shrunk(0.1),
        "Intersection.shrunk(margin): expected a margin that leaves some",
    ),
    "outwards": (lambda: BALL.shrunk(-0.1), "Ball.shrunk(margin): expected a finite number of at least 0"),
    "written": (lambda: Convex(1, lambda z: z <= 1).shrunk(0.1), "Convex.shrunk(margin): expected 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_the_field_named(name):
    state, message = REFUSED[name]
    with pytest.raises(InvalidInput, match="^" + re.escape(message)) as caught:
        state()
    assert "\n" not in str(caught.value)
