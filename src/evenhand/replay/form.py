"""How a log is written: what the table [log] of a problem file states, where it is not to be found out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.replay.columns import POINT
from evenhand.replay.dates import ORDERS


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the fields of a log are written.

    Args:
        separator: one character between fields; None finds it out from the header.
        encoding: the encoding of the text, by a name that Python knows; None finds it out.
        decimal: the character between whole numbers and fractions, "." or ","; None reads points, and refuses numbers
            in which these may separate thousands.
        missing: the texts that stand for a missing value.
        dates: the order of the numbers in dates with slashes or hyphens, "day/month/year" or "month/day/year"; None
            reads none.

    Raises:
        InvalidInput: a separator of several characters or the same as `decimal`; or an unknown encoding or order.

    >>> Form(separator=";", decimal=",").missing
    ('',)
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ("",)
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, POINT, ","):
            raise InvalidInput("log.decimal", 'one of ".", ","', repr(self.decimal))
        if self.dates not in (None, *ORDERS):
            raise InvalidInput("log.dates", f"one of {', '.join(ORDERS)}", repr(self.dates))
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n\0'):
            raise InvalidInput("log.separator", 'one character, such as ";"', repr(self.separator))
        if self.separator == self.point:
            raise InvalidInput("log.separator", "a character other than that of decimals", repr(self.separator))
        if self.encoding is not None and not _is_text(self.encoding):
            raise InvalidInput("log.encoding", 'the name of an encoding, such as "latin-1"', repr(self.encoding))

    @property
    def point(self) -> str:
        """The character between whole numbers and fractions as numbers are read and written."""
        return POINT if self.decimal is None else self.decimal


def _is_text(encoding: str) -> bool:
    try:
        return bool(getattr(codecs.lookup(encoding), "_is_text_encoding", True))
    except (LookupError, ValueError):
        return False
