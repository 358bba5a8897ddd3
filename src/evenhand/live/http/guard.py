"""Middleware that checks the host, token and origin of requests, and adds headers to responses."""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import threading
import time
from collections import Counter
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.live.http.answers import LOG, Refused, error_response

HEADERS = [
    (b"content-security-policy", b"default-src 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]
_OPEN = ("/healthz", "/readyz")  # need neither token nor name, as they reveal nothing about the campaign
_SLOWED = 0.1  # seconds per wrong token, one after another
_QUIET = 10.0  # seconds between lines of the log about wrong tokens


class Requests:
    """Counts answered requests by route and status."""

    def __init__(self, routes: Sequence[str]) -> None:
        self._routes, self._lock, self._counts = frozenset(routes), threading.Lock(), Counter[tuple[str, int]]()

    def add(self, path: str, status: int) -> None:
        """Count a request; all unknown paths share one line."""
        known = path
        if path.startswith("/decisions/"):
            known = "/decisions/{number}/page" if path.endswith("/page") else "/decisions/{number}"
        with self._lock:
            self._counts[known if known in self._routes else "other", status] += 1

    def counts(self) -> list[tuple[tuple[str, int], int]]:
        """Return the counts, sorted by route and status."""
        with self._lock:
            return sorted(self._counts.items())


class Guard:
    """Refuses cross-site requests and requests without the token, and hides internal errors.

    Args:
        app: the app that answers accepted requests.
        token: the token that requests must carry, if any.
        hosts: the names by which clients call the server; this stops other sites that point their name at it.
        requests: the counter of requests.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Sequence[str], requests: Requests) -> None:
        self._app, self._requests = app, requests
        self._token = None if token is None else token.encode()
        self._hosts = frozenset(host.lower() for host in hosts)
        self._wrong, self._said, self._turn = 0, -_QUIET, asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._requests.add(scope["path"], message["status"])
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        refused = self._refusal(scope)
        if (
            refused is not None
            and refused.status == 401
            and any(n.lower() == b"authorization" for n, _ in scope["headers"])
        ):
            await self._slow(scope)
        try:
            await (self._app if refused is None else _closing(refused))(scope, receive, answer)
        except Exception as error:
            if started:
                raise
            await error_response(error)(scope, receive, answer)

    async def _slow(self, scope: Scope) -> None:
        """Delay the answer to a wrong token, and log how many there were; requests with the token do not wait."""
        self._wrong += 1
        if time.monotonic() - self._said >= _QUIET:
            who = (scope.get("client") or ("an unknown address",))[0]
            LOG.warning("refused %d requests with a wrong token, the last one from %s", self._wrong, who)
            self._wrong, self._said = 0, time.monotonic()
        async with self._turn:
            await asyncio.sleep(_SLOWED)

    def _refusal(self, scope: Scope) -> Refused | None:
        """Return the reason to refuse a request, None if it is accepted."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value)
        if b"transfer-encoding" in given and b"content-length" in given:
            return Refused(400, "the request states both Content-Length and Transfer-Encoding")
        hosts = given.get(b"host", [])
        host = hosts[0].lower() if len(hosts) == 1 else b""
        if len(hosts) > 1 or not self._called(scope["path"], _name(host)):
            return Refused(400, "the Host header has a name that this server is not called by")
        token = _token(given.get(b"authorization", [b""])[0])
        if self._token is not None and scope["path"] not in _OPEN and not hmac.compare_digest(token, self._token):
            return Refused(401, "the request has no Authorization header with the token of this server")
        own = (b"http://" + host, b"https://" + host)
        if scope["method"] == "POST" and any(z.lower() not in own for z in given.get(b"origin", [])):
            return Refused(403, "a page of another origin sent this request")
        if scope["method"] == "POST" and any(z.lower() == b"cross-site" for z in given.get(b"sec-fetch-site", [])):
            return Refused(403, "a page of another site sent this request")
        kinds = [z.partition(b";")[0].strip().lower() for z in given.get(b"content-type", [])]
        if scope["method"] == "POST" and any(kind != b"application/json" for kind in kinds):
            return Refused(415, "the Content-Type of the body is not application/json")
        return None

    def _called(self, path: str, name: str) -> bool:
        """Return whether a path may be asked under a name; other sites can point names at a server, but no address."""
        return name in self._hosts or path in _OPEN or (path == "/metrics" and _is_address(name))


def _closing(refused: Refused) -> ASGIApp:
    """Make the response to a refused request; where its length is ambiguous, nothing after it is read."""
    return error_response(refused, {"Connection": "close"} if refused.status == 400 else {})


def _token(header: bytes) -> bytes:
    """Read the token of an Authorization header: a bearer token, or the password that a browser asked for.

    >>> _token(b"Bearer secret"), _token(b"Basic YW55Ym9keTpzZWNyZXQ="), _token(b"Basic ?")
    (b'secret', b'secret', b'')
    """
    scheme, _, rest = header.partition(b" ")
    if scheme.lower() == b"bearer":
        return rest
    try:
        return base64.b64decode(rest, validate=True).partition(b":")[2] if scheme.lower() == b"basic" else b""
    except ValueError:
        return b""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(host: bytes) -> str:
    """Read the name in a Host header, without its port.

    >>> _name(b"localhost:8000"), _name(b"[::1]:80"), _name(b"::1"), _name(b"localhost:80@evil")
    ('localhost', '::1', '', '')
    """
    name, _, port = host.partition(b"]") if host.startswith(b"[") else host.partition(b":")
    port = port.removeprefix(b":")
    if host.startswith(b"[") and b"]" not in host:
        return ""
    return name.removeprefix(b"[").decode("latin-1") if not port or port.isdigit() else ""
