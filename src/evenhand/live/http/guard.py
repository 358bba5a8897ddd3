"""Middleware that checks the host, token and origin of requests, and adds headers to responses."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import time
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.core import texts
from evenhand.live.campaigns.tokens import ANYONE, Token, Tokens
from evenhand.live.http.answers import LOG, Refusal, error_response
from evenhand.live.http.lines import Line, Numbers, write
from evenhand.live.http.metrics import Requests
from evenhand.live.http.places import Place, Places, below

HEADERS = [
    (b"content-security-policy", b"default-src 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]
PLACE = "evenhand.place"  # the part of a scope that has what its path asks for
TOKEN = "evenhand.token"  # the part of a scope that has the token of an accepted request
_NUMBER = b"x-request-id"
_READ = {b"host", b"authorization", b"origin", b"sec-fetch-site", b"content-type", _NUMBER}
_READ |= {b"content-length", b"transfer-encoding", b"connection", b"proxy-connection", b"upgrade"}
STOPS = "the server stops: send the request again, with the same key"
_SLOWED = 0.1  # seconds per wrong token, one after another
_SLOW = 20  # wrong tokens that wait at most; those beyond them are answered at once
_QUIET = 10.0  # seconds between lines of the log about wrong tokens


_Headers = Mapping[bytes, Sequence[bytes]]  # headers by name


class Guard:
    """Refuses cross-site requests and requests without a token, and notes every request.

    Args:
        app: the app that answers accepted requests.
        tokens: the tokens of which requests must carry one; None accepts all requests.
        hosts: the names by which clients call the server; this stops other sites that point their name at it.
        places: the paths of the server.
        requests: the counter of requests.
    """

    def __init__(
        self, app: ASGIApp, tokens: Tokens | None, hosts: Sequence[str], places: Places, requests: Requests
    ) -> None:
        self._app, self._tokens, self._places, self._requests = app, tokens, places, requests
        self._numbers = Numbers()
        self._hosts = frozenset(host.lower() for host in hosts)
        self._wrong, self._said = 0, -_QUIET
        self._slow, self._turn = 0, asyncio.Lock()  # the wrong tokens that wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, place, given = time.perf_counter(), self._places.find(below(scope)), _read_headers(scope)
        number = self._numbers.of(given.get(_NUMBER, ()))
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [*HEADERS, (_NUMBER, number.encode())]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            elif not message.get("more_body"):
                self._note(scope, place, number, status, time.perf_counter() - begun)
            await send(message)

        refused = self._refusal(scope, place, given)
        wrong = refused is not None and refused.status == 401 and b"authorization" in given
        # Close the connection, so that a client cannot queue further guesses on it.
        asked = self._app if refused is None else _refusal_app(refused, wrong)
        try:
            if wrong:
                await self._delay(scope)
            await asked(scope, receive, answer)
        except asyncio.CancelledError:  # the server ends
            if status == 0:
                await error_response(Refusal(503, STOPS))(scope, receive, answer)

    def _note(self, scope: Scope, place: Place, number: str, status: int, seconds: float) -> None:
        """Count a request, and write its line in the log."""
        self._requests.add(place, status, seconds)
        token: Token | None = scope.get(TOKEN)
        campaign = place.campaign if place.campaign in self._requests.names else None
        name = None if token is None else token.name
        write(Line(number, name, scope["method"][:20], place.route, status, 1000 * seconds, campaign))

    async def _delay(self, scope: Scope) -> None:
        """Delay the answer to a wrong token, and log how many there were; requests with the token do not wait.

        Only a few wait, as each holds a connection, of which the server has so many as files that it may open.
        """
        self._wrong += 1
        if time.monotonic() - self._said >= _QUIET:
            who = (scope.get("client") or ("an unknown address",))[0]
            requests = texts.count(self._wrong, "request")
            LOG.warning("refused %s with a wrong token, the last one from %s", requests, who)
            self._wrong, self._said = 0, time.monotonic()
        if self._slow >= _SLOW:
            return
        self._slow += 1
        try:
            async with self._turn:
                await asyncio.sleep(_SLOWED)
        finally:
            self._slow -= 1

    def _refusal(self, scope: Scope, place: Place, given: _Headers) -> Refusal | None:
        """Return the reason to refuse a request, None if it is accepted; the scope gets its token."""
        if (unclear := _unclear(scope, given)) is not None:
            return Refusal(400, unclear)
        hosts = given.get(b"host", [])
        host = hosts[0].lower() if len(hosts) == 1 else b""
        if len(hosts) > 1 or not self._accepts_host(place, _name(host)):
            return Refusal(400, "the Host header has a name that this server is not called by")
        if len(given.get(b"authorization", ())) > 1:
            return Refusal(400, "the request has several Authorization headers")
        found = ANYONE if self._tokens is None or place.is_open else self._tokens.find(_token(given))
        if found is None:
            told = "has another token than those" if b"authorization" in given else "is missing: send it with a token"
            return Refusal(401, f"the Authorization header of the request {told} of this server")
        scope[TOKEN], scope[PLACE] = found, place
        if (lacking := place.refusal(found)) is not None:
            return lacking
        own = (b"http://" + host, b"https://" + host)
        if scope["method"] == "POST" and any(z.lower() not in own for z in given.get(b"origin", [])):
            return Refusal(403, "a page of another origin sent this request")
        if scope["method"] == "POST" and any(z.lower() == b"cross-site" for z in given.get(b"sec-fetch-site", [])):
            return Refusal(403, "a page of another site sent this request")
        return _kind(scope["method"], given.get(b"content-type", []))

    def _accepts_host(self, place: Place, name: str) -> bool:
        """Return whether a place accepts requests under a host name, as other sites can point names at a server."""
        return name in self._hosts or place.is_open or (place.route == "/metrics" and _is_address(name))


async def let_in(request: Request) -> None:
    """Accept a request whose app has checked who asks, unless its body is of another type.

    Raises:
        Refusal: it is: browsers send such bodies for any site, with their cookies.
    """
    refused = _kind(request.method, [z.encode("latin-1") for z in request.headers.getlist("content-type")])
    if refused is not None:
        raise refused
    request.scope[TOKEN] = ANYONE


def token_of(request: Request) -> Token:
    """Return the token of an accepted request; its name is what logs and the events of changes say."""
    return token_in(request.scope)


def token_in(scope: Scope) -> Token:
    """Return the token of an accepted request by its scope."""
    found: Token = scope[TOKEN]
    return found


def _read_headers(scope: Scope) -> _Headers:
    """Return the headers that the guard reads."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        name = name.lower()
        if name in _READ:
            found.setdefault(name, []).append(value)
    return found


