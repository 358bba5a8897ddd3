"""Bodies of requests: read, checked and turned into requests to a campaign."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from starlette.types import Receive, Scope

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.goals.base import Accounts
from evenhand.live.fold.column_encoder import ColumnEncoder
from evenhand.live.http.answers import Refusal
from evenhand.live.log.replies import Reply
from evenhand.live.worker.requests import Verbs, check_text
from evenhand.policy.policy import Policy
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

_DEFAULT = (Outcome.low, Outcome.high)  # a known outcome with these ends has no declared range


def declared_range(problem: Problem, name: str) -> tuple[float, float] | None:
    """Return the range that a known outcome declares by `low` and `high`, None if it declares none.

    >>> import evenhand as eh
    >>> bill = eh.Outcome("cents", known={"letter": 80}, high=200)
    >>> shop = eh.Problem(actions=("none", "letter"), outcomes=(eh.Outcome("won"), bill), maximize="won", horizon=9)
    >>> declared_range(shop, "cents")
    (0.0, 200)
    """
    outcome = next(o for o in problem.outcomes if o.name == name)
    return None if outcome.widest == _DEFAULT else outcome.widest


def refuse(verbs: Verbs, case: Mapping[str, Any], known: Mapping[str, Any] | None, accepted: bool) -> None:
    """Refuse known outcomes that a client may not state: a credit would let others overspend a hard budget.

    A stated outcome lies in the range that it declares by `low` and `high`, or else between the least and the greatest
    of its declared values. Without a declared range it is refused unless the server accepts known outcomes. A column of
    the case that is a known outcome lies in the declared range, or else is at least 0; and at most the total of a hard
    budget of it, as more can never be paid, and the plans of some policies go by the largest cost.

    Args:
        verbs: the transaction.
        case: the case.
        known: the stated known outcomes.
        accepted: whether the server accepts known outcomes without a declared range.

    Raises:
        InvalidInput: names the outcome, and the action.
    """
    problem, encoder = verbs.worker.policy.problem, verbs.worker.encoder
    for name, values in (known or {}).items():
        if name not in problem.known:
            continue  # the encoder names it
        ends = declared_range(problem, name)
        if ends is None:
            if not accepted:
                expected = (
                    "nothing, as clients may not state it here: declare its range, or start the server with --known"
                )
                raise InvalidInput(f"known.{name}", expected, value_text(values))
            column = problem.declared[:, problem.known.index(name)]
            ends = (float(column.min()), float(column.max()))
        each = values.items() if isinstance(values, dict) else [("", values)]
        for action, value in each:
            _check_range(f"known.{name}.{action}".rstrip("."), value, *ends)
    if isinstance(encoder, ColumnEncoder):
        for name, by in encoder.spec.by_case.items():
            low, high = declared_range(problem, name) or (0.0, math.inf)
            high = max(min(high, _total(verbs.worker.policy, name)), low)
            for column_ in by.values():
                if column_ in case:
                    _check_range(column_, case[column_], low, high)


def _total(policy: Policy, outcome: str) -> float:
    """Return the least total of the budgets of an outcome that are never exceeded, infinite where there is none."""
    kept = [c for goal in policy.goals if isinstance(goal, Accounts) for c in goal.constraints]
    totals = [s.total for s in policy.problem.stated if s.outcome == outcome and any(s.constraint is c for c in kept)]
    return min(totals, default=math.inf)


def _check_range(field: str, value: object, low: float, high: float) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and not low <= value <= high:
        expected = f"at least {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
        raise InvalidInput(field, expected, value_text(value))


BYTES = 1_000_000  # of a body
SECONDS = 30.0  # until the body is complete
_LATE = "evenhand: the body is late"  # says who cancelled the task
DEEPEST = 32
LONGEST = 1_000  # characters of a text
MOST = 1_000  # values of one entry, and entries of a list

_Place: TypeAlias = "tuple[_Place, str | int] | None"  # of a value, by that of the object or list that it is in

# Texts, also unterminated ones, and anything but brackets; possessive, so that no body causes backtracking.
_PLAIN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+(?:"|\Z)|[^\[\]{}"]++', re.DOTALL)
_STEPS = {ord(z): step for z, step in (("[", 1), ("{", 1), ("]", -1), ("}", -1))}


async def receive(scope: Scope, more: Receive) -> bytes:
    """Receive the body of a request.

    Args:
        scope: the request.
        more: what ASGI calls `receive`.

    Raises:
        Refused: the body is too long, which is noticed before it is complete, or takes too much time.
    """
    stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if stated.isdigit() and int(stated[:20]) > BYTES:
        raise Refusal(413, f"the body is longer than {BYTES:,} bytes")
    task = asyncio.current_task()
    assert task is not None
    late = task.get_loop().call_later(SECONDS, task.cancel, _LATE)  # a quarter of what `asyncio.timeout` takes
    try:
        return await _whole(more)
    except asyncio.CancelledError as error:
        if error.args == (_LATE,) and task.uncancel() == 0:
            raise Refusal(408, f"the body did not arrive within {SECONDS:g} seconds") from None
        raise
    finally:
        late.cancel()


async def _whole(more: Receive) -> bytes:
    """Receive all parts of a body."""
    parts, size = [], 0
    while True:
        message = await more()
        if message["type"] == "http.disconnect":  # nobody will read the response
            raise Refusal(400, "the client left before the body arrived")
        part = message.get("body", b"")
        size += len(part)
        if size > BYTES:
            raise Refusal(413, f"the body is longer than {BYTES:,} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def parse(body: bytes) -> Any:
    """Parse the JSON of a body: an object, or a list of at most 1,000 entries.

    Args:
        body: UTF-8.

    Raises:
        Refused: the body is not JSON.
        InvalidInput: it is nested too deep, is too long, or has a number that JSON or arrays cannot represent.

    >>> parse(b'{"id": 7}')
    {'id': 7}
    >>> parse(b'{"id": NaN}')
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: body: expected finite numbers, got NaN
    """
    if deep(body):
        raise InvalidInput("body", f"JSON that is nested at most {DEEPEST} deep", "a deeper one")
    # One for each name, and one more for each name or value that begins with a colon; `plain` counts exactly.
    most = body.count(b'":') - body.count(b'\\":')
    if body.lstrip()[:1] == b"{" and most > 3 * MOST:  # a list has its entries counted one by one
        raise InvalidInput("body", f"at most {MOST:,} fields", "more")
    try:
        found = _READER.decode(_text_of(body))
    except InvalidInput:
        raise
    except ValueError as error:  # also for broken UTF-8 and numbers with thousands of digits
        raise Refusal(400, f"the body is not JSON: {str(error)[:100]}") from None
    if isinstance(found, list) and len(found) > MOST:
        raise InvalidInput("body", f"a list of at most {MOST:,} entries", f"{len(found):,}")
    return found


def deep(body: bytes) -> bool:
    """Return whether brackets outside texts are nested deeper than 32; checked before a parser recurses.

    >>> deep(b"[" * 33), deep(b"[]" * 33), deep(b'"' + b"[" * 33 + b'"')
    (True, False, False)
    """
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return False
    brackets = _PLAIN.sub(b"", body)
    return max(accumulate(_STEPS.get(z, 0) for z in brackets), default=0) > DEEPEST


def plain(value: object) -> None:
    """Refuse an entry with too many values, too long texts, or numbers that are not finite or exceed 64 bits.

    Raises:
        InvalidInput: the entry is refused; the error names the field if there is one.

    >>> plain({"case": {"age": 1e999}})
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: case.age: expected a finite number, got inf
    """
    rest: list[tuple[_Place, object]] = [(None, value)]
    seen = 0
    while rest:
        place, value = rest.pop()
        inner: list[tuple[_Place, object]] = []
        if isinstance(value, dict):
            seen += len(value)
            for name, z in value.items():
                if len(name) > LONGEST or not name.isascii():
                    _text(_field(place) or "body", name, "names")
                if not _is_fine(z):
                    inner.append(((place, name), z))
        elif isinstance(value, list):
            seen += len(value)
            inner += [((place, i), z) for i, z in enumerate(value[: MOST + 1]) if not _is_fine(z)]
        else:
            _single(_field(place) or "body", value)
            continue
        if seen > MOST:
            raise InvalidInput("body", f"at most {MOST:,} fields", "more")
        rest += inner


def _is_fine(value: object) -> bool:
    """Return whether a value is of a usual type, which needs no further check."""
    kind = type(value)
    if kind is str:
        return len(value) <= LONGEST and value.isascii()  # type: ignore[arg-type, attr-defined]
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if kind is int:
        return -(2**63) <= value < 2**63  # type: ignore[operator]
    return value is None or kind is bool


def _field(place: _Place) -> str:
    """Return the name of a place in a body.

    >>> _field(((None, "outcomes"), 0))
    'outcomes[0]'
    """
    if place is None:
        return ""
    outer, name = _field(place[0]), place[1]
    return f"{outer}[{name}]" if isinstance(name, int) else f"{outer}.{name}" if outer else name


def _single(field: str, value: object) -> None:
    if isinstance(value, str):
        _text(field, value, "a text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(field, "a finite number", str(value))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(field, "a number of at most 64 bits", value_text(value))


def _text(field: str, text: str, what: str) -> None:
    if len(text) > LONGEST:
        raise InvalidInput(field[:LONGEST], f"{what} of at most {LONGEST:,} characters", f"{len(text):,}")
    if not text.isascii() and any("\ud800" <= z <= "\udfff" for z in text):  # UTF-8 cannot encode surrogates
        raise InvalidInput(
            field.encode(errors="replace").decode(), f"{what} without unpaired surrogates", value_text(text)
        )


def _infinite(text: str) -> NoReturn:
    raise InvalidInput("body", "finite numbers", text)


def _text_of(body: bytes) -> str:
    text = body.decode()
    if text.startswith("\ufeff"):
        raise ValueError("Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)")
    return text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object and refuse repeated names: some readers take the first, some the last."""
    if len(pairs) > MOST:
        raise InvalidInput("body", f"at most {MOST:,} fields", f"an object of {len(pairs):,}")
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidInput(value_text(twice), "a name that is stated once", "it twice")
    return found


