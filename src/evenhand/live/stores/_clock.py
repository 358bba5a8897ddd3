"""A clock that jumps forward is refused, as it would let every waiting decision expire at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from evenhand.live.events import Busy

_ALLOWED = 600.0  # seconds: what clocks are set right by as a rule, and less than a wrong time zone brings


def clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def elapsed() -> int:
    """Microseconds since some moment, while the machine sleeps as well, where the system can tell."""
    kind = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return (time.monotonic_ns() if kind is None else time.clock_gettime_ns(kind)) // 1000


class Watch:
    """Compares a clock with the time that passed in this process since it was first read.

    No limit on the time between two events tells a wrong clock from a campaign that was quiet for a week. What
    passed since this process read the clock does; a process that has just started believes what it reads.

    Args:
        allowed: seconds that the clock may be ahead.
        passed: microseconds since some moment, of a clock that nobody sets.

    >>> passed = iter((0, 60_000_000, 61_000_000))
    >>> watch = Watch(passed=lambda: next(passed))
    >>> watch.checked(0, 0), watch.checked(60_000_000, 0)
    (0, 60000000)
    >>> watch.checked(7_200_000_000, 0)
    Traceback (most recent call last):
    evenhand.live.events.Busy: the clock jumped by 7139 seconds; set it right, or restart the worker to accept it
    """

    def __init__(self, allowed: float = _ALLOWED, passed: Callable[[], int] = elapsed) -> None:
        """Nothing is known yet."""
        self._allowed, self._passed = int(allowed * 1e6), passed
        self._lock = threading.Lock()
        self._ahead: int | None = None  # of the clock that nobody sets: the most that was accepted

    def checked(self, now: int, last: int) -> int:
        """The time of an event: `now`, or that of the last event where the clock went back.

        What another worker wrote is accepted: after a jump that is right, one worker has to be restarted.

        Raises:
            Busy: the clock is ahead of the log, and of what it was before with the time that passed since.
        """
        with self._lock:
            passed = self._passed()
            ahead = max(now, last) - passed
            if self._ahead is not None:
                jump = now - max(last, passed + self._ahead)
                if jump > self._allowed:
                    told = f"the clock jumped by {jump // 10**6} seconds"
                    raise Busy(f"{told}; set it right, or restart the worker to accept it")
                ahead = max(ahead, self._ahead)  # a clock that was set back may be set forward again
            self._ahead = ahead
        return max(now, last)
