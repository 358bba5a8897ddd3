"""An example of every convex set, in any units."""

from evenhand import sets as s

# By name: a function of the units of two coordinates.
SETS = {
    "Box": lambda h, c: s.Box((0.05 * h, 0.0), (0.35 * h, 0.3 * c)),
    "Halfspaces": lambda h, c: s.Halfspaces(((1 / h, 1 / c), (-1 / h, 0.5 / c)), (0.7, 0.0)),
    "Polytope": lambda h, c: s.Polytope(((0.0, 0.0), (0.4 * h, 0.0), (0.0, 0.4 * c), (0.3 * h, 0.3 * c))),
}
# Sets that add up coordinates: a function of the one unit of both.
ROUND_SETS = {
    "Simplex": lambda h: s.DownwardClosed(s.Simplex(2, 0.6 * h)),
    "Ball": lambda h: s.Ball((0.3 * h, 0.25 * h), 0.05 * h),
    "DownwardClosed": lambda h: s.DownwardClosed(s.Ball((0.25 * h, 0.25 * h), 0.1 * h)),
    "Intersection": lambda h: s.Intersection((s.Ball((0.3 * h, 0.25 * h), 0.1 * h), s.Box((0.0, 0.0), (0.32 * h, h)))),
}


def lens(z):
    """A user's own set, at module level so that other processes find it."""
    import cvxpy as cp

    return [cp.norm(z - 0.2) <= 0.6, cp.sum(z) <= 0.9, cp.quad_over_lin(z[0], 1.0) <= z[1] + 0.5]


# Without a case in other units: no play keeps to a set without an inside, and a user's own has the user's numbers.
PLAIN_SETS = [s.Simplex(3), s.Convex(2, lens)]
