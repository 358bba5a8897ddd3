"""Requests over HTTP, which are sent again until the server answers."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from time import sleep
from typing import Any

import httpx

from evenhand.core.errors import EvenhandError, InvalidInput

RETRIED = (429, 502, 503, 504)  # statuses after which the same request may succeed
_FIRST, _LONGEST, _REACH = 0.1, 5.0, 1.0  # seconds between two tries, and of a server that is not reached


class RequestRefused(EvenhandError):
    """A request that the server refused, so that retrying is of no use.

    Args:
        status: the status of the response.
        text: what the server says.
        field: the field that is wrong, if there is one.
        lost: whether the request is about a decision that the log lost, as a backup was restored.
    """

    def __init__(self, status: int, text: str, field: str | None = None, *, lost: bool = False) -> None:
        super().__init__(status, text, field)
        self.status, self.text, self.field, self.lost = status, text, field, lost

    def __str__(self) -> str:
        return f"{self.text} (status {self.status})"


class NoAnswer(EvenhandError):
    """A server that could not be reached, or was busy, at every try; the request may have taken effect all the same."""


class Sender:
    """Sends requests to the routes below an address.

    Args:
        url: the address, which ends with a slash.
        token: sent as `Authorization: Bearer TOKEN`.
        tries: the most times that a request is sent.
        timeout: seconds until a try counts as broken.
        reach: seconds for which connections are tried that cannot be made, such as while the server is started again;
            these are no tries. With a single try there is one.
    """

    def __init__(self, url: str, token: str | None, tries: int, timeout: float, reach: float) -> None:
        self.url, self._tries, self._reach = url, tries, reach
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request until it is answered, and return the answer.

        Raises:
            RequestRefused: the server refuses it.
            NoAnswer: after the last try.
        """
        response = self._response(method, path, body)
        found = _object(response)
        if not response.is_success or found is None:
            raise _refusal(response)
        return found

    def send_each(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send a list of bodies until it is answered, and return an answer for each.

        Raises:
            RequestRefused, NoAnswer: as for `send`, of the list as a whole.
        """
        response = self._response("POST", path, list(bodies))
        found = _json(response)
        if not response.is_success or not isinstance(found, list):
            raise _refusal(response)
        return found

    def _response(self, method: str, path: str, body: object) -> httpx.Response:
        """Send a request until the server no longer asks for another try."""
        body, reason, number = plain(body), "no try was allowed", 0
        waits = _waits(self._reach if self._tries > 1 else 0.0)
        while number < self._tries:
            wait = min(_FIRST * 2**number, _LONGEST) * random.uniform(0.5, 1.0)  # clients do not come back at once
            try:
                response = self._http.request(method, self.url + path, json=body)
            except httpx.ConnectError as error:  # nothing was sent
                again = next(waits, None)
                if again is None:
                    raise NoAnswer(f"no connection to {self.url}: {error}") from error
                sleep(again)
                continue
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if response.status_code not in RETRIED:
                    return response
                why = (_object(response) or {}).get("error")
                reason = f"status {response.status_code}{'' if why is None else f', {why}'}"
                stated = response.headers.get("retry-after", "")
                wait = max(wait, min(float(stated), 60.0)) if stated.isdigit() else wait
            number += 1
            if number < self._tries:
                sleep(wait)
        raise NoAnswer(f"no answer of {self.url} at {self._tries} tries; the last one: {reason}")


def plain(value: object, field: str = "") -> Any:
    """Return a value with numbers of other libraries, such as `numpy.int64`, as those of Python.

    Raises:
        InvalidInput: a number is not finite, or JSON has no such value; it names the field.

    >>> from fractions import Fraction
    >>> plain({"case": {"age": Fraction(67, 2), "town": "north"}, "frozen": True})
    {'case': {'age': 33.5, 'town': 'north'}, 'frozen': True}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {name: plain(z, f"{field}.{name}" if field else str(name)) for name, z in value.items()}
    if isinstance(value, list | tuple):
        return [plain(z, f"{field}[{i}]") for i, z in enumerate(value)]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, Real):
        raise InvalidInput(field, "a finite number", value)
    if type(value).__name__ in ("bool", "bool_"):  # of NumPy, which is no number
        return bool(value)
    raise InvalidInput(field, "a number, a text, true, false or None", f"{value!r:.60} ({type(value).__name__})")


def _waits(seconds: float) -> Iterator[float]:
    """Yield the waits between failed connections, up to a number of seconds in all."""
    waited, number = 0.0, 0
    while waited < seconds:
        wait = min(_FIRST * 2**number, _REACH) * random.uniform(0.5, 1.0)
        yield wait
        waited, number = waited + wait, min(number + 1, 10)


def _json(response: httpx.Response) -> Any:
    """Return the JSON of an answer, None if it has none."""
    try:
        return response.json()
    except ValueError:
        return None


def _object(response: httpx.Response) -> dict[str, Any] | None:
    """Return an answer that is a JSON object, None if it is anything else."""
    found = _json(response)
    return found if isinstance(found, dict) else None


def _refusal(response: httpx.Response) -> RequestRefused:
    """Return the error of an answer that is not the one asked for."""
    answer = _object(response) or {}
    text = str(answer.get("error", "an answer that is not JSON"))
    return RequestRefused(response.status_code, text, answer.get("field"), lost=answer.get("state") == "lost")
