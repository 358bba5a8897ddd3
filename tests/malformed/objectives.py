"""Objectives and smoothings that make no sense."""

import math
from functools import partial

import cvxpy as cp

from evenhand.objectives import (
    AlphaFair,
    Concave,
    DistancePenalty,
    EqualExposure,
    GeneralizedGini,
    Linear,
    Moreau,
    Randomized,
    WeightedSum,
)
from evenhand.sets import Ball, Box
from tests.examples.objectives import roots
from tests.malformed.tables import each, wrong

NAN, INF = math.nan, math.inf
A, AB, ABC = ("a",), ("a", "b"), ("a", "b", "c")
LINEAR, GINI = Linear({"a": 1.0}), GeneralizedGini(AB)
HUGE = 10**310  # a whole number beyond all floats
TERMS, FACTOR = "WeightedSum.terms: expected ", "WeightedSum.terms, {}: expected a finite factor above 0"
fair = partial(AlphaFair, AB, 1.0)


def built(message, *builds):
    return each(partial(Concave, ABC), f"Concave.build: expected ...{message}", *builds)


ROWS = [
    (lambda: Linear({}), "maximize: expected at least one outcome with its weight"),
    *each(Linear, "maximize: expected a mapping from names of outcomes to weights, got ", ["a"], "a", None),
    (lambda: Linear({1: 2.0}), "maximize: expected names of outcomes, got 1"),
    *each(Linear, "maximize['a']: expected a finite weight", {"a": NAN}, {"a": "x"}, {"a": HUGE}),
    *each(partial(AlphaFair, A), "AlphaFair.alpha: expected a finite number above 0 (for 0, use Linear)", 0.0),
    *each(partial(AlphaFair, A), "AlphaFair.alpha: expected a finite number above 0", -1.0, INF, NAN, "1", None, HUGE),
    *wrong(fair, "AlphaFair.offset: expected a finite number of at least 0", offset=(-0.1, NAN, "x", (0.1,))),
    *wrong(fair, "AlphaFair.weights: expected 2 finite numbers above 0, one per outcome",
           weights=((1.0, 0.0), (1.0,), "x", "12", ("1", "2"), ((1.0,), (1.0, 2.0)))),
    *each(partial(AlphaFair.welfare, A), "AlphaFair.welfare(power): expected a number in (0, 1)",
          0.0, 1.0, 1.5, -0.5, NAN, "x"),
    (lambda: GeneralizedGini(AB, (0.5, 1.0)),
     "GeneralizedGini.weights: expected weights that never increase, largest first, ... (else f is not concave), got"),
    *each(partial(GeneralizedGini, AB), "GeneralizedGini.weights: expected 2 finite numbers, one per outcome",
          (1.0,), (1.0, NAN), (INF, 1.0), AB, {"a": 1, "b": 0}, 1.0),
    *(
        row
        for build in (GeneralizedGini, GeneralizedGini.welfare, GeneralizedGini.difference)
        for row in (
            *each(build, "GeneralizedGini.outcomes: expected names that differ..., got 'a' twice", ("a", "b", "a")),
            *each(build, "GeneralizedGini.outcomes: expected a sequence of names, got 'ab'", "ab"),
            *each(build, "GeneralizedGini.outcomes: expected at least 1 names of outcomes", (), (1, 2)),
        )
    ),
    (lambda: EqualExposure(A), "EqualExposure.outcomes: expected at least 2 names of outcomes"),
    *(
        (partial(DistancePenalty, ABC, within),
         f"DistancePenalty.within: expected a set of 3 coordinates, one per outcome, got ...{got}")
        for within, got in ((Box.below((0.5,)), "Box"), (Box, "class"), (0.5, "0.5"), ((0.5, 1.0), "(0.5, 1.0)"),
                            (Ball((0.1, 0.2), 1.0), "Ball"))
    ),
    *each(Moreau, "Moreau.beta: expected a finite number above 0", 0.0, -1.0, NAN, INF, None, "0.1"),
    *each(Randomized, "Randomized.beta: expected a finite number above 0", 0.0, -1.0, NAN, INF, None),
    *each(partial(Randomized, 0.1), "Randomized.samples: expected a whole number of at least 1", 0, -1, 2.5, None, "x"),
    *each(WeightedSum, f"{TERMS}at least one pair of a factor and an objective, got none", ()),
    *each(WeightedSum, f"{TERMS}pairs of a factor and an objective", (GINI,), 7, None, ((1.0, LINEAR, 2.0),)),
    *each(WeightedSum, f"{TERMS}objectives, got ", ((1.0, "clicks"),), ((1.0, WeightedSum),)),
    *(
        (partial(WeightedSum, ((factor, LINEAR),)), FACTOR.replace("{}", "Linear"))
        for factor in (-1.0, 0.0, NAN, "1", None, (1, 2), HUGE)
    ),
    *each(WeightedSum, FACTOR.replace("{}", "float"), ((LINEAR, 1.0),)),
    *wrong(partial(Concave, ABC, roots), "Concave.{}: expected a number of at least", lipschitz=(-1.0, NAN, "x")),
    (lambda: Concave(("a", "a"), roots), "Concave.outcomes: ...'a' twice"),
    *built("a function from a cvxpy variable", 3),
    *built("a function that builds an expression from a cvxpy variable of 3 entries, got IndexErr", lambda z: z[4]),
    *built("a function that builds an expression", lambda z: 1 / 0),
    *built("a function that returns a scalar cvxpy expression", cp.sqrt),
    *built("a function that returns a scalar cvxpy expression, got 3.0", lambda z: 3.0),
    *built("an expression of nothing but z, got ... + w, which reads", lambda z: cp.sum(z) + cp.Variable(name="w")),
    *built("an expression of nothing but z, got p", lambda z: cp.Parameter(name="p", nonneg=True) * cp.sum(z)),
    *built("concave by cvxpy's rules (DCP)..., got quad_over_lin(z, ...which is CONVEX", cp.sum_squares),
    *built("concave by cvxpy's rules ... got ...(quad_over_lin(z, ...is QUASICONVEX",
           lambda z: cp.sqrt(cp.sum_squares(z))),
]  # fmt: skip
