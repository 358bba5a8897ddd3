"""Connections: a clock on headers, and a cap below the limit of open files."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from evenhand.live.http.door import Door

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
