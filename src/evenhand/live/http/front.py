"""The front of connections: limits and clocks for heads and bodies."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from evenhand.live.http.guard import YIELD


class Flow(FlowControl):
    """Reads nothing more while what follows a request waits for its answer."""

    full = False

    def resume_reading(self) -> None:
        """Read again."""
        if not self.full:
            super().resume_reading()


class Joined:
    """A transport that sends a response in one piece, as every piece costs a call of the system on either side.

    Args:
        transport: where it is sent.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._parts = transport, list[bytes]()
        self.is_closing, self.abort = transport.is_closing, transport.abort

    def write(self, data: bytes) -> None:
        """Buffer a part of a response, unless it is the permission to send the body."""
        if data.startswith(b"HTTP/1.1 100 "):
            self._transport.write(data)
        else:
            self._parts.append(data)

    def send(self) -> None:
        """Send what was buffered."""
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def close(self) -> None:
        """Send what was buffered, and close the connection."""
        self.send()
        self._transport.close()


BYTES = 16_384  # of a header, with its first line
# A path of this server in a version whose lengths are unambiguous: no other site, no fragment, one space each.
_FIRST = re.compile(rb"(?!CONNECT )[A-Z]+ /[!\"$-~]* HTTP/1\.[01]\r\n")
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


class Ambiguous(Exception):
    """A header that others may read in another way."""


def end_of_head(data: bytes, at: int) -> int:
    """Return where the header ends that begins at a position, 0 if it does not end yet.

    Raises:
        Ambiguous: it is too long, or its beginning can never become a header.

    >>> end_of_head(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n", 0), end_of_head(b"GET / HT", 0)
    (35, 0)
    """
    found = data.find(b"\r\n\r\n", at) + 4
    whole = found > 3
    if (found if whole else len(data)) - at > BYTES:
        raise Ambiguous("it is too long")
    if whole or b"\r\n" in data[at:]:
        if _FIRST.match(data, at) is None:
            raise Ambiguous("its first line is not a request line")
    elif not b"A" <= data[at : at + 1] <= b"Z":
        raise Ambiguous("it does not begin with a method")
    if not whole and b"\n" in data[at:].replace(b"\r\n", b""):
        raise Ambiguous("a line does not end in CR LF")
    return found if whole else 0


def length(version: str, headers: Sequence[tuple[bytes, bytes]]) -> int | None:
    """Return the bytes of the body after a header that the parser took, None if it comes in chunks.

    Args:
        version: of HTTP.
        headers: with their names in lower case.

    Raises:
        Ambiguous: the body has another encoding, or the header has no host or several.

    >>> length("1.1", [(b"host", b"localhost"), (b"content-length", b"7")])
    7
    """
    size: int | None = 0
    hosts = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            size = int(value)
        elif name == b"transfer-encoding":
            if value.lower() != b"chunked" or version != "1.1":
                raise Ambiguous("a transfer encoding that is not chunked, or in a version that has none")
            size = None
    if hosts > 1 or (hosts == 0 and version == "1.1"):
        raise Ambiguous("not one host")
    return size


def without_upgrade(head: bytes) -> bytes:
    """Return a header that asks for no other protocol, which the server may ignore, and the parser would not.

    >>> without_upgrade(b"POST /decide HTTP/1.1\\r\\nUpgrade: h2c\\r\\nHost: localhost\\r\\n\\r\\n")
    b'POST /decide HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'
    """
    return _UPGRADE.sub(b"", head) if b"upgrade" in head.lower() else head


_REFUSED = "Invalid HTTP request received."  # as uvicorn says it


class Others(Protocol):
    """What a connection needs to know of all connections."""

    most: int

    def make_room(self, new: Door) -> None:
        """Close one of the connections."""

    def give_way(self, door: Door) -> None:
        """Let a connection be closed for a new one."""

    def wait(self, door: Door) -> None:
        """Start the timeout of a connection, unless it is running."""

    def go_on(self, door: Door) -> None:
        """Stop the timeout of a connection."""


