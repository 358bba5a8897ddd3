"""A client of `evenhand serve`, which asks again with the same key until there is an answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any
from urllib.parse import quote

from evenhand.core.errors import EvenhandError, MissingExtra

try:
    import httpx
except ImportError as error:
    raise MissingExtra("clients", "client") from error

__all__ = ["Client", "Decision", "NoAnswer", "RequestRefused"]

_AGAIN = (429, 502, 503, 504)  # statuses after which the same request may succeed
_FIRST, _LONGEST = 0.1, 5.0  # seconds between two tries
Outcomes = Mapping[str, float | None]


class RequestRefused(EvenhandError):
    """A request that the server refused, so that asking again is of no use.

    Args:
        status: the status of the response.
        text: what the server says.
        field: the field that is wrong, if there is one.
    """

    def __init__(self, status: int, text: str, field: str | None = None) -> None:
        super().__init__(status, text, field)
        self.status, self.text, self.field = status, text, field

    def __str__(self) -> str:
        return f"{self.text} (status {self.status})"


class NoAnswer(EvenhandError):
    """A server that could not be reached, or was busy, at every try; the request may have taken effect all the same."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A decision: `action` and `probability` are those of the first play.

    None marks an empty place or an unknown probability. Times are microseconds since 1970; the outcome is overdue at
    the `deadline`.
    """

    id: int
    key: str
    action: str | None
    probability: float | None
    actions: tuple[str | None, ...]
    probabilities: tuple[float | None, ...]
    explanation: str
    deadline: int
    at: int
    repeated: bool


class Client:
    """Asks a campaign over HTTP for decisions, and reports outcomes.

    Every request may be sent again: a key has one decision, and an outcome counts once. So requests are repeated, the
    same each time, where the connection breaks or the server answers that it is busy (429, 502, 503, 504).

    Args:
        url: of the server, such as "http://127.0.0.1:8000".
        campaign: the name of the campaign, where the server has several.
        token: sent as `Authorization: Bearer TOKEN`.
        tries: the most times that a request is sent.
        timeout: seconds until a try counts as broken.

    Raises:
        RequestRefused: by the methods, if the server refuses a request.
        NoAnswer: by the methods, after the last try.

    >>> with Client("http://127.0.0.1:8000", token="a long enough secret") as client:
    ...     client.url
    'http://127.0.0.1:8000/'
    """

    def __init__(
        self,
        url: str,
        *,
        campaign: str | None = None,
        token: str | None = None,
        tries: int = 6,
        timeout: float = 10.0,
    ) -> None:
        inside = "" if campaign is None else f"campaigns/{quote(campaign, safe='')}/"
        self.url = f"{url.rstrip('/')}/{inside}"
        self._tries = tries
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(headers=headers, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def decide(
        self,
        case: Mapping[str, Any],
        key: str,
        *,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Decision:
        """Ask for a decision.

        Args:
            case: the features and groups by name.
            key: chosen by the client, such as the number of an order; the same key has the same decision.
            offered: the actions that may be played; None for all.
            known: known outcomes of this case, where the server accepts them.
        """
        more = {name: z for name, z in (("offered", offered), ("known", known)) if z is not None}
        found = self._send("POST", "decide", {"key": key, "case": dict(case), **more})
        lists = {name: tuple(found[name]) for name in ("actions", "probabilities")}
        return Decision(**{name: lists.get(name, found[name]) for name in Decision.__dataclass_fields__})

    def observe(
        self, decision: int | str, outcomes: Outcomes | Sequence[Outcomes | None], *, revise: bool = False
    ) -> bool:
        """Report the outcomes of a decision, by its number or its key; returns whether they are new to the server.

        After a try whose answer got lost they are not new.
        """
        found = self._send("POST", "observe", {**_named(decision), "outcomes": outcomes, "revise": revise})
        return bool(found["new"])

    def cancel(self, decision: int | str) -> bool:
        """Cancel a decision that did not take effect, by its number or its key; returns whether that is new."""
        return bool(self._send("POST", "cancel", _named(decision))["new"])

    def find(self, decision: int | str) -> dict[str, Any]:
        """Return a decision with its case, its state and its events, by its number or its key."""
        at = f"decisions/{decision}" if isinstance(decision, int) else f"decisions?key={quote(decision, safe='')}"
        return self._send("GET", at)

    def report(self) -> dict[str, Any]:
        """Return the report of the campaign."""
        return self._send("GET", "report")

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request until it is answered."""
        reason = "no try was allowed"
        for number in range(self._tries):
            wait = min(_FIRST * 2**number, _LONGEST) * random.uniform(0.5, 1.0)  # clients do not come back at once
            try:
                said = self._http.request(method, self.url + path, json=body)
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if said.status_code not in _AGAIN:
                    return _read(said)
                why = (_told(said) or {}).get("error")
                reason = f"status {said.status_code}{'' if why is None else f', {why}'}"
                stated = said.headers.get("retry-after", "")
                wait = max(wait, min(float(stated), 60.0)) if stated.isdigit() else wait
            if number + 1 < self._tries:
                sleep(wait)
        raise NoAnswer(f"no answer of {self.url} at {self._tries} tries; the last one: {reason}")


def _named(decision: int | str) -> dict[str, int | str]:
    return {"id" if isinstance(decision, int) else "key": decision}


def _told(said: httpx.Response) -> dict[str, Any] | None:
    """Return the object that an answer is, None if it is another one."""
    try:
        found = said.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read(said: httpx.Response) -> dict[str, Any]:
    """Read an answer."""
    found = _told(said)
    if said.is_success and found is not None:
        return found
    told = found or {}
    raise RequestRefused(said.status_code, str(told.get("error", "an answer that is no JSON")), told.get("field"))
