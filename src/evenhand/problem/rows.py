"""Rows: what a goal sees of the outcomes, as a linear map with its adjoint.

Row j reads  v_j = factor_j * (learned_j . y + known_j . z)  of learned outcomes y and known outcomes z, where

    factor_j = always_j + inside_j / share_g * 1{the case is in group g of row j}.

A plain row has always = 1, inside = 0; a parity row has always = -1, inside = 1 (or both with the other sign).
`post` maps outcomes to rows; `pull` maps prices of rows back to prices of learned outcomes and offsets of candidates:

    q . post(y, z) = pull(q).prices . y + pull(q).offset(z).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints

if TYPE_CHECKING:  # a problem's constraints are rows
    from evenhand.problem.problem import Problem


class Frame(Protocol):
    """The part of a context or decision that rows read."""

    @property
    def known(self) -> Floats:
        """Known outcomes of candidates, (R or 1, A, L)."""

    @property
    def groups(self) -> Ints:
        """Columns of the groups of the case at hand, (R, G)."""


class Cases(NamedTuple):
    """Just what rows read, of any number of cases."""

    known: Floats  # (R or 1, A, L)
    groups: Ints  # (R, G)


@kernel
def _factor(always: float, inside: float, grouping: int, column: int, groups: Ints, shares: Floats) -> float:
    if grouping < 0 or groups[grouping] != column:
        return always
    return always + inside / float(shares[column])


@kernel
def _post_plain(learned: Floats, known: Floats, y: Floats, z: Floats) -> Floats:
    v = np.zeros((len(y), len(learned)))
    for r in range(len(y)):
        for j in range(len(learned)):
            for m in range(y.shape[1]):
                v[r, j] += learned[j, m] * y[r, m]
            for m in range(z.shape[1]):
                v[r, j] += known[j, m] * z[r, m]
    return v


@kernel
def _pull_plain(learned: Floats, known: Floats, z: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats]:
    prices = np.zeros((len(q), q.shape[1], learned.shape[1]))
    offset = np.zeros((len(q), q.shape[1], z.shape[1]))
    for r in range(len(q)):
        candidates = z[r if len(z) > 1 else 0]
        for k in range(q.shape[1]):
            offset[r, k] = o[r, k]
            for j in range(len(learned)):
                if q[r, k, j] != 0.0:
                    for m in range(learned.shape[1]):
                        prices[r, k, m] += q[r, k, j] * learned[j, m]
                    for m in range(known.shape[1]):
                        if known[j, m] != 0.0:
                            for a in range(len(candidates)):
                                offset[r, k, a] += q[r, k, j] * known[j, m] * candidates[a, m]
    return prices, offset


@kernel
def _post(
    learned: Floats,
    known: Floats,
    always: Floats,
    inside: Floats,
    grouping: Ints,
    column: Ints,
    groups: Ints,
    shares: Floats,
    y: Floats,
    z: Floats,
) -> Floats:
    v = np.zeros((len(y), len(always)))
    for r in range(len(y)):
        share = shares[r if len(shares) > 1 else 0]
        for j in range(len(always)):
            total = 0.0
            for m in range(y.shape[1]):
                total += learned[j, m] * y[r, m]
            for m in range(z.shape[1]):
                total += known[j, m] * z[r, m]
            if total != 0.0:
                v[r, j] = _factor(always[j], inside[j], grouping[j], column[j], groups[r], share) * total
    return v


@kernel
def _pull(
    learned: Floats,
    known: Floats,
    always: Floats,
    inside: Floats,
    grouping: Ints,
    column: Ints,
    groups: Ints,
    shares: Floats,
    z: Floats,
    q: Floats,
    o: Floats,
) -> tuple[Floats, Floats]:
    prices = np.zeros((len(q), q.shape[1], learned.shape[1]))
    offset = np.zeros((len(q), q.shape[1], z.shape[1]))
    price = np.empty(z.shape[2])
    for r in range(len(q)):
        candidates = z[r if len(z) > 1 else 0]
        share = shares[r if len(shares) > 1 else 0]
        for k in range(q.shape[1]):
            price[:] = 0.0
            for j in range(len(always)):
                if q[r, k, j] != 0.0:
                    f = q[r, k, j] * _factor(always[j], inside[j], grouping[j], column[j], groups[r], share)
                    for m in range(learned.shape[1]):
                        prices[r, k, m] += f * learned[j, m]
                    for m in range(len(price)):
                        price[m] += f * known[j, m]
            for a in range(len(candidates)):
                offset[r, k, a] = o[r, k]
                for m in range(len(price)):
                    offset[r, k, a] += price[m] * candidates[a, m]
    return prices, offset


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """A linear map from outcomes to the d rows of a goal, with its adjoint.

    >>> rows = Rows.plain(["visits"], np.array([[1.0]]), np.zeros((1, 0)))
    >>> rows.names
    ('visits',)
    """

    names: tuple[str, ...]
    learned: Floats  # (d, M)
    known: Floats  # (d, L)
    always: Floats  # (d,)
    inside: Floats  # (d,)
    grouping: Ints  # (d,) index of the grouping, -1 where the row concerns everybody
    column: Ints  # (d,) the group's column

    @staticmethod
    def plain(names: list[str], learned: Floats, known: Floats) -> Rows:
        """Rows that concern everybody."""
        d = len(names)
        nobody = np.full(d, -1)
        return Rows(
            names=tuple(names),
            learned=learned,
            known=known,
            always=np.ones(d),
            inside=np.zeros(d),
            grouping=nobody,
            column=nobody,
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def is_known(self) -> Bools:
        """Which rows read known outcomes only, and need not wait for any, `->(d)`."""
        return np.asarray((self.learned == 0.0).all(1))

    @cached_property
    def reads_learned(self) -> bool:
        """Whether any row involves an outcome that is learned."""
        return bool(self.learned.any())

    @cached_property
    def plain_only(self) -> bool:
        """Whether all rows concern everybody, as they are."""
        return bool((self.grouping < 0).all() and (self.always == 1.0).all())

    @cached_property
    def by_group(self) -> bool:
        """Whether any row concerns a single group."""
        return bool((self.grouping >= 0).any())

    def post(self, frame: Frame, shares: Floats, y: Floats, z: Floats) -> Floats:
        """Rows of the outcomes, summed over plays, `(M),(L)->(d)`."""
        if self.plain_only:
            return _post_plain(self.learned, self.known, y, z)
        return _post(*self._parts, frame.groups, shares, y, z)

    def pull(self, frame: Frame, shares: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Prices of learned outcomes and offsets of candidates at prices q of the rows, `(k,d)->(k,M),(k,A)`."""
        return self.read(frame, shares, q, np.zeros(q.shape[:2]))

    def read(self, frame: Frame, shares: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats]:
        """The same with a constant added to the offsets of each reading, `(k,d),(k)->(k,M),(k,A)`."""
        if self.plain_only:  # half the arguments, half the cost of a call
            return _pull_plain(self.learned, self.known, frame.known, q, o)
        return _pull(*self._parts, frame.groups, shares, frame.known, q, o)

    def take(self, which: Ints) -> Rows:
        """Some of the rows, in the given order."""
        return Rows(
            names=tuple(self.names[j] for j in which),
            learned=self.learned[which],
            known=self.known[which],
            always=self.always[which],
            inside=self.inside[which],
            grouping=self.grouping[which],
            column=self.column[which],
        )

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats, Ints, Ints]:
        return self.learned, self.known, self.always, self.inside, self.grouping, self.column


def stack(parts: list[Rows]) -> Rows:
    """All rows of the parts, one below the other."""
    return Rows(
        names=tuple(n for p in parts for n in p.names),
        learned=np.concatenate([p.learned for p in parts]),
        known=np.concatenate([p.known for p in parts]),
        always=np.concatenate([p.always for p in parts]),
        inside=np.concatenate([p.inside for p in parts]),
        grouping=np.concatenate([p.grouping for p in parts]),
        column=np.concatenate([p.column for p in parts]),
    )


def select(problem: Problem, names: tuple[str, ...]) -> Rows:
    """One plain row per named outcome."""
    pick = np.array([[float(n == o) for o in problem.names] for n in names]).reshape(len(names), len(problem.names))
    m = len(problem.learned)
    return Rows.plain(list(names), pick[:, :m].copy(), pick[:, m:].copy())
