"""Strict reading of TOML tables: unknown keys and values of the wrong type are errors."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from evenhand.core.arguments import finite
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import unknown_key

T = TypeVar("T")
V = TypeVar("V")


class _Needed:
    """Marks a required key in place of a default."""


_NEEDED = _Needed()
_EMPTY: dict[str, Any] = {}


class Table:
    """A TOML table with its allowed keys.

    >>> table = Table({"rate": 0.3}, "budget", ("rate", "total"))
    >>> table.number("rate"), table.number("total", None)
    (0.3, None)
    >>> Table({"all": 5}, "budget", ("rate", "total"))
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: budget.all: expected one of the keys rate, total, got an unknown key
    """

    def __init__(self, data: Mapping[str, Any], where: str, keys: tuple[str, ...] | None) -> None:
        """Take the table at `where`; `keys` is None if the user chooses the keys, or if a part checks them."""
        self._data, self._where = data, where
        for key in data:
            if keys is not None and key not in keys:
                raise unknown_key(self.field(key), keys, key)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._data)

    def value(self, key: str) -> Any:
        """Return the raw value of a key; None if the key is missing."""
        return self._data.get(key)

    @property
    def values(self) -> dict[str, Any]:
        """All raw values by key."""
        return dict(self._data)

    def field(self, key: str) -> str:
        """Return the full name of a key, for messages."""
        return f"{self._where}.{key}" if self._where else key

    def number(self, key: str, default: T | _Needed = _NEEDED) -> float | T:
        return self._take(key, default, "a finite number", finite)

    def whole(self, key: str, default: T | _Needed = _NEEDED) -> int | T:
        return self._take(key, default, "a whole number", lambda z: z if type(z) is int else None)

    def text(self, key: str, default: T | _Needed = _NEEDED) -> str | T:
        return self._take(key, default, "a text", _text)

    def texts(self, key: str, default: T | _Needed = _NEEDED) -> tuple[str, ...] | T:
        return self._take(key, default, "a list of different texts", _texts)

    def numbers(self, key: str, default: T | _Needed = _NEEDED) -> dict[str, float] | T:
        return self._take(key, default, "a table of finite numbers", _numbers)

    def text_or_numbers(self, key: str, default: T | _Needed = _NEEDED) -> str | dict[str, float] | T:
        """Read one name, or a table from names to finite numbers."""
        if isinstance(self._data.get(key), str):
            return self.text(key)
        return self._take(key, default, "a text, or a table of finite numbers", _numbers)

    def names(self, key: str, default: T | _Needed = _NEEDED) -> dict[str, str] | T:
        return self._take(key, default, "a table of texts", lambda z: _mapping(z, _text))

    def pair(self, key: str, default: T | _Needed = _NEEDED) -> tuple[float, float] | T:
        """Read two finite numbers, the lower one first."""
        return self._take(key, default, "[low, high] with low < high", _pair)

    def table(self, key: str, keys: tuple[str, ...] | None) -> Table:
        """Read a table within this one; it is empty if the key is missing."""
        found = self._take(key, _EMPTY, "a table", lambda z: z if isinstance(z, dict) else None)
        return Table(found, self.field(key), keys)

    def tables(self, key: str, keys: tuple[str, ...]) -> list[Table]:
        """Read an array of tables; it is empty if the key is missing."""
        found = self._take(key, None, f"tables under [[{key}]]", _tables)
        return [Table(z, f"{self.field(key)}[{i}]", keys) for i, z in enumerate(found or [])]

    def _take(self, key: str, default: T | _Needed, expected: str, read: Callable[[Any], V | None]) -> V | T:
        if key not in self._data:
            if isinstance(default, _Needed):
                raise InvalidInput(self.field(key), expected, "nothing")
            return default
        value = read(self._data[key])
        if value is None:
            raise InvalidInput(self.field(key), expected, repr(self._data[key]))
        return value


def load(text: str, file: str, keys: tuple[str, ...]) -> Table:
    """Parse the text of a file whose top level allows the given keys.

    Raises:
        InvalidInput: the text is not TOML, or has another key.
    """
    try:
        return Table(tomllib.loads(text.replace("\r\n", "\n")), "", keys)
    except RecursionError:
        raise InvalidInput(file, "a TOML file", "lists or tables that are nested too deeply") from None
    except InvalidInput:
        raise
    except ValueError as error:  # also for a number with thousands of digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), .*|end of document)\)", str(error), re.DOTALL)
        line = "" if found is None else f", line {found[2] or len(text.splitlines())}"
        raise InvalidInput(file + line, "a TOML file", error if found is None else found[1]) from error


def _text(z: Any) -> str | None:
    return z if isinstance(z, str) and z else None


def _texts(z: Any) -> tuple[str, ...] | None:
    good = isinstance(z, list) and all(_text(t) for t in z) and len(set(z)) == len(z)
    return tuple(z) if good else None


def _mapping(z: Any, read: Callable[[Any], V | None]) -> dict[str, V] | None:
    values = {k: read(v) for k, v in z.items()} if isinstance(z, dict) else {"": None}
    return None if None in values.values() else {k: v for k, v in values.items() if v is not None}


def _numbers(z: Any) -> dict[str, float] | None:
    return _mapping(z, finite)


def _pair(z: Any) -> tuple[float, float] | None:
    if not (isinstance(z, list) and len(z) == 2):
        return None
    low, high = finite(z[0]), finite(z[1])
    return (low, high) if low is not None and high is not None and low < high else None


def _tables(z: Any) -> list[dict[str, Any]] | None:
    return z if isinstance(z, list) and all(isinstance(t, dict) for t in z) else None
