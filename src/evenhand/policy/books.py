"""The table of outcomes: exact sums of plays and of known and arrived outcomes, and plays unobserved or not exposed.

Its first line is of everybody, the others are of the groups (`problem.columns`). `commit` and `arrive` alone write it;
both can take back an entry. Status, traces, the dashboard and what models are told about budgets read it. Where a
problem has spans of time, a second table has the same sums of the decisions of every period.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.precision import two_sum
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.problem.spans import Spans

# The columns: rounds that were decided and not cancelled, and rounds that arrived (both in the first line alone); plays
# of the ones and of the others. From FIRST on: the sums of the S outcomes that arrived, and what rounding took from
# them; the sums of the L known outcomes of all plays, where these are certain, and what rounding took from them. Last
# what is seldom written: plays that arrived and were not exposed, and those in which each outcome was not observed.
DECIDED, ARRIVED, PLAYED, CAME, FIRST = range(5)


def start(problem: Problem, n_replicas: int) -> Floats:
    """Return an empty table, `->(1+C,5+3S+2L)`."""
    width = FIRST + 1 + 3 * len(problem.names) + 2 * len(problem.known)
    return np.zeros((n_replicas, 1 + len(problem.columns), width))


@inlined
def _put(books: Floats, r: int, line: int, i: int, rest: int, x: float) -> None:
    """Add x to column i, and its rounding error to column `rest`, `(1+C,W),(),(),(),(),()`."""
    if x != 0.0:
        books[r, line, i], books[r, line, rest] = two_sum(books[r, line, i], books[r, line, rest], x)


@kernel
def commit(
    plays: Ints, counted: Floats, groups: Ints, known: Floats, certain: Bools, times: float, books: Floats
) -> None:
    """Enter the plays of a decision in place, or take them back: times -1, `(P),(),(1|P,G),(P,L),(L),(),(1+C,W)`."""
    size = known.shape[2]
    first = FIRST + 2 * ((books.shape[2] - FIRST - 1 - 2 * size) // 3)
    for r in range(len(plays)):
        if counted[r] == 0.0:
            continue
        books[r, 0, DECIDED] += times * counted[r]
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            place = p if groups.shape[1] > 1 else 0
            for g in range(-1, groups.shape[2]):
                line = 1 + groups[r, place, g] if g >= 0 else 0
                books[r, line, PLAYED] += times
                for i in range(size):
                    if certain[i]:
                        _put(books, r, line, first + i, first + size + i, times * known[r, p, i])


@kernel
def arrive(
    plays: Ints,
    share: Floats,
    groups: Ints,
    learned: Floats,
    known: Floats,
    missing: Bools,
    exposed: Bools,
    times: float,
    books: Floats,
) -> None:
    """Enter the plays that arrive, in place, `(P),(),(1|P,G),(P,M),(P,L),(P,M+L)|empty,(P)|empty,(),(1+C,W)`.

    Learned outcomes are amounts: times their factors. Missing ones are 0. A mask that is empty says that nothing is
    missing, and that every play was exposed. `times` is -1 to take back an entry: an outcome that is revised is a
    reversal and a new entry.
    """
    m, size = learned.shape[2], learned.shape[2] + known.shape[2]
    unexposed = books.shape[2] - size - 1
    for r in range(len(plays)):
        if share[r] == 0.0:
            continue
        books[r, 0, ARRIVED] += times * share[r]
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            place = p if groups.shape[1] > 1 else 0
            for g in range(-1, groups.shape[2]):
                line = 1 + groups[r, place, g] if g >= 0 else 0
                books[r, line, CAME] += times
                if len(exposed) > 0 and not exposed[r, p]:
                    books[r, line, unexposed] += times
                for i in range(size):
                    x = learned[r, p, i] if i < m else known[r, p, i - m]
                    _put(books, r, line, FIRST + i, FIRST + size + i, times * x)
                    if len(missing) > 0 and missing[r, p, i]:
                        books[r, line, unexposed + 1 + i] += times


def rounds_to_come(books: Floats) -> Floats:
    """Rounds, and parts of rounds, whose outcomes are still to come, `(1+C,W)->()`."""
    return np.asarray(books[..., 0, DECIDED] - books[..., 0, ARRIVED])


def totals(problem: Problem, books: Floats) -> Floats:
    """Sums of outcomes as in a trace, `(1+C,W)->(1+C,M+L)`: certain ones of all plays, the others as they arrived."""
    size, n_known = len(problem.names), len(problem.known)
    found = books[..., FIRST : FIRST + size].copy()
    of_plays = books[..., FIRST + 2 * size : FIRST + 2 * size + n_known]
    found[..., size - n_known :] = np.where(problem.certain, of_plays, found[..., size - n_known :])
    return found


def rows(problem: Problem, books: Floats, of: Rows, shares: Floats) -> tuple[Floats, Floats]:
    """Sums of rows, and the rounds in them in which all was observed that each reads, `(1+C,W),(C)->(d),(d)`.

    Rows that a decision alone settles are sums of all plays, others are sums of those that arrived.
    """
    size, n_known = len(problem.names), len(problem.known)
    first, last = FIRST + size, FIRST + 2 * size
    came = books[..., FIRST:first] + books[..., first:last]
    made = came.copy()
    made[..., size - n_known :] = books[..., last : last + n_known] + books[..., last + n_known : last + 2 * n_known]
    both = (np.einsum("rcs,ds->drc", z, of.weights) for z in (made, came))
    each = np.where(of.is_known[:, None, None], *both)  # by row, (d,R,1+C)
    part = np.where(of.by_share, np.pad(shares, ((0, 0), (0, 1)))[:, of.column], 1.0)
    inside = each[np.arange(len(of)), :, 1 + of.column].T
    inside = np.divide(inside, part, out=np.zeros(part.shape), where=part > 0.0)
    sums = of.always * each[:, :, 0].T + np.where(of.inside != 0.0, of.inside * inside, 0.0)
    missed = (books[:, 0, None, books.shape[2] - size :] * (of.weights != 0.0)).max(2, initial=0.0)
    counts = np.where(of.is_known, books[:, :1, DECIDED], books[:, :1, ARRIVED] - missed)
    return sums, counts


@dataclass(frozen=True, kw_only=True)
class ReplicaSums:
    """One replica's sums, as constraints read them (`problem.constraints.sums.Sums`)."""

    problem: Problem
    books: Floats  # (1+C, W)
    cases: Floats  # (C,) rounds by group
    rounds: float  # that were decided

    @property
    def elapsed(self) -> Floats:
        return self.books[:1, ARRIVED : ARRIVED + 1]

    @property
    def totals(self) -> Floats:
        return self.books[None, :1, FIRST : FIRST + self._size]

    @property
    def group_totals(self) -> Floats:
        return self.books[None, None, 1:, FIRST : FIRST + self._size]

    @property
    def group_rounds(self) -> Floats:
        return self.cases[None, None]

    @property
    def observed(self) -> Floats:
        """The number of plays in which each outcome was observed, `->(M+L)`."""
        missed: Floats = self.books[0, -self._size :]
        return np.asarray(self.books[0, CAME] - missed)

    def fill(self) -> ReplicaSums:
        """Fill in outcomes that were not observed with their averages, by group."""
        size, filled = self._size, self.books.copy()
        came = self.books[:, CAME : CAME + 1]
        seen = came - self.books[:, -size:]
        filled[:, FIRST : FIRST + size] *= np.divide(came, seen, out=np.ones(seen.shape), where=seen > 0.0)
        return replace(self, books=filled)

    @property
    def _size(self) -> int:
        return len(self.problem.names)


