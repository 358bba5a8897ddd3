"""Strict reading of TOML tables by the table of keys: unknown keys and values of the wrong kind are errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import clipped
from evenhand.core.registry import unknown_key
from evenhand.core.toml import parse
from evenhand.replay.keys import NEEDED, Key, named
from evenhand.replay.kinds import TABLE


class Table:
    """A TOML table with its allowed keys.

    >>> from evenhand.replay.keys import PROPENSITY
    >>> table = Table({"constant": 0.5}, "propensity", PROPENSITY)
    >>> table.get("constant"), table.get("column")
    (0.5, None)
    >>> Table({"all": 5}, "propensity", PROPENSITY)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: propensity.all: expected one of the keys column, constant, unchecked, \
got an unknown key
    """

    def __init__(self, data: Mapping[str, Any], where: str, keys: tuple[Key, ...]) -> None:
        """Take the table at `where`; one key in capitals stands for any names that the user chooses."""
        self._data, self._where, self._keys = data, where, named(keys)
        self._open = next((key for key in keys if key.is_open), None)
        for key in data if self._open is None else ():
            if key not in self._keys:
                raise unknown_key(self.field(key), tuple(self._keys), key)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def field(self, key: str) -> str:
        """Return the full name of a key, for messages."""
        return f"{self._where}.{key}" if self._where else key

    def raw(self, key: str) -> Any:
        """Return the value of a key as the file has it; None if the key is missing."""
        return self._data.get(key)

    def get(self, key: str) -> Any:
        """Return the value of a key, or its default.

        Raises:
            InvalidInput: a value of another kind, or a key that is needed and missing.
        """
        known = self._known(key)
        kind = known.kind or TABLE
        if key in self._data:
            return kind.read(self.field(key), self._data[key])
        if known.default is NEEDED:
            raise InvalidInput(self.field(key), kind.expected, "nothing")
        return known.default

    def each(self) -> dict[str, Any]:
        """Return the values of all keys."""
        return {key: self.get(key) for key in self._data}

    def table(self, key: str, within: tuple[Key, ...] | None = None) -> Table:
        """Return a table within this one, by its own keys or by some of several; it is empty if the key is missing."""
        found = TABLE.read(self.field(key), self._data.get(key, {}))
        return Table(found, self.field(key), self._known(key).within if within is None else within)

    def tables(self, key: str) -> list[dict[str, Any]]:
        """Return an array of tables as the file has them; it is empty if the key is missing."""
        found = self._data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(z, dict) for z in found):
            raise InvalidInput(self.field(key), f"tables under [[{key}]]", clipped(repr(found)))
        return found

    def _known(self, key: str) -> Key:
        found = self._open or self._keys.get(key)
        assert found is not None, key
        return found


def load(text: str, file: str, keys: tuple[Key, ...]) -> Table:
    """Parse the text of a file whose top level allows the given keys.

    Raises:
        InvalidInput: the text is not TOML, too large, or has another key.
    """
    try:
        return Table(parse(text.replace("\r\n", "\n"), file), "", keys)
    except InvalidInput:
        raise
    except ValueError as error:  # also for a number with thousands of digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), .*|end of document)\)", str(error), re.DOTALL)
        if found is None:
            raise InvalidInput(file, "a TOML file", error) from error
        lines = text.splitlines()
        number = int(found[2] or len(lines))
        got = found[1] + _hint(lines[number - 1] if 0 < number <= len(lines) else "")
        raise InvalidInput(f"{file}, line {number}", "a TOML file", got) from error


def _hint(line: str) -> str:
    """Say how a line that is no TOML is probably meant; nothing if that is not clear.

    >>> _hint("rate = 0,3")
    ' (numbers have a decimal point here, such as 0.3)'
    >>> _hint("column = Kauf"), _hint("rate = true")
    (' (texts stand in quotes, such as "letter")', '')
    """
    rest = re.sub(r"\"[^\"]*\"|'[^']*'", '""', line).partition("#")[0]
    if re.search(r"=\s*[-+]?\d+,\d+\s*$", rest):
        return " (numbers have a decimal point here, such as 0.3)"
    if re.search(r"=\s*(?!(?:true|false|inf|nan)\b)[^\W\d]", rest):
        return ' (texts stand in quotes, such as "letter")'
    if not rest.isascii() or re.search(r"\w +\w[^=]*=", rest):
        return ' (names with spaces or letters other than a to z stand in quotes, such as "größer")'
    return ""
