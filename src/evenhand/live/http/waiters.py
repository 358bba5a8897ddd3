"""Results that another thread finds for a coroutine."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Waiter(Generic[T]):
    """Stands for a coroutine that waits, as a `Future` of `concurrent` does, for a fraction of its time.

    Args:
        post: takes it to the loop of the coroutine.
    """

    def __init__(self, post: Post) -> None:
        self._post, self.future = post, post.loop.create_future()
        self._found: T | None = None
        self._error: BaseException | None = None

    def set_running_or_notify_cancel(self) -> bool:
        """Return whether the coroutine still waits."""
        return not self.future.cancelled()

    def set_result(self, found: T, /) -> None:
        """Let the coroutine continue with a result."""
        self._found = found
        self._post.send(self.settle)

    def set_exception(self, error: BaseException, /) -> None:
        """Let an error be raised in the coroutine."""
        self._error = error
        self._post.send(self.settle)

    def settle(self) -> None:
        """End the wait, in the thread of the loop."""
        if self.future.done():  # the coroutine was cancelled
            return
        if self._error is None:
            self.future.set_result(self._found)
        else:
            self.future.set_exception(self._error)


class Post:
    """Calls in the thread of a loop, which wakes up once for any number of them.

    Args:
        loop: the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._is_under_way = False

    def send(self, call: Callable[[], None]) -> None:
        """Call in the thread of the loop, in turn; from any thread."""
        self._calls.append(call)
        if not self._is_under_way:  # set before `_deliver` looks for the last time
            self._is_under_way = True
            with suppress(RuntimeError):  # the loop was closed, and nobody waits
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_under_way = False
        while self._calls:
            self._calls.popleft()()