_READER = json.JSONDecoder(parse_constant=_infinite, object_pairs_hook=_object)


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
        return self.result(verbs.decide_plain(self.request(verbs), self.key))

    def request(self, verbs: Verbs) -> dict[str, Any]:
        """Return the request; refuse known outcomes that a client may not state."""
        refuse(verbs, self.plain["case"], self.plain.get("known"), self.accepted)
        return self.plain

    def result(self, said: Reply) -> dict[str, Any]:
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
        raise InvalidInput("offered", "a list of names", value_text(offered))
    if known is not None:
        _check_object("known", known)
    stated_ = {"case": case, "offered": offered, "known": known}
    plain = _sort_names({name: value for name, value in stated_.items() if value is not None})
    return _Decide(asked["key"], plain, accepted, _flag(asked, "frozen"))


def observe(body: object) -> Verb:
    """Parse a request to observe outcomes of a decision, or an event of a unit."""
    if isinstance(body, dict) and "unit" in body:
        return _observe_unit(body)
    asked = fields(body, ("outcomes",), ("id", "key", "revise"))
    which, outcomes, revise = _which(asked), asked["outcomes"], _flag(asked, "revise")
    for i, play in enumerate(outcomes if isinstance(outcomes, list) else [outcomes]):
        if play is not None or not isinstance(outcomes, list):
            _check_object(f"outcomes[{i}]" if isinstance(outcomes, list) else "outcomes", play)
    plays = [play for play in (outcomes if isinstance(outcomes, list) else [outcomes]) if play is not None]
    if (plays or outcomes) and all(play and all(z is None for z in play.values()) for play in plays):
        raise InvalidInput(
            "outcomes", "an outcome that was observed, or no request until there is one", "null for each"
        )
    return lambda verbs: {"new": verbs.observe(which, outcomes, revise=revise)}


