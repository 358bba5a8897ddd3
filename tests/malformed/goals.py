"""Goals, steps and mirror maps that make no sense."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand import goals as g
from evenhand.environments import Court, Lessons, MixedContexts
from evenhand.goals.fenchel import fenchel, fenchel_within
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.hard_limits import hard_budget
from evenhand.models import Logistic, Ridge
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Moreau, WeightedSum
from evenhand.problem import Outcome, Problem, Rows
from evenhand.problem.rows import select
from evenhand.recipes import primal_lp, resolving, two_stage_square_cbwk
from evenhand.recipes.primal_lp import soft, with_null_action
from evenhand.sets import Ball
from tests.examples.problems import EVERYTHING
from tests.goals.arms import problem
from tests.malformed.tables import changes, each, wrong

NAN, INF = math.nan, math.inf
NUMBER = "expected a finite number"
COURT, LOGISTIC = Court(horizon=200).problem, Logistic(n_features=5)
NAMES = ("u", "v")
GINI, NASH = GeneralizedGini(NAMES), AlphaFair(NAMES, alpha=1.0)
STATED = problem(GINI)
ONE = Rows.plain(["ride"], np.ones((1, 1)), np.zeros((1, 0)))
TWO = Rows.plain(["c0", "c1"], np.eye(2), np.zeros((2, 0)))
dual = partial(g.DualGradient, rows=TWO, bound=np.ones(2), step=g.Steady(0.1))
hedge = partial(g.DualHedge, rows=ONE, bound=np.array([0.25]), max_price=4.0, step=0.1)
drift = partial(g.Lyapunov, rows=ONE, bound=np.array([0.5]), horizon=10, worth=3.0, scale=2.0)
hard = partial(g.HardBudget, rows=ONE, low=np.zeros(1), high=np.ones(1))
shares = partial(g.FrankWolfe, rows=select(STATED, NAMES), objective=GINI, start_at=(0.0, 0.0))
uncertain = partial(frank_wolfe, STATED, GINI)
PRIMAL, PLAN = primal_lp(COURT, LOGISTIC).goals[1], resolving(COURT, LOGISTIC).goals[1]
ENDLESS = Problem(actions=("a",), outcomes=(Outcome("u", high=INF),), maximize="u", horizon=9)
MIXED = MixedContexts(horizon=2000)
phases = partial(
    two_stage_square_cbwk, MIXED.problem, Ridge(n_features=9, n_outcomes=3), rate=20.0, explore=30, radius=0.02
)


def conjugate(objective):
    return partial(fenchel, problem(objective), objective)


ROWS = [
    *each(g.Steady, f"Steady.size: {NUMBER} of at least 0", -1.0, NAN, INF, "x"),
    *each(g.Falling, f"Falling.size: {NUMBER} of at least 0", -1.0, NAN, INF, "x"),
    *each(lambda v: g.Doubling(v, (1.0,)), f"Doubling.base: {NUMBER} above 0", 0),
    *each(partial(g.Doubling, 0.1), "Doubling.excess: expected limits above 0", (1.0, 0.0), (NAN,)),
    *(
        row
        for kind in (g.Descent, g.Entropic)
        for row in (
            *each(partial(kind, step=g.Steady(0.1)), f"{kind.__name__}.radius: {NUMBER} of at least 0", -1.0, INF, NAN),
            *each(partial(kind, 1.0), f"{kind.__name__}.step: expected Steady or Falling, got 0.1", 0.1),
        )
    ),
    *wrong(dual, "DualGradient.bound: expected 2 finite numbers", bound=(np.ones(1), np.array([1.0, NAN]))),
    *wrong(dual, "DualGradient.start_at: expected 2 prices, got 1", start_at=((1.0,),)),
    *wrong(dual, "DualGradient.start_at: expected finite prices of at least 0", start_at=((1.0, -1.0), (1.0, INF))),
    *wrong(hedge, f"DualHedge.max_price: {NUMBER} above 0", max_price=(0.0, INF)),
    *wrong(hedge, f"DualHedge.step: {NUMBER} of at least 0", step=(-0.1, NAN)),
    *wrong(hedge, "DualHedge.bound: expected 1 finite numbers", bound=(np.array([NAN]),)),
    *wrong(drift, f"Lyapunov.{{}}: {NUMBER} above 0", worth=(0.0, -1.0, INF, NAN), scale=(0.0, -1.0, INF, NAN)),
    *wrong(hard, "HardBudget.total: expected 1 finite numbers above 0",
           total=[np.array(z) for z in ([0.0], [-1.0], [INF], [NAN], [1.0, 2.0], 3.0)]),
    (lambda: hard_budget(Lessons(constrained=False).problem), "subject_to: expected at least one Budget to be kept"),
    *wrong(partial(g.Intervals, rows=TWO), "Intervals.ends", ends=("left",)),
    *wrong(partial(g.LinearReward, rows=select(EVERYTHING, ("gain", "hours"))),
           "LinearReward.weights: expected 2 finite numbers", weights=((), (1.0,), (1.0, 2.0, 3.0), (1.0, NAN))),
    # averages
    (shares, "...smoothing...jumps"),
    *changes(
        partial(shares, smoothing=Moreau(0.1)),
        ({"rows": select(STATED, NAMES[::-1])}, "FrankWolfe.rows"),
        ({"objective": NASH, "start_at": (0.0, 0.5), "smoothing": None}, "...start_at...offset"),
    ),
    *wrong(uncertain, "FrankWolfe.{}: expected one of ...got 'observd'", on=("observd",), optimism=("observd",)),
    *wrong(uncertain, "FrankWolfe.start_at, outcome 'u'", start_at=((NAN, 0.0), (INF, 0.0))),
    *wrong(uncertain, "FrankWolfe.start_at", start_at=((0.0,),)),
    # conjugates
    *((conjugate(f), f"problem.maximize: expected an objective with a maximizer ..., or primal updates, got {kind}")
      for f, kind in ((EqualExposure(NAMES), "EqualExposure"),
                      (WeightedSum(((1.0, GINI), (1.0, AlphaFair(("u",), 1.0, offset=0.1)))), "WeightedSum"))),
    (conjugate(NASH), "problem.maximize: expected an objective of bounded slope, such as AlphaFair with an offset"),
    (lambda: fenchel(ENDLESS, ENDLESS.objective), "the range of 'u': expected finite ends, as dual updates need them"),
    (lambda: fenchel_within(STATED, select(STATED, NAMES), Ball((3.0, 3.0), 0.5)),
     "...expected ends between which the set has points"),
    *wrong(partial(replace, fenchel(STATED, GINI)), "Fenchel.{}: expected", on=("other",), optimism=("other",)),
    # plans
    *wrong(partial(replace, PRIMAL), "Primal.{}: ", contexts=(1,), every=(0,), growth=(-1.0,), slack=(-0.1,),
           temperature=(0.0,), bound=(np.ones(3),)),
    *wrong(partial(replace, PLAN), "Resolving.{}: ", contexts=(1,), every=(0,), temperatures=((),)),
    *wrong(partial(replace, PLAN), "Resolving.growth, drift: ", growth=(0.0,), drift=(0.0,)),
    *each(lambda k: soft(*k), "...contexts, delta", (0, 0.05), (4, 0.0), (4, 1.0)),
    (lambda: primal_lp(COURT, LOGISTIC, slack=with_null_action(COURT, 4, 30.0)), "...margin"),
    *changes(  # budgets too small for the phases
        phases,
        ({"explore": 50}, "...(A + 2) T0 = 300"),
        ({"radius": 0.2}, "...T M = 400"),
        ({"radius": None}, "...T M"),  # the theory's radius, which this budget cannot bear
        ({"explore": 0}, "explore"),
        ({"explore": 10.5}, "explore: expected a whole number"),
    ),
]  # fmt: skip
