"""Rows: the linear functions of the outcomes that a goal reads, as a linear map with its adjoint, and their kernels.

Row j sums over the plays p

    v_j = sum_p factor_jp * (learned_j . (f_p * y_p) + known_j . z_p)

of learned outcomes y, each times its known factor f (`problem.factors`), and known outcomes z, where

    factor_jp = always_j + inside_j 1{play p is in group g of row j} / (share_g if by_share_j else 1).

A plain row has always = 1, inside = 0; a parity row has always = -1, inside = 1 by share (or both with the other sign);
the row of a single group has always = 0, inside = 1.
`post` maps outcomes to rows. `pull` maps prices of rows back to prices of learned outcomes and offsets of candidates:
for a single play a, q . post(y, z_a) = pull(q).prices_a . y + pull(q).offset_a. Models thus learn outcomes as they are,
and are asked at prices that have the factors in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.declarations import Declarations
from evenhand.problem.factors import Factors

# Columns of the packed coefficients of rows. From _FIRST on come the outcomes that a row reads, each by its place and
# its weight: a ranking has a row for the exposure of every item, which reads one of as many outcomes.
_ALWAYS, _INSIDE, _BY_SHARE, _COLUMN, _COUNT, _FIRST = 0, 1, 2, 3, 4, 5


def pack(columns: Floats, weights: Floats) -> Floats:
    """All coefficients of rows in one array, `(d,4),(d,W)->(d,5+2n)`, n the most outcomes that a row reads."""
    count = (weights != 0.0).sum(1)
    found = np.zeros((len(weights), _FIRST + 2 * int(count.max(initial=0))))
    found[:, :_COUNT], found[:, _COUNT] = columns, count
    for row, own in zip(found, weights, strict=True):
        places = np.flatnonzero(own)
        row[_FIRST : _FIRST + 2 * len(places)] = np.column_stack([places, own[places]]).ravel()
    return found


@kernel
def _inside(inside: float, by_share: float, share: float) -> float:
    """The part of a row's factor that a play inside its group adds."""
    return inside / share if by_share != 0.0 else inside


@kernel
def post(packed: Floats, groups: Ints, shares: Floats, y: Floats, z: Floats) -> Floats:
    """Rows of outcomes, summed over plays, `(d,5+2n),(1|P,G),(C),(P,M),(P,L)->(d)`."""
    m, width = y.shape[2], y.shape[2] + z.shape[2]
    v = np.zeros((len(y), len(packed)))
    total, inside = np.empty(width), np.empty((shares.shape[1], width))
    for r in range(len(y)):
        total[:] = 0.0
        inside[:] = 0.0
        for p in range(y.shape[1]):
            for i in range(width):
                x = y[r, p, i] if i < m else z[r, p, i - m]
                if x != 0.0:
                    total[i] += x
                    for g in range(groups.shape[2]):
                        inside[groups[r, p if groups.shape[1] > 1 else 0, g], i] += x
        s = r if len(shares) > 1 else 0
        for j in range(len(packed)):
            c = int(packed[j, _COLUMN])
            for n in range(int(packed[j, _COUNT])):
                i, w = int(packed[j, _FIRST + 2 * n]), packed[j, _FIRST + 2 * n + 1]
                v[r, j] += packed[j, _ALWAYS] * w * total[i]
                if c >= 0 and inside[c, i] != 0.0:
                    factor = _inside(packed[j, _INSIDE], packed[j, _BY_SHARE], shares[s, c])
                    v[r, j] += factor * w * inside[c, i]
    return v


