"""How far estimators are off in hard logs, by `python -m tests.offline.estimator_errors 200`.

The policy is that of `regimes`, nine times of ten what is best. A cell is the root of the mean squared error, divided
by that of the doubly robust estimate; in brackets the part of the logs, in per cent, whose interval holds the truth.
"""

import sys
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand.offline.estimators import (
    IPS,
    MIPS,
    MRDR,
    SNDR,
    SNIPS,
    DirectMethod,
    DoublyRobust,
    DRos,
    Slope,
    Switch,
)
from evenhand.offline.estimators.base import Sample
from tests.offline.folds import cross_fit, folds_of
from tests.offline.regimes import World, alike, bent, clicks, log_of, mine, noisy, spent, truth
from tests.tables import head, row


def grouped(traits, time, own, actions=100):
    """What groups of actions bring, and actions beside it."""
    kinds = clicks(traits, time, actions=GROUPS)[:, np.arange(actions) % GROUPS]
    return kinds + own * np.cos(7.0 * np.arange(actions))


GROUPS = 5
ESTIMATORS = {
    "doubly robust": DoublyRobust(),
    "IPS": IPS(),
    "MIPS": MIPS(),
    "SNIPS": SNIPS(),
    "SNDR": SNDR(),
    "MRDR": MRDR(),
    "DRos": DRos(),
    "SLOPE": Slope(),
    "SLOPE, two errors": Slope(errors=2.0),
    "switch": Switch(),
    "model alone": DirectMethod(),
}
WORLDS = {
    "34 actions, 1 event each": World(3400, partial(alike, share=0.01), 34, 1 / 34),
    "34 actions, 10 events each": World(3400, partial(alike, share=0.1), 34, 1 / 34),
    "30 actions, 900 rows": World(900, partial(clicks, actions=30), 30, 0.01),
    "30 actions, 3,000 rows": World(3000, partial(clicks, actions=30), 30, 0.01),
    "propensities of .01 on, 1,000 rows": World(1000, clicks, least=0.01),
    "propensities of .01 on, 5,000 rows": World(5000, clicks, least=0.01),
    "1 % of 600 rows": World(600, partial(clicks, share=0.01)),
    "spending, 2,000 rows": World(2000, clicks, amounts=spent),
    "a trend, 2,000 rows": World(2000, partial(clicks, trend=0.4), least=0.02, drift=1.0),
    "outcomes that are bent, 2,000 rows": World(2000, bent, amounts=noisy),
    "the same, propensities of .01 on": World(2000, bent, least=0.01, amounts=noisy),
    "100 actions in 5 groups, alike within": World(2000, partial(grouped, own=0.0), 100, 0.002),
    "100 actions in 5 groups, not alike": World(2000, partial(grouped, own=0.1), 100, 0.002),
}


def sample_of(world, seed):
    """A log and the policy `mine`, with predictions by five folds."""
    log, means, _ = log_of(world, seed)
    y, fold = log.outcomes[:, 0], folds_of(world.rows, 5, seed)
    q = cross_fit(log.features, log.actions, y, world.actions, fold=fold).clip(*log.problem.span[:, 0])
    found = Sample.of(mine(means), log.actions, log.propensities, y, q)
    return replace(found, groups=np.arange(world.actions) % GROUPS if world.actions == 100 else None)


def measured(world, logs, estimators, first=0):
    """By estimator the error beside the doubly robust one, and how often intervals hold, NaN if there are none."""
    samples, right, found = [sample_of(world, seed) for seed in range(first, first + logs)], truth(world)[-2], {}
    for name, one in estimators.items():
        if name == "MIPS" and samples[0].groups is None:
            found[name] = float("nan"), float("nan")
            continue
        each = [one.average(sample).estimate for sample in samples]
        off = float(np.sqrt(np.mean([(z.value - right) ** 2 for z in each])))
        held = float(np.mean([low <= right <= high for low, high in (z.interval for z in each)]))
        found[name] = off, held if one.unbiased else float("nan")
    plain = found["doubly robust"][0]
    return {name: (off / plain, held) for name, (off, held) in found.items()}


def cell(off, held):
    return "" if np.isnan(off) else f"{off:.2f}" + ("" if np.isnan(held) else f" ({100 * held:.0f})")


def main(logs, *kinds):
    head(f"error beside doubly robust, {logs} logs", *ESTIMATORS)
    every = []
    for name in kinds or WORLDS:
        found = measured(WORLDS[name], int(logs), ESTIMATORS)
        every.append([off for off, _ in found.values()])
        row(name, *(cell(*z) for z in found.values()))
    columns = [[z for z in column if not np.isnan(z)] for column in zip(*every, strict=True)]  # none, without groups
    row("geometric mean", *(f"{np.exp(np.log(z).mean()):.2f}" if z else "" for z in columns))
    row("largest", *(f"{max(z):.2f}" if z else "" for z in columns))


if __name__ == "__main__":
    main(*sys.argv[1:] or ["200"])
