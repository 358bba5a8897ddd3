"""The lock of a worker, which its threads take in turn."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from time import monotonic

from evenhand.core.errors import ConcurrentUse
from evenhand.live.events import Busy

PATIENCE = 0.2  # seconds that whoever waits for a store may have waited before, and still tries it


class Exclusive:
    """A fair lock: a waiting thread gets it before the thread that releases it can get it again.

    Args:
        name: of the campaign, for errors.

    >>> lock = Exclusive("autumn")
    >>> with lock.held():
    ...     pass
    """

    def __init__(self, name: str) -> None:
        self._name, self._lock, self._gate = name, threading.Lock(), threading.Lock()
        self._process, self._holder = os.getpid(), 0  # `_holder`: the thread that holds the lock
        self._asked, self._told_at, self._told = 0.0, 0.0, ""  # when the holder asked; what the last one was told

    def check(self) -> None:
        """Refuse a thread that would wait for itself, or for one that does not exist.

        Raises:
            ConcurrentUse: this thread holds the lock already, and would wait for itself; or the process was forked
                while a thread held it, which is not there to release it.
        """
        if self._process != os.getpid():
            if self._lock.locked() or self._gate.locked():
                told = "was in use when this process was forked: open it in only one of the two"
                raise ConcurrentUse(f"campaign {self._name!r} {told}")
            self._process = os.getpid()
        if self._lock.locked() and self._holder == threading.get_ident():
            raise ConcurrentUse("a call within `many` uses the campaign: it has to use the verbs that it was given")

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock against other threads.

        Raises:
            ConcurrentUse: as for `check`.
        """
        return _Held(self)

    def take(self) -> None:
        """Wait for the lock."""
        self.check()
        asked, taken = monotonic(), False
        try:
            with self._gate:  # the next one waits here with the gate closed behind it
                taken = self._lock.acquire()
            self._holder, self._asked = threading.get_ident(), asked
        except BaseException:  # Ctrl-C
            if taken:
                self.release()
            raise

    def release(self) -> None:
        """Pass the lock to the next thread."""
        self._holder = 0
        self._lock.release()

    def tell(self, error: Busy) -> None:
        """Note that the holder could not begin a transaction, which it may have waited for."""
        self._told_at, self._told = monotonic(), str(error)

    def forget(self) -> None:
        """Note that the holder began a transaction, so that the store can be written again."""
        self._told_at = 0.0

    def pass_on(self) -> None:
        """Tell the holder what another thread was told while it waited: else it would wait as long once more.

        Raises:
            Busy: the store could not be written when this thread had waited for a while already.
        """
        if self._told_at > self._asked + PATIENCE:
            raise Busy(self._told)


class _Held:
    """An exclusive lock while it is held; a generator as a context takes three times as long."""

    def __init__(self, lock: Exclusive) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.take()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
