"""An example of every goal, step size and mirror map, with a problem for each goal."""

import math
from dataclasses import replace

import numpy as np

from evenhand import goals as g
from evenhand.goals.comparison import comparison
from evenhand.goals.fenchel import fenchel, fenchel_within
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.hard_limits import hard_budget, hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.objectives import AlphaFair, DistancePenalty, Linear as LinearObjective, Moreau, Randomized
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import select
from evenhand.sets import Box
from tests.examples.problems import COURT, EVERYTHING, GINI, LITTLE, LITTLE_SPENT, NEVER_WORSE, REGIONS, SHOP, TWO_DAYS

STEPS = [g.Steady(0.0), g.Steady(0.1), g.Falling(0.1)]
STEPS += [g.Doubling(0.05, (1.0, 2.0, 3.0)), g.Doubling(0.05, (1.0,), reset=True)]


def _constrained(problem, step, **options):
    rows, bound = constraint_rows(problem)
    return g.DualGradient(rows=rows, bound=bound, step=step, **options)


def _hedged(problem, max_price, step, **options):
    rows, bound = constraint_rows(problem)
    return g.DualHedge(rows=rows, bound=bound, max_price=max_price, step=step, **options)


def _drifting(problem, **options):
    rows, bound = constraint_rows(problem)
    return g.Lyapunov(rows=rows, bound=bound, horizon=problem.horizon, **options)


def _resolved(problem, **options):
    rows, bound = constraint_rows(problem)
    return g.Resolving(problem=problem, objective=reward(problem), constraints=rows, bound=bound, **options)


def _planned(problem, **options):
    rows, bound = constraint_rows(problem)
    return g.Primal(problem=problem, objective=reward(problem), rows=rows, bound=bound, **options)


def _approached(problem, names, bounds, **options):
    return fenchel_within(problem, select(problem, names), Box.below(bounds), **options)


def _two_stage(problem, collect_from, collect_until):
    return g.TwoStage(
        hedge=_hedged(problem, 1.0, 0.1),
        objective=reward(problem),
        bound=constraint_rows(problem)[1],
        smallest_budget=0.4,
        radius=0.1,
        collect_from=collect_from,
        collect_until=collect_until,
    )


_FAIR = AlphaFair(("gain",), alpha=1.0, offset=0.1)
MIRRORS = [
    g.Descent(1.0, g.Steady(0.1)),
    g.Descent(0.0, g.Falling(0.5)),
    g.Entropic(2.0, g.Falling(0.5)),
    g.Entropic(1.0, g.Steady(0.1)),
    g.PowerBall(2.0, g.Steady(0.1), 1.5),
    g.PowerBall(1.0, g.Falling(0.3), 4.0),
    g.PowerBall(1.0, g.Steady(0.2), math.inf),
]