@kernel
def pull(
    packed: Floats,
    learned: tuple[int, bool],
    groups: Ints,
    shares: Floats,
    known: Floats,
    q: Floats,
    o: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Prices of learned outcomes, offsets, and each row's total price, as `Rows.read` has them.

    `learned` is the number of learned outcomes, and whether a row of some group reads one.
    """
    m, by_group = learned
    width = m + known.shape[2]
    candidates, each = known.shape[1], groups.shape[1] > 1
    prices = np.empty((len(q), q.shape[1], candidates if by_group and each else 1, m))
    offset = np.empty((len(q), q.shape[1], candidates))
    everybody, members = np.empty(width), np.empty((shares.shape[1], width))
    price, total = np.empty(width), np.zeros((len(q), len(packed)))
    for r in range(len(q)):
        z, s = r if len(known) > 1 else 0, r if len(shares) > 1 else 0
        for k in range(q.shape[1]):
            everybody[:] = 0.0
            members[:] = 0.0
            for j in range(len(packed)):
                if q[r, k, j] == 0.0:
                    continue
                total[r, j] += q[r, k, j]
                c = int(packed[j, _COLUMN])
                for n in range(int(packed[j, _COUNT])):
                    i, w = int(packed[j, _FIRST + 2 * n]), packed[j, _FIRST + 2 * n + 1]
                    everybody[i] += q[r, k, j] * packed[j, _ALWAYS] * w
                    if c >= 0 and shares[s, c] > 0.0:  # skip a group of share 0, which had no case yet
                        factor = _inside(packed[j, _INSIDE], packed[j, _BY_SHARE], shares[s, c])
                        members[c, i] += q[r, k, j] * factor * w
            constant = o[r, k] if k < o.shape[1] else 0.0
            for a in range(candidates):
                if each or a == 0:
                    for i in range(width):
                        price[i] = everybody[i]
                        for g in range(groups.shape[2]):
                            price[i] += members[groups[r, a, g], i]
                    if a < prices.shape[2]:
                        for i in range(m):
                            prices[r, k, a, i] = price[i]
                offset[r, k, a] = constant
                for i in range(m, width):
                    if known[z, a, i - m] != 0.0:  # without sums that wait for each other
                        offset[r, k, a] += price[i] * known[z, a, i - m]
    return prices, offset, total


@kernel
def post_known(
    packed: Floats, learned: int, groups: Ints, shares: Floats, plays: Ints, counted: Floats, known: Floats
) -> Floats:
    """Rows of the known outcomes of plays that count, `(d,5+2n),(),(1|P,G),(C),(P),(),(P,L)->(d)`."""
    z = np.zeros(known.shape)  # 0 where nothing is played, or the decision does not count
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] > 0.0 and plays[r, p] >= 0:
                for i in range(known.shape[2]):
                    z[r, p, i] = known[r, p, i]
    none = np.zeros((*plays.shape, learned))
    return post(packed, groups, shares, none, z)


class RowsView(NamedTuple):
    """The kernels' view of rows whose learned outcomes have a factor of 1."""

    packed: Floats
    learned: tuple[int, bool]

    @kernel
    def pull(self, groups: Ints, shares: Floats, known: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
        return pull(self.packed, self.learned, groups, shares, known, q, o)

    @kernel
    def post(self, d: Decision, y: Floats, z: Floats) -> Floats:
        return post(self.packed, d.groups, d.shares, y, z)

    @kernel
    def post_known(self, d: Decision) -> Floats:
        return post_known(self.packed, self.learned[0], d.groups, d.shares, d.plays, d.counted, d.known)


class ZeroRowsView(NamedTuple):
    """The kernels' view of rows that read outcomes which are declared 0 under some candidates."""

    packed: Floats
    learned: tuple[int, bool]
    factors: Floats  # (A, M) 0 where an outcome is declared 0, else 1

    @kernel
    def pull(self, groups: Ints, shares: Floats, known: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
        """As `Rows.read`; a candidate beyond the declared ones gets prices that fail every check."""
        price, offset, total = pull(self.packed, self.learned, groups, shares, known, q, o)
        w, each = np.empty((len(q), q.shape[1], known.shape[1], price.shape[3])), price.shape[2] > 1
        for r in range(len(w)):
            for k in range(w.shape[1]):
                for a in range(w.shape[2]):
                    for m in range(w.shape[3]):
                        factor = self.factors[a, m] if a < len(self.factors) else np.nan
                        w[r, k, a, m] = price[r, k, a if each else 0, m] * factor
        return w, offset, total

    @kernel
    def post(self, d: Decision, y: Floats, z: Floats) -> Floats:
        amounts = y.copy()
        for r in range(len(y)):
            for p in range(y.shape[1]):
                if d.plays[r, p] >= 0:
                    for m in range(y.shape[2]):
                        amounts[r, p, m] *= self.factors[d.plays[r, p], m]
        return post(self.packed, d.groups, d.shares, amounts, z)

    @kernel
    def post_known(self, d: Decision) -> Floats:
        return post_known(self.packed, self.learned[0], d.groups, d.shares, d.plays, d.counted, d.known)


class Frame(Protocol):
    """The part of a context or decision that rows read."""

    @property
    def known(self) -> Floats:
        """Known outcomes of candidates, (R or 1, A, L)."""

    @property
    def plays(self) -> Ints | None:
        """The indices of these candidates, (R, A); None if they are all, in order."""

    @property
    def groups(self) -> Ints:
        """Columns of the groups of the case, (R, 1, G), or of each candidate, (R, A, G)."""

    @property
    def time(self) -> Floats | None:
        """The time of the case, (R or 1,); None if nothing depends on it."""


class Cases(NamedTuple):
    """The data that rows read, for any number of cases."""

    known: Floats  # (R or 1, A, L)
    groups: Ints  # (R, 1 or A, G)
    plays: Ints | None = None  # (R, A) which candidates these are; None where they are all, in order
    time: Floats | None = None  # (R,)


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
    column: Ints  # (d,) the group's column, -1 where the row concerns everybody
    by_share: Bools  # (d,) whether `inside` is divided by the group's share
    sure: Bools  # (L,) which known outcomes count whether or not a play is exposed
    noisy: Bools  # (L,) of which known outcomes only the mean is declared
    factors: Factors | None = None  # of the learned outcomes; None where all are 1

    @staticmethod
    def plain(names: Iterable[str], learned: Floats, known: Floats) -> Rows:
        """Return rows that concern everybody, of learned outcomes without factors, and known ones that are sure."""
        names = tuple(names)
        d = len(names)
        nobody = np.full(d, -1)
        return Rows(
            names=names,
            learned=learned,
            known=known,
            always=np.ones(d),
            inside=np.zeros(d),
            grouping=nobody,
            column=nobody,
            by_share=np.zeros(d, bool),
            sure=np.ones(known.shape[1], bool),
            noisy=np.zeros(known.shape[1], bool),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def is_sure(self) -> Bools:
        """A mask of the rows that are due for every play, exposed or not, `->(d)`: they read only sure outcomes."""
        return np.asarray((self.learned == 0.0).all(1) & (self.known[:, ~self.sure] == 0.0).all(1))

    @cached_property
    def is_known(self) -> Bools:
        """A mask of the rows that a decision alone settles, `->(d)`: they are sure and read no noisy outcome."""
        return np.asarray(self.is_sure & (self.known[:, self.noisy] == 0.0).all(1))

    @cached_property
    def is_unsure(self) -> Bools:
        """A mask of the rows that depend on whether plays are exposed, `->(d)`.

        These read known outcomes that are not sure, or learned ones if any outcome is not sure: then a play may not be
        exposed, and an estimate of its outcome does not estimate what it adds to the row.
        """
        some = bool((~self.sure).any())
        return np.asarray((self.known[:, ~self.sure] != 0.0).any(1) | (self.learned.any(1) & some))

    @cached_property
    def weights(self) -> Floats:
        """The weights of all outcomes, `->(d,M+L)`."""
        return np.column_stack([self.learned, self.known])

    @cached_property
    def any_known(self) -> bool:
        """Whether a decision alone settles any row."""
        return bool(self.is_known.any())

    @cached_property
    def reads_learned(self) -> bool:
        """Whether any row reads a learned outcome."""
        return bool(self.learned.any())

    @cached_property
    def plain_only(self) -> bool:
        """Whether all rows concern everybody, with a factor of 1."""
        return bool((self.grouping < 0).all() and (self.always == 1.0).all())

    @cached_property
    def inside_only(self) -> bool:
        """Whether all rows are sums over the plays of the same group."""
        one = bool((self.column >= 0).all() and (self.column == self.column[:1]).all())
        return one and bool((self.always == 0.0).all() and (self.inside == 1.0).all() and not self.by_share.any())

    def readings(self, *, by_row: bool) -> Ints:
        """Return the reading of each row, `->(d)`: one for all, or one for each row of a learned outcome.

        Optimism is per reading. Rows of known outcomes have no bonus, so they need no reading of their own.
        """
        return self._readings[int(by_row)]

    @cached_property
    def _readings(self) -> tuple[Ints, Ints]:
        reads = self.learned.any(1)
        return np.zeros(len(self), np.int64), np.where(reads, np.cumsum(reads) - 1, 0)

    @cached_property
    def by_group(self) -> bool:
        """Whether any row concerns a single group."""
        return bool((self.grouping >= 0).any())

    def post(self, frame: Frame, shares: Floats, y: Floats, z: Floats) -> Floats:
        """Return rows of the outcomes, summed over plays, `(P,M),(P,L)->(d)`; outcomes that do not count are 0."""
        if self.scaled is not None:
            y = y * self.scaled.of(frame.known, frame.plays)
        return post(self._packed, frame.groups, shares, y, z)

    def post_known(self, decision: Decision) -> Floats:
        """Return rows of a decision's known outcomes, noisy ones at their means and learned ones at 0, `->(d)`."""
        d = decision
        return post_known(self._packed, self._learned[0], d.groups, d.shares, d.plays, d.counted, d.known)

    def pull(self, frame: Frame, shares: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Return prices of learned outcomes and offsets of candidates at prices q of rows, `(k,d)->(k,1,M),(k,A)`.

        Prices are per candidate, `(k,A,M)`, where a row by group of candidates reads a learned outcome, or a row reads
        one whose factor is not 1.
        """
        prices, offset, _ = self.read(frame, shares, q, np.zeros((len(q), 1)))
        return prices, offset

    def read(self, frame: Frame, shares: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
        """Pull with constants o added to the offsets of the first i readings, and return each row's total price too.

        `(k,d),(i)->(k,1,M),(k,A),(d)`
        """
        prices, offset, total = pull(self._packed, self._learned, frame.groups, shares, frame.known, q, o)
        if self.scaled is not None:
            prices = prices * self.scaled.of(frame.known, frame.plays)[:, None]
        return prices, offset, total

    @cached_property
    def scaled(self) -> Factors | None:
        """The factors, if rows read any outcome whose factor is not 1."""
        read = self.factors is not None and bool((self.learned.any(0) & self.factors.matter).any())
        return self.factors if read else None

    def view(self) -> RowsView | ZeroRowsView | None:
        """The kernels' view of the rows; None if cases state factors of outcomes."""
        if self.scaled is None:
            return RowsView(self._packed, self._learned)
        declared = self.scaled.declared
        return None if declared is None else ZeroRowsView(self._packed, self._learned, declared)

    def take(self, which: Ints) -> Rows:
        each = ("learned", "known", "always", "inside", "grouping", "column", "by_share")
        taken = {field: getattr(self, field)[which] for field in each}
        return replace(self, names=tuple(self.names[j] for j in which), **taken)

    @cached_property
    def insides(self) -> Rows:
        """The sums of rows by share inside their groups, before division by shares; 0 for other rows."""
        inside = np.where(self.by_share, self.inside, 0.0)
        return replace(self, always=np.zeros(len(self)), inside=inside, by_share=np.zeros(len(self), bool))

    @cached_property
    def _packed(self) -> Floats:
        """All coefficients in one array: each array argument of a kernel costs a tenth of a microsecond."""
        return pack(np.column_stack([self.always, self.inside, self.by_share, self.column]), self.weights)

    @cached_property
    def _learned(self) -> tuple[int, bool]:
        """The number of learned outcomes, and whether a row of some group reads one."""
        grouped = self.grouping[self.learned.any(1) & (self.inside != 0.0)]
        return self.learned.shape[1], bool((grouped >= 0).any())


def stack(parts: list[Rows]) -> Rows:
    """Return the rows of all parts, in order."""
    return Rows(
        names=tuple(n for p in parts for n in p.names),
        learned=np.concatenate([p.learned for p in parts]),
        known=np.concatenate([p.known for p in parts]),
        always=np.concatenate([p.always for p in parts]),
        inside=np.concatenate([p.inside for p in parts]),
        grouping=np.concatenate([p.grouping for p in parts]),
        column=np.concatenate([p.column for p in parts]),
        by_share=np.concatenate([p.by_share for p in parts]),
        sure=np.logical_and.reduce([p.sure for p in parts]),
        noisy=np.logical_or.reduce([p.noisy for p in parts]),
        factors=next((p.factors for p in parts if p.factors is not None), None),
    )


def in_units(rows: Rows, bound: Floats, unit: Floats) -> tuple[Rows, Floats]:
    """Return rows and their bounds, each divided by a unit above 0, which its name tells, `(d),(d)->(d)`.

    >>> rows, bound = in_units(Rows.plain(["cents"], np.zeros((1, 1)), np.ones((1, 1))), np.ones(1), np.array([100.0]))
    >>> rows.names, bound
    (('cents / 100',), array([0.01]))
    """
    names = tuple(n if u == 1.0 else f"{n} / {u:g}" for n, u in zip(rows.names, unit, strict=True))
    scaled = replace(rows, names=names, learned=rows.learned / unit[:, None], known=rows.known / unit[:, None])
    return scaled, bound / unit


def select(problem: Declarations, names: Iterable[str]) -> Rows:
    """Return one row per name: the sum of an outcome over plays, or over the plays of one group (`Problem.each`)."""
    names = tuple(names)
    found = [problem.row(name) for name in names]
    pick = np.zeros((len(names), len(problem.names)))
    pick[np.arange(len(names)), [outcome for outcome, _, _ in found]] = 1.0
    m, column = len(problem.learned), np.array([c for _, _, c in found], np.int64)
    return Rows(
        names=names,
        learned=pick[:, :m].copy(),
        known=pick[:, m:].copy(),
        always=(column < 0).astype(float),
        inside=(column >= 0).astype(float),
        grouping=np.array([g for _, g, _ in found], np.int64),
        column=column,
        by_share=np.zeros(len(names), bool),
        sure=problem.sure,
        noisy=problem.is_noisy,
        factors=problem.factors,
    )
