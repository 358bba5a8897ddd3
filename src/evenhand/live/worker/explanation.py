"""Explanations of decisions at the states in which they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from evenhand.core.records import Context, Decision
from evenhand.core.signatures import value_text
from evenhand.live.fold.cases import Encoder, Traces, context_of
from evenhand.live.fold.event_schema import naming_damage
from evenhand.live.fold.fold import Fold
from evenhand.live.fold.phases import mark_in
from evenhand.live.fold.runs import advance
from evenhand.live.log.events import Conflict, Unknown, is_erased, read
from evenhand.live.log.packing import unpack
from evenhand.live.log.segments import moved_error
from evenhand.live.worker.requests import is_number
from evenhand.live.worker.worker import Worker
from evenhand.models import NullModel
from evenhand.policy.reasons import Reasons, expected, reasons


@dataclass(frozen=True, kw_only=True)
class Why:
    """The worth of the action that was played less that of the best other one; all parts add up to the difference."""

    played: str
    other: str
    difference: float
    features: Mapping[str, float]  # by name in the case; "" has what both actions predict for every case
    known: float  # known outcomes, at their prices
    unsure: float  # added for the sake of exploration
    rest: float  # of predictions, by no feature: prices that differ by action, or an action without features


def name_parts(found: Reasons | None, actions: Sequence[str], encoder: Encoder) -> Why | None:
    """Name the parts of a difference; None if there are none, or no feature has a name."""
    if found is None or not isinstance(encoder, Traces):
        return None
    origins, parts = encoder.origins, dict[str, float]()
    if len(origins) != len(actions) or len(origins[0]) != len(found.features):
        return None
    for j, part in enumerate(found.features.tolist()):
        name = origins[found.played][j]
        name = origins[found.other][j] if name is None else name  # a block of features per action
        if name is not None:
            parts[name] = parts.get(name, 0.0) + part
    if not any(parts):
        return None
    return Why(
        played=actions[found.played],
        other=actions[found.other],
        difference=found.difference,
        features=parts,
        known=found.known,
        unsure=found.unsure,
        rest=found.rest,
    )


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
        raise moved_error(worker.store, worker.name, number, f"decision {decision}")
    if event is None or event.seq != number or event.kind != "decided":
        raise Unknown(f"no decision {value_text(decision)} in campaign {worker.name!r}{worker.fold.ids.note}")
    if is_erased(event):
        raise Conflict(f"decision {decision} was erased")
    body, base = read(event), worker.folding.base
    other = f"decision {decision} was made by policy {body['by']}, which the campaign was switched from"
    if number < base.seq and body["by"] != mark_in(base):
        raise Conflict(other)
    as_of = min(body.get("as_of", number - 1), number - 1)
    fold = worker.fold_before(as_of + 1)
    if body["by"] != fold.mark:
        raise Conflict(other)
    if "as_of" in body:
        advance(fold, takewhile(lambda event: event.seq < number, worker.store.scan(worker.name, as_of)))
    context = context_of(fold.encoder, fold.policy.problem.clock, body, event.at)
    return fold, context, unpack(body, context, fold.policy, fold.state.t)


class Explanation(NamedTuple):
    """The explanation of a decision by the policy that made it."""

    text: str  # prices, worths and limits, as `Policy.explain` says them
    why: Why | None  # the features that made the play worth more; None where the model cannot say
    expected: Mapping[str, Mapping[str, float]]  # outcomes by action; only known ones where nothing is learned


def explain_decision(worker: Worker, decision: int) -> Explanation:
    """Explain a decision.

    Raises:
        Unknown, Conflict: as for `recall`.
    """
    fold, context, made = recall(worker, decision)
    policy, problem = fold.policy, fold.policy.problem
    why = name_parts(reasons(policy, fold.state, context, made), problem.actions, fold.encoder)
    names = problem.known if isinstance(policy.model, NullModel) else problem.names
    values = expected(policy, fold.state, context)[:, len(problem.names) - len(names) :].tolist()
    outcomes = {action: dict(zip(names, row, strict=True)) for action, row in zip(problem.actions, values, strict=True)}
    return Explanation(policy.explain(fold.state, context, made), why, outcomes)
