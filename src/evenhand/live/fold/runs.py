"""Runs of decisions and outcomes in compiled calls, and the states at which decisions were made together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.garbage import pause_collection
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats
from evenhand.live.fold.cases import context_of, contexts_of
from evenhand.live.fold.fold import Fold
from evenhand.live.log.events import Conflict, Damaged, Event, is_erased, read
from evenhand.live.log.packing import unpack_all
from evenhand.policy import checks
from evenhand.policy.batch import freeze, pass_on
from evenhand.policy.entries import widen
from evenhand.policy.kernels.events import DECIDES, MOST_WAITED, OBSERVES, OTHER, StepEntry, Steps
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

_AT_ONCE = 1_000  # events
_FEW = 20  # plain events in a row that are not worth a run
_PLAIN = 0.85  # of events; where fewer are plain, runs take longer than single events


def fold_runs(fold: Fold, events: Iterable[Event], coming: int) -> None:
    """Apply events in order, as `Fold.fold` does; their expected number is given.

    Raises:
        Rewritten, Missing, Conflict: as for `Fold.apply`; the events before were applied.
        InvalidInput: a goal cannot plan with its predictions; the fold cannot be used then, as its state is ahead of
            its last event.
    """
    if not StepEntry.may_pay(coming):
        fold.fold(events)
        return
    rest, entering, pays = iter(events), StepEntry(fold.policy, fold.state), True
    while some := list(islice(rest, _AT_ONCE)):
        start = 0
        while start < len(some):
            end = start
            while end < len(some) and some[end].kind in ("decided", "observed"):
                end += 1
            if not entering.is_of(fold.policy, fold.state):  # another policy adopted it
                entering, pays = StepEntry(fold.policy, fold.state), True
            run = _Run.of(fold, some[start:end]) if pays and entering.works and end - start > _FEW else None
            if run is None or not (pays := run.apply(entering, coming)):  # what does not pay need not be read again
                fold.fold(some[start:end])
                entering.renew()
            if end < len(some):
                fold.apply(some[end])
                entering.renew()
            start = end + 1


def fold_new(
    fold: Fold, events: Sequence[Event], bodies: Sequence[dict[str, Any]], contexts: Context, coming: int
) -> bool:
    """Apply new decisions in compiled calls; returns False, with nothing applied, where that does not pay.

    Args:
        fold: before them.
        events: in order.
        bodies: of the decisions.
        contexts: of their cases, `(N)` before every shape.
        coming: about how many decisions will come, these and later ones.

    Raises:
        InvalidInput: as for `fold_runs`.
    """
    coming = min(coming, MOST_WAITED)
    entering = StepEntry(fold.policy, fold.state) if StepEntry.may_pay(coming) else None
    if entering is None or not entering.works:
        return False
    try:
        decisions = unpack_all(bodies, contexts, ())
    except ValueError:  # of odd shapes
        return False
    places = {event.seq: i for i, event in enumerate(events)}
    none, exposed = _empty_outcomes(fold.policy.problem, len(events))
    rows = np.arange(len(events))
    steps = Steps.of(np.full(len(events), DECIDES), rows, decisions, contexts, none, exposed)
    return _Run(fold, events, bodies, places, steps).apply(entering, coming)


def _empty_outcomes(problem: Problem, n: int) -> tuple[Floats, Bools]:
    """Outcomes of n decisions to be filled in, and the plays that were exposed, `->(P,M+B),(P)`."""
    y = np.zeros((n, problem.n_plays, len(problem.observed)))
    return y, np.ones(y.shape[:2], bool)


class _Run:
    """Events of the two kinds, and the arrays of the plain ones among them.

    Args:
        fold: before them.
        events: in order.
        bodies: of the plain decisions, in order.
        places: the row of each of these decisions by its event, and then those of earlier ones.
        steps: what each event is.
    """

    def __init__(
        self,
        fold: Fold,
        events: Sequence[Event],
        bodies: Sequence[dict[str, Any]],
        places: dict[int, int],
        steps: Steps,
    ) -> None:
        self._fold, self._events, self._bodies, self._places, self._steps = fold, events, bodies, places, steps
        self._waiting = dict[int, None]()  # decisions that are not in the fold's yet, in order

    @staticmethod
    def of(fold: Fold, events: Sequence[Event]) -> _Run | None:
        """Read events; None if that is left to the fold."""
        if events[0].seq != fold.seq + 1 or events[-1].seq != fold.seq + len(events):
            return None
        if sum(":null" in event.body for event in events if event.ref is not None) > (1.0 - _PLAIN) * len(events):
            return None  # as many outcomes were not observed, they need not be read first
        try:
            with pause_collection():
                return _read(fold, events)
        except (EvenhandError, KeyError, TypeError, ValueError, OverflowError):
            return None

    def apply(self, entering: StepEntry, coming: int) -> bool:
        """Apply all events; returns False, with nothing applied, if kernels do not pay for their expected number."""
        if not entering.pays(self._steps, coming):
            return False
        at = 0
        while at < len(self._events):
            reached = entering.run(self._steps, at)
            self._pass(at, reached)
            at = reached
            if at < len(self._events):
                self._apply(self._events[at])
                entering.renew()
                at += 1
        self._register()
        return True

    def _pass(self, first: int, last: int) -> None:
        """Keep the list of waiting decisions up to date with the events that were entered."""
        counted = self._steps.decisions.counted
        for event in self._events[first:last]:
            if event.ref is None:
                if counted[self._places[event.seq], 0] > 0.0:
                    self._waiting[event.seq] = None
            elif event.ref in self._waiting:
                del self._waiting[event.ref]
            else:
                self._fold.pending.drop(event.ref)
        self._fold.seq += last - first

    def _apply(self, event: Event) -> None:
        """Apply an event as usual."""
        self._register()
        self._fold.apply(event)
        place = self._places.get(event.seq)
        if place is not None and event.seq in self._fold.pending:
            decision = self._fold.pending.decision(event.seq, ())
            self._steps.decisions.id[place], self._steps.decisions.time[place] = decision.id, decision.time

    def _register(self) -> None:
        """Register the waiting decisions with the fold."""
        for seq in self._waiting:
            place = self._places[seq]
            self._fold.pending.add(seq, self._steps.decision(place, ()), self._bodies[place]["due"])
        self._waiting.clear()


def _read(fold: Fold, events: Sequence[Event]) -> _Run | None:
    """Read events into arrays.

    Raises:
        EvenhandError, KeyError, TypeError, ValueError, OverflowError: something cannot be read, or is of odd shapes.
    """
    if fold.policy.problem.unit is not None:  # whose books only the ordinary loop keeps
        return None
    problem, bodies, places = fold.policy.problem, list[dict[str, Any]](), dict[int, int]()
    earlier, answers = list[Decision](), dict[int, Any]()  # by decision
    what = np.full(len(events), OTHER)
    for i, event in enumerate(events):
        ref = event.ref
        if ref is None:
            body = None if is_erased(event) else read(event)
            if body is not None and body["by"] == fold.mark:
                places[event.seq] = len(bodies)
                bodies.append(body)
                what[i] = DECIDES
        elif (ref in places or ref in fold.pending) and ref not in answers:
            answers[ref] = fold.corrected.get(ref, read(event)["y"])
            what[i] = OBSERVES
    if not bodies:
        return None
    for ref in answers:
        if ref not in places:
            places[ref] = len(bodies) + len(earlier)
            earlier.append(widen(fold.pending.decision(ref, ()), fold.policy.model.n_features))
    y, exposed = _empty_outcomes(problem, len(places))
    plain = {ref for ref, answer in answers.items() if _fill(problem, answer, places[ref], y, exposed)}
    refs = np.array([event.seq if event.ref is None else event.ref for event in events])
    row = np.array([places.get(ref, 0) for ref in refs.tolist()])
    what[(what == OBSERVES) & ~np.isin(refs, list(plain))] = OTHER
    if np.count_nonzero(what != OTHER) < _PLAIN * len(events):
        return None
    contexts = contexts_of(fold.encoder, bodies)
    decisions = unpack_all(bodies, contexts, earlier)
    steps = Steps.of(what, row, decisions, contexts, y, exposed)
    checks.context(steps.context(0), 1, fold.policy.model.n_features, problem)
    checks.decision(steps.decision(0, ()), 1, problem.n_plays, fold.policy.model.n_features, problem)
    return _Run(fold, events, bodies, places, steps)


def _fill(problem: Problem, answer: Any, j: int, y: np.ndarray[Any, Any], exposed: np.ndarray[Any, Any]) -> bool:
    """Enter the outcomes of a decision; returns whether they are plain: all numbers, of all plays that were exposed."""
    each = answer if isinstance(answer, list) else [answer]
    if len(each) != problem.n_plays:
        return False
    names = problem.observed
    for p, one in enumerate(each):
        if one is None:
            exposed[j, p] = False
        elif not isinstance(one, Mapping) or len(one) != len(names):
            return False
        else:
            for m, name in enumerate(names):
                value = one.get(name)
                if type(value) not in (float, int, bool):
                    return False
                y[j, p, m] = value
    return True


class AsOf:
    """Follows a log, and keeps the state at which the decisions that come next may have been made.

    Args:
        first: the events before those that are followed.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._seq: int | None = None  # the last event of the state that is kept
        self._fold: Fold | None = None
        self._state: PolicyState | None = None

    def state(self, fold: Fold, body: Mapping[str, Any]) -> PolicyState | None:
        """Return the state at which the decision was made that follows the events of a fold, None if it is not known.

        It is that of the fold, or the kept one, where the body says that others were made at it before.

        Raises:
            Damaged: it is a state before those that are followed.
        """
        as_of = body.get("as_of")
        if as_of is None:
            return fold.state
        if isinstance(as_of, int) and 0 <= as_of < self._first:
            raise Damaged(f"event {fold.seq + 1} was decided at event {as_of}, before event {self._first}")
        if as_of == fold.seq:
            self._seq, self._fold, self._state = as_of, fold, freeze(fold.policy, deepcopy(fold.state))
        return self._state if as_of == self._seq and fold is self._fold else None

    def pass_on(self, fold: Fold, body: dict[str, Any], context: Context, again: Decision | None) -> None:
        """Let the state that is kept advance by a decision of the log, which is decoded if it was not made again."""
        if body.get("as_of") is not None and self._state is not None:
            pass_on(fold.policy, self._state, context, again or fold.next_decision(body, context).decision)


def advance(fold: Fold, events: Iterable[Event]) -> None:
    """Let a fold have the state at which the next decision was made, after decisions that were made at its state.

    Raises:
        Conflict: one of them was erased.
    """
    fold.state = freeze(fold.policy, fold.state)
    for event in events:
        if is_erased(event):
            raise Conflict(f"decision {event.seq} was erased, after which this one was made")
        body = read(event)
        context = context_of(fold.encoder, fold.policy.problem.clock, body, event.at)
        pass_on(fold.policy, fold.state, context, fold.next_decision(body, context).decision)
