"""Described actions by the thousand: what they share is known with covariances, what is an action's own by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models._shared import EVERYWHERE
from evenhand.models.base import ROUND, ColumnGain, Gain, Lesson, Note, WithoutLuck, Worth, Wraps
from evenhand.models.diagonal import block
from evenhand.models.diagonal.block import Block, Inner
from evenhand.models.diagonal.posterior import DiagonalState, cells_of
from evenhand.models.diagonal.prediction import Cells
from evenhand.models.diagonal.ridge import DiagonalRidge
from evenhand.models.per_action import refuse_actions
from evenhand.numerics.precision import norm2
from evenhand.problem.descriptions import Actions

_MOST = 2**16  # candidates whose coefficients are looked up at once


@kernel
def _narrow(x: Floats, shared: Floats, sums: Block, origin: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Read the shared coefficients along the case of each run of candidates that have one in common.

    `(C,1+n),(A,q),...,(b|1,M)->(C),(C,q)`, then `(N,q,q)` and `(N,q,M)` of N runs. The case is x = |x| c. In place of
    p_a x, candidate (a, x) has |x| p_a, whose coefficients are those of p_a times c.
    """
    q, n, b, outcomes = shared.shape[1], x.shape[2] - 1, sums.theta.shape[1], sums.theta.shape[2]
    rows, z, count = np.empty(x.shape[:2], np.int64), np.empty((*x.shape[:2], q)), 0
    for r in range(len(x)):
        for c in range(x.shape[1]):
            same = c > 0
            for i in range(1, 1 + n):
                same = same and x[r, c, i] == x[r, c - 1, i]
            count += 0 if same else 1
            rows[r, c] = count - 1
    inverse, theta = np.zeros((count, q, q)), np.zeros((count, q, outcomes))
    half, unit = np.empty((b, q)), np.empty(n)
    for r in range(len(x)):
        length, before = 0.0, -1
        for c in range(x.shape[1]):
            row = rows[r, c]
            if row != before:
                before, length = row, math.sqrt(norm2(x[r, c, 1:]))
                for i in range(n):
                    unit[i] = x[r, c, 1 + i] / length if length > 0.0 else 0.0
                half[:] = 0.0
                for j in range(q):
                    for i in range(n):
                        at = j * n + i
                        for m in range(outcomes):
                            level = origin[r, min(at, origin.shape[1] - 1), m]
                            theta[row, j, m] += unit[i] * (level + sums.theta[r, at, m])
                        for k in range(b):
                            half[k, j] += sums.inverse[r, k, at] * unit[i]
                for j in range(q):
                    for i in range(n):
                        for k in range(q):
                            inverse[row, j, k] += unit[i] * half[j * n + i, k]
            for j in range(q):
                z[r, c, j] = length * shared[int(x[r, c, 0]), j]
    return rows, z, inverse, theta


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnParts(WithoutLuck, Wraps):
    """Regression on described actions whose cost is that of their features, out of any number of actions.

    Equation: that of `inner` on the numbers p_a x of `problem.Actions`: coefficients of 1 and d_a times x are its
    block, whose covariances are known, and those of own e_a times x are known apart from all others. A candidate is the
    number of an action a, and then the numbers x of the case. `value` takes O((q n)^2) for a case, and O(q^2 + n) for
    each of its candidates, with q = 1 + d; `update` takes O((q n)^2).

    Args:
        inner: of packed rows with n (q + A) columns, of which the first n q are its block.
        shared: the numbers (1, d_a) of each action, `(A,q)`.
        own: the spread of own parts, in units of that of shared ones.

    >>> from evenhand.problem import Numeric
    >>> table = Actions({"small": {"size": 1}, "large": {"size": 3}}, features=(Numeric("size", 0, 4),))
    >>> model = OwnParts.of(table, numbers=1)
    >>> state, price, luck = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for action, y in 20 * [(0.0, 0.2), (1.0, 0.8)]:
    ...     model.update(state, np.array([[[action, 1.0]]]), np.full((1, 1, 1), y), np.ones((1, 1, 1), bool), price)
    >>> model.value(state, np.array([[[0.0, 1.0], [1.0, 1.0]]]), price, luck).mean.round(1).tolist()
    [[[0.2, 0.8]]]
    """

    inner: DiagonalRidge
    shared: Floats
    own: float

    @staticmethod
    def of(table: Actions, numbers: int, n_outcomes: int = 1) -> OwnParts:
        """Make a linear model of the actions of a table, for cases of so many numbers.

        >>> from evenhand.problem import Numeric
        >>> OwnParts.of(Actions({"a": {"size": 1}}, features=(Numeric("size", 0, 4),)), numbers=5).inner.packed
        Packed(columns=15, pairs=15)
        """
        count, q = table.shared.shape
        size, pairs = Packed(numbers * (q + count), numbers * (q + 1)), numbers * q
        inner = DiagonalRidge(packed=size, block=pairs, n_outcomes=n_outcomes)
        return OwnParts(inner=inner, shared=table.shared, own=table.own)

    @property
    def n_features(self) -> int:
        return 1 + self._numbers

    @property
    def by_action(self) -> int:
        return len(self.shared)

    def value(self, state: DiagonalState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute mean and optimism, `(C,1+n),(K,1|C,M),()->(K,C),(K,C)`."""
        refuse_actions(x, EVERYWHERE, len(self.shared))
        candidates, step = x.shape[1], len(self.shared) * max(_MOST // len(self.shared), 1)
        if candidates <= step or candidates % len(self.shared):  # the budgets' plays are by action, in their order
            return self.inner.worth(state, self._cells(state, x), w)
        parts = [slice(i, i + step) for i in range(0, candidates, step)]
        each = [w[:, :, p] if w.shape[2] > 1 else w for p in parts]
        said = [self.inner.worth(state, self._cells(state, x[:, p]), w) for p, w in zip(parts, each, strict=True)]
        return Worth(np.concatenate([z.mean for z in said], 2), np.concatenate([z.bonus for z in said], 2))

    def update(
        self, state: DiagonalState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Learn plays whose outcomes are all seen, one after another, `(P,1+n),(P,M),(P,M),(K,1|P,M)`."""
        refuse_actions(x, seen, len(self.shared))
        told = np.where(np.asarray(seen.all(2))[:, :, None], x, 0.0)
        self.inner.update(state, self._pairs(told), y, seen, w, lesson)

    def of_actions(self, actions: int) -> OwnParts:
        """Return the same model for the first so many actions."""
        size = Packed(self._numbers * (self.shared.shape[1] + actions), self.inner.n_features // 2)
        return replace(self, inner=replace(self.inner, packed=size), shared=self.shared[:actions])

    @property
    def fades(self) -> bool:
        return self.inner.fades

    def fade(self, state: DiagonalState, keep: Floats, ahead: Floats) -> None:
        self.inner.fade(state, keep, ahead)

    def gains(self, state: DiagonalState, x: Floats) -> Iterator[Gain | ColumnGain]:
        return self.inner.gains(state, self._pairs(x))

    def notes(self, state: DiagonalState, replica: int) -> tuple[Note, ...]:
        return self.inner.notes(state, replica)

    @property
    def explains(self) -> bool:
        return self.inner.explains

    def contributions(self, state: DiagonalState, x: Floats, w: Floats) -> Floats:
        """Attribute a difference to the numbers of the case, each with its products, `(2,1+n),(K,1|2,M)->(K,1+n)`."""
        parts = self.inner.contributions(state, self._pairs(x), w)[:, :, 1::2]
        each = parts.reshape(*parts.shape[:2], -1, self._numbers).sum(2)
        return np.concatenate([np.zeros((*each.shape[:2], 1)), each], 2)

    @property
    def _numbers(self) -> int:
        """The number n of numbers of a case."""
        return self.inner.block // int(self.shared.shape[1])

    def _places(self, x: Floats) -> Ints:
        """The columns of each candidate's own part, `(C,1+n)->(C,n)`."""
        return self.inner.block + self._numbers * x[:, :, :1].astype(np.int64) + np.arange(self._numbers)

    def _pairs(self, x: Floats) -> Floats:
        """Packed rows of p_a x, `(P,1+n)->(P,2k)`."""
        b, rows = self.inner.block, np.empty((*x.shape[:2], self.inner.n_features))
        products = self.shared[x[:, :, 0].astype(np.int64)][..., None] * x[:, :, None, 1:]
        rows[:, :, : 2 * b : 2], rows[:, :, 2 * b :: 2] = np.arange(b), self._places(x)
        rows[:, :, 1 : 2 * b : 2] = products.reshape(*x.shape[:2], b)
        rows[:, :, 2 * b + 1 :: 2] = self.own * x[:, :, 1:]
        return rows

    def _cells(self, state: DiagonalState, x: Floats) -> Cells:
        """Look up coefficients, those that are shared along the case of each candidate, `(C,1+n)->`."""
        assert state.block is not None
        (replicas, d), sums = state.information.shape, block.arrays(state.block)
        rows, z, inverse, theta = _narrow(x, self.shared, sums, state.origin)
        inner = Inner(z, rows, np.zeros((*rows.shape, theta.shape[2])), sums._replace(inverse=inverse, theta=theta))
        places = self._places(x) + d * np.arange(replicas)[:, None, None]
        return cells_of(state, places, self.own * x[:, :, 1:], inner)
