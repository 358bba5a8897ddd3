"""Whether intervals of shares hold where few cases have the event; `python -m tests.offline.rare_events [LOGS]`."""

import sys
from typing import NamedTuple

import numpy as np

from evenhand.offline import from_bandit_feedback, value
from evenhand.offline.scores import Z
from evenhand.report.summary import table


class World(NamedTuple):
    """Logs of actions that all bring the same, more often for some cases."""

    actions: int
    rows: int
    share: float  # of cases with the event
    skewed: bool = False  # whether actions are drawn by the case

    @property
    def events(self):
        """How many events an action can expect."""
        return self.rows * self.share / self.actions


WORLDS = [
    *(World(34, 3400, events / 100) for events in (0.5, 1.35, 3.0, 5.0, 10.0)),
    *(World(3, 600, events / 200, skewed=True) for events in (1.0, 3.0, 10.0)),
    World(3, 600, 0.01),
    World(3, 3000, 0.01),
    World(3, 300, 0.3, skewed=True),
    World(3, 3000, 0.3, skewed=True),
    World(3, 3000, 0.97),
]


def log_of(world, seed):
    """Draw a log."""
    rng = np.random.default_rng(seed)
    x, k = rng.normal(size=(world.rows, 2)), world.actions
    odds = np.full(k, 1.0)
    chances = np.tile(odds / odds.sum(), (world.rows, 1))
    if world.skewed:
        z = np.exp(0.8 * x[:, :1] * np.linspace(-1.0, 1.0, k))
        chances = 0.1 / k + 0.9 * z / z.sum(1, keepdims=True)
    a = (rng.random((world.rows, 1)) > chances.cumsum(1)).sum(1).clip(0, k - 1)
    tilt = min(world.share, 1.0 - world.share) * np.tanh(x[:, 0])  # of mean 0
    y = (rng.random(world.rows) < world.share + 0.8 * tilt).astype(float)
    p = chances[np.arange(world.rows), a]
    rows = {"n_rounds": world.rows, "n_actions": k, "context": x, "action": a, "reward": y, "position": None}
    return from_bandit_feedback(rows | {"pscore": p})


class Held(NamedTuple):
    """How often intervals hold, by the events and by normal errors, and how much wider they are."""

    value: float
    normal: float
    wider: float
    beyond: float  # of differences to what was logged
    normal_beyond: float
    less: float  # of differences between actions
    normal_less: float


def measured(world, logs):
    """Measure the coverage of all policies of a table, each of one action."""
    held, width, sums = np.zeros(6), np.zeros(2), np.zeros(3)
    for seed in range(logs):
        for p in value(log_of(world, seed)).policies[1:]:
            each = [(p.value, world.share), (p.beyond, 0.0)]
            each += [(d, 0.0) for name, d in p.less.items() if name != "as logged"]
            for i, (estimate, truth) in enumerate(each):
                kind, (low, high) = min(i, 2), estimate.interval
                sums[kind] += 1
                held[2 * kind] += low <= truth <= high
                held[2 * kind + 1] += abs(estimate.value - truth) <= Z * estimate.se
                if i == 0:
                    width += [high - low, 2 * Z * estimate.se]
    v, normal, beyond, normal_beyond, less, normal_less = (held / sums.repeat(2)).tolist()
    return Held(v, normal, float(width[0] / width[1]), beyond, normal_beyond, less, normal_less)


def main(logs):
    """Print a table."""
    lines = []
    for world in WORLDS:
        h = measured(world, max(1, logs * 3 // world.actions))
        name = f"{world.actions} actions, {world.rows:,} rows, {world.share:.3g}" + ", by the case" * world.skewed
        both = [f"{a:.1%} ({b:.1%})" for a, b in ((h.value, h.normal), (h.beyond, h.normal_beyond))]
        lines.append([name, f"{world.events:.3g}", *both, f"{h.less:.1%} ({h.normal_less:.1%})", f"{h.wider:.2f}"])
    print(table(["share", "events", "value", "beyond as logged", "between actions", "wider"], lines))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["100"]))
