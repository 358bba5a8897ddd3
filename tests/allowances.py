"""Allowances over time in the shop with days: shares of the optimum that knows all cases and means.

`python -m tests.allowances` prints the last tables of docs/spans.md; replicas of each seed and days may follow.
"""

import sys
from dataclasses import replace

import numpy as np

from evenhand.models import BayesianRidge
from evenhand.problem import Between, Budget
from evenhand.problem.spans import Spans
from evenhand.recipes import resolving
from evenhand.run import simulate
from tests.day_worlds import Days, cases, forecast
from tests.tables import decimal, head, mean_and_worst, row

DAYS, ALLOWANCE = 10, 48.0
DAY_BY_DAY = Budget("money", total=ALLOWANCE, per=1.0)
BUDGETS = {
    "per day": DAY_BY_DAY,
    "rest carried over": replace(DAY_BY_DAY, carry=True),
    "any three days": Budget("money", total=3.0 * ALLOWANCE, per=1.0, window=3),
}


def one(end, total):
    """A single span."""
    return Spans(np.array([0.0, end]), np.array([total]), np.array([0]), np.array([0]))


def policy(shop):
    return resolving(shop.problem, BayesianRidge(n_features=9, n_outcomes=2))


def shares(budget, said, came, seed=0, replicas=6, days=DAYS):
    """Shares of the optimum of the run, by a policy that was told one forecast while another level came."""
    shop = Days(times=cases(seed, days, came), subject_to=(budget,), until=float(days), traffic=forecast(said))
    trace = simulate(policy(shop), shop, replicas=replicas, record="all", progress=False)
    (stated,) = shop.problem.stated
    spans = stated.spans or one(days, budget.total)
    spent = trace.plays.outcomes[:, :, 0, 1]
    period = spans.period(shop.times)
    for allowance, first, last in zip(spans.allowance, spans.first, spans.last, strict=True):
        inside = (period >= first) & (period <= last)
        assert (np.nansum(spent[: len(period)][inside], 0) <= allowance + 1e-6).all()
    return trace.expected[-1, :, 0] / shop.best(spans, 0, replicas)


def by_end(horizon, ends, total, replicas):
    """Shares of the optimum that knows the end, for every end, with all cases by day, `->(E,R)`."""
    last = ends[-1]
    shop = Days(times=np.arange(last) + 0.55, subject_to=(Budget("money", total=total),), horizon=horizon)
    trace, found = simulate(policy(shop), shop, replicas=replicas, progress=False), []
    for end in ends:
        best = replace(shop, times=shop.times[:end], horizon=end).best(one(end, total), 0, replicas)
        found.append([np.interp(end, trace.times, z) for z in trace.expected[:, :, 0].T] / best)
    return np.array(found)


def main(replicas: int = 6, days: int = DAYS):
    head("", "forecast right", "30 % too low", "30 % too high")
    for name, stated in BUDGETS.items():
        budget = stated if stated.window is None else replace(stated, window=min(stated.window, days))
        by_forecast = ([shares(budget, z, 1.0, seed, replicas, days) for seed in range(2)] for z in (1.0, 0.7, 1.3))
        row(name, *(mean_and_worst(np.concatenate(z)) for z in by_forecast))
    print()
    total = Budget("money", total=ALLOWANCE * days)
    head("", "30 % fewer cases than forecast", "as many", "30 % more")
    by_cases = ([shares(total, 1.0, z, seed, replicas, days) for seed in range(3)] for z in (0.7, 1.0, 1.3))
    row("one total", *(mean_and_worst(np.concatenate(z)) for z in by_cases))
    print()
    ends = [150 * days, 225 * days, 300 * days, 375 * days, 450 * days]
    head("", *(f"{end:,}" for end in ends), "least")
    for horizon in (Between(ends[0], ends[-1]), ends[-1]):
        found = by_end(horizon, ends, 36.0 * days, 2 * replicas).mean(1)
        name = horizon if isinstance(horizon, int) else f"Between({ends[0]}, {ends[-1]})"
        row(f"`horizon={name}`", *(decimal(z) for z in (*found, found.min())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
