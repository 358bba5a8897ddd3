"""The observations that a model keeps: the latest as they are, and a quadratic for all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import CannotErase
from evenhand.core.kernel import kernel
from evenhand.core.records import Context
from evenhand.core.types import Floats, Ints
from evenhand.numerics.likelihood import Data, fold

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

    def forget(self, context: Context, plays: Ints) -> None:
        """Take an observation of every play out of the rows of its action, or of all rows where they have no actions.

        Where equal features came several times, the earliest of them is taken out. What is folded stays, as sums.

        Raises:
            CannotErase: the model does not read features as they are stated.
        """
        for a in plays[plays >= 0].tolist():
            z, rows, n = context.features[0, a], range(len(self.kept)), self.x.shape[2]
            if len(z) == n + 1:  # the number of the action leads
                rows, z = range(int(z[0]), int(z[0]) + 1) if len(rows) == context.features.shape[1] else rows, z[1:]
            if len(z) != n:
                raise CannotErase(f"a model keeps observations of {n} features, and cases have {len(z)}")
            for r in rows:
                kept = int(self.kept[r])
                for s in np.flatnonzero((self.x[r, :kept] == z).all(1))[:1].tolist():
                    for old in (self.x[r], self.y[r], self.weight[r]):
                        old[s : kept - 1] = old[s + 1 : kept].copy()
                    self.kept[r] -= 1.0
        for r, kept in enumerate(self.kept.astype(int).tolist()):  # and what was folded, which is still there
            self.x[r, kept:], self.y[r, kept:], self.weight[r, kept:] = 0.0, 0.0, 1.0

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
def lacks_room(past: Arrays, plays: int, most: int) -> bool:
    """Whether the arrays have to grow before the plays of a round fit in."""
    return bool(min(int(past[2].max()) + plays, most) > past[1].shape[1])


@kernel
def keeps_all(past: Arrays, r: int) -> bool:
    """Whether the quadratic of a replica is 0, as no observation was folded."""
    total, curve = 0.0, past[6][r]
    for i in range(len(curve)):
        total += curve[i, i]
    return total == 0.0


@kernel
def latest(past: Arrays, r: int) -> Data:
    """The observations that a replica keeps."""
    s = int(past[2][r])
    return past[0][r, :s], past[1][r, :s], past[3][r, :s]


@kernel
def older(past: Arrays, r: int) -> tuple[Floats, Floats, Floats]:
    """The quadratic of a replica."""
    return past[4][r], past[5][r], past[6][r]


@kernel
def fold_older(past: Arrays, r: int, link: int, theta: Floats) -> None:
    """Fold the older half of a replica's observations into its quadratic at theta, and move the rest to the front."""
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
