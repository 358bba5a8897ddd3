"""Errors and coverage of all estimators in six hard worlds, by `python -m tests.offline.six_worlds 200`.

Numbers are parts of the true value. Beside them is what the Open Bandit Pipeline makes of the same logs and of the same
predictions, with the interval of its bootstrap; `other_package` has how to compute that anew.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.offline import slates
from evenhand.offline.cautions import doubts
from evenhand.offline.estimators.base import all_estimators
from evenhand.offline.policies import valued
from evenhand.offline.scores import anytime
from evenhand.problem import Groups
from tests.offline.estimator_errors import GROUPS, grouped
from tests.offline.regimes import World, clicks, log_of, mine, spent, truth
from tests.offline.test_slates import ITEMS, PLACES, World as Lists, alone, below
from tests.tables import head, row

OTHER = json.loads((Path(__file__).parent / "other_package.json").read_text(encoding="utf-8"))
VALUE = "doubly robust, the value"
NAMES = {VALUE: "doubly_robust"} | {
    name: name for name in ("ips", "snips", "sndr", "mrdr", "dros", "slope", "switch", "direct_method", "mips")
}
SMALL = World(1000, clicks, least=0.01)
MANY = World(2000, partial(grouped, own=0.1), 100, 0.002)
RARE = World(600, partial(clicks, share=0.01))
HEAVY = World(2000, clicks, amounts=spent)
GROWS = World(10_000, clicks)
LOOKS = np.unique(np.geomspace(300, GROWS.rows, 12).astype(int)).tolist()
NARROWEST = 2000  # cases
SAME = 1e-12  # how far estimates of both packages are apart, where they are the same


class Judged(NamedTuple):
    """The estimates of a log, and what another package needs to repeat them."""

    estimates: dict
    arrays: dict


def judged(log, policy):
    """Judge a log by `value` and all estimators beside it."""
    names = [name for name in NAMES.values() if name != "doubly_robust" and (name != "mips" or log.problem.groups)]
    tables, by, asked = log.tables(), all_estimators(), {"mine": policy}
    *_, (own, _, _) = valued(log, tables, asked, {}, doubts(log, asked), {name: by[name] for name in names})
    arrays = {"policy": policy, "predicted": tables["worth"].predicted, "action": log.actions}
    arrays |= {"reward": log.outcomes[:, 0], "pscore": log.propensities}
    return Judged({VALUE: own.value} | own.by, arrays)


def once(world, seed):
    """Draw a log of cases, and judge it at its end."""
    log, means, _ = log_of(world, seed)
    if world.actions == 100:
        kind = {a: str(i % GROUPS) for i, a in enumerate(log.problem.actions)}
        groups = (Groups("kind", tuple(map(str, range(GROUPS))), of=kind),)
        log = replace(log, problem=replace(log.problem, groups=groups))
    return [judged(log, mine(means))]


def grown(seed):
    """Draw a log, and judge it again and again while it grows."""
    log, means, _ = log_of(GROWS, seed)
    fields, found = ("features", "actions", "propensities", "outcomes"), []
    for n in LOOKS:
        found.append(judged(replace(log, **{name: getattr(log, name)[:n] for name in fields}), mine(means[:n])))
    return found


@cache
def lists():
    return Lists(repeats=False)


def listed(y, seed, rows=400):
    """Draw a log of lists of three of four items, and judge it by four estimators of lists."""
    world, rng = lists(), np.random.default_rng(seed)
    drawn = rng.choice(len(world.lists), rows, p=world.chances)
    items, policy, logged = world.lists[drawn], world.policy[drawn], world.logged[drawn]
    amounts = y(items) + rng.standard_normal((rows, PLACES))
    own = [world.marginal(z)[drawn] for z in (world.wanted, world.chances)]
    moments = slates.moments_of(world.lists, world.chances[None], ITEMS)
    shown = np.tile(world.at(world.wanted), (rows, 1, 1))
    last = np.eye(PLACES)[-1] * amounts.sum(1, keepdims=True)
    found = {
        "whole lists": slates.cascade(policy, logged, last),
        "cascade": slates.cascade(policy, logged, amounts),
        "pseudo-inverse": slates.pseudo_inverse(items, shown, moments, amounts.sum(1)),
        "independent": slates.independent(*own, amounts),
    }
    arrays = {"policy": policy, "pscore": logged, "reward": amounts, "own_policy": own[0], "own_pscore": own[1]}
    return [Judged(found, arrays)]


class Kind(NamedTuple):
    """How logs of a world are drawn, by seed, and the true value."""

    draw: Callable
    truth: Callable


KINDS = {
    "many actions": Kind(partial(once, MANY), lambda: truth(MANY)[-2]),
    "small propensities": Kind(partial(once, SMALL), lambda: truth(SMALL)[-2]),
    "rare": Kind(partial(once, RARE), lambda: truth(RARE)[-2]),
    "heavy": Kind(partial(once, HEAVY), lambda: truth(HEAVY)[-2]),
    "growing": Kind(grown, lambda: truth(GROWS)[-2]),
    "lists": Kind(partial(listed, alone), lambda: float(lists().wanted @ alone(lists().lists).sum(1))),
    "lists, cascades": Kind(partial(listed, below), lambda: float(lists().wanted @ below(lists().lists).sum(1))),
}


def holds(interval, right):
    return interval[0] <= right <= interval[1]


def table(kind, logs):
    """Print a line per estimator, by the last look at each log; return all looks."""
    right, each = KINDS[kind].truth(), [KINDS[kind].draw(seed) for seed in range(logs)]
    for name in each[0][-1].estimates:
        last = [looks[-1].estimates[name] for looks in each]
        off = np.array([z.value for z in last]) / right - 1.0
        stated = [z.interval for z in last if not np.isnan(z.se)]
        held, width = "states none", "states none"
        if stated:
            held = f"{100 * np.mean([holds(ends, right) for ends in stated]):.1f}"
            held += "" if len(stated) == logs else f" of {len(stated)}"
            width = f"{np.median([high - low for low, high in stated]) / right:.3f}"
        other = OTHER["worlds"].get(kind, {}).get(NAMES.get(name, name))
        beside = ("yes" if other["off"] < SAME else "no", f"{100 * other['held']:.0f}") if other else ("has none",) * 2
        bias = f"{off.mean():+.4f} ± {off.std() / logs**0.5:.4f}"
        row(f"{kind}: {name}", f"{np.sqrt((off**2).mean()):.3f}", bias, held, width, *beside)
    return right, each


def ever(logs, right):
    """Print how often an interval of some look misses, for one look, at any time, and by the bootstrap."""
    head(f"logs with a miss at some of {len(LOOKS)} looks", "intervals for one look", "at any time", "OBP, bootstrap")
    for name, first in logs[0][-1].estimates.items():
        if np.isnan(first.se):
            continue
        missed = np.zeros((2, len(logs)), bool)
        for i, looks in enumerate(logs):
            for n, each in zip(LOOKS, looks, strict=True):
                z = each.estimates[name]
                missed[:, i] |= [not holds(z.interval, right), not holds(z.within(anytime(n, NARROWEST)), right)]
        other = OTHER["worlds"]["growing"].get(NAMES[name])
        beside = f"{100 * other['ever']:.0f}" if other else "has none"
        row(name, *(f"{100 * z:.1f}" for z in missed.mean(1)), beside)


def store(folder, kind, logs):
    """Write logs for the other package, a file for each look."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for seed in range(logs):
        for i, look in enumerate(KINDS[kind].draw(seed)):
            ours = {f"ours_{NAMES.get(name, name)}": z.value for name, z in look.estimates.items()}
            place = Path(folder, f"{kind}+{seed:04}+{i:02}.npz")
            np.savez(place, truth=KINDS[kind].truth(), **ours, **look.arrays)


def main(logs, folder=None, *kinds):
    if folder is not None:
        for kind in kinds or KINDS:
            store(folder, kind, int(logs))
        return
    columns = "error", "bias ± se", "95 % hold", "width", "as OBP", "95 % of OBP hold"
    head(f"{logs} logs each", *columns)
    grew = None
    for kind in KINDS:
        found = table(kind, int(logs))
        grew = found if kind == "growing" else grew
    print()
    ever(grew[1], grew[0])


if __name__ == "__main__":
    main(*sys.argv[1:] or ["200"])