GOALS = [
    (frank_wolfe(EVERYTHING, GINI, Moreau(0.1)), EVERYTHING),
    (frank_wolfe(EVERYTHING, GINI, Randomized(0.1, samples=3), on="optimistic"), EVERYTHING),
    (frank_wolfe(LITTLE, _FAIR, None, optimism="net"), LITTLE),
    (
        g.FrankWolfe(
            rows=select(COURT.problem, ("appears",)), objective=LinearObjective({"appears": 2.0}), start_at=(0.0,)
        ),
        COURT.problem,
    ),
    (
        g.FrankWolfe(
            rows=select(EVERYTHING, ("hours", "letters")),
            objective=DistancePenalty(("hours", "letters"), Box.below((0.1, 0.5))),
            smoothing=Moreau(0.1),
            start_at=(0.3, 0.2),
            on="optimistic",
        ),
        EVERYTHING,
    ),
    (fenchel(EVERYTHING, GINI), EVERYTHING),
    (fenchel(EVERYTHING, GINI, norm="sup", on="observed"), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, norm=3.0), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, norm="one"), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, by=g.Entropic(1.0, g.Falling(0.5)), on="observed"), EVERYTHING),
    (replace(fenchel(LITTLE, _FAIR, by=g.Descent(2.0, g.Falling(0.5))), optimism="net"), LITTLE),
    (_approached(EVERYTHING, ("hours", "letters"), (0.1, 0.5)), EVERYTHING),
    (_approached(EVERYTHING, ("hours", "letters"), (0.1, 0.5), norm="sup", on="observed"), EVERYTHING),
    (_approached(COURT.problem, ("ride", "voucher"), (0.05, 0.2), on="observed"), COURT.problem),
    (_planned(EVERYTHING, contexts=8, every=1), EVERYTHING),
    (_planned(LITTLE_SPENT, contexts=2, slack=0.5), LITTLE_SPENT),
    (_planned(COURT.problem, temperature=0.01), COURT.problem),
    (_two_stage(EVERYTHING, 3, 9), EVERYTHING),
    (_two_stage(LITTLE_SPENT, 0, 1), LITTLE_SPENT),
    (_resolved(EVERYTHING, contexts=8, every=5), EVERYTHING),
    (_resolved(LITTLE_SPENT, contexts=2), LITTLE_SPENT),
    (_resolved(EVERYTHING, contexts=8, every=5, regions=REGIONS), EVERYTHING),
    (_resolved(COURT.problem, drift=math.inf, temperatures=(0.02,)), COURT.problem),
    (_resolved(COURT.problem, reserve=0.2), COURT.problem),
    (comparison(EVERYTHING), EVERYTHING),
    (reward(EVERYTHING), EVERYTHING),
    (reward(LITTLE), LITTLE),
    (g.LinearReward(rows=select(EVERYTHING, ("gain", "miles")), weights=(2.0, -0.1), optimism="row"), EVERYTHING),
    (g.LinearReward(rows=select(EVERYTHING, ("miles", "gain")), weights=(-1.0, 0.5)), EVERYTHING),
    (g.Intervals(rows=select(EVERYTHING, ("gain", "miles"))), EVERYTHING),
    (g.Intervals(rows=select(EVERYTHING, ("hours", "gain")), ends="lower"), EVERYTHING),
    (g.Intervals(rows=select(LITTLE, ("gain",)), ends="upper"), LITTLE),
    (_constrained(EVERYTHING, g.Steady(0.1)), EVERYTHING),
    (_constrained(EVERYTHING, g.Falling(0.3), optimism="net"), EVERYTHING),
    (_constrained(EVERYTHING, g.Falling(0.3), on="optimistic"), EVERYTHING),
    (_constrained(EVERYTHING, g.Steady(0.1), on="optimistic"), EVERYTHING),
    (_constrained(EVERYTHING, g.Doubling(0.05, (1.0, 2.0, 3.0))), EVERYTHING),
    (_constrained(EVERYTHING, g.Doubling(0.05, (1.0, 2.0), reset=True), on="optimistic"), EVERYTHING),
    (_constrained(LITTLE_SPENT, g.Steady(0.1), start_at=(0.4,)), LITTLE_SPENT),
    (_constrained(COURT.problem, g.Doubling(0.02, (3.0, 3.0))), COURT.problem),
    (_drifting(EVERYTHING, worth=1.0, scale=5.0), EVERYTHING),
    (_drifting(EVERYTHING, worth=0.5, scale=2.0, optimism="net"), EVERYTHING),
    (_drifting(LITTLE_SPENT, worth=3.0, scale=1.0), LITTLE_SPENT),
    (_drifting(COURT.problem, worth=1.0, scale=14.0), COURT.problem),
    (_hedged(EVERYTHING, 3.0, 0.2), EVERYTHING),
    (_hedged(EVERYTHING, 0.5, 1.0, optimism="net"), EVERYTHING),
    (_hedged(LITTLE_SPENT, 4.0, 0.0), LITTLE_SPENT),
    (_hedged(COURT.problem, 20.0, 0.05), COURT.problem),
    (hard_budget(EVERYTHING), EVERYTHING),
    (hard_budget(LITTLE_SPENT), LITTLE_SPENT),
    (hard_budget(SHOP.problem), SHOP.problem),
    (hard_limits(TWO_DAYS.problem, True)[1], TWO_DAYS.problem),
    (hard_limits(NEVER_WORSE, True)[0], NEVER_WORSE),
    (_constrained(SHOP.problem, g.Falling(0.3), on="optimistic"), SHOP.problem),
    (frank_wolfe(SHOP.problem, SHOP.problem.objective, Moreau(0.1)), SHOP.problem),
    (
        g.HardBudget(
            rows=select(EVERYTHING, ("hours", "miles")),
            total=np.array([4.0, 30.0]),
            low=EVERYTHING.low,
            high=EVERYTHING.high,
        ),
        EVERYTHING,
    ),
]
