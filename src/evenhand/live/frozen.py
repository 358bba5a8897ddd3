"""Requests that are decided at one state, in compiled calls where these pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evenhand.core.errors import EvenhandError
from evenhand.core.records import Decision
from evenhand.live.cases import contexts_of, refuse, time_at
from evenhand.live.events import Event, encode
from evenhand.live.fold import Fold, Made
from evenhand.live.packing import apart, listed
from evenhand.live.replies import Reply
from evenhand.live.runs import fold_made
from evenhand.live.verbs import Verbs
from evenhand.policy.ahead import Chosen, decide_all, most
from evenhand.problem.ended import ended


class New(NamedTuple):
    """A request that the log does not have."""

    place: int  # among the calls
    key: str
    plain: dict[str, Any]


def size(verbs: Verbs) -> int:
    """Return how many requests may be decided at the present state."""
    fold = verbs.worker.fold
    now = time_at(fold.policy.problem.clock, verbs.log.now)
    over = ended(fold.policy.problem, float(fold.state.t[0]), None if now is None else float(now[0]))
    return 0 if over else most(fold.policy, fold.state)


def decide(verbs: Verbs, some: Sequence[New]) -> list[Reply]:
    """Decide requests at the present state, and append them to the log.

    Raises:
        EvenhandError: nothing was decided, as a case does not fit the problem, or a prediction cannot be used.
    """
    worker, log = verbs.worker, verbs.log
    for new in some:
        refuse(worker.encoder, new.plain)
    contexts = contexts_of(worker.encoder, [new.plain for new in some])
    time = time_at(worker.policy.problem.clock, log.now)
    worker.together += len(some)
    found = decide_all(worker.policy, worker.fold.state, contexts, time, worker.together)
    as_of, events, bodies = {"as_of": log.last}, list[Event](), list[dict[str, Any]]()
    for new, chosen in zip(some, found, strict=True):
        body = verbs.body(new.plain, chosen.context, chosen.decision, listed(chosen.chances)) | as_of
        stays, own = (encode(part) for part in apart(body))
        events.append(Event(log.last + 1 + len(events), "decided", None, new.key, log.now, stays, own=own))
        bodies.append(body)
    try:
        if not fold_made(worker.fold, events, bodies, contexts, worker.together):
            _enter(worker.fold, events, found, verbs.due)
    except EvenhandError:
        worker.refold(log)
        raise
    for event in events:
        log.append(event.kind, event.body, key=event.key, own=event.own)
    return [verbs.told(event, body) for event, body in zip(events, bodies, strict=True)]


def _enter(fold: Fold, events: Sequence[Event], found: Sequence[Chosen], due: int) -> None:
    """Apply decisions to a fold one by one; each gets arrays of its own, as it may wait for longer than the others."""
    for event, (context, decision, _) in zip(events, found, strict=True):
        own = Decision._make([*(z.copy() for z in decision[:14]), decision.names])
        fold.apply(event, Made(context, own, due))
