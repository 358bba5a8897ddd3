"""Waits that end by what is waited for, and clocks that are set, on a machine of any speed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import IO

LONG = 120.0  # seconds after which a test waits no longer: what it waits for will not come


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.002)


def until_steps(stream: IO[str], steps: int) -> None:
    """Wait until a process, of which this is the stderr, has come to so many steps."""
    said = ""
    while not any(int(n.replace(",", "")) >= steps for n in re.findall(r" step ([\d,]+) of ", said)):
        more = stream.read(1)
        assert more, said
        said = said[-200:] + more


class Clock:
    """A clock that is set. `readers` are the threads that have read it, a time each: they have asked for something."""

    def __init__(self, now: float = 100.0) -> None:
        self.now, self.readers = now, list[int]()

    def __call__(self) -> float:
        self.readers.append(threading.get_ident())
        return self.now
