"""Progress of compilation: the kernels that a process compiles, and a line on stderr if that takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evenhand.core.progress import SCREEN, Screen

AFTER = 3.0  # seconds of compiling before the first line


class CompileProgress:
    """The kernels that are compiled, and those that are due; the time is left out of the rates of other work.

    Args:
        screen: shows lines.
        clock: returns seconds.

    >>> import sys
    >>> compiling = CompileProgress(Screen(sys.stdout), iter([0.0, 9.0, 9.0, 18.0]).__next__)
    >>> compiling.expect({"solve": 8.0, "update": 8.0})
    >>> with compiling.watch("solve", 8.0):
    ...     pass  # 9 seconds
    compiling 1 of 2 kernels, some 16 s left; kept for next time
    >>> with compiling.watch("update", 8.0):
    ...     pass
    >>> compiling.count, compiling.seconds
    (2, 18.0)
    """

    def __init__(self, screen: Screen = SCREEN, clock: Callable[[], float] = time.perf_counter) -> None:
        self._screen, self._clock = screen, clock
        self.after = AFTER  # infinity for silence
        self.hint = ""  # what a program adds, such as how to compile ahead of time
        self.count, self.seconds = 0, 0.0  # kernels that were compiled, and the time it took
        self._stated = 0.0  # prices of those kernels
        self._due: dict[str, float] = {}

    def expect(self, prices: dict[str, float]) -> None:
        """State kernels that will be compiled soon, and the seconds that each should take."""
        self._due |= prices

    @contextmanager
    def watch(self, name: str, price: float) -> Iterator[None]:
        """Count a kernel while it is compiled, after a line if compiling takes long."""
        self._due.setdefault(name, price)
        self._tell()
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            self._due.pop(name, None)
            self.count += 1
            self.seconds += took
            self._stated += price
            self._screen.leave_out(took)
            if not self._due and self.after < float("inf"):
                self._screen.clear()

    @contextmanager
    def silent(self, on: bool = True) -> Iterator[None]:
        """Write nothing within the block, if this is on."""
        before, self.after = self.after, float("inf") if on else self.after
        try:
            yield
        finally:
            self.after = before

    def _tell(self) -> None:
        left = sum(self._due.values()) * (self.seconds / self._stated if self._stated else 1.0)
        if self.seconds + left >= self.after:
            number, last = self.count + 1, self.count + len(self._due)
            what = f"{number} of {last} kernels" if last > number else f"kernel {number}"
            line = f"compiling {what}, some {max(left, 1.0):.0f} s left; kept for next time{self.hint}"
            self._screen.show(line, at_once=True)


COMPILE_PROGRESS = CompileProgress()
