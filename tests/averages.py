"""A shop whose days differ, with a parity or a ratio on each of them; `python -m tests.averages [REPLICAS [DAYS]]`."""

import sys
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.luck import Stream
from evenhand.problem import Budget, Groups, Parity, Ratio
from evenhand.run import opt
from tests import day_worlds
from tests.tables import decimal, head, mean_and_worst, row

DAYS, SHARES = 10, {"near": 0.4, "far": 0.6}
PARITY = Parity("money", by="area", tolerance=0.01)
RATIO = Ratio("money", over="sale", at_most=0.3)


@dataclass(frozen=True, kw_only=True, eq=False)
class Uneven(day_worlds.Days):
    """Customers of one area gain little on even days, those of the other on odd days, and all of them less on these."""

    @property
    def problem(self):
        alone = day_worlds.Days.problem.fget(replace(self, subject_to=()))
        return replace(alone, groups=(Groups("area", SHARES),), subject_to=self.subject_to)

    def context(self, step):
        found, day = super().context(step), int(self.times[step]) % 2
        near = self.luck.uniform(Stream.CONTEXT, np.array([step]), 3)[:, 2] < SHARES["near"]
        x = found.features.reshape(len(near), 4, 3, 3).copy()
        x[:, 1:, :, 1] *= np.where(near == (day == 0), 0.3, 1.0)[:, None, None]
        x[:, 1:, :, 2] *= 1.0 - 0.6 * day
        return found._replace(features=x.reshape(len(near), 4, 9), groups=np.where(near, 0, 1)[:, None, None])


def shop(constraint, *, cases, until, level=1.0):
    """The shop with a budget of .12 a case for the whole run where a parity is asked for."""
    budget = (Budget("money", total=0.12 * len(cases)),) if isinstance(constraint, Parity) else ()
    return Uneven(times=cases, subject_to=(constraint, *budget), until=until, traffic=day_worlds.forecast(level))


def by_day(world, trace, constraint):
    """What the constraint measures on every day, added up from the plays, `->(R,days)`."""
    steps, replicas = len(trace.plays.counted), len(trace.replicas)
    day, y = world.times[:steps].astype(int), np.nan_to_num(trace.plays.outcomes[:, :, 0])
    started, found = world.start(trace.seed, trace.replicas), np.zeros((replicas, int(world.until)))
    near = np.stack([started.context(i).groups[:, 0, 0] == 0 for i in range(steps)])
    for d in range(int(world.until)):
        here = day == d
        sale, money = (y[here, :, i].sum(0) for i in (0, 1))
        if isinstance(constraint, Ratio):
            found[:, d] = money / sale
            continue
        of = [(y[here, :, 1] * side[here]).sum(0) / share for side, share in ((near, 0.4), (~near, 0.6))]
        found[:, d] = np.maximum(*(np.abs(z - money) for z in of)) / here.sum()
    return found


def main(replicas: int = 6, length: int = DAYS):
    """Print what days reach, and the sales against the optimum of each day and of the run; replicas of 2 seeds."""
    head("", "mean of days", "worst day", "days above", "by 5 %", "sales / optimum (worst)")
    for asked, constraint in (
        ("gap of money between areas at most .01", PARITY),
        ("money per sale at most .3", RATIO),
    ):
        for name, per, level in (
            (f"{asked}, over the run", None, 1.0),
            ("per day", 1.0, 1.0),
            ("per day, forecast 30 % too low", 1.0, 0.7),
            ("per day, forecast 30 % too high", 1.0, 1.3),
        ):
            values, sold, best = [], [], []
            for seed in (2, 3):
                stated = replace(constraint, per=per)
                world = shop(stated, cases=day_worlds.cases(seed, length), until=float(length), level=level)
                trace = world.played(seed, replicas)
                values.append(by_day(world, trace, constraint))
                sold.append(trace.expected[-1, :, 0])
                each = shop(replace(constraint, per=1.0), cases=world.times, until=world.until)
                best.append(opt(each, seed=seed, replicas=replicas, progress=False).values * len(world.times))
            values, sales = np.concatenate(values), np.concatenate(sold) / np.concatenate(best)
            above = (f"{100 * np.mean(values > z * constraint.limit(1)):.0f} %" for z in (1.0, 1.05))
            row(name, decimal(values.mean(), 4), decimal(values.max(), 4), *above, mean_and_worst(sales))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
