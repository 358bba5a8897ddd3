"""Totals that are never exceeded: a candidate whose worst case does not fit is not playable."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals._limits import (
    HELD,
    USED,
    USED_REST,
    can_enter,
    fit,
    give_back,
    hold,
    settle,
    settle_part,
    unsettle,
    worst,
)
from evenhand.goals.base import Past
from evenhand.problem.constraints import Constraint
from evenhand.problem.rows import Frame, Rows


@dataclass
class HardState:
    """The amount used of the totals, and the part of it that is held back."""

    taken: Floats  # (4, R, d): what was used or is held back, what is held back, and what rounding took from each
    credit: bool  # whether a decision that gives something back was ever committed
    total: Floats = field(metadata={"setting": True})  # (R, d) a loaded state has those of its policy

    @property
    def left(self) -> Floats:
        """The total minus the amounts used and held back; negative if overspent, `->(d)`."""
        return np.asarray(self.total - self.taken[USED] - self.taken[USED_REST])

    @property
    def held(self) -> Floats:
        """The amount held back; no more than this is ever released, even if something is reported twice, `->(d)`."""
        return np.asarray(self.taken[HELD])


class _HardBudgetView(NamedTuple):
    taken: Floats
    limits: Floats
    rows: Any
    credit: bool
    settles: bool

    @kernel
    def room(self, c: Context) -> tuple[Floats, Floats]:
        return worst(self.limits, c.known, self.taken)

    @kernel
    def fits(self, d: Decision) -> bool:
        """The ordinary loop enters the first decision with a negative use."""
        return can_enter(self.limits, d.known, d.plays, d.counted, self.taken, self.credit)

    @kernel
    def on_decision(self, d: Decision) -> None:
        hold(self.limits, d.known, d.plays, d.counted, self.taken)

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        if self.settles:
            v = self.rows.post(d, y, z)
            settle(self.limits, d.known, d.plays, d.counted, v, self.taken)


@named("X3", source="evenhand's own; the stopping rule of Han et al. 2022, Algorithm 1, made exact")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardBudget:
    """Never let the sum of rows exceed its total, for any outcomes within the declared ranges.

    Equation: plays a_1, ..., a_P fit if sum_p worst_j(a_p) <= max(total_j - used_j, 0) for every row j, worst_j(a)
    being the largest value of row j within the declared ranges, times the factors of a. The choice takes candidates in
    its own order while they fit. The worst case is held back, and counts as used, when a decision is committed, and is
    settled when its outcome arrives. It stays held back if the outcome never arrives or is not observed. A known
    refund is credited only when the outcome arrives, because the decision can be cancelled until then.
    A state keeps the amount used, so one that is loaded under another total has the rest of that. Where more than the
    total was used, only candidates that are sure to use nothing fit.

    Args:
        rows: consumption, d rows that concern everybody, or all the plays of one group.
        total: over the horizon, `(d)`.
        low, high: ranges of the observed outcomes: learned ones, then noisy ones, `(M+B)`; or of each candidate,
            `(A,M+B)`, if every round has the same candidates.
        free: candidates under which an observed outcome is always 0, `(A,M+B)`, if every round has the same candidates.
        constraints: the one that each row belongs to, by which reports find it; none if the limit is of something else.

    Raises:
        InvalidInput: rows of several groups, totals of the wrong shape or not positive, or consumption without a
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
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if not (self.rows.plain_only or self.rows.inside_only):
            raise InvalidInput("HardBudget.rows", "rows that concern everybody, or one group", self.rows.names)
        if self.total.shape != (len(self.rows),) or not (np.isfinite(self.total).all() and (self.total > 0).all()):
            raise InvalidInput("HardBudget.total", f"{len(self.rows)} finite numbers above 0", self.total)
        for name, row in zip(self.rows.names, self.observed, strict=True):
            if not np.isfinite([self.low[..., row != 0], self.high[..., row != 0]]).all():
                raise InvalidInput(
                    f"HardBudget {name!r}", "an outcome with a finite declared range", "an unbounded one"
                )

    def start(self, n_replicas: int) -> HardState:
        none = np.zeros((4, n_replicas, len(self.total)))
        return HardState(none, False, np.tile(self.total, (n_replicas, 1)))

    @property
    def group(self) -> int:
        """The column of the group whose plays count, -1 for everybody."""
        return int(self.rows.column[:1].max(initial=-1))

    def room(self, state: HardState, frame: Frame) -> tuple[Floats, Floats]:
        most, left = worst(self._limits, self._known_and_ends(frame), state.taken)
        return most if self.group < 0 else np.where(self._inside(frame)[:, :, None], most, 0.0), left

    def fits(self, state: HardState, decision: Decision) -> Bools:
        return fit(self._limits, self._known_and_ends(decision), self._plays(decision), decision.counted, state.taken)

    def over(self, state: HardState) -> Bools:
        """The replicas in which no candidate can fit again: each exceeds a row without known numbers, `->()`.

        What was not observed stays held back for good, but counts here as if it could still be released. Candidates of
        other groups can always come.
        """
        if self.group >= 0:
            return np.zeros(len(state.left), bool)
        fixed = ~self._known.any(1) & ~self.rows.learned[:, self._scaled].any(1)
        room = np.maximum(state.left + self._rounding, 0.0)
        gone = (self._most > room[:, None]) & (state.held <= self._rounding)[:, None]
        return np.asarray(np.all(np.any(gone & fixed, axis=2), axis=1))

    def account(self, state: HardState) -> tuple[Floats, Floats]:
        return state.left, state.held

    def on_decision(self, state: HardState, decision: Decision, estimate: Floats | None) -> None:
        """Hold back the worst case of the plays; negative use is credited when their outcome arrives."""
        state.credit |= hold(
            self._limits, self._known_and_ends(decision), self._plays(decision), decision.counted, state.taken
        )

    def on_outcome(self, state: HardState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Settle, `(),(d)`: release the held amount and subtract the use. Known use was settled at commit."""
        if self._any_waits or state.credit:
            settle(self._limits, self._known_and_ends(decision), self._plays(decision), counted, v, state.taken)

    def go_on(self, state: HardState, past: Past) -> None:
        """Take over the amounts that limits of the same rows used and hold.

        Other rows used what is in the books. Held back are the worst cases of what waits, and of what was not observed.
        """
        here, state.credit, waits = self.start(len(past.decided)), True, ~self.rows.is_known
        for decision in past.waiting:
            self.on_decision(here, decision, None)
            state.taken[USED] -= np.minimum(self.rows.post_known(decision), 0.0)  # is given back when its outcome comes
        missed = np.where(waits, (past.arrived[:, None] - past.seen) * self._most.max(0), 0.0)
        state.taken[:] += here.taken * waits
        state.taken[USED] += past.sums + missed
        state.taken[HELD] += missed
        for j, name in enumerate(self.rows.names):
            state.taken[:, :, j] = past.taken.get(name, state.taken[:, :, j])

    def on_return(self, state: HardState, decision: Decision) -> None:
        self.on_decision(state, decision, None)

    def on_reversal(self, state: HardState, decision: Decision, counted: Floats, v: Floats) -> None:
        if self._any_waits or state.credit:
            unsettle(self._limits, self._known_and_ends(decision), self._plays(decision), counted, v, state.taken)

    def on_part(self, state: HardState, decision: Decision, waits: Bools, rest: Bools, v: Floats) -> None:
        """Settle some plays of a decision, `(P),(P),(d)`: worst cases of several plays may offset each other."""
        if self._any_waits or state.credit:
            settle_part(
                self._limits, self._known_and_ends(decision), self._plays(decision), waits, rest, v, state.taken
            )

    def on_cancel(self, state: HardState, decision: Decision) -> None:
        give_back(self._limits, self._known_and_ends(decision), self._plays(decision), decision.counted, state.taken)

    def view(self, state: HardState) -> _HardBudgetView | None:
        rows = self.rows.view()
        if rows is None or self.group >= 0:
            return None
        return _HardBudgetView(state.taken, self._limits, rows, state.credit, self._any_waits or state.credit)

    def _inside(self, frame: Frame) -> Bools:
        """Which candidates are in the group whose plays count, `->(1|A)`."""
        return np.asarray((frame.groups == self.group).any(2))

    def _plays(self, decision: Decision) -> Ints:
        """The plays that count, -1 in the place of others, `->(P)`."""
        return decision.plays if self.group < 0 else np.where(self._inside(decision), decision.plays, -1)

    def _known_and_ends(self, frame: Frame) -> Floats:
        """Known outcomes, then the most that outcomes with a factor can bring, and take away, `->(A,L+2F)`.

        What such an outcome can use of a row at most is linear in these, as what a known outcome uses is. An outcome
        of a play that is not exposed brings 0. That outcomes can offset each other is not used.
        """
        if not len(self._scaled):
            return frame.known
        f = self.rows.factors.of(frame.known, frame.plays)[..., self._scaled]  # type: ignore[union-attr]  # it has some
        low, high = (np.atleast_2d(z)[:, self._scaled] for z in (self.low, self.high))
        if frame.plays is not None and len(low) > 1:
            low, high = low[frame.plays], high[frame.plays]
        ends = f * low, f * high
        return np.concatenate([frame.known, np.maximum(np.maximum(*ends), 0.0), np.maximum(-np.minimum(*ends), 0.0)], 2)

    @cached_property
    def _limits(self) -> Floats:
        """All that kernels read, in one array: each array argument of a kernel costs a tenth of a microsecond."""
        waits, sure = ~self.rows.is_known, np.tile(self.rows.sure, (len(self.rows), 1))
        w = self.rows.learned[:, self._scaled]
        ends = np.column_stack([np.maximum(w, 0.0), np.maximum(-w, 0.0)])
        return np.column_stack([waits, self._rounding, self.total, self._known, ends, sure, 0.0 * ends, self._most.T])

    @cached_property
    def _scaled(self) -> Ints:
        """The learned outcomes with a known factor that any row reads, `->(F)`."""
        scaled = self.rows.scaled
        return np.zeros(0, np.int64) if scaled is None else scaled.known[self.rows.learned[:, scaled.known].any(0)]

    @cached_property
    def _any_waits(self) -> bool:
        return not self.rows.is_known.all()

    @cached_property
    def _most(self) -> Floats:
        """The most that observed outcomes without factors can add to each row, for all candidates or each, `->(A,d)`.

        What depends on exposure adds at least 0, because a play that is not exposed adds nothing; so does the sum.
        """
        w = self.observed.copy()
        w[:, self._scaled] = 0.0
        low, high = (np.atleast_2d(z)[:, None] for z in (self.low, self.high))
        ends = np.where(w > 0, w * np.where(w > 0, high, 0.0), w * np.where(w < 0, low, 0.0))
        if self.free is not None and self.free.any():
            ends = ends * ~self.free[:, None, :]
        billed = np.append(np.zeros(self.rows.learned.shape[1], bool), self.rows.sure[self.rows.noisy])
        exposed = np.maximum((ends * ~billed).sum(2), 0.0)
        return np.asarray(np.maximum(exposed + (ends * billed).sum(2), 0.0))

    @cached_property
    def observed(self) -> Floats:
        """The weights of learned and noisy outcomes, whose ranges are held back, `->(d,M+B)`."""
        return np.column_stack([self.rows.learned, self.rows.known[:, self.rows.noisy]])

    @cached_property
    def _known(self) -> Floats:
        """The weights of outcomes that are known for certain, `->(d,L)`."""
        return np.where(self.rows.noisy, 0.0, self.rows.known)

    @cached_property
    def _rounding(self) -> Floats:
        return 1e-9 * self.total
