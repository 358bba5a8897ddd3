"""Progress of long work on stderr: a line that changes in a terminal, and elsewhere a line now and then.

Work may be done within other work, and one line tells all of it: "court, point 2 of 9, some 26 min left: pgd, step
1,200 of 40,000". The time left is that of the outermost work of which it is known. It follows from the last half
minute, or the last few units, as a process becomes faster once it has compiled; time that is left out counts nowhere.
"""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO, TypeVar

Item = TypeVar("Item")

FIRST, EVERY = 5.0, 10.0  # seconds before the first line, and between two, where the output is no terminal
_DRAWN = 0.1  # seconds between two states of the line in a terminal
_RECENT, _FEW = 30.0, 5  # seconds of work by which the rate is told, and the least number of its marks
_WIDTH = 20  # characters of a bar


class Screen:
    """The progress display of a process.

    Args:
        stream: where it is shown; by default the present `sys.stderr`.
        clock: returns seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self.left_out = 0.0  # seconds
        self._works: list[Work] = []  # the innermost last
        self._last, self._width = -float("inf"), 0  # when something was shown, and the length of what stands there

    @property
    def is_terminal(self) -> bool:
        return self._target.isatty()

    @property
    def work_clock(self) -> float:
        """A clock of work, which stands while something else is done."""
        return self._clock() - self.left_out

    def leave_out(self, seconds: float) -> None:
        """Leave past time, such as that of compiling, out of all rates."""
        self.left_out += seconds

    def show(self, line: str, *, drawn: bool | None = None, at_once: bool = False) -> None:
        """Show a line: in place of the last one in a terminal; elsewhere below it, if ten seconds have passed.

        Args:
            drawn: whether to show it as in a terminal; by default if there is one.
            at_once: whether a line in a terminal may follow another one directly.
        """
        drawn = self.is_terminal if drawn is None else drawn
        if not self._is_due(drawn, at_once):
            return
        self._last = self._clock()
        if drawn:
            import shutil  # which takes longer to import than all else here

            line = line[: shutil.get_terminal_size().columns - 1]
            self._target.write(f"\r{line.ljust(self._width)}")
            self._width = len(line)
        else:
            self._target.write(f"{line}\n")
        self._target.flush()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Show nothing for a while."""
        before, self._stream = self._stream, io.StringIO()
        try:
            yield
        finally:
            self._stream = before

    def clear(self) -> None:
        """Remove the line that stands in the terminal."""
        if self._width:
            self._target.write(f"\r{' ' * self._width}\r")
            self._target.flush()
            self._width = 0

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self.clear()
        print(line, file=self._target, flush=True)

    def _begin(self, work: Work) -> None:
        if not self._works:
            self._last = max(self._last, self._clock() - EVERY + FIRST)
        self._works.append(work)
        self._tell(at_once=True)

    def _end(self, work: Work) -> None:
        if work in self._works:
            del self._works[self._works.index(work) :]
        if self._works:
            self._tell(at_once=True)
        else:
            self.clear()

    def _tell(self, *, at_once: bool = False) -> None:
        """Show all work, if it is time for it."""
        works = self._works.copy()  # another thread may end some
        if works and self._is_due(works[-1].is_drawn, at_once):
            drawn = works[-1].is_drawn
            self.show(f"{_bar(works) * drawn}{_text(works)}", drawn=drawn, at_once=at_once)

    def _is_due(self, drawn: bool, at_once: bool) -> bool:
        return (drawn and at_once) or self._clock() - self._last >= (_DRAWN if drawn else EVERY)

    @property
    def _target(self) -> TextIO:
        return self._stream or sys.stderr


SCREEN = Screen()  # of this process


