"""Texts in tables that people open with a spreadsheet, which runs some of them as formulas."""

from __future__ import annotations

import re

RUN = ("=", "+", "-", "@", "\t", "\r")  # how texts begin that a spreadsheet runs
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?( ?%)?")


def quoted(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run.

    >>> quoted("=1+1"), quoted("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text.startswith(RUN) else text


def quoted_cell(text: str) -> str:
    """Quote a text as `quoted` does, but leave one that is a plain number, which a spreadsheet reads and does not run.

    >>> quoted_cell("-5.2"), quoted_cell("-5,2 %"), quoted_cell("-5.2+B"), quoted_cell("-inf")
    ('-5.2', '-5,2 %', "'-5.2+B", "'-inf")
    """
    return text if _NUMBER.fullmatch(text) else quoted(text)
