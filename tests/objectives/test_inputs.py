"""What is handed to an objective or a smoothing and cannot be used is refused by the name of its field."""

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np

from evenhand.objectives import (
    AlphaFair,
    Concave,
    DistancePenalty,
    GeneralizedGini,
    Linear,
    Moreau,
    Randomized,
)
from evenhand.sets import Box

A, AB = ("a",), ("a", "b")
LINEAR = Linear({"a": 1.0})
HUGE = 10**400  # a whole number beyond all floats


def test_numbers_of_every_kind_are_numbers():
    half = Fraction(1, 2)
    for one, other in (
        (AlphaFair(A, half, np.float32(0.5), np.array([half])), AlphaFair(A, 0.5, 0.5, (0.5,))),
        (GeneralizedGini(AB, [1, half]), GeneralizedGini(AB, (1.0, 0.5))),
        (DistancePenalty(A, Box.below(np.array([1]))), DistancePenalty(A, Box.below((1.0,)))),
        (Moreau(half), Moreau(0.5)),
        (Randomized(np.float64(1.0), np.int64(3)), Randomized(1, 3)),
    ):
        assert one == other
        assert repr(one) == repr(other) or isinstance(one, Randomized)
    assert Concave(A, cp.sum, lipschitz=2).lipschitz == 2.0
    assert Concave(A, cp.sum).lipschitz == math.inf
