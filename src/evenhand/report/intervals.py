"""A number with its interval, as pictures show it."""

from __future__ import annotations

from typing import NamedTuple

SINGLE, BOUNDS = "95 %", "bounds"  # what the ends are: of an interval alone, or of a guess


class Interval(NamedTuple):
    """A named number with its 95 % interval, or bounds of a guess; without ends where no error is known."""

    name: str
    mean: float
    low: float | None = None
    high: float | None = None
    kind: str = SINGLE

    @property
    def sign(self) -> int:
        """The sign of a difference if its interval leaves out 0, else 0."""
        return sign_of(self.low, self.high)

    @property
    def text(self) -> str:
        """The number with its interval, in words; a guess is named as such.

        >>> Interval("mens", 0.0355, 0.0316, 0.0394).text, Interval("mens", -0.0001).text
        ('+0.0355 (95 %: +0.0316 to +0.0394)', '-0.0001 (no error known)')
        """
        if self.low is None or self.high is None:
            return f"{_plain(self.mean)} (no error known)"
        return f"{_plain(self.mean)} ({self.kind}: {_plain(self.low)} to {_plain(self.high)})"

    def words(self, of: str) -> str:
        """Return a difference in words, with its subject, and whether it can be told from chance.

        >>> Interval("mens", 0.1, -0.1, 0.3).words(" visits")
        '+0.1000 (95 %: -0.1000 to +0.3000) visits, which is indistinguishable from chance'
        """
        known = self.low is not None and self.high is not None
        return f"{self.text}{of}" + (", which is indistinguishable from chance" if known and not self.sign else "")


def sign_of(low: float | None, high: float | None) -> int:
    """Return the sign of a difference if its interval leaves out 0, else 0.

    >>> sign_of(0.1, 0.2), sign_of(-0.1, 0.2), sign_of(-0.2, -0.1), sign_of(None, None)
    (1, 0, -1, 0)
    """
    return 0 if low is None or high is None else int(low > 0.0) - int(high < 0.0)


def _plain(x: float) -> str:
    return f"{round(x, 4) + 0.0:+.4f}"