class Door(HttpToolsProtocol):
    """A connection of uvicorn that has to say its headers in time; the parser sees one request after the other."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop | None,
        *,
        doors: Others,
    ) -> None:
        super().__init__(config, server_state, app_state, loop)
        self._doors, self._held = doors, b""  # what came, and the parser has not seen
        self._at: Literal["head", "body", "chunks", "end"] = "head"  # of the request under way
        self._is_refused = False  # the request under way
        self._rest = 0  # bytes of the body that are still to come; of one in chunks, those since it had the last part

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout, and make room."""
        super().connection_made(transport)
        self._joined, self._flow = Joined(transport), Flow(transport)
        self.transport, self.flow = self._joined, self._flow  # type: ignore[assignment]
        self._look()
        if len(self.connections) > self._doors.most:
            self._doors.make_room(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._doors.go_on(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Give the parser what belongs to the request under way."""
        self._held += data
        self._read()

    def on_headers_complete(self) -> None:
        """Determine where the body ends, and begin to answer."""
        rest = length(self.parser.get_http_version(), self.headers)
        self._at, self._rest = ("chunks", 0) if rest is None else ("body", rest)
        self.scope[YIELD] = self._refuse  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those that follow a body in chunks are of no use, and would not be checked."""
        if self._at == "head":
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if self._at == "chunks":
            self._rest = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Continue with the next request if this one was answered before its end."""
        super().on_message_complete()
        self._at = "end"
        if self.cycle.response_complete:
            self._begin()

    def on_response_complete(self) -> None:
        """Send the response, and continue with what has arrived of the next request."""
        self._joined.send()
        super().on_response_complete()
        if self._at == "end":
            self._begin()
            self._read()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request, unless it was answered already, or is now, as its body is wrong."""
        if self._at != "head" and self.cycle.response_started:
            self.leave()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Give way while the client does not read."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._look()

    def leave(self) -> None:
        """Close the connection at once."""
        self._doors.go_on(self)
        self.connections.discard(self)
        self.transport.abort()

    def _refuse(self) -> None:
        """Give way until the request under way is answered."""
        self._is_refused = True
        self._look()

    def _begin(self) -> None:
        """Wait for the next request."""
        self._at, self._is_refused = "head", False
        self._doors.go_on(self)

    def _read(self) -> None:
        """Give the parser what came of the request under way; what follows waits until it is answered."""
        held, at = self._held, 0
        if held:  # a connection that waits for the rest of a request is not idle
            self._unset_keepalive_if_required()
        try:
            while at < len(held) and not self.transport.is_closing() and (end := self._end(held, at)):
                piece = held[at:end]
                super().data_received(without_upgrade(piece) if self._at == "head" else piece)
                at = end
        except Ambiguous as error:
            self.logger.warning("%s %s", _REFUSED, error)
            self.send_400_response(_REFUSED)
        self._held = held[at:]
        full = self._at == "end" and at < len(held)
        if full != self._flow.full:
            self._flow.full = full
            (self._flow.pause_reading if full else self._flow.resume_reading)()
        self._look()

    def _end(self, held: bytes, at: int) -> int:
        """Return the end of the next piece for the parser, which never reaches into the next request; 0 if none is."""
        if self._at == "end":
            return 0
        if self._at == "head":
            return end_of_head(held, at)
        end = len(held)
        if self._at == "chunks":  # the last one ends with a line
            if self._rest > BYTES:
                raise Ambiguous("what is between the chunks of its body is too long")
            line = held.find(b"\n", at) + 1
            end = line or end
            self._rest += end - at
        else:
            end = min(end, at + self._rest)
            self._rest -= end - at
        return end

    def _look(self) -> None:
        """Run the clock while a header is awaited, or the rest of a request that was answered.

        A connection whose client keeps the server waiting otherwise gives way.
        """
        closes = self.transport.is_closing()
        if not closes and (self._at == "head" or self.cycle.response_complete):
            self._doors.wait(self)
        elif self in self.connections and (
            closes or self._is_refused or self.flow.write_paused or self._at in ("body", "chunks")
        ):
            self._doors.give_way(self)
        else:
            self._doors.go_on(self)


try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

SECONDS = 10.0  # until a header is complete
_MOST = 10_000  # connections, of some 4 KB each
LOG = logging.getLogger("evenhand.live.http")


def allowed() -> int:
    """Return how many connections fit below the limit of open files, an eighth of which is for stores and files."""
    if resource is None:
        return _MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(min(_MOST, soft - max(soft // 8, 64)), 8)


def raise_limit() -> None:
    """Raise this process's limit of open files as far as allowed, at most to what the cap can use."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST if hard == resource.RLIM_INFINITY else min(hard, 2 * _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Doors:
    """The connections of one server, in the order in which they began to wait for a header.

    At the cap a new connection takes the place of the one that has waited longest for the rest of its header; where no
    header is awaited, that of the one whose body is awaited for longest, or whose client does not read, or has a wrong
    token.

    Args:
        most: the cap.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._waiting: dict[Door, float] = {}  # until when
        self._yielding: dict[Door, None] = {}  # those that give way after them
        self._timer: asyncio.TimerHandle | None = None
        self._said = False

    def protocol(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> Door:
        """Make the protocol of a connection, as uvicorn asks for it."""
        return Door(config, server_state, app_state, more.get("_loop"), doors=self)

    def make_room(self, new: Door) -> None:
        """Close the connection that has waited longest, or the new one if none gives way."""
        if not self._said:
            LOG.warning("%d connections are open: those that wait for a request are closed for new ones", self.most)
            self._said = True
        next((door for each in (self._waiting, self._yielding) for door in each if door is not new), new).leave()

    def give_way(self, door: Door) -> None:
        """Let a connection be closed for a new one, after those that wait for a header."""
        self._waiting.pop(door, None)
        self._yielding.setdefault(door)

    def wait(self, door: Door) -> None:
        """Start the timeout of a connection, unless it is running."""
        self._yielding.pop(door, None)
        if door not in self._waiting:
            until = self._waiting[door] = door.loop.time() + SECONDS
            if self._timer is None:
                self._timer = door.loop.call_at(until, self._look, door.loop)

    def go_on(self, door: Door) -> None:
        """Stop the timeout of a connection, which no longer gives way."""
        self._waiting.pop(door, None)
        self._yielding.pop(door, None)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log once, in a line, that no connection can be accepted, and other errors of the loop as usual."""
        if "accept" not in context.get("message", ""):
            loop.default_exception_handler(context)
        elif not self._said:
            LOG.error("no connection can be accepted: %s", context.get("exception"))
            self._said = True

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connections whose time is over; one clock is enough, as all have the same time."""
        self._timer, now = None, loop.time()
        for door, until in list(self._waiting.items()):
            if until > now:
                self._timer = loop.call_at(until, self._look, loop)
                break
            door.leave()
