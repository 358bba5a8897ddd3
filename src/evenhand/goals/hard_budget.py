"""Totals that are never exceeded: a candidate whose worst case does not fit is not playable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.exact_sums import put
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases, Frame, Rows

_LEFT, _HELD, _LEFT_REST, _HELD_REST = 0, 1, 2, 3


@dataclass
class HardState:
    """What is left of the totals, and what is held back."""

    books: Floats  # (4, R, d): what is left, what is held back, and what rounding took from each
    credit: bool  # whether a decision that gives something back was ever committed

    @property
    def left(self) -> Floats:
        """What is held back for pending outcomes is already subtracted, `->(d)`."""
        return np.asarray(self.books[_LEFT])

    @property
    def held(self) -> Floats:
        """Held back; no more than this is ever given back, even if something is reported twice, `->(d)`."""
        return np.asarray(self.books[_HELD])


# Columns of the packed limits, one line per row. From _KNOWN on: the weights of the known outcomes, whether each of
# these is sure, and the most that learned outcomes can add (one column for all candidates, or one for each).
_WAITS, _ROUNDING, _KNOWN = 0, 1, 2


@inlined
def _add(limits: Floats, a: int, z: Floats, r: int, p: int, used: Floats) -> None:
    """Add the most that candidate a, at place p of replica r, can use of each row, `(d,W),(),(P,L),(),(),(d)`.

    What a known outcome gives back counts only if the outcome is sure.
    """
    n_known = z.shape[2]
    most = _KNOWN + 2 * n_known
    if limits.shape[1] > most + 1:
        most += a
    for j in range(len(used)):
        used[j] += limits[j, most]
        for i in range(n_known):
            one = limits[j, _KNOWN + i] * z[r, p, i]
            if one > 0.0 or limits[j, _KNOWN + n_known + i] != 0.0:
                used[j] += one


@kernel
def _worst(limits: Floats, z: Floats, left: Floats) -> tuple[Floats, Floats]:
    """The most that each candidate can use of each row, and what is left, `(d,W),(A,L),(d)->(A,d),(d)`."""
    worst, room = np.zeros((len(z), z.shape[1], len(limits))), np.empty(left.shape)
    for r in range(len(z)):
        for a in range(z.shape[1]):
            _add(limits, a, z, r, a, worst[r, a])
    for r in range(len(left)):
        for j in range(len(limits)):
            room[r, j] = left[r, j] + limits[j, _ROUNDING]
    return worst, room


@inlined
def _give(books: Floats, r: int, j: int, x: float) -> None:
    """Add x to what is left, `(4,d),(),(),()`."""
    put(books[_LEFT], books[_LEFT_REST], r, j, x)


@inlined
def _keep(books: Floats, r: int, j: int, x: float) -> None:
    """Add x to what is held, `(4,d),(),(),()`."""
    put(books[_HELD], books[_HELD_REST], r, j, x)


@inlined
def _add_up(limits: Floats, z: Floats, plays: Ints, r: int, used: Floats) -> None:
    """Fill `used` with the most that the plays of replica r can use together, `(d,W),(P,L),(P),(),(d)`."""
    for j in range(len(used)):
        used[j] = 0.0
    for p in range(plays.shape[1]):
        if plays[r, p] >= 0:
            _add(limits, plays[r, p], z, r, p, used)


@kernel
def _fit(limits: Floats, z: Floats, plays: Ints, counted: Floats, left: Floats) -> Bools:
    """Whether all plays that count fit together, `(d,W),(P,L),(P),(),(d)->()`."""
    fits, used = np.ones(len(plays), np.bool_), np.empty(left.shape[1])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if used[j] > left[r, j] + limits[j, _ROUNDING]:
                    fits[r] = False
    return fits


@kernel
def _hold(limits: Floats, z: Floats, plays: Ints, counted: Floats, books: Floats) -> bool:
    """Subtract the plays' worst case, held back in rows that wait for outcomes; return whether any use is negative."""
    credit, used = False, np.empty(books.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if used[j] < 0.0:
                    credit = True
                    continue
                _give(books, r, j, -used[j])
                if limits[j, _WAITS] != 0.0:
                    _keep(books, r, j, used[j])
    return credit


@kernel
def _settle(limits: Floats, z: Floats, plays: Ints, counted: Floats, v: Floats, books: Floats) -> None:
    """In rows that wait, release what was held and subtract what was used; in others, credit negative use."""
    used = np.empty(books.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if limits[j, _WAITS] != 0.0 and not np.isnan(v[r, j]):
                    back = min(max(used[j], 0.0), books[_HELD, r, j])
                    _keep(books, r, j, -back)
                    _give(books, r, j, back)
                    _give(books, r, j, -v[r, j])
                elif used[j] < 0.0:  # known and sure, or exposed
                    _give(books, r, j, -used[j])


@kernel
def _settle_part(limits: Floats, z: Floats, plays: Ints, waits: Bools, rest: Bools, v: Floats, books: Floats) -> None:
    """Settle the plays that waited and are not in the rest, as `_settle` does a round, `(P,L),(P),(P),(P),(d),(4,d)`.

    With the first part, what the whole decision gives back at least is credited, as it can no longer be cancelled. From
    then on `left` is short of the sum of what the rest can use, of either sign, and `held` has that sum if it is
    positive.
    """
    d = books.shape[2]
    before, after, here = np.empty(d), np.empty(d), np.empty(d)
    for r in range(len(plays)):
        first, some = True, False
        before[:] = 0.0
        after[:] = 0.0
        here[:] = 0.0
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            if not waits[r, p]:
                first = False
                continue
            _add(limits, plays[r, p], z, r, p, before)
            if rest[r, p]:
                _add(limits, plays[r, p], z, r, p, after)
            else:
                some = True
                _add(limits, plays[r, p], z, r, p, here)
        if not some:
            continue
        for j in range(d):
            released = max(before[j], 0.0) - max(after[j], 0.0)
            credit = max(-before[j], 0.0) if first else 0.0
            if limits[j, _WAITS] != 0.0 and not np.isnan(v[r, j]):
                back = min(released, books[_HELD, r, j])
                _keep(books, r, j, -back)
                _give(books, r, j, back + (credit + here[j] - released))
                _give(books, r, j, -v[r, j])
            else:
                _give(books, r, j, credit)
                if limits[j, _WAITS] != 0.0:
                    _keep(books, r, j, max(here[j], 0.0) - released)


@kernel
def _give_back(limits: Floats, z: Floats, plays: Ints, counted: Floats, books: Floats) -> None:
    """Undo `_hold`, releasing at most what is held."""
    used = np.empty(books.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                back = max(used[j], 0.0)
                if limits[j, _WAITS] != 0.0:
                    back = min(back, books[_HELD, r, j])
                    _keep(books, r, j, -back)
                _give(books, r, j, back)


@named("X3", source="evenhand's own; the stopping rule of paper 5, Algorithm 1, made exact")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardBudget:
    """Never let the sum of rows exceed its total, whatever the outcomes turn out to be.

    Equation: plays a_1, ..., a_P fit if sum_p worst_j(a_p) <= left_j for every row j, worst_j(a) being the
    largest value of row j within the declared ranges. The choice takes candidates in its own order while they fit. The
    worst case is held back when a decision is committed and settled when its outcome arrives. It stays held back if the
    outcome never arrives or is not observed. What a known outcome gives back is credited only when the outcome arrives,
    because the decision can be cancelled until then.

    Args:
        rows: consumption, d rows that concern everybody.
        total: over the horizon, `(d)`.
        low, high: ranges of the observed outcomes: learned ones, then noisy ones, `(M+B)`.
        free: candidates under which an observed outcome is always 0, `(A,M+B)`, if every round has the same candidates.

    Raises:
        InvalidInput: rows of single groups, totals of the wrong shape or not positive, or consumption without a
            declared finite range.

    >>> rows = Rows.plain(["ride"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = HardBudget(rows=rows, total=np.array([5.0]), low=np.zeros(1), high=np.ones(1))
    >>> goal.start(2).left
    array([[5.],
           [5.]])
    """

    rows: Rows
    total: Floats
    low: Floats
    high: Floats
    free: Bools | None = None

    def __post_init__(self) -> None:
        if not self.rows.plain_only:
            raise InvalidInput("HardBudget.rows", "rows that concern everybody", self.rows.names)
        if self.total.shape != (len(self.rows),) or not (np.isfinite(self.total).all() and (self.total > 0).all()):
            raise InvalidInput("HardBudget.total", f"{len(self.rows)} finite numbers above 0", self.total)
        for name, row in zip(self.rows.names, self._observed, strict=True):
            if not (np.isfinite(self.low[row != 0]).all() and np.isfinite(self.high[row != 0]).all()):
                raise InvalidInput(
                    f"HardBudget {name!r}", "an outcome with a finite declared range", "an unbounded one"
                )

    def start(self, n_replicas: int) -> HardState:
        """The full totals."""
        books = np.zeros((4, n_replicas, len(self.total)))
        books[_LEFT] = self.total
        return HardState(books, False)

    def room(self, state: HardState, frame: Frame) -> tuple[Floats, Floats]:
        """The most that each candidate can use of each row, and what is left, `->(A,d),(d)`."""
        return _worst(self._limits, frame.known, state.left)

    def fits(self, state: HardState, decision: Decision) -> Bools:
        """Whether all plays of a decision still fit together, `->()`."""
        return _fit(self._limits, decision.known, decision.plays, decision.counted, state.left)

    def over(self, state: HardState) -> Bools:
        """The replicas in which no candidate can fit again: each exceeds a row without known outcomes, `->()`.

        What was not observed stays held back for good, but counts here as if it could still be released.
        """
        fixed = ~self._known.any(1)
        gone = (self._most > (state.left + self._rounding)[:, None]) & (state.held <= self._rounding)[:, None]
        return np.asarray(np.all(np.any(gone & fixed, axis=2), axis=1))

    def account(self, state: HardState) -> tuple[Floats, Floats]:
        """What is left of every row, and what is held for outcomes that are to come, `->(d),(d)`."""
        return state.left, state.held

    def on_decision(self, state: HardState, decision: Decision, estimate: Floats | None) -> None:
        """Hold back the worst case of the plays; what they give back is credited when their outcome arrives."""
        d = decision
        state.credit |= _hold(self._limits, d.known, d.plays, d.counted, state.books)

    def on_outcome(self, state: HardState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Settle, `(),(d)`: release what was held and subtract what was used. Known use was settled at commit."""
        if self._any_waits or state.credit:
            _settle(self._limits, decision.known, decision.plays, counted, v, state.books)

    def on_part(self, state: HardState, decision: Decision, waits: Bools, rest: Bools, v: Floats) -> None:
        """Settle some plays of a decision, `(P),(P),(d)`: worst cases of several plays may offset each other."""
        if self._any_waits or state.credit:
            d = decision
            _settle_part(self._limits, d.known, d.plays, waits, rest, v, state.books)

    def on_cancel(self, state: HardState, decision: Decision) -> None:
        """Give back what was taken for a decision that is not carried out."""
        d = decision
        _give_back(self._limits, d.known, d.plays, d.counted, state.books)

    @cached_property
    def _limits(self) -> Floats:
        """All that kernels read, in one array: each array argument of a kernel costs a tenth of a microsecond."""
        waits, sure = ~self.rows.is_known, np.tile(self.rows.sure, (len(self.rows), 1))
        return np.column_stack([waits, self._rounding, self._known, sure, self._most.T])

    @cached_property
    def _any_waits(self) -> bool:
        """Whether any row is settled when outcomes arrive."""
        return not self.rows.is_known.all()

    @cached_property
    def _most(self) -> Floats:
        """The most that observed outcomes can add to each row, for all candidates or for each, `->(A,d)`.

        What depends on exposure adds at least 0, because a play that is not exposed adds nothing; so does the sum.
        """
        w = self._observed
        ends = np.where(w > 0, w * np.where(w > 0, self.high, 0.0), w * np.where(w < 0, self.low, 0.0))[None]
        if self.free is not None and self.free.any():
            ends = ends * ~self.free[:, None, :]
        billed = np.append(np.zeros(self.rows.learned.shape[1], bool), self.rows.sure[self.rows.noisy])
        exposed = np.maximum((ends * ~billed).sum(2), 0.0)
        return np.asarray(np.maximum(exposed + (ends * billed).sum(2), 0.0))

    @cached_property
    def _observed(self) -> Floats:
        """The weights of learned and noisy outcomes, whose ranges are held back, `->(d,M+B)`."""
        return np.column_stack([self.rows.learned, self.rows.known[:, self.rows.noisy]])

    @cached_property
    def _known(self) -> Floats:
        """The weights of outcomes that are known for certain, `->(d,L)`."""
        return np.where(self.rows.noisy, 0.0, self.rows.known)

    @cached_property
    def _rounding(self) -> Floats:
        return 1e-9 * self.total


def hard_limits(problem: Problem, hard: bool) -> tuple[HardBudget, ...]:
    """The hard limit on all constraints that spend and are hard; () if there are none.

    Args:
        problem: its constraints may state whether they are hard.
        hard: whether constraints that leave this to the recipe are hard.

    Raises:
        InvalidInput: one to be kept hard is on an outcome without a finite range, or is below the worst case of every
            single play, so that nothing could ever be played.

    >>> from evenhand.environments import Court
    >>> hard_limits(Court().problem, hard=False)
    ()
    >>> hard_limits(Court().problem, hard=True)[0].total
    array([ 500., 2000.])
    """
    kept = [c for c in problem.spending if (hard if c.hard is None else c.hard)]
    if not kept:
        return ()
    rows, _ = constraint_rows(problem, kept)
    total = np.concatenate([np.full(len(c.rows(problem)), c.total_over(problem.horizon)) for c in kept])
    goal = HardBudget(rows=rows, total=total, low=problem.span[0], high=problem.span[1], free=problem.free)
    worst, left = goal.room(goal.start(1), Cases(problem.declared[None], np.zeros((1, 1, 0), np.int64)))
    least = worst[0].min(0)
    for j in np.flatnonzero(least > left[0]):
        expected = f"a total of at least {least[j]:g}: any single play may use that much"
        raise InvalidInput(f"Budget {rows.names[j]!r}, kept hard", expected, total[j])
    return (goal,)


def hard_budget(problem: Problem) -> HardBudget:
    """The hard limit of a problem that spends something.

    Raises:
        InvalidInput: nothing is spent, or nothing that may be kept hard.
    """
    limits = hard_limits(problem, True)
    if not limits:
        raise InvalidInput("subject_to", "at least one Budget to be kept hard", problem.subject_to)
    return limits[0]
