"""The observations that a model keeps: the latest as they are, and a quadratic for all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.numerics.likelihood import fold

Arrays = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]


@dataclass
class Past:
    """The latest observations, whose arrays double in size up to a bound, and the quadratic of `numerics.likelihood`.

    A batch's arrays are as long as its longest replica needs; only `kept` observations of a replica count.
    """

    x: Floats  # (R, room, n)
    y: Floats  # (R, room)
    kept: Floats  # (R,)
    weight: Floats  # (R, room) the number of observations that each counts for
    anchor: Floats  # (R, n)
    slope: Floats  # (R, n)
    curve: Floats  # (R, n, n)

    @property
    def arrays(self) -> Arrays:
        return self.x, self.y, self.kept, self.weight, self.anchor, self.slope, self.curve

    def make_room(self, plays: int, most: int) -> None:
        """Double the arrays until the plays of a round fit in, or `most` observations do."""
        wanted = min(int(self.kept.max()) + plays, most)
        while wanted > self.y.shape[1]:
            more = min(self.y.shape[1], most - self.y.shape[1])
            self.x = np.concatenate([self.x, np.zeros_like(self.x[:, :more])], 1)
            self.weight = np.concatenate([self.weight, np.ones_like(self.y[:, :more])], 1)
            self.y = np.concatenate([self.y, np.zeros_like(self.y[:, :more])], 1)


def no_past(n_replicas: int, n: int, most: int) -> Past:
    """Start with no observations and no quadratic."""
    room, quadratic = min(256, most), np.zeros((n_replicas, n, n))
    x, y, kept = np.zeros((n_replicas, room, n)), np.zeros((n_replicas, room)), np.zeros(n_replicas)
    return Past(x, y, kept, np.ones_like(y), np.zeros((n_replicas, n)), np.zeros((n_replicas, n)), quadratic)


@kernel
def fold_older(past: Arrays, r: int, link: int, theta: Floats) -> None:
    """Fold the older half of what a replica keeps into its quadratic at theta, and move the rest to the front."""
    x, y, kept, weight, anchor, slope, curve = past
    size = int(kept[r])
    half = size // 2
    fold(link, (x[r, :half], y[r, :half], weight[r, :half]), theta, anchor[r], slope[r], curve[r])
    for s in range(half, size):
        for i in range(x.shape[2]):
            x[r, s - half, i] = x[r, s, i]
        y[r, s - half] = y[r, s]
        weight[r, s - half] = weight[r, s]
    kept[r] -= half
