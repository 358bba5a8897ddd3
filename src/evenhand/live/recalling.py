"""The state in which a decision was made."""

from __future__ import annotations

from itertools import takewhile

from evenhand.core.checked import shown
from evenhand.core.records import Context, Decision
from evenhand.live.as_of import advance
from evenhand.live.cases import context_of
from evenhand.live.events import Conflict, Unknown, is_erased, read
from evenhand.live.fold import Fold
from evenhand.live.forms import naming_damage
from evenhand.live.packing import unpack
from evenhand.live.phases import mark_in
from evenhand.live.stores._segments import moved
from evenhand.live.verbs import is_number
from evenhand.live.worker import Worker


def recall(worker: Worker, decision: int) -> tuple[Fold, Context, Decision]:
    """Return the fold with the state at which a decision was made, its context, and the decision.

    Raises:
        Unknown: there is no such decision, or it was lost.
        Conflict: another policy made it, or it was erased, or what is needed to find the state.
    """
    with naming_damage(worker.store, worker.name):
        return _recall(worker, decision)


def _recall(worker: Worker, decision: int) -> tuple[Fold, Context, Decision]:
    number = worker.fold.ids.number(decision, worker.fold.seq) if is_number(decision) else 0
    event = next(iter(worker.store.scan(worker.name, number - 1)), None) if number else None
    if event is not None and event.seq != number and number <= worker.fold.sealed:
        raise moved(worker.store, worker.name, number, f"decision {decision}")
    if event is None or event.seq != number or event.kind != "decided":
        raise Unknown(f"no decision {shown(decision)} in campaign {worker.name!r}{worker.fold.ids.note}")
    if is_erased(event):
        raise Conflict(f"decision {decision} was erased")
    body, base = read(event), worker.folding.base
    other = f"decision {decision} was made by policy {body['by']}, which the campaign was switched from"
    if number < base.seq and body["by"] != mark_in(base):
        raise Conflict(other)
    as_of = min(body.get("as_of", number - 1), number - 1)
    fold = worker.before(as_of + 1)
    if body["by"] != fold.mark:
        raise Conflict(other)
    if "as_of" in body:
        advance(fold, takewhile(lambda event: event.seq < number, worker.store.scan(worker.name, as_of)))
    context = context_of(fold.encoder, fold.policy.problem.clock, body, event.at)
    return fold, context, unpack(body, context, fold.policy, fold.state.t)
