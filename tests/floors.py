"""The shop with days where money is saved and every day asks for sales; `python -m tests.floors [REPLICAS [DAYS]]`."""

import sys
from dataclasses import dataclass, replace

import numpy as np

from evenhand.objectives import Linear
from evenhand.problem import Floor
from evenhand.run import opt
from tests import day_worlds
from tests.tables import decimal, head, row

DAYS, ASKED = 10, 50.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Saving(day_worlds.Days):
    """The shop that spends as little as it can."""

    @property
    def problem(self):
        return replace(super().problem, maximize=Linear({"money": -1.0}))


def saving(asked, *others, cases, until, level=1.0):
    """The shop with a floor of sales on every day."""
    floor = Floor("sale", total=asked, per=1.0)
    return Saving(times=cases, subject_to=(floor, *others), until=until, traffic=day_worlds.forecast(level))


def by_day(world, trace):
    """Sales of every day, from every play, `->(R,days)`."""
    day = world.times[: len(trace.plays.counted)].astype(int)
    sales = np.nan_to_num(trace.plays.outcomes[:, :, 0, 0])
    return np.stack([sales[day == d].sum(0) for d in range(int(world.until))], 1)


def main(replicas: int = 6, length: int = DAYS):
    """Print what days reach of their floor, and what it costs against the optimum in hindsight; replicas of 2 seeds."""
    head("", "mean of days / floor (se)", "worst day", "days below", "cost / optimum (worst)")
    for name, level in (("forecast right", 1.0), ("30 % too low", 0.7), ("30 % too high", 1.3)):
        sales, cost, best = [], [], []
        for seed in range(2):
            world = saving(ASKED, cases=day_worlds.cases(seed, length), until=float(length), level=level)
            trace = world.played(seed, replicas)
            sales.append(by_day(world, trace))
            cost.append(trace.expected[-1, :, 1])
            best.append(-opt(world, seed=seed, replicas=replicas, progress=False).values * len(world.times))
        sales, cost, best = (np.concatenate(z) for z in (sales, cost, best))
        part = (sales / ASKED).ravel()
        days_below = np.mean(sales < ASKED)
        over = cost / best
        error = sales.mean(1).std(ddof=1) / np.sqrt(len(sales)) / ASKED
        mean, cost = (f"{decimal(x)} ({decimal(y)})" for x, y in ((part.mean(), error), (over.mean(), over.max())))
        row(name, mean, decimal(part.min()), f"{100 * days_below:.1f} %", cost)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
