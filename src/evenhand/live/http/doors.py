"""Connections: a clock on headers, a cap below the limit of open files, and strict lines."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

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
    """Raise the limit of open files of this process as far as it may be, at most to what the cap can use."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST if hard == resource.RLIM_INFINITY else min(hard, 2 * _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Strict(ReceiveBuffer):
    """Bytes of headers whose lines end in CR LF and are not folded: a proxy may read other lines in another way."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines before the first empty one, as in h11, which takes every LF as the end of a line."""
        data = self._data
        end = data.find(b"\r\n\r\n")
        head = data if end < 0 else data[:end]
        lone = head.replace(b"\r\n", b"")
        if b"\n" in lone or b"\n " in head or b"\n\t" in head:
            raise h11.RemoteProtocolError("a line of the header is folded, or does not end in CR LF")
        return super().maybe_extract_lines()


class Doors:
    """The connections of one server, in the order in which they began to wait for a header.

    At the cap a new connection takes the place of the one that has waited longest for the rest of its header.

    Args:
        most: the cap.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting: dict[Door, None] = {}
        self._said = False

    def protocol(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> Door:
        """Make the protocol of a connection, as uvicorn asks for it."""
        return Door(config, server_state, app_state, more.get("_loop"), doors=self)

    def make_room(self, new: Door) -> None:
        """Close the connection that has waited longest, or the new one where none waits."""
        if not self._said:
            LOG.warning("%d connections are open: those that wait for a header are closed for new ones", self.most)
            self._said = True
        next((door for door in self.waiting if door is not new), new).leave()

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log that no connection can be accepted once, in a line, and other errors of the loop as usual."""
        if "accept" not in context.get("message", ""):
            loop.default_exception_handler(context)
        elif not self._said:
            LOG.error("no connection can be accepted: %s", context.get("exception"))
            self._said = True


class Door(H11Protocol):
    """A connection of uvicorn that has to say its headers in time."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop | None,
        *,
        doors: Doors,
    ) -> None:
        super().__init__(config, server_state, app_state, loop)
        self.conn._receive_buffer = Strict()
        self._doors = doors
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, and make room."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self._doors.most:
            self._doors.make_room(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop the clock if the header is complete."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Start the clock for what came of the next header."""
        super().on_response_complete()
        self._look()

    def leave(self) -> None:
        """Close the connection at once."""
        self._stop()
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._clock is None:
            self._clock = self.loop.call_later(SECONDS, self.leave)
            self._doors.waiting[self] = None

    def _stop(self) -> None:
        self._doors.waiting.pop(self, None)
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
