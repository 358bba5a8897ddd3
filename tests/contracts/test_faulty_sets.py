"""`check_set` catches a set that breaks a promise: one broken promise per row."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.sets import Ball, Box
from evenhand.testing import check_set
from tests.contracts.faults import Twisted, caught
from tests.rows import for_each
from tests.sets import twins

BOX, BALL = Box((0.2, 0.1), (0.6, 0.5)), Ball((0.4, 0.3), 0.2)


def box(method, change):
    """The box, one of whose methods answers something else."""
    call = getattr(BOX, method)
    return Twisted(BOX, **{method: lambda *args, **options: change(call(*args, **options))})


def support(change):
    """The ball with other supports."""
    return Twisted(BALL, support=lambda *args: change(*BALL.support(*args)))


FAULTS = [
    (box("project", lambda z: z + 0.3), "projections are in the set, and so are their mixtures"),
    (box("project", lambda z: 0.5 * z + (0.2, 0.15)), "no point of the set is nearer than the projection"),
    (box("project", lambda z: z - z.mean(0) + (0.4, 0.3)), "in a batch what it has alone"),
    (box("project", lambda z: z * np.nan), "answers are finite"),
    (box("contains", np.ones_like), "a point away from the set is not in it"),
    (box("contains", np.logical_not), "projections are in the set"),
    (box("distance", lambda d: 2.0 * d), "no point of the set is nearer than the sup distance"),
    (box("distance", lambda d: 0.5 * d), "the distance is that of the projection"),
    (box("distance", lambda d: d - 1.0), "distances are at least 0"),
    (support(lambda value, at: (value + 0.1, at)), r"a support is d\.x at its point x"),
    (support(lambda value, at: (0.9 * value, 0.9 * at)), "the point of a support is in the set|is beyond a support"),
    (Twisted(BALL, shrunk=lambda margin, norm: replace(BALL)), "within a sup margin of a shrunk set is in the set"),
    (box("halfspaces", lambda z: (z[0], z[1] - 0.1)), "half-spaces hold for all points of the set"),
    (box("halfspaces", lambda z: (z[0][:-1], z[1][:-1])), "what half-spaces allow is in the set"),
    (Box, "Box is a class"),
]


@for_each(("faulty", "promise"), FAULTS, ids=[promise for _, promise in FAULTS])
def test_a_faulty_set_is_caught(faulty, promise):
    caught(check_set, faulty, promise)


@pytest.mark.parametrize("shown", twins.STRAIGHT, ids=repr)
def test_sets_of_inequalities_keep_their_contract(shown):
    check_set(shown)
