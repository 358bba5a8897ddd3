"""What is handed to an objective or a smoothing and cannot be used is refused by the name of its field."""

import math
import re
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import (
    AlphaFair,
    Concave,
    DistancePenalty,
    GeneralizedGini,
    Linear,
    Moreau,
    Randomized,
    WeightedSum,
)
from evenhand.sets import Box

A, AB = ("a",), ("a", "b")
LINEAR = Linear({"a": 1.0})
HUGE = 10**400  # a whole number beyond all floats

REFUSED = {
    "alpha as text": (lambda: AlphaFair(A, "1"), "AlphaFair.alpha: expected a finite number above 0"),
    "alpha of nothing": (lambda: AlphaFair(A, None), "AlphaFair.alpha: expected a finite number above 0"),
    "alpha beyond floats": (lambda: AlphaFair(A, HUGE), "AlphaFair.alpha: expected a finite number above 0"),
    "offset as text": (lambda: AlphaFair(A, 1.0, "x"), "AlphaFair.offset: expected a finite number of at least 0"),
    "offsets": (lambda: AlphaFair(A, 1.0, (0.1,)), "AlphaFair.offset: expected a finite number of at least 0"),
    "weights as text": (lambda: AlphaFair(A, 1.0, 0.0, "x"), "AlphaFair.weights: expected 1 finite numbers above 0"),
    "weights of digits": (lambda: AlphaFair(AB, 1.0, 0.0, "12"), "AlphaFair.weights: expected 2 finite numbers"),
    "texts of digits": (lambda: AlphaFair(AB, 1.0, 0.0, ("1", "2")), "AlphaFair.weights: expected 2 finite numbers"),
    "ragged": (lambda: AlphaFair(AB, 1.0, 0.0, ((1.0,), (1.0, 2.0))), "AlphaFair.weights: expected 2 finite numbers"),
    "a power as text": (lambda: AlphaFair.welfare(A, "x"), "AlphaFair.welfare(power): expected a number in (0, 1)"),
    "named weights": (lambda: GeneralizedGini(AB, AB), "GeneralizedGini.weights: expected 2 finite numbers"),
    "a mapping": (lambda: GeneralizedGini(AB, {"a": 1, "b": 0}), "GeneralizedGini.weights: expected 2 finite numbers"),
    "one weight": (lambda: GeneralizedGini(AB, 1.0), "GeneralizedGini.weights: expected 2 finite numbers"),
    "bounds as text": (
        lambda: DistancePenalty(AB, Box.below("xy")),
        "Box.high: expected 1 numbers, inf where there is no bound, got 'xy'",
    ),
    "bounds of none": (
        lambda: DistancePenalty(AB, (0.5, 1.0)),
        "DistancePenalty.within: expected a set of 2 coordinates, one per outcome, got (0.5, 1.0)",
    ),
    "a list": (lambda: Linear(["a"]), "maximize: expected a mapping from names of outcomes to weights, got ['a']"),
    "a name": (lambda: Linear("a"), "maximize: expected a mapping from names of outcomes to weights, got 'a'"),
    "nothing": (lambda: Linear(None), "maximize: expected a mapping from names of outcomes to weights, got None"),
    "a number": (lambda: Linear({1: 2.0}), "maximize: expected names of outcomes, got 1"),
    "a text": (lambda: Linear({"a": "x"}), "maximize['a']: expected a finite weight, got 'x'"),
    "beyond floats": (lambda: Linear({"a": HUGE}), "maximize['a']: expected a finite weight"),
    "no size": (lambda: Moreau(None), "Moreau.beta: expected a finite number above 0, got None"),
    "a size as text": (lambda: Moreau("0.1"), "Moreau.beta: expected a finite number above 0, got '0.1'"),
    "no size of a ball": (lambda: Randomized(None), "Randomized.beta: expected a finite number above 0, got None"),
    "half a sample": (lambda: Randomized(0.1, 2.5), "Randomized.samples: expected a whole number of at least 1"),
    "no samples": (lambda: Randomized(0.1, None), "Randomized.samples: expected a whole number of at least 1"),
    "samples as text": (lambda: Randomized(0.1, "x"), "Randomized.samples: expected a whole number of at least 1"),
    "triples": (lambda: WeightedSum(((1.0, LINEAR, 2.0),)), "WeightedSum.terms: expected pairs of a factor"),
    "no terms": (lambda: WeightedSum(None), "WeightedSum.terms: expected pairs of a factor"),
    "a factor of none": (lambda: WeightedSum(((None, LINEAR),)), "WeightedSum.terms, Linear: expected a finite factor"),
    "factors": (lambda: WeightedSum((((1, 2), LINEAR),)), "WeightedSum.terms, Linear: expected a finite factor"),
    "a huge factor": (lambda: WeightedSum(((HUGE, LINEAR),)), "WeightedSum.terms, Linear: expected a finite factor"),
    "a class": (lambda: WeightedSum(((1.0, WeightedSum),)), "WeightedSum.terms: expected objectives, got <class"),
    "upside down": (lambda: WeightedSum(((LINEAR, 1.0),)), "WeightedSum.terms, float: expected a finite factor"),
    "no function": (lambda: Concave(A, 3), "Concave.build: expected a function from a cvxpy variable"),
    "too far": (
        lambda: Concave(A, lambda z: z[4]),
        "Concave.build: expected a function that builds an expression from a cvxpy variable of 1 entries, got IndexErr",
    ),
    "what raises": (
        lambda: Concave(A, lambda z: 1 / 0),
        "Concave.build: expected a function that builds an expression",
    ),
    "steepness as text": (
        lambda: Concave(A, cp.sum, lipschitz="x"),
        "Concave.lipschitz: expected a number of at least",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_the_field_named(name):
    state, message = REFUSED[name]
    with pytest.raises(InvalidInput, match="^" + re.escape(message)) as caught:
        state()
    assert "\n" not in str(caught.value)


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
