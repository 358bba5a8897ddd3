"""The settlement of a committed decision: outcomes arrive, at once or in parts; or it is cancelled; or it expires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models.base import ROUND, Model
from evenhand.policy import books, checks, entries
from evenhand.policy.books import ByPeriod
from evenhand.policy.delay import Delay
from evenhand.policy.marked_arrays import Payable, Zeros
from evenhand.policy.outcome_names import wrong_outcome
from evenhand.policy.queries import Abilities
from evenhand.policy.shares import ShareBooks
from evenhand.policy.state import PolicyState
from evenhand.policy.units import UnitBooks
from evenhand.problem.problem import Problem

_STEPS = 2.0**20  # shares of a round are multiples of 1 / _STEPS, so that those of all its parts add up to exactly 1


class Part(NamedTuple):
    """The plays of a decision whose outcomes arrive now."""

    decision: Decision  # with only these plays: the places of all others are empty
    share: Floats  # (R,) of the plays of the round
    waits: Bools  # (R, P) plays whose outcomes had not arrived before
    rest: Bools  # (R, P) plays whose outcomes are still to come


@inlined
def _grid(part: int, whole: int) -> float:
    return float(np.floor(part / whole * _STEPS + 0.5) / _STEPS)


@kernel
def _split(plays: Ints, counted: Floats, waits: Bools, pending: Bools) -> tuple[Ints, Floats, Bools, int, int, bool]:
    """Plays that arrive, their share of the round, and those to come, `(P),(),(P),(P)->(P),(),(P),(),(),()`.

    Then replica and place of the first play that is pending and settled, -1 where there is none; and whether anything
    arrives. An empty `pending` is false everywhere.
    """
    here, share, rest, some = np.full(plays.shape, -1), np.zeros(len(plays)), np.zeros(plays.shape, np.bool_), False
    for r in range(len(plays)):
        made, before, after = 0, 0, 0
        for p in range(plays.shape[1]):
            if counted[r] == 0.0 or plays[r, p] < 0:
                continue
            made += 1
            late = len(pending) > 0 and pending[r, p]
            if not waits[r, p]:
                if late:
                    return here, share, rest, r, p, some
                before += 1
            elif late:
                rest[r, p] = True
            else:
                here[r, p] = plays[r, p]
                after += 1
        if after > 0:
            share[r] = _grid(before + after, made) - _grid(before, made)
            some = True
    return here, share, rest, -1, -1, some


def counted_plays(decision: Decision) -> Bools:
    """Mark the plays of the rounds that count, `->(P)`."""
    return np.asarray((decision.plays >= 0) & (decision.counted > 0.0)[:, None])


def arriving_part(decision: Decision, waits: Bools, pending: Bools | None) -> Part:
    """Return the part of a decision that arrives now: all plays that wait, except `pending` ones, `(P),(P)`.

    Raises:
        InvalidInput: a play that is pending although its outcome arrived before, or nothing that arrives.
    """
    mask = checks.EVERY_PLAY if pending is None else pending
    here, share, rest, r, p, some = _split(decision.plays, decision.counted, waits, mask)
    if r >= 0:
        raise InvalidInput(f"pending[{r}, {p}]", "a play whose outcome is still to come", "one that was settled before")
    if not some:
        raise InvalidInput("pending", "at least one play whose outcome arrives", "none")
    return Part(decision._replace(plays=here), share, waits, rest)


@dataclass(frozen=True, eq=False)
class Settlement:
    """Settles decisions of one policy: receipt, books, goals, choice and model, in this order."""

    problem: Problem
    model: Model
    can: Abilities
    restating: ShareBooks
    payable: Payable
    zeros: Zeros
    by_period: ByPeriod
    delay: Delay
    units: UnitBooks

    def learn(
        self,
        state: PolicyState,
        decision: Decision,
        y: Floats,
        observed: Bools | None,
        exposed: Bools | None,
        pending: Bools | None,
    ) -> None:
        """Take in outcomes, `(P,M+B),(P,M+B),(P),(P)`; see `Policy.learn`."""
        if decision is not state.recent.decision or decision is None:
            decision = entries.widen(decision, self.model.n_features)
            checks.decision(decision, len(state.t), self.problem.n_plays, self.model.n_features, self.problem)
        y = checks.outcomes(y, observed, exposed, decision, self.problem)
        observed, exposed = _unless_all(observed), _unless_all(exposed)
        part = None
        if pending is not None or len(state.receipts.split):
            part = self._part(state, decision, pending)
        taken = decision if part is None else part.decision
        missing = checks.NOTHING if observed is None else np.zeros((*y.shape[:2], len(self.problem.names)), bool)
        checksum, counts, r, m, learned, known, seen = entries.at_arrival(
            taken.plays,
            decision.counted,
            decision.time,
            decision.groups,
            decision.known,
            y,
            checks.EVERYWHERE if observed is None else observed,
            checks.EVERY_PLAY if exposed is None else exposed,
            self.problem.sure,
            len(self.problem.noisy),
            self.problem.span_by_action,
            missing,
        )
        if r >= 0:
            raise wrong_outcome(r, m, y, observed, exposed, decision, taken.plays, self.problem)
        if not counts and _never_entered(decision):
            return
        self._settle(state, decision, checksum, part)
        self._enter(state, decision, learned, known, None if observed is None else missing, exposed, part)
        for i, goal in self.can.watching:
            goal.on_exposure(state.goals[i], taken, exposed)
        if self.can.hears is not None:
            self.can.hears.on_outcome(state.choice, taken, exposed)
        self.zeros.tell(state.model, decision.plays, seen)
        lesson = ROUND if part is None else ROUND._replace(share=part.share)
        self.model.update(state.model, decision.features, learned, seen, decision.prices, lesson)

    def expire(self, state: PolicyState, decision: Decision, fallback: Floats | None = None) -> None:
        """Settle a decision without outcomes, by fallbacks other than the problem's if given; see `Policy.expire`."""
        problem, d = self.problem, (decision := entries.widen(decision, self.model.n_features))
        checks.decision(d, len(state.t), problem.n_plays, self.model.n_features, problem)
        part = self._part(state, d, None) if len(state.receipts.split) else None
        plays = d.plays if part is None else part.decision.plays
        by = entries.fallbacks(problem.fallback, fallback)
        counts, learned, known, missing = entries.at_expiry(
            plays, d.counted, d.known, problem.sure, len(problem.noisy), by, problem.free
        )
        if not counts and _never_entered(d):
            return
        self._settle(state, d, _checksum(d), part)
        self._enter(state, d, learned, known, missing, None, part)

    def _part(self, state: PolicyState, decision: Decision, pending: Bools | None) -> Part | None:
        """The part of a decision that arrives, None if that is all of it, `(P)`."""
        if pending is not None:
            checks.mask("pending", pending, decision.plays.shape)
        if not (decision.counted > 0.0).any():
            return None
        left, made = state.receipts.left(decision), counted_plays(decision)
        if left is None and not (pending is not None and (pending & made).any()):
            return None
        state.receipts.check(decision, _checksum(decision))
        return arriving_part(decision, made if left is None else left, pending)

    def _settle(self, state: PolicyState, decision: Decision, checksum: int, part: Part | None) -> None:
        if part is None:
            state.receipts.settle(decision, checksum)
            if self.delay.counts:
                self.delay.settle(state, decision)
        else:
            state.receipts.settle_part(decision, _checksum(decision), part.rest)
            if self.delay.counts:
                self.delay.settle_part(state, decision, part.decision.plays)

    def _enter(
        self,
        state: PolicyState,
        decision: Decision,
        learned: Floats,
        known: Floats,
        missing: Bools | None,
        exposed: Bools | None,
        part: Part | None,
    ) -> None:
        """Enter outcomes into the books of all goals; rows that read a missing one are NaN, `(P,M),(P,L),(P,M+L)`."""
        whole, counted = decision, decision.counted
        if part is not None:
            decision, counted = part.decision, part.share
        masks = checks.NOTHING if missing is None else missing, checks.EVERY_PLAY if exposed is None else exposed
        amounts = self.problem.amounts(decision.known, learned)
        books.arrive(decision.plays, counted, decision.groups, amounts, known, *masks, 1.0, state.books)
        if state.periods is not None:
            self.by_period.arrive(state.periods, decision, counted, amounts, known, masks)
        self.payable.tell(state)
        some = None if missing is None else np.asarray(missing.any(1, keepdims=True))
        if self.can.restating:
            decision = self.restating.learn(state, decision, learned, known, some)
        for i, goal in self.can.learning:
            v = goal.rows.post(decision, decision.shares, learned, known)
            if some is not None:
                v = np.where((some & (goal.rows.weights != 0.0)).any(2), np.nan, v)
            if part is not None and i in self.can.splitting:
                self.can.splitting[i].on_part(state.goals[i], whole, part.waits, part.rest, v)
            else:
                goal.on_outcome(state.goals[i], decision, counted, v)

    def cancel(self, state: PolicyState, decision: Decision) -> None:
        """Take back a decision; see `Policy.cancel`."""
        d = decision = entries.widen(decision, self.model.n_features)
        checks.decision(d, len(state.t), self.problem.n_plays, self.model.n_features, self.problem)
        if not (d.counted > 0.0).any() and _never_entered(d):
            return
        checksum = _checksum(d)
        state.receipts.check(d, checksum)
        if state.receipts.left(d) is not None:
            expected = "one of which nothing was learned yet; the rest of this one can expire"
            raise InvalidInput("decision", expected, f"number {d.id[0]}, of which some outcomes arrived")
        self._settle(state, d, checksum, None)
        books.commit(d.plays, d.counted, d.groups, d.known, self.problem.certain, -1.0, state.books)
        if state.periods is not None:
            self.by_period.commit(state.periods, d, -1.0)
        self.units.cancel(state.units, d)
        if self.can.restating:
            decision = self.restating.cancel(state, decision)
        for i, goal in self.can.cancelling:
            goal.on_cancel(state.goals[i], decision)


def _unless_all(mask: Bools | None) -> Bools | None:
    """A mask, or None in place of one that is true everywhere, which costs a dozen operations per goal."""
    return None if mask is None or np.count_nonzero(mask) == mask.size else mask


def _checksum(d: Decision) -> int:
    return entries.checksum(d.plays, d.counted, d.time, d.groups, d.known)


def _never_entered(decision: Decision) -> bool:
    """Whether a decision that counts nowhere has no number; one that has was changed after it was committed."""
    return bool(decision.id[0] < 0)
