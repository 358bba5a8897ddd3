"""The first columns of a model that keeps all others apart: a block, of which covariances are known.

Equation: the posterior of the b coefficients of the block is normal with precision B = rho I + J. An observation
(s, t) of curvature c, s its features in the block and t those that are kept apart, with T = sum_j t_j^2 / P_j, adds

    c s s^T / (1 + c T)    to J,

which leaves B^-1 as the exact posterior of the block after one observation of all. Where every column is in the block
and the model is linear, this is the exact posterior.

Each penalty that competes has an inverse of its own, which an observation changes in O(b^2). They are inverted anew
where the mean square of features, or what has faded, has moved their penalties by a fifth, and where observations have
doubled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.numerics.low_rank import invert_sum
from evenhand.numerics.precision import absorb, dot, quadratic

_SLACK = 1.2  # by which a penalty may differ from what it was when its inverse was made
_NARROW = 1e-10  # the least penalty, in units of all observations' sum of squares: what rounding can invert


@dataclass
class BlockState:
    """Sums over the block's columns, and inverses at the G penalties that compete."""

    gram: Floats  # (R A, b, b) J over the factor by which sums have faded
    moment: Floats  # (R A, b, M) h over the same
    theta: Floats  # (R A, b, M) B^-1 h at the penalty that is chosen
    rivals: Floats  # (R A, G, b, b) of penalty I + gram
    inverse: Floats  # (R A, b, b) B^-1 at the penalty that is chosen; 0 before any data
    penalties: Floats  # (R, G) of the rivals
    penalty: Floats  # (R,) of `inverse`; 0 before any data
    fitted: Floats  # (R,) observations when the rivals were made
    apart: Floats  # (R,) T of late

    def begin(self, rows: Ints) -> None:
        """Set the rows of appended actions to the penalties' beliefs about columns without data, `(rows)->`."""
        self._believe(rows, 0)

    def widen(self, first: int) -> None:
        """Set columns from one on to the penalties' beliefs about columns without data."""
        self._believe(np.arange(len(self.gram)), first)

    def _believe(self, rows: Ints, first: int) -> None:
        replicas = rows // (len(self.gram) // len(self.penalty))
        rows, replicas = (z[self.penalty[replicas] > 0.0] for z in (rows, replicas))
        for i in range(first, self.gram.shape[1]):
            self.rivals[rows, :, i, i] = 1.0 / self.penalties[replicas]
            self.inverse[rows, i, i] = 1.0 / self.penalty[replicas]


class Block(NamedTuple):
    """The arrays of a `BlockState`."""

    gram: Floats
    moment: Floats
    theta: Floats
    rivals: Floats
    inverse: Floats
    penalties: Floats
    penalty: Floats
    fitted: Floats
    apart: Floats


class Inner(NamedTuple):
    """What candidates have in the block, and what is known of it."""

    z: Floats  # (R, C, b)
    rows: Ints  # (R, C) of the state
    level: Floats  # (R, C, M) means before any data, of what is not left to other columns
    sums: Block


def start(columns: int, rows: int, replicas: int, outcomes: int, penalties: int) -> BlockState:
    """Return the block before any data, of b columns."""
    square = columns, columns
    return BlockState(
        gram=np.zeros((rows, *square)),
        moment=np.zeros((rows, columns, outcomes)),
        theta=np.zeros((rows, columns, outcomes)),
        rivals=np.zeros((rows, penalties, *square)),
        inverse=np.zeros((rows, *square)),
        penalties=np.zeros((replicas, penalties)),
        penalty=np.zeros(replicas),
        fitted=np.zeros(replicas),
        apart=np.zeros(replicas),
    )


_NONE = start(0, 1, 1, 1, 1)


def arrays(state: BlockState | None) -> Block:
    """Return the arrays of a block, of 0 columns without one."""
    return Block(*vars(state or _NONE).values())


def inside(b: int, columns: Ints, z: Floats) -> tuple[Floats, Floats]:
    """Part features at columns into those of the first b and all others, `(C,k),(C,k)->(C,b),(C,k)`."""
    own = (columns < b) & (z != 0.0)
    at, found = np.nonzero(own), np.zeros((*z.shape[:2], b))
    found[at[0], at[1], columns[own]] = z[own]
    return found, np.where(own, 0.0, z)


