"""Choices and rates that make no sense, and offers on which they cannot choose."""

import math
from functools import partial

import numpy as np

from evenhand import choices as c
from evenhand.objectives import GeneralizedGini
from evenhand.welfare import Capped, Exact, Linear, PerArm
from tests.choices import plain
from tests.malformed.tables import changes, each, named, wrong

NAN, INF = math.nan, math.inf
COUNT, NUMBER = "expected a whole number of at least", "expected a finite number"
GINI = GeneralizedGini(("a", "b"))
allocate = partial(c.Allocate, users=3, arms=2, curve=Linear())
lottery = partial(c.GradientLottery, GINI, candidates=3, scale=1.0)
oracle = partial(c.OracleRate, regret=1.0, delta=0.1)


def picking(choice, candidates, readings=1):
    """A call that picks among so many candidates, with so many readings."""
    worth = plain.worth(np.zeros((1, readings, candidates)))
    return partial(plain.pick, choice, worth, plain.offer([True] * candidates))


ROWS = [
    *(
        row
        for kind in (c.TopK, c.Random, c.Cycle, partial(c.EpsilonGreedy, 0.1), partial(c.Gibbs, 1.0),
                     partial(c.InverseGap, c.Rate(1.0)))
        for row in wrong(kind, f"{named(kind)}.n_plays: expected a whole number", n_plays=(0, -1, 1.5, True, "x"))
    ),
    *each(c.EpsilonGreedy, "EpsilonGreedy.epsilon: expected a number in [0, 1]", -0.1, 1.1, NAN, "x", None, (0.1,)),
    *each(c.Gibbs, "Gibbs.temperature: ", 0.0, -1.0, NAN, INF),
    *each(c.Random, "Random.weights: expected finite numbers of at least 0, not all 0",
          (), (0.0, 0.0), (-0.1, 1.0), (NAN, 1.0), (INF, 1.0), (1e308, 1e308), "x", ("x",)),
    *each(c.Random, "Random.weights: expected finite numbers of at least 0, not all 0, got 1.0", 1.0),
    *((picking(c.Random((1.0,) * n), 3), "Random.weights: expected one per candidate, of which there are 3")
      for n in (2, 4)),
    *each(c.InverseGap, "InverseGap.rate: expected a Rate or a Schedule or a number, got '3'", "3"),
    *each(c.InverseGap, f"Rate.scale: {NUMBER} above 0, got -3", -3),
    *each(c.Rate, f"Rate.scale: {NUMBER} above 0", 0.0, -1.0, NAN, INF),
    *each(partial(c.Rate, 1.0), "Rate.power: expected a number in [0, 1]", -0.1, 1.1, NAN),
    *wrong(oracle, f"OracleRate.{{}}: {NUMBER} of at least 0", regret=(-1.0,), growth=(INF,)),
    *wrong(oracle, "OracleRate.delta: expected a risk in (0, 1)", delta=(1.0,)),
    *wrong(oracle, f"OracleRate.{{}}: {NUMBER} above 0", lipschitz=(0.0,), diameter=(INF,)),
    *each(lambda n: c.Staged(n, c.TopK(1)), "Staged.rounds: expected a whole number", -1, 2.5),
    *each(partial(c.Staged, 5), "Staged...Choice", None),
    (lambda: c.Staged(5, c.TopK(2), warmup=c.Random()), "Staged.warmup: expected a choice of 2 plays, like `then`"),
    # lists
    *each(lambda k: c.FairLearn(*k), f"FairLearn.n_plays: {COUNT} 1", (0, 3, 0.1)),
    *each(lambda k: c.FairLearn(*k), f"FairLearn.candidates: {COUNT} 1", (1, 0, 0.1)),
    *each(lambda k: c.FairLearn(*k), "FairLearn.share: expected a number in [0, k / A] = [0, 0.5]",
          (2, 4, 0.6), (2, 4, -0.1), (2, 4, NAN)),
    *each(lambda k: c.FairLearn(*k), "FairLearn.share: expected a number in [0, k / A] = [0, 1], got 1.1", (9, 4, 1.1)),
    *each(lambda v: c.FairLearn(2, 4, 0.1, v), f"FairLearn.tolerance: {NUMBER} of at least 0", -1, INF),
    *each(lambda k: c.Unbiased(*k), f"Unbiased.n_plays: {COUNT} 1", (0, 3), (1.5, 3)),
    *each(lambda k: c.Unbiased(*k), f"Unbiased.candidates: {COUNT} 1", (1, 0)),
    # lotteries of gradients
    *wrong(lottery, "GradientLottery.{}", candidates=(0,), scale=(0.0, NAN, "x"), steps=(0,)),
    (lambda: c.GradientLottery("a", 2, 1.0), "GradientLottery.objective: expected an objective, got 'a'"),
    (picking(lottery(candidates=4), 4, 3), "GradientLottery.objective, candidates: "),
    # programs
    *each(c.GreedyRatio, f"GreedyRatio.wanted: {COUNT} 1, got 0", 0),
    (lambda: c.GreedyRatio(1, rent=-1.0), f"GreedyRatio.rent: {NUMBER} of at least 0, got -1"),
    (picking(c.GreedyRatio(2), 3, 2), "GreedyRatio.wanted: expected below 2, the readings that the goals have"),
    *each(lambda n: c.LinearProgram(n, ()), f"LinearProgram.wanted: {COUNT} 1, got 0", 0),
    *each(partial(c.LinearProgram, 1), "LinearProgram.bound: expected 1 finite numbers", (INF,)),
    (picking(c.LinearProgram(1, (0.1, 0.2)), 3, 2), "LinearProgram.wanted, bound: expected 2 in all, the readings"),
    *each(c.Lottery, f"Lottery.wanted: {COUNT} 1, got 0", 0),
    (picking(c.Lottery(3), 3, 2), "Lottery.wanted: expected at most 2, the readings that the goals have"),
    # allocations
    *changes(
        allocate,
        ({"users": 0}, "Allocate.users"),
        ({"arms": 0}, "Allocate.arms"),
        ({"optimism": "both"}, "Allocate.optimism"),
        ({"capacity": (1, 1, 1)}, "Allocate.capacity: expected 2 numbers, one per arm, got (1, 1, 1)"),
        ({"capacity": (1, -1)}, "Allocate.capacity"),
        ({"curve": None}, "Allocate.curve: expected a function of matches, such as Capped(5.0), got None"),
        ({"oracle": None}, "Allocate.oracle: expected an oracle of evenhand.welfare, such as Priced(), got None"),
        ({"capacity": (1, 1)}, "Allocate.capacity: expected room for 3 users, or may_stay=True, got (1, 1), 2 in"),
    ),
    (picking(allocate(), 4), "...product is the number of candidates, 4, got (3, 2)"),
    (lambda: PerArm((Capped(1.0), 3)), "PerArm.each[1]: ...a Curve"),
    *wrong(Exact, "Exact.{}", seconds=(0,), gap=(-0.1, 1.0)),
]  # fmt: skip
