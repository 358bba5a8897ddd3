"""Checks for jumps of the clock, as a jump forward would expire all waiting decisions at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from evenhand.live.log.events import Busy

# Microseconds by which a clock may be ahead: more than it is usually corrected by, less than a wrong time zone makes.
_ALLOWED = 600 * 10**6


def clock() -> int:
    """Read the wall clock, in microseconds since 1970."""
    return time.time_ns() // 1000


def monotonic() -> int:
    """Read a monotonic clock in microseconds; it includes time asleep if the system supports that."""
    kind = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return (time.monotonic_ns() if kind is None else time.clock_gettime_ns(kind)) // 1000


class Watch:
    """Compares a clock with the time that has passed in this process since its first reading.

    No limit on the time between two events tells a wrong clock from a campaign that was quiet for a week. The time
    since this process first read the clock does; a process that has just started accepts any reading.

    Args:
        passed: a monotonic clock in microseconds.

    >>> passed = iter((0, 60_000_000, 61_000_000))
    >>> watch = Watch(passed=lambda: next(passed))
    >>> watch.check(0, 0), watch.check(60_000_000, 0)
    (0, 60000000)
    >>> watch.check(7_200_000_000, 0)
    Traceback (most recent call last):
    evenhand.live.log.events.Busy: the clock jumped by 7139 seconds; set it right, or restart the worker to accept it
    """

    def __init__(self, passed: Callable[[], int] = monotonic) -> None:
        self._passed, self._lock = passed, threading.Lock()
        self._ahead: int | None = None  # the largest accepted lead over the monotonic clock

    def check(self, now: int, last: int) -> int:
        """Return the time of an event: `now`, or that of the last event if the clock went back.

        Times of other workers' events are accepted: after an intended jump, it suffices to restart one worker.

        Raises:
            Busy: the clock is too far ahead, both of the log and of its last reading plus the time since.
        """
        with self._lock:
            passed = self._passed()
            ahead = max(now, last) - passed
            if self._ahead is not None:
                jump = now - max(last, passed + self._ahead)
                if jump > _ALLOWED:
                    told = f"the clock jumped by {jump // 10**6} seconds"
                    raise Busy(f"{told}; set it right, or restart the worker to accept it")
                ahead = max(ahead, self._ahead)  # a clock that was set back may be set forward again
            self._ahead = ahead
        return max(now, last)

    def forget(self) -> None:
        """Take the next reading as the first."""
        with self._lock:
            self._ahead = None
