"""Marks in numbers that may separate thousands or fractions, such as the point of 1.515."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-+]?\d+")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:\.\d{3})+)")


def is_grouped(text: str) -> bool:
    """Whether every mark in a number may separate thousands."""
    return _GROUPED.fullmatch(text) is not None


def grouped(texts: Collection[str]) -> bool:
    """Whether every mark in some whole numbers may separate thousands, and one has a mark.

    >>> grouped(["0", "853", "1,515"]), grouped(["1.515", "12.5"]), grouped(["0,515"]), grouped(["853"])
    (True, False, False, False)
    """
    marked = [text for text in texts if not _PLAIN.fullmatch(text)]
    return bool(marked) and all(map(is_grouped, marked))


class Marks(NamedTuple):
    """The points of a column of numbers.

    >>> Marks.of(["853", "1.515"]).mixed, Marks.of(["853", "1.515", "1000"]).mixed, Marks.of(["1.515", "0.5"]).may
    (True, False, '')
    """

    grouped: str = ""  # a number whose point may separate thousands
    fraction: bool = False  # whether a point cannot
    hundreds: bool = False  # whether a number without a point has three digits
    more: bool = False  # whether one has more

    @staticmethod
    def of(texts: Collection[str]) -> Marks:
        """Look at the different texts of a column."""
        points = [text for text in texts if _NUMBER.fullmatch(text)]
        plain = [len(text.lstrip("+-")) for text in texts if _PLAIN.fullmatch(text)]
        return Marks(
            next(filter(is_grouped, points), ""),
            not all(map(is_grouped, points)),
            3 in plain,
            max(plain, default=0) > 3,
        )

    def beside(self, other: Marks) -> Marks:
        """Join those of two parts of a column."""
        each = (mine or theirs for mine, theirs in zip(self, other, strict=True))
        return Marks(*each)  # type: ignore[arg-type]

    @property
    def may(self) -> str:
        """A number whose point may separate thousands, if that of all may."""
        return "" if self.fraction else self.grouped

    @property
    def mixed(self) -> bool:
        """Whether whole numbers beside say that points separate thousands: some are of hundreds, and none is larger."""
        return bool(self.may) and self.hundreds and not self.more