def _observe_unit(body: object) -> Verb:
    asked = fields(body, ("unit", "outcomes", "key"), ("at",))
    at = _number(asked["at"], "at", "microseconds since 1970") if "at" in asked else None
    _check_object("outcomes", asked["outcomes"])

    def verb(verbs: Verbs) -> dict[str, Any]:
        found = verbs.observe_unit(asked["unit"], asked["outcomes"], asked["key"], at)
        return {"new": found.new, "id": found.decision}

    return verb


def cancel(body: object) -> Verb:
    """Parse a request to cancel a decision."""
    which = _which(fields(body, (), ("id", "key")))
    return lambda verbs: {"new": verbs.cancel(which)}


def fields(body: object, needed: tuple[str, ...], others: tuple[str, ...]) -> Mapping[str, Any]:
    """Check that a body has all needed fields, no unknown ones, and values of a usual size."""
    asked = check_fields(body, needed, others)
    plain(asked)
    return asked


def check_fields(body: object, needed: tuple[str, ...], others: tuple[str, ...]) -> Mapping[str, Any]:
    """Check that a body has all needed fields and no unknown ones."""
    asked = _check_object("body", body)
    known = (*needed, *others)
    for name in asked:
        if name not in known:
            field = name[:60].encode(errors="replace").decode()
            raise InvalidInput(
                field, f"one of the fields {', '.join(known)}", f"an unknown one{suggestion(field, known)}"
            )
    for name in needed:
        if name not in asked:
            raise InvalidInput(name, "a value", "nothing")
    return asked


