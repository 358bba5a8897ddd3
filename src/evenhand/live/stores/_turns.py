"""The queue of writers at two lock files, with a limit on the wait."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

State = Literal["free", "asked", "left", "held"]


class Turns:
    """The place of one thread in the queue.

    A writer that wants a second turn finds the next one already at the gate. With a single lock it would often take
    the lock again before the waiting writers wake up.

    The kernel serves those who wait in their order, and has no limit. Asking again and again has one, but lets some
    wait for a second, and reaches half as many turns. So a thread of its own waits where a lock is not free at once.
    Who no longer waits leaves it there, and comes back to it at the next turn; it gives back a lock that nobody wants.

    Args:
        gate, queue: the two files, which are created if they are missing.
        mode: of new files.
    """

    def __init__(self, gate: Path, queue: Path, mode: int) -> None:
        self._gate, self._queue = (os.open(path, os.O_RDWR | os.O_CREAT, mode) for path in (gate, queue))
        self._process, self._changed = os.getpid(), threading.Condition()
        self._state: State = "free"
        self._standing = self._closed = False  # `_standing`: whether a thread waits

    @contextmanager
    def turn(self, timeout: float) -> Iterator[None]:
        """Hold the exclusive turn to write.

        Raises:
            TimeoutError: it did not come in so many seconds; a worker that was stopped, or that reads a long log, may
                have it.
        """
        try:
            if not self._at_once():
                self._wait(timeout)
            yield
        finally:  # also after Ctrl-C during the wait
            with self._changed:
                if self._standing:
                    self._state = "left"
                else:
                    fcntl.flock(self._gate, fcntl.LOCK_UN)
                    fcntl.flock(self._queue, fcntl.LOCK_UN)
                    self._state = "free"

    def close(self) -> None:
        """Close both files, now or once nobody waits for their locks.

        After a fork the child closes its copies, which would keep the lock of a killed process.
        """
        if self._process == os.getpid():
            with self._changed:
                self._closed = True
                if self._standing:
                    return
        self._shut()

    def _at_once(self) -> bool:
        """Take the turn if nobody has it or waits for it; the gate may be ours afterwards."""
        with self._changed:
            if self._standing:
                return False
            try:
                for file in (self._gate, self._queue):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._state = "held"
            fcntl.flock(self._gate, fcntl.LOCK_UN)
            return True

    def _wait(self, timeout: float) -> None:
        with self._changed:
            self._state = "asked"
            if not self._standing:
                thread = threading.Thread(target=self._stand, name="evenhand turn", daemon=True)
                self._standing = True
                try:
                    thread.start()
                except BaseException:
                    self._standing = thread.is_alive()
                    raise
            if not self._changed.wait_for(lambda: self._state == "held", timeout):
                raise TimeoutError("another worker holds the lock")

    def _stand(self) -> None:
        """Wait at the gate and then in the queue, for as long as it takes."""
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        with self._changed:
            self._standing = False
            if self._state == "asked" and not self._closed:
                self._state = "held"
                self._changed.notify_all()
                return
            fcntl.flock(self._queue, fcntl.LOCK_UN)
            self._state = "free"
            if self._closed:
                self._shut()

    def _shut(self) -> None:
        os.close(self._gate)
        os.close(self._queue)
