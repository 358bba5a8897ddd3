"""How far long work has come, on stderr: a bar in a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm

SECONDS = 10.0  # until the first line, and between two lines
_LINE = "{desc}: {unit} {n:,} of {total:,}, {elapsed} gone, about {remaining} left"
_MOVES = re.compile(r"\x1b\[A|[\r\n]")  # by which a bar moves in a terminal


def bar(
    every: Iterable[Any] | None = None,
    *,
    desc: str,
    unit: str,
    total: int | None = None,
    initial: int = 0,
    progress: bool | None = None,
) -> tqdm[Any]:
    """Make the bar of some work, or what writes lines in its place; it is closed at the end, as a context.

    A line is written every ten seconds, if the work has moved: "pgd: step 1,200 of 40,000, 00:10 gone, about 05:20
    left". Work that takes less time writes nothing.

    Args:
        every: what is iterated over; None where the caller calls `update`.
        desc, unit: what the work is, and what it consists of.
        total, initial: the number of units, and how many were done before; by default the length of `every`, and 0.
        progress: whether there is a bar. None draws one in a terminal, and writes lines elsewhere.

    >>> with bar(total=40, desc="pgd", unit="step", progress=False) as shown:
    ...     _ = shown.update(4)
    >>> [z for z in bar(range(3), desc="OPT", unit="program", progress=False)]
    [0, 1, 2]
    """
    from tqdm import tqdm

    shared: dict[str, Any] = {"desc": desc, "unit": unit, "total": total, "initial": initial, "leave": False}
    if progress is not None or sys.stderr.isatty():
        return tqdm(every, disable=progress is False, **shared)
    often: dict[str, Any] = {"delay": SECONDS, "mininterval": SECONDS, "miniters": 1}
    return tqdm(every, file=_Lines(sys.stderr), bar_format=_LINE, **often, **shared)


class _Lines:
    """A stream on which every state of a bar becomes a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        said = _MOVES.sub("", text).strip()
        if said:
            self._stream.write(f"{said}\n")

    def flush(self) -> None:
        self._stream.flush()