def _flag(asked: Mapping[str, Any], field: str) -> bool:
    value = asked.get(field, False)
    if not isinstance(value, bool):
        raise InvalidInput(field, "true or false", value_text(value))
    return value


def _case(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the pieces of a case; a name in several of them must have the same value in each."""
    pieces = [name for name in ("case", "features", "groups") if name in asked]
    if not pieces:
        raise InvalidInput("case", "a case, or features and groups", "nothing")
    case: dict[str, Any] = {}
    for piece in pieces:
        for name, value in _check_object(piece, asked[piece]).items():
            if name in case and case[name] != value:
                raise InvalidInput(f"{piece}.{name}", f"{value_text(case[name])}, as stated before", value_text(value))
            case[name] = value
    return case


def _sort_names(value: Any) -> Any:
    """Return parsed JSON in the form of the log, where the names of objects are in order.

    >>> list(_sort_names({"b": [{"d": 1, "c": 2}], "a": 3})), _sort_names({"b": [{"d": 1, "c": 2}]})
    (['a', 'b'], {'b': [{'c': 2, 'd': 1}]})
    """
    if type(value) is dict:
        return {name: _sort_names(z) if type(z) in _NESTED else z for name, z in sorted(value.items())}
    return [_sort_names(z) for z in value] if type(value) is list else value


def _check_object(field: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(field, "an object", value_text(value))
    return value


def _which(asked: Mapping[str, Any]) -> int | str:
    """Parse the decision that a request is about: its id, or the key that the client chose."""
    if ("id" in asked) == ("key" in asked):
        raise InvalidInput("id", "the id of a decision, or its key", "both" if "id" in asked else "nothing")
    if "id" in asked:
        return _number(asked["id"])
    check_text("key", asked["key"])
    return str(asked["key"])


def _number(value: object, field: str = "id", expected: str = "the number of a decision") -> int:
    """Read a whole number, such as that of a decision, also where it is written as 7.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(field, expected, value_text(value))
    return value
