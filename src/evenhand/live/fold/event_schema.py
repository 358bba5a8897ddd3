"""The forms of the bodies of events, by which an error that a damaged body causes is told from other errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live.fold.phases import BOOKS
from evenhand.live.log.events import Damaged, Event, Kind, is_erased, read
from evenhand.live.log.life import FATES
from evenhand.live.log.store import Readable
from evenhand.problem.end import AFTERS

_Form = Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _mapping(value: object) -> bool:
    return isinstance(value, dict)


def _numbers(value: object) -> bool:
    """Whether a value is an array of numbers, some of them unknown."""
    try:
        return isinstance(value, list) and np.array(value, float).ndim > 0
    except (TypeError, ValueError, OverflowError):
        return False


def _wholes(value: object) -> bool:
    return isinstance(value, list) and all(map(_whole, value))


def _chances(value: object) -> bool:
    return isinstance(value, list) and all(map(_known, value))


def _outcome(value: object) -> bool:
    """Whether a value is the outcomes of a play, or of each play."""
    if isinstance(value, list):
        return bool(value) and all(z is None or _outcome(z) for z in value)
    return isinstance(value, dict) and bool(value) and all(map(_known, value.values()))


def _known(value: object) -> bool:
    return value is None or _number(value)


def _maybe(value: object) -> bool:
    return isinstance(value, list) and all(map(_known, value))


def _case(value: object) -> bool:
    return isinstance(value, dict) and not any(isinstance(z, list | dict) for z in value.values())


def _versions(value: object) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values())) and "evenhand" in value


_SAID = {"by": _text, "why": _text}
_LIFE = {"patience": _number, "on_expiry": FATES.__contains__, "after": AFTERS.__contains__}
_NEEDED: Mapping[Kind, Mapping[str, _Form]] = {
    "opened": {"first": _text, "encoding": _mapping, "seed": _whole, "versions": _versions, **_LIFE},
    "decided": {"a": _wholes, "p": _chances, "by": _text, "due": _whole, **dict.fromkeys("nfr", _whole)},
    "added": {"y": _outcome},
    "observed": {"y": _outcome},
    "revised": {"y": _outcome},
    "paused": _SAID,
    "resumed": _SAID,
    "ended": _SAID,
    "changed": _SAID,
    "switched": {"mark": _text, "encoding": _mapping, "adopts": lambda z: z in (True, False, BOOKS)},
    "refolded": {"known": _whole, "from": _whole},
    "erased": {"decisions": _wholes},
    "sealed": {**_SAID, **dict.fromkeys(("first", "last", "began", "events", "decisions"), _whole), "before": _wholes},
    "upgraded": {"versions": _versions},
    "restored": {**_SAID, "time": _whole, "shift": _whole, "head": _text},
    "clock": {"due": _whole},
}
_OWN: Mapping[Kind, Mapping[str, _Form]] = {  # of the personal part
    "decided": {"case": _case, **dict.fromkeys("swqc", _numbers)},
    "erased": {"state": _text},
}
_MAY: Mapping[str, _Form] = {**_LIFE, **_SAID, "declared": _numbers, "fallback": _maybe}


def fault(event: Event) -> str | None:
    """Return a sentence on what the body of an event lacks or has wrong; None if nothing is.

    >>> fault(Event(7, "observed", 2, None, 0, '{"y":{"won":"x"}}'))
    "event 7 (observed) is damaged: its 'y' is {'won': 'x'}"
    """
    try:
        body: dict[str, Any] = read(event)
    except Damaged as error:
        return str(error)
    needed = {**_NEEDED.get(event.kind, {}), **({} if is_erased(event) else _OWN.get(event.kind, {}))}
    if event.kind == "expired" and body:
        needed["on_expiry"] = _LIFE["on_expiry"]
    for name, is_form in {**{z: _MAY[z] for z in _MAY if z in body}, **needed}.items():
        if name not in body:
            return f"event {event.seq} ({event.kind}) is damaged: it has no {name!r}"
        if (isinstance(body[name], list | dict) and name in ("on_expiry", "after")) or not is_form(body[name]):
            return f"event {event.seq} ({event.kind}) is damaged: its {name!r} is {str(body[name])[:60]}"
    if event.kind == "decided" and len(body["p"]) != len(body["a"]):
        return f"event {event.seq} (decided) is damaged: its 'p' has {len(body['p'])} numbers, its 'a' {len(body['a'])}"
    return None


@contextmanager
def naming_damage(store: Readable, campaign: str) -> Iterator[None]:
    """Name the event whose body is damaged, where that may be the cause of an error that names no event.

    Raises:
        Damaged: there is such an event.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, EvenhandError) and not isinstance(error, InvalidInput):
            raise
        found = next(filter(None, map(fault, store.scan(campaign))), None)
        if found is None:
            raise
        raise Damaged(found) from error