def _unclear(scope: Scope, given: _Headers) -> str | None:
    """Return why the length of a request is ambiguous, None if it is clear."""
    if b"transfer-encoding" in given:
        if b"content-length" in given:
            return "the request states both Content-Length and Transfer-Encoding"
        if scope["http_version"] != "1.1" or [z.lower() for z in given[b"transfer-encoding"]] != [b"chunked"]:
            return "the request has a Transfer-Encoding other than chunked, or a version of HTTP that has none"
    # After these the parser takes the body for the next request; it reads both headers alike.
    connection = [*given.get(b"connection", ()), *given.get(b"proxy-connection", ())]
    if scope["method"] == "CONNECT" or (b"upgrade" in given and any(b"upgrade" in z.lower() for z in connection)):
        return "the request asks for another protocol, by CONNECT or its Upgrade header: send it as HTTP/1.1"
    return None


def _kind(method: str, stated: Sequence[bytes]) -> Refusal | None:
    """Return why the type of a body is refused, None if it is not."""
    kinds = [z.partition(b";")[0].strip().lower() for z in stated]
    if method == "POST" and any(kind != b"application/json" for kind in kinds):
        return Refusal(415, "the Content-Type of the body is not application/json")
    return None


def _refusal_app(refused: Refusal, wrong: bool) -> ASGIApp:
    """Make the response to a refused request; after a wrong token or an ambiguous length nothing more is read."""
    return error_response(refused, {"Connection": "close"} if wrong or refused.status == 400 else {})


def _token(given: _Headers) -> bytes:
    """Read the token of the Authorization header: a bearer token, or the password that a browser asked for.

    >>> [_token({b"authorization": [z]}) for z in (b"Bearer secret", b"Basic YW55Ym9keTpzZWNyZXQ=", b"Basic ?")]
    [b'secret', b'secret', b'']
    """
    scheme, _, rest = given.get(b"authorization", [b""])[0].partition(b" ")
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
