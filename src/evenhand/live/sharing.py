"""Group commit for threads: calls that arrive while a transaction is under way share the next one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Generic, TypeVar

from evenhand.core.errors import EvenhandError
from evenhand.live.events import Busy
from evenhand.live.exclusive import PATIENCE

C = TypeVar("C")  # what makes a call
T = TypeVar("T")
Run = Callable[[Sequence[C]], Sequence[T | EvenhandError]]  # makes calls in one transaction, as `Worker.run` does
_MOST = 200  # calls per transaction: others wait for its end


class _Call(Generic[C, T]):
    """A call of one thread, and what it came to."""

    def __init__(self, verb: C) -> None:
        self.verb, self.is_done, self.since = verb, False, monotonic()
        self._found: list[T] = []
        self._error: Exception | None = None

    def end(self, found: T | EvenhandError) -> None:
        if isinstance(found, EvenhandError):
            self.fail(found)
        else:
            self._found, self.is_done = [found], True

    def fail(self, error: Exception) -> None:
        self._error, self.is_done = error, True

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._found[0]


class Sharing(Generic[C, T]):
    """Lets threads share transactions: one of them makes the calls of all that wait, and the others get the results.

    A write to disk takes longer than many decisions. Results are returned only after the commit.

    Args:
        run: makes calls in one transaction.

    >>> Sharing(lambda verbs: [2 * z for z in verbs]).one(21)
    42
    """

    def __init__(self, run: Run[C, T]) -> None:
        self._run, self._changed = run, threading.Condition()
        self._waiting: deque[_Call[C, T]] = deque()
        self._leads: _Call[C, T] | None = None  # of the thread that makes calls now

    def one(self, verb: C) -> T:
        """Make a call, in a transaction of its own or with those of other threads, and return its result.

        If a call breaks a transaction, that was rolled back, and each of its calls is made in one of its own.

        Raises:
            EvenhandError: that of the call; or any other error that it raised, or that ended its transaction.
        """
        call = _Call[C, T](verb)
        try:
            with self._changed:
                self._waiting.append(call)
                while self._leads is not None and not call.is_done:
                    self._changed.wait()
                if not call.is_done:
                    self._leads = call
            while not call.is_done:
                self._make()
        finally:
            with self._changed:
                if self._leads is call:
                    self._leads = None
                if call in self._waiting:  # this thread was interrupted, and nobody asks for the call any more
                    self._waiting.remove(call)
                self._changed.notify_all()
        return call.result()

    def _make(self) -> None:
        """Make the calls that wait, the oldest first."""
        with self._changed:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST))]
        try:
            self._together(calls)
        except BaseException:  # of this thread, such as Ctrl-C: the others make their calls themselves
            with self._changed:
                self._waiting.extendleft(call for call in reversed(calls) if not call.is_done)
            raise

    def _together(self, calls: Sequence[_Call[C, T]]) -> None:
        try:
            found = self._run([call.verb for call in calls])
        except Busy as error:
            for call in calls:
                call.fail(error)
            self._tell(error)
        except Exception as error:
            if len(calls) == 1:
                calls[0].fail(error)
            else:
                for call in calls:
                    self._together([call])
        else:
            for call, z in zip(calls, found, strict=True):
                call.end(z)

    def _tell(self, error: Busy) -> None:
        """Fail the calls that have waited for so long that they should not wait for another transaction to fail."""
        with self._changed:
            begun = monotonic() - PATIENCE
            for call in self._waiting:
                if call.since < begun:
                    call.fail(error)
            self._waiting = deque(call for call in self._waiting if not call.is_done)
