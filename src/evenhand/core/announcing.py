"""A line where a process compiles for long, as nothing else tells a first run from one that hangs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

COMPILING = "compiling kernels for this machine, once"
AFTER = 3.0  # seconds of compiling


class Announcer:
    """Writes one line on stderr, once, as soon as compiling has taken some seconds in all.

    >>> sys.stderr, before = sys.stdout, sys.stderr
    >>> told = Announcer(0.01)
    >>> for name in ("one.kernel", "another.kernel"):
    ...     with told.watch(name):
    ...         time.sleep(0.1)
    compiling kernels for this machine, once: one.kernel, ...
    >>> sys.stderr = before
    """

    def __init__(self, after: float = AFTER) -> None:
        self.after, self.took, self.said = after, 0.0, False
        self.hint = ""  # what a program adds, such as how to compile ahead of time

    @contextmanager
    def watch(self, name: str) -> Iterator[None]:
        """Time a kernel while it is compiled, and say so when the time has come."""
        if self.said or self.after == float("inf"):
            yield
            return
        timer = threading.Timer(max(self.after - self.took, 0.0), self._say, [name])
        timer.daemon = True
        timer.start()
        began = time.perf_counter()
        try:
            yield
        finally:
            self.took += time.perf_counter() - began
            timer.cancel()

    def _say(self, name: str) -> None:
        self.said = True
        print(f"{COMPILING}{self.hint}: {name}, ...", file=sys.stderr, flush=True)
