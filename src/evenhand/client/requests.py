"""Requests over HTTP, which are sent again until the server answers."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterator, Mapping, Sequence
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
        return answer(self._response(method, path, body))

    def send_each(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send a list of bodies until it is answered, and return an answer for each.

        Raises:
            RequestRefused, NoAnswer: as for `send`, of the list as a whole.
        """
        return answers(self._response("POST", path, list(bodies)))

    def _response(self, method: str, path: str, body: object) -> httpx.Response:
        """Send a request until the server no longer asks for another try."""
        body, tries = plain(body), exchange(self.url, self._tries, self._reach)
        wait = next(tries)
        while True:
            if wait:
                sleep(wait)
            found: httpx.Response | httpx.TransportError
            try:
                found = self._http.request(method, self.url + path, json=body)
            except httpx.TransportError as error:
                found = error
            try:
                wait = tries.send(found)
            except StopIteration as end:
                response: httpx.Response = end.value
                return response


class AsyncSender:
    """Sends requests as `Sender` does, without blocking the event loop; its arguments are the same."""

    def __init__(self, url: str, token: str | None, tries: int, timeout: float, reach: float) -> None:
        self.url, self._tries, self._reach = url, tries, reach
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request until it is answered, and return the answer; errors are those of `Sender.send`."""
        return answer(await self._response(method, path, body))

    async def send_each(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send a list of bodies until it is answered, and return an answer for each."""
        return answers(await self._response("POST", path, list(bodies)))

    async def _response(self, method: str, path: str, body: object) -> httpx.Response:
        body, tries = plain(body), exchange(self.url, self._tries, self._reach)
        wait = next(tries)
        while True:
            if wait:
                await pause(wait)
            found: httpx.Response | httpx.TransportError
            try:
                found = await self._http.request(method, self.url + path, json=body)
            except httpx.TransportError as error:
                found = error
            try:
                wait = tries.send(found)
            except StopIteration as end:
                response: httpx.Response = end.value
                return response


async def pause(seconds: float) -> None:
    """Wait while the event loop runs on."""
    import asyncio  # which takes longer to import than all else here, and runs in such a program anyway

    await asyncio.sleep(seconds)


def exchange(
    url: str, tries: int, reach: float
) -> Generator[float, httpx.Response | httpx.TransportError, httpx.Response]:
    """Yield the seconds to wait before each try, take what came of it, and return the answer.

    Raises:
        NoAnswer: after the last try.
    """
    reason, number, wait = "no try was allowed", 0, 0.0
    waits = _waits(reach if tries > 1 else 0.0)
    while number < tries:
        found = yield wait
        wait = min(_FIRST * 2**number, _LONGEST) * random.uniform(0.5, 1.0)  # clients do not come back at once
        if isinstance(found, httpx.ConnectError):  # nothing was sent
            again = next(waits, None)
            if again is None:
                raise NoAnswer(f"no connection to {url}: {found}") from found
            wait = again
            continue
        if isinstance(found, httpx.TransportError):
            reason = f"{type(found).__name__}: {found}"
        elif found.status_code not in RETRIED:
            return found
        else:
            why = (_object(found) or {}).get("error")
            reason = f"status {found.status_code}{'' if why is None else f', {why}'}"
            stated = found.headers.get("retry-after", "")
            wait = max(wait, min(float(stated), 60.0)) if stated.isdigit() else wait
        number += 1
    raise NoAnswer(f"no answer of {url} at {tries} tries; the last one: {reason}")


def answer(response: httpx.Response) -> dict[str, Any]:
    """Return an answer that is a JSON object.

    Raises:
        RequestRefused: it is anything else, or an error.
    """
    found = _object(response)
    if not response.is_success or found is None:
        raise _refusal(response)
    return found


def answers(response: httpx.Response) -> list[dict[str, Any]]:
    """Return an answer that is a list; errors are those of `answer`."""
    found = _json(response)
    if not response.is_success or not isinstance(found, list):
        raise _refusal(response)
    return found


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
