"""Parses the bodies of requests into calls on a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.live.http import stated
from evenhand.live.http.bodies import plain as check
from evenhand.live.replies import Reply
from evenhand.live.verbs import Verbs, check_text

Verb = Callable[[Verbs], dict[str, Any]]
_NESTED = (dict, list)


@dataclass(frozen=True)
class _Decide:
    """A request for a decision, whose key is looked up with those of others."""

    key: str
    plain: dict[str, Any]  # as it comes from the log
    accepted: bool
    frozen: bool

    def __call__(self, verbs: Verbs) -> dict[str, Any]:
        return self.told(verbs.decide_plain(self.asked(verbs), self.key))

    def asked(self, verbs: Verbs) -> dict[str, Any]:
        """Return the request; refuse known outcomes that a client may not state."""
        stated.refuse(verbs, self.plain["case"], self.plain.get("known"), self.accepted)
        return self.plain

    def told(self, said: Reply) -> dict[str, Any]:
        """Return the answer."""
        return said.to_dict()


def decide(body: object, accepted: bool = False) -> Verb:
    """Parse a request to decide.

    The case is stated as `case`, or as `features` and `groups`, which are merged. `accepted` says whether clients may
    state known outcomes that declare no range. Requests in a row that are `frozen` are decided at one state.

    Raises:
        InvalidInput: a field is missing, unknown or of another type; the other functions here raise it as well.
    """
    asked = fields(body, ("key",), ("case", "features", "groups", "offered", "known", "frozen"))
    case = _case(asked)
    offered, known = asked.get("offered"), asked.get("known")
    if offered is not None and not (isinstance(offered, list) and all(isinstance(z, str) for z in offered)):
        raise InvalidInput("offered", "a list of names", shown(offered))
    if known is not None:
        _mapping("known", known)
    stated_ = {"case": case, "offered": offered, "known": known}
    plain = _ordered({name: value for name, value in stated_.items() if value is not None})
    return _Decide(asked["key"], plain, accepted, _flag(asked, "frozen"))


def observe(body: object) -> Verb:
    """Parse a request to observe outcomes."""
    asked = fields(body, ("outcomes",), ("id", "key", "revise"))
    which, outcomes, revise = _which(asked), asked["outcomes"], _flag(asked, "revise")
    for i, play in enumerate(outcomes if isinstance(outcomes, list) else [outcomes]):
        if play is not None or not isinstance(outcomes, list):
            _mapping(f"outcomes[{i}]" if isinstance(outcomes, list) else "outcomes", play)
    plays = [play for play in (outcomes if isinstance(outcomes, list) else [outcomes]) if play is not None]
    if (plays or outcomes) and all(play and all(z is None for z in play.values()) for play in plays):
        raise InvalidInput(
            "outcomes", "an outcome that was observed, or no request until there is one", "null for each"
        )
    return lambda verbs: {"new": verbs.observe(which, outcomes, revise=revise)}


def cancel(body: object) -> Verb:
    """Parse a request to cancel a decision."""
    which = _which(fields(body, (), ("id", "key")))
    return lambda verbs: {"new": verbs.cancel(which)}


def fields(body: object, needed: tuple[str, ...], others: tuple[str, ...]) -> Mapping[str, Any]:
    """Check that a body has all needed fields, no unknown ones, and values of a usual size."""
    asked = named(body, needed, others)
    check(asked)
    return asked


def named(body: object, needed: tuple[str, ...], others: tuple[str, ...]) -> Mapping[str, Any]:
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
    return asked


def _flag(asked: Mapping[str, Any], field: str) -> bool:
    value = asked.get(field, False)
    if not isinstance(value, bool):
        raise InvalidInput(field, "true or false", shown(value))
    return value


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


def _ordered(value: Any) -> Any:
    """Return what was JSON as it comes from the log, where the names of objects are in order.

    >>> list(_ordered({"b": [{"d": 1, "c": 2}], "a": 3})), _ordered({"b": [{"d": 1, "c": 2}]})
    (['a', 'b'], {'b': [{'c': 2, 'd': 1}]})
    """
    if type(value) is dict:
        return {name: _ordered(z) if type(z) in _NESTED else z for name, z in sorted(value.items())}
    return [_ordered(z) for z in value] if type(value) is list else value


def _mapping(field: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(field, "an object", shown(value))
    return value


def _which(asked: Mapping[str, Any]) -> int | str:
    """Parse the decision that a request is about: its id, or the key that the client chose."""
    if ("id" in asked) == ("key" in asked):
        raise InvalidInput("id", "the id of a decision, or its key", "both" if "id" in asked else "nothing")
    if "id" in asked:
        return _number(asked["id"])
    check_text("key", asked["key"])
    return str(asked["key"])


def _number(value: object) -> int:
    """Read a number of a decision, also where it is written as 7.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput("id", "the number of a decision", shown(value))
    return value