@dataclass(frozen=True, eq=False)
class ByPeriod:
    """Enters rounds into the table of the period of their decision."""

    problem: Problem

    @cached_property
    def edges(self) -> Floats:
        """The ends of P periods, which include those of all spans, `->(P+1)`; empty without spans."""
        found = [s.spans.edges for s in self.problem.stated if s.spans is not None]
        return np.unique(np.concatenate(found)) if found else np.zeros(0)

    def start(self, n_replicas: int) -> Floats | None:
        """Return an empty table, `->(P,1+C,W)`; None without spans."""
        if not len(self.edges):
            return None
        one = start(self.problem, n_replicas)[:, None]
        return np.ascontiguousarray(np.repeat(one, len(self.edges) - 1, 1))

    def commit(self, table: Floats, d: Decision, times: float) -> None:
        """Enter the plays of a decision in place, or take them back: times -1, `(P,1+C,W)`."""
        at = self._at(d)
        here = table[at]
        commit(d.plays, d.counted, d.groups, d.known, self.problem.certain, times, here)
        table[at] = here

    def arrive(
        self, table: Floats, d: Decision, share: Floats, learned: Floats, known: Floats, masks: tuple[Bools, Bools]
    ) -> None:
        """Enter the plays of a decision that arrive in place, as `books.arrive` does, `(P,1+C,W)`."""
        at = self._at(d)
        here = table[at]
        arrive(d.plays, share, d.groups, learned, known, *masks, 1.0, here)
        table[at] = here

    def used(self, table: Floats, spans: Spans, outcome: int, group: int = -1) -> Floats:
        """Return the sum of an outcome over the decisions of every span, as in a trace, `(P,1+C,W)->(S)`.

        `group` is the column of a group, -1 for everybody.
        """
        on = spans.on(self.edges)
        return on.sums(totals(self.problem, table)[:, :, 1 + group, outcome])

    def _at(self, d: Decision) -> tuple[Ints, Ints]:
        period = np.clip(np.searchsorted(self.edges, d.time, "right") - 1, 0, len(self.edges) - 2)
        return np.arange(len(d.time)), period
