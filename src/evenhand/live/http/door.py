"""A connection that passes its parser one request at a time."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, Protocol

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from evenhand.live.http import heads
from evenhand.live.http.guard import YIELD
from evenhand.live.http.transports import Flow, Joined

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
        rest = heads.length(self.parser.get_http_version(), self.headers)
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
                super().data_received(heads.without_upgrade(piece) if self._at == "head" else piece)
                at = end
        except heads.Ambiguous as error:
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
            return heads.end(held, at)
        end = len(held)
        if self._at == "chunks":  # the last one ends with a line
            if self._rest > heads.BYTES:
                raise heads.Ambiguous("what is between the chunks of its body is too long")
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
