"""What is said of the best of many policies that are all alike; `python -m tests.offline.selection [LOGS [RULES]]`."""

import sys
from typing import NamedTuple

import numpy as np

from evenhand.offline import from_bandit_feedback, value

TRUTH = 0.3  # what every policy is worth


class Said(NamedTuple):
    """In how many of so many logs something was said that is not so."""

    logs: int
    best: int  # the interval of the best policy leaves out what it is worth
    alone: int  # so does its interval for a policy alone
    beyond: int  # it is said to be beyond what was logged, or below
    recommended: int  # the headline says that it is worth the most


def alike(seed, rows=1000, rules=10):
    """A log of three actions that are alike, with rules that decide by chance."""
    rng = np.random.default_rng(seed)
    a, y = rng.integers(0, 3, rows), (rng.random(rows) < TRUTH).astype(float)
    feedback = {"n_rounds": rows, "n_actions": 3, "context": rng.normal(size=(rows, 2)), "action": a, "reward": y}
    log = from_bandit_feedback(feedback | {"position": None, "pscore": np.full(rows, 1 / 3)})
    return log, {f"r{i}": np.eye(3)[rng.integers(0, 3, rows)] for i in range(rules)}


def measured(logs, rules=10):
    """Count what is said wrongly of so many logs."""
    found = np.zeros(4, int)
    for seed in range(logs):
        log, policies = alike(seed, rules=rules)
        table = value(log, policies=policies)
        best = max(table.policies, key=lambda p: p.value.value)
        low, high = best.value.within(table.bands.value)
        alone = best.value.interval
        found += [
            not low <= TRUTH <= high,
            not alone[0] <= TRUTH <= alone[1],
            "which is indistinguishable from chance" not in table.summary(),
            " is worth the most of " in table.headline(),
        ]
    return Said(logs, *found.tolist())


if __name__ == "__main__":
    print(measured(*map(int, sys.argv[1:] or ["500"])))