@kernel
def look(inner: Inner, at: tuple[int, int], g: int, rho: float, f: float, gain: Floats, center: Floats) -> float:
    """Compute s^T B^-1 s, leave B^-1 s in `gain`, and add the block's part to means, `(),(b),(M)->()`.

    B is that of rival g, or that by which widths are told if g is -1. Before any data, it is rho I.
    """
    (r, a), b, block = at, inner.z.shape[2], inner.sums
    if b == 0:
        return 0.0
    z, row = inner.z[r, a], inner.rows[r, a]
    if g >= 0:
        square = quadratic(z, block.rivals[row, g], gain) / f
        for i in range(b):
            gain[i] /= f
    else:
        square = quadratic(z, block.inverse[row], gain)
    if g < 0 and not block.penalty[r] > 0.0:
        waits = block.inverse[row, 0, 0] > 0.0  # plays are on their way
        square = min(square, dot(z, z) / rho) if waits else dot(z, z) / rho
    for m in range(len(center)):
        center[m] += inner.level[r, a, m]
        for i in range(b):
            center[m] += gain[i] * (f * block.moment[row, i, m]) if g >= 0 else z[i] * block.theta[row, i, m]
    return square


@kernel
def renew(block: Block, scales: Floats, r: int, mean: float, count: float, f: float) -> bool:
    """Invert the rivals of a replica anew where their penalties are no longer those of its data; returns whether.

    `mean` is the mean square of features over `count` observations, and f the factor of the sums.
    """
    b = block.gram.shape[1]
    if b == 0:
        return False
    each, before, least = len(block.gram) // len(block.penalty), block.penalties[r, 0], _NARROW * count
    first = max(scales[0], least) * (mean / f)
    if before / _SLACK <= first <= before * _SLACK and count < 2.0 * block.fitted[r]:
        return False
    block.fitted[r], room = count, np.empty((b, b))
    for g in range(len(scales)):
        block.penalties[r, g] = max(scales[g], least) * (mean / f)
    for row in range(r * each, (r + 1) * each):
        trace = 0.0
        for i in range(b):
            trace += block.gram[row, i, i]
        for g in range(len(scales)):
            out = block.rivals[row, g]
            if trace > 0.0:
                invert_sum(block.gram[row], block.penalties[r, g], room, out)
            else:
                out[:] = 0.0
                for i in range(b):
                    out[i, i] = 1.0 / block.penalties[r, g]
    return True


@kernel
def adopt(block: Block, g: int, r: int, f: float) -> None:
    """Let the widths of a replica be those of rival g; f is the factor of the sums."""
    b = block.gram.shape[1]
    if b == 0:
        return
    each = len(block.gram) // len(block.penalty)
    block.penalty[r] = f * block.penalties[r, g]
    for row in range(r * each, (r + 1) * each):
        for i in range(b):
            for j in range(b):
                block.inverse[row, i, j] = block.rivals[row, g, i, j] / f
            for m in range(block.theta.shape[2]):
                block.theta[row, i, m] = dot(block.rivals[row, g, i], block.moment[row, :, m])


@kernel
def absorb_block(
    inner: Inner, r: int, g: int, curve: float, apart: float, slope: Floats, gain: Floats, f: float
) -> float:
    """Learn one play of a replica, `(),(),(),(),(M),(b),()->()`; returns how many columns had no data before.

    Means move by B^-1 s times `slope`. `curve` is the curvature c of the observation, `apart` is T, and `gain` is
    B^-1 s at rival g, the one that is chosen.
    """
    b, block = inner.z.shape[2], inner.sums
    if b == 0:
        return 0.0
    z, row, room, x = inner.z[r, 0], inner.rows[r, 0], np.empty(b), np.empty(b)
    more, new, square = curve / (1.0 + curve * apart), 0.0, dot(z, gain)
    for m in range(len(slope)):
        off = 0.0
        for i in range(b):
            off += z[i] * block.theta[row, i, m]
        for i in range(b):
            block.theta[row, i, m] += gain[i] * slope[m]
            block.moment[row, i, m] += z[i] * (more * off + slope[m] * (1.0 + more * square)) / f
    for i in range(b):
        x[i] = z[i] * math.sqrt(more / f)
        if z[i] != 0.0:
            new += 1.0 if block.gram[row, i, i] == 0.0 else 0.0
            for j in range(b):
                block.gram[row, i, j] += more * (z[i] * z[j]) / f
    for k in range(len(block.rivals[row])):
        absorb(block.rivals[row, k], x, room)
    for i in range(b):
        for j in range(b):
            block.inverse[row, i, j] = block.rivals[row, g, i, j] / f
    return new
