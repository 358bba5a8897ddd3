"""What a process compiles, and a line about it where it takes long: nothing else tells compiling from hanging."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

AFTER = 3.0  # seconds of compiling before the first line
EVERY = 10.0  # seconds between two lines, where the output is no terminal


class Compiling:
    """The kernels that are compiled, and those that are due.

    In a terminal one line changes with every kernel, and goes at the end of the last one that is due.

    Args:
        stream: where lines are written; by default the present `sys.stderr`.
        clock: returns seconds.

    >>> compiling = Compiling(sys.stdout, clock=iter([0.0, 9.0, 9.0, 18.0]).__next__)
    >>> compiling.expect({"solve": 8.0, "update": 8.0})
    >>> with compiling.watch("solve", 8.0):
    ...     pass  # 9 seconds
    compiling 1 of 2 kernels, some 16 s left; kept for next time
    >>> with compiling.watch("update", 8.0):
    ...     pass
    >>> compiling.count, compiling.seconds
    (2, 18.0)
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._stream, self._clock = stream, clock
        self.after = AFTER  # infinity for silence
        self.hint = ""  # what a program adds, such as how to compile ahead of time
        self.count, self.seconds = 0, 0.0  # kernels that were compiled, and the time it took
        self._stated, self._last = 0.0, -float("inf")  # prices of those kernels, and the time of the last line
        self._due: dict[str, float] = {}

    def expect(self, prices: dict[str, float]) -> None:
        """State kernels that will be compiled soon, and the seconds that each should take."""
        self._due |= prices

    @contextmanager
    def watch(self, name: str, price: float) -> Iterator[None]:
        """Count a kernel while it is compiled, after a line if compiling takes long."""
        self._due.setdefault(name, price)
        began = self._clock()
        self._tell(began)
        try:
            yield
        finally:
            self._due.pop(name, None)
            self.count += 1
            self.seconds += self._clock() - began
            self._stated += price
            if self._drawn and not self._due:
                self._out.write("\r\x1b[K")
                self._out.flush()

    @contextmanager
    def silent(self, on: bool = True) -> Iterator[None]:
        """Write nothing within the block, if this is on."""
        before, self.after = self.after, float("inf") if on else self.after
        try:
            yield
        finally:
            self.after = before

    def _tell(self, now: float) -> None:
        left = sum(self._due.values()) * (self.seconds / self._stated if self._stated else 1.0)
        if self.seconds + left < self.after or not (self._drawn or now - self._last >= EVERY):
            return
        self._last = now
        number, all_ = self.count + 1, self.count + len(self._due)
        what = f"{number} of {all_} kernels" if all_ > number else f"kernel {number}"
        line = f"compiling {what}, some {max(left, 1.0):.0f} s left; kept for next time{self.hint}"
        self._out.write(f"\r{line}\x1b[K" if self._drawn else f"{line}\n")
        self._out.flush()

    @property
    def _out(self) -> TextIO:
        return self._stream or sys.stderr

    @property
    def _drawn(self) -> bool:
        return self.after < float("inf") and self._out.isatty()


COMPILING = Compiling()
