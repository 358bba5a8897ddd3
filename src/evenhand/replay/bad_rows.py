"""Unusable rows of a log: each is counted under its first reason, so that none is dropped silently."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools


class Reason(NamedTuple):
    """A reason for leaving out rows, with their number and the first of them."""

    column: str
    expected: str
    rows: int
    line: int  # of the first such row
    got: str  # the text in this line

    def __str__(self) -> str:
        return f"{_rows(self.rows)}: {self.column!r} is not {self.expected} (first in line {self.line}: {self.got!r})"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


@dataclass
class BadRows:
    """Keeps track of the usable rows of a log and of the reasons why others are left out."""

    lines: list[int]
    good: Bools
    torn: list[int]
    reasons: list[Reason] = field(default_factory=list)

    @staticmethod
    def none(lines: list[int], torn: list[int]) -> BadRows:
        """Start with all rows good, except those with another number of fields than the header."""
        return BadRows(lines, np.ones(len(lines), bool), torn)

    def keep(self, column: str, text: list[str], good: Bools, expected: str) -> None:
        """Leave out the rows that are not in `good`, and note the reason."""
        bad = np.flatnonzero(self.good & ~good)
        if len(bad):
            first = int(bad[0])
            self.reasons.append(Reason(column, expected, len(bad), self.lines[first], text[first]))
            self.good &= good

    @property
    def total(self) -> int:
        """The number of rows in the file."""
        return len(self.lines) + len(self.torn)

    @property
    def count(self) -> int:
        """The number of rows that are left out."""
        return self.total - int(self.good.sum())

    def messages(self) -> list[str]:
        found = [str(reason) for reason in self.reasons]
        if self.torn:
            first = f"(first in line {self.torn[0]})"
            found.append(f"{_rows(len(self.torn))}: more or fewer fields than the header {first}")
        return found

    def check(self, name: str, allowed: float) -> None:
        """Refuse a log in which too many rows, or all, are bad.

        Raises:
            InvalidInput: too many rows are bad; the error lists all reasons.
        """
        if self.total == 0:
            raise InvalidInput(name, "at least one row after the header", "none")
        if self.count > allowed * self.total or self.count == self.total:
            expected = f"at most {100 * allowed:g} % bad rows (allow_bad = {allowed:g})"
            raise InvalidInput(name, expected, f"{self.count} of {self.total}; " + "; ".join(self.messages()))