class Work:
    """Work that is shown while it is done, as a context.

    Args:
        name: what it is.
        unit, total: what it consists of, and how many of them, if that is known.
        done: how many were done before.
        progress: whether it is shown. None draws in a terminal, and writes lines elsewhere; True draws anywhere.

    >>> with Work("pgd", "step", 40, progress=False) as work:
    ...     work.update(4)
    >>> str(work)
    'pgd, step 4 of 40'
    """

    def __init__(
        self,
        name: str,
        unit: str = "",
        total: int | None = None,
        *,
        done: int = 0,
        progress: bool | None = None,
        screen: Screen = SCREEN,
    ) -> None:
        self.name, self.unit, self.total, self.done = name, unit, total, done
        self.is_drawn = screen.is_terminal if progress is None else progress
        self._ahead = 0  # 1 where the unit that is being done is named
        self._screen, self._is_shown = screen, progress is not False
        self._began = screen.work_clock
        self._marks = deque[tuple[float, int]]()  # from the first update on, before which work is prepared

    def __enter__(self) -> Work:
        if self._is_shown:
            self._screen._begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            self._screen._end(self)

    def update(self, units: int = 1) -> None:
        """State that more units were done."""
        self._add(units)
        if self._is_shown:
            self._screen._tell()

    def each(self, items: Collection[Item], told: Callable[[Item], str] | None = None) -> Iterator[Item]:
        """Yield items, each of which is a unit, and shown while it is worked on.

        Args:
            told: the name of the work on an item; by default that of all of it.

        >>> with Work("squares", "number", progress=False) as work:
        ...     [z * z for z in work.each([1, 2])]
        [1, 4]
        """
        self.total, self._ahead = len(items), 1
        self._marks.append((self._screen.work_clock, self.done))
        for item in items:
            if told is not None:
                self.name = told(item)
            if self._is_shown:
                self._screen._tell(at_once=True)
            yield item
            self._add(1)

    def left(self, inner: float | None) -> float | None:
        """Return the seconds of work that are left, given those of the unit that is being done, None if unknown."""
        if self.total is None:
            return None
        if self.done >= self.total:
            return 0.0
        last, after = self._marks[-1] if self._marks else (self._began, self.done)
        gone, rest = self._screen.work_clock - last, self.total - self.done - 1
        if len(self._marks) > 1:
            first, before = self._marks[0]
            each = max(last - first, 0.0) / (after - before)
        elif inner is not None:
            each = gone + inner
        else:
            return None
        return (max(each - gone, 0.0) if inner is None else inner) + each * rest

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.name}, {self.unit} {self.done:,}" if self.done else self.name
        return f"{self.name}, {self.unit} {min(self.done + self._ahead, self.total):,} of {self.total:,}"

    def _add(self, units: int) -> None:
        """Count units, and mark how many were done by now; marks are a second apart, or a unit."""
        self.done += units
        if not (units and self._is_shown):
            return
        marks, now = self._marks, self._screen.work_clock
        if len(marks) > 2 and now - marks[-2][0] < 1.0:
            marks.pop()
        marks.append((now, self.done))
        while len(marks) > _FEW and now - marks[1][0] > _RECENT:
            marks.popleft()


def _bar(works: Sequence[Work]) -> str:
    """Draw the part that was done of the outermost work whose length is known."""
    parts = [0.0]
    for work in reversed(works):
        if work.total:
            parts.append(min((work.done + parts[-1]) / work.total, 1.0))
    full = int(_WIDTH * parts[-1])
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] " if len(parts) > 1 else ""


def _text(works: Sequence[Work]) -> str:
    """Return how far work has come as text, the outermost first, with the time left of work whose length is known."""
    said, left, at = [str(work) for work in works], None, -1
    for i in reversed(range(len(works))):
        if (of_all := works[i].left(left)) is not None:
            left, at = of_all, i
    if left:
        said[at] += f", some {duration(left)} left"
    return ": ".join(said)


def duration(seconds: float) -> str:
    """Format a duration to two digits.

    >>> [duration(s) for s in (0.2, 48, 100, 1560, 8000, 200_000)]
    ['1 s', '48 s', '1.7 min', '26 min', '2.2 h', '56 h']
    """
    size, unit = next((x for x in ((3600.0, "h"), (60.0, "min")) if seconds >= 1.5 * x[0]), (1.0, "s"))
    value = max(seconds / size, 1.0)
    return f"{value:.1f} {unit}" if unit != "s" and value < 10 else f"{value:.0f} {unit}"
