"""Parses the bodies of requests into calls on a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.live.events import Unknown, read
from evenhand.live.http.bodies import plain
from evenhand.live.replies import reply
from evenhand.live.verbs import Verbs

Verb = Callable[[Verbs], dict[str, Any]]


def decide(body: object) -> Verb:
    """Parse a request to decide.

    The case is stated as `case`, or as `features` and `groups`, which are merged.

    Raises:
        InvalidInput: a field is missing, unknown or of another type; the other functions here raise it as well.
    """
    asked = _fields(body, ("key",), ("case", "features", "groups", "offered", "known"))
    case = _case(asked)
    offered, known = asked.get("offered"), asked.get("known")
    if offered is not None and not (isinstance(offered, list) and all(isinstance(z, str) for z in offered)):
        raise InvalidInput("offered", "a list of names", shown(offered))
    if known is not None:
        _mapping("known", known)
    return lambda verbs: verbs.decide(case, asked["key"], offered, known).to_dict()


def observe(body: object) -> Verb:
    """Parse a request to observe outcomes."""
    asked = _fields(body, ("id", "outcomes"), ("revise",))
    number, outcomes, revise = _number(asked["id"]), asked["outcomes"], asked.get("revise", False)
    if not isinstance(revise, bool):
        raise InvalidInput("revise", "true or false", shown(revise))
    for i, play in enumerate(outcomes if isinstance(outcomes, list) else [outcomes]):
        if play is not None or not isinstance(outcomes, list):
            _mapping(f"outcomes[{i}]" if isinstance(outcomes, list) else "outcomes", play)
    return lambda verbs: {"new": verbs.observe(number, outcomes, revise=revise)}


def cancel(body: object) -> Verb:
    """Parse a request to cancel a decision."""
    number = _number(_fields(body, ("id",), ())["id"])
    return lambda verbs: {"new": verbs.cancel(number)}


def lookup(number: int) -> Verb:
    """Look up a decision with all its events in the log."""

    def verb(verbs: Verbs) -> dict[str, Any]:
        event, worker = verbs.log.get(number), verbs.worker
        if event is None or event.kind != "decided":
            raise Unknown(f"no decision {number} in campaign {worker.name!r}")
        body, about, actions = read(event), verbs.log.about(number), worker.policy.problem.actions
        last = [e for e in about if e.kind in ("observed", "revised")]
        return {
            **reply(event, body, actions).to_dict(),
            **{name: body[name] for name in ("case", "offered", "known") if name in body},
            # of the first play, None if the policy did not know them
            "chances": {name: dict(body["l"]).get(a, 0.0) for a, name in enumerate(actions)} if "l" in body else None,
            "outcomes": read(last[-1])["y"] if last else None,
            "state": about[-1].kind if about else "waiting" if body["n"] else "played nothing",
            "events": [{"number": e.seq, "kind": e.kind, "at": e.at, "outcomes": read(e).get("y")} for e in about],
        }

    return verb


def _fields(body: object, needed: tuple[str, ...], others: tuple[str, ...]) -> Mapping[str, Any]:
    """Check that a body has all needed fields and no unknown ones."""
    asked = _mapping("body", body)
    known = (*needed, *others)
    for name in asked:
        if name not in known:
            field = name[:60].encode(errors="replace").decode()
            raise InvalidInput(field, f"one of the fields {', '.join(known)}", f"an unknown one{meant(field, known)}")
    for name in needed:
        if name not in asked:
            raise InvalidInput(name, "a value", "nothing")
    plain(asked)
    return asked


def _case(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the pieces of a case; a name in several of them must have the same value in each."""
    pieces = [name for name in ("case", "features", "groups") if name in asked]
    if not pieces:
        raise InvalidInput("case", "a case, or features and groups", "nothing")
    case: dict[str, Any] = {}
    for piece in pieces:
        for name, value in _mapping(piece, asked[piece]).items():
            if name in case and case[name] != value:
                raise InvalidInput(f"{piece}.{name}", f"{shown(case[name])}, as stated before", shown(value))
            case[name] = value
    return case


def _mapping(field: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(field, "an object", shown(value))
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput("id", "the number of a decision", shown(value))
    return value
