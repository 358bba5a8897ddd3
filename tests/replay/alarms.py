"""How often checks find something in right logs, and what is planted: `python -m tests.replay.alarms LOGS`.

Actions depend on age, town and area. Of right logs at most 1 % may be said to be wrong; a check aims at .1 %. By a rule
of two columns some cases never get an action, which `overlap` says rightly.
"""

import sys
from dataclasses import replace

import numpy as np

from evenhand.logs.checks import Drawn, of_log
from evenhand.logs.columns import Names
from evenhand.logs.units import Units

TOWNS = ("Bonn", "Ulm", "Köln")
AREAS = ("north", "south")


RULES = {
    "below 30 in Ulm": lambda age, spent, town, area: (age < 30) & (town == 1),
    "below 32, spends little": lambda age, spent, town, area: (age < 32) & (spent < 0.8),
    "Ulm, south": lambda age, spent, town, area: (town == 1) & (area == 1),
    "30 to 45, spends much": lambda age, spent, town, area: (age > 30) & (age < 45) & (spent > 1.5),
}


def drawn(seed, rows=4000, *, least=0.1, tilt=1.0, chances=None, rule=None):
    """Draw a log in which ages, towns and areas decide how likely each action is; by a rule some never get the last."""
    rng = np.random.default_rng(seed)
    ages, spent = rng.uniform(20, 70, rows), np.exp(1.5 * rng.standard_normal(rows))
    town, area = rng.choice(3, rows, p=[0.6, 0.36, 0.04]), rng.choice(2, rows, p=[0.7, 0.3])
    if chances is None:
        z = np.exp(tilt * ((ages[:, None] - 45) / 15 * np.array([-1.0, 0.0, 1.0]) + (town[:, None] == np.arange(3))))
        chances = least + (1 - 3 * least) * z / z.sum(1, keepdims=True)
    chances = np.array(np.broadcast_to(chances, (rows, 3)))
    if rule is not None:
        chances[rule(ages, spent, town, area), 2] = 0.0
        chances /= chances.sum(1, keepdims=True)
    actions = (rng.random((rows, 1)) > chances.cumsum(1)).sum(1).clip(0, 2)
    texts = {"town": Names.of(np.array(TOWNS)[town].tolist())}
    units = Units.fit({"age": ages, "spent": spent}, texts)
    log = Drawn(
        names=("none", "small", "large"),
        actions=actions,
        propensities=chances[np.arange(rows), actions],
        units=units.table(rows, {"age": ages, "spent": spent}, texts),
        coding=units,
        groups={"area": area},
        group_names={"area": AREAS},
    )
    return log, rng


RIGHT = {
    "propensities of at least .1": {},
    "of at least .01": {"least": 0.01},
    "of at least .01, 50,000 rows": {"least": 0.01, "rows": 50_000},
    "two actions of .005 each": {"chances": np.array([0.99, 0.005, 0.005])},
    "300 rows": {"rows": 300},
} | {f"never: {name}": {"rule": rule} for name, rule in RULES.items()}


def planted(seed):
    """Yield logs with one fault each, and the check that is to find it."""
    log, rng = drawn(seed)
    yield "propensities", replace(log, propensities=np.where(log.actions == 1, 0.85, 1.0) * log.propensities)
    units = log.units.copy()
    units[:, 1] += 0.3 * (log.actions == 2)
    yield "features", replace(log, units=units)
    chances = np.array([0.5, 0.3, 0.2])
    log, _ = drawn(seed, chances=chances)
    actions = np.where((log.units[:, 4] == 1.0) & (log.actions == 2), 0, log.actions)
    yield "overlap", replace(log, actions=actions, propensities=chances[actions])
    yield "groups", replace(log, groups={"area": (rng.permutation(4000) < 40).astype(np.int64)})


def measured(logs):
    """The share of right logs in which each check finds something, by design; and of planted faults that are found."""
    right = {}
    for name, design in RIGHT.items():
        found = [of_log(drawn(seed, **design)[0]) for seed in range(logs)]
        right[name] = {check: float(np.mean([f[check] is not None for f in found])) for check in found[0]}
    faults = {}
    for seed in range(logs):
        for check, log in planted(seed):
            faults.setdefault(check, []).append(of_log(log)[check] is not None)
    return right, {check: float(np.mean(z)) for check, z in faults.items()}


if __name__ == "__main__":
    right, faults = measured(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    for name, shares in right.items():
        print(f"{name:>30}  " + "  ".join(f"{check} {share:.4f}" for check, share in shares.items()))
    print(f"{'planted faults found':>30}  " + "  ".join(f"{check} {share:.4f}" for check, share in faults.items()))
