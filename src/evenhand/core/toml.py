"""Limits of size and nesting for TOML texts, as the parser's time and memory grow with the square of a name's parts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from evenhand.core.errors import InvalidInput

SIZE = 131_072  # bytes of a text; the slowest of those that were tried takes half a second
ROWS = 4_194_304  # bytes of the rows of a table that follow it; 10,000 rows of four columns, 0.7 MB, take half a second
PARTS = 8  # of a name, such as 2 of `tokens.clerk`

# Strings and comments, in which dots and quotes mean nothing; where one does not end, the text does.
_OPAQUE = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_LONG = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{PARTS}}}")


def parse(text: str, file: str) -> dict[str, Any]:
    """Parse a TOML text whose names have at most `PARTS` parts and which is not deeply nested.

    It has at most `SIZE` bytes, and `ROWS` more of rows of actions, from the first of these on.

    Raises:
        InvalidInput: the text exceeds a bound.
        ValueError: it is not TOML.

    >>> parse('a.b = "c.d"', "a file")
    {'a': {'b': 'c.d'}}
    >>> parse(".".join("a" * 9) + " = 1", "a file")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: a file, line 1: expected a name of at most 8 parts, got one of more
    """
    for part, most in zip(text.partition("\n[actions.rows.")[::2], (SIZE, ROWS), strict=True):
        if (size := len(part.encode("utf-8", "surrogatepass"))) > most:
            raise InvalidInput(file, f"a TOML file of at most {most:,} bytes", f"{size:,}")
    if (found := _LONG.search(_OPAQUE.sub(_blank, text))) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise InvalidInput(f"{file}, line {line}", f"a name of at most {PARTS} parts", "one of more")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(file, "a TOML file", "lists or tables that are nested too deeply") from None


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a TOML text that a line begins and ends, and the number of that line.

    >>> list(statements("[a]\\nb = [1,\\n 2]\\nc = 3"))
    [(1, '[a]'), (2, 'b = [1,\\n 2]'), (4, 'c = 3')]
    """
    first, begin, depth = 1, 0, 0
    for found in re.finditer(r"[\[\]{}\n]", _OPAQUE.sub(_blank, text) + "\n"):
        if found[0] != "\n":
            depth += 1 if found[0] in "[{" else -1
        elif depth == 0:
            part, begin = text[begin : found.start()], found.end()
            if part.strip() and part.lstrip()[0] != "#":
                yield first, part
            first += part.count("\n") + 1


def _blank(found: re.Match[str]) -> str:
    """Letters in place of a string, which may be a part of a name, and blanks in place of a comment."""
    return (" " if found[0][0] == "#" else "x") * len(found[0])
