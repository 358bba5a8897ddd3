"""Finds the lines of keys in a problem file for error messages, as the TOML parser does not report them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import snake
from evenhand.core.toml import statements

Keys = list[str | int]


class Origin(NamedTuple):
    """The name and the text of a problem file."""

    file: str
    text: str


@contextmanager
def locate_errors(text: str, file: str) -> Iterator[None]:
    """Add the file and the line of the key to errors about a problem file.

    Raises:
        InvalidInput, InfeasibleProblem: replace the errors that name only the key.
    """
    try:
        yield
    except InfeasibleProblem as error:
        raise InfeasibleProblem(f"{file}: {error}") from error
    except InvalidInput as error:
        if error.field.startswith(file):  # the text is not TOML
            raise
        line = line_of(text, error.field, str(error.got))
        where = file if line is None else f"{file}, line {line}"
        raise InvalidInput(f"{where}: {error.field}", error.expected, error.got) from error


@contextmanager
def locate_keys(origin: Origin | None, log: str) -> Iterator[None]:
    """Add the problem file and the line to errors about its keys that turn up when a log is read.

    Raises:
        InvalidInput: replaces the errors that name only the key; those about the log stay as they are.
    """
    try:
        yield
    except InvalidInput as error:
        line = None if origin is None or error.field.startswith(log) else line_of(origin.text, error.field)
        if line is None or origin is None:
            raise
        raise InvalidInput(f"{origin.file}, line {line}: {error.field}", error.expected, error.got) from error


def line_of(text: str, field: str, got: str = "") -> int | None:
    """Find the line of a field, or of the table that lacks it; None for a missing key at the top level.

    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\nrat = 3', "budget[1].rat")
    5
    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\noutcome = "b"', "Budget('b').rate")
    4
    """
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except RecursionError:  # a few calls deeper than where the text was read
        return None
    keys = _keys(data, field, got)
    while keys and not _has(data, keys):
        keys.pop()
    name = next((str(key) for key in reversed(keys) if isinstance(key, str)), None)
    if name is None:
        return None
    where, counts = Keys(), Counter[tuple[str | int, ...]]()
    for number, statement in statements(text):
        part = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            where = _header(part, counts)
            holds = where[: len(keys)] == keys
        else:
            holds = where == keys[: len(where)] and _has(part, keys[len(where) :])
        if holds:
            lines = enumerate(statement.split("\n"), number)
            return next((i for i, line in lines if name in line.split("#")[0]), number)
    return None


def _header(part: dict[str, Any], counts: Counter[tuple[str | int, ...]]) -> Keys:
    """Return the path of the table that a line begins, where tables of the same name are counted."""
    path, inner = Keys(), part
    while inner:
        ((key, found),) = inner.items()
        path.append(key)
        if isinstance(found, list):
            counts[tuple(path)] += 1
        inner = found[0] if isinstance(found, list) else found
        if (before := counts[tuple(path)]) > 0:
            path.append(before - 1)
    return path


def _keys(data: dict[str, Any], field: str, got: str) -> Keys:
    """Convert a field of an error to a path of keys; the field states keys, or a part by its class and outcome."""
    part = re.match(r"(\w+)\('(.*?)'\)\.?(\w*)", field)
    field = field.removeprefix("Problem.")
    first = re.split(r"\W", field)[0]
    kind = snake(first)
    if part and kind in ("outcome", "groups"):
        key = "range" if part[3] in ("low", "high") else part[3]
        return ["outcomes" if kind == "outcome" else kind, part[2], key]
    if kind != first and isinstance(data.get(kind), list):
        name = part[2] if part else got.split(" (did you mean")[0]
        of_it = (i for i, z in enumerate(data[kind]) if name in (z.values() if isinstance(z, dict) else ()))
        return [kind, next(of_it, 0), part[3] if part else "outcome"]
    keys: Keys = []
    where, _, argument = field.partition(": ")  # such as "budget[0]: Budget('cost').rate"
    for key in re.findall(r"[\w\- ]+|\[\d+\]", where):
        keys.append(int(key[1:-1]) if key.startswith("[") else key)
    return [*keys, argument.rpartition(".")[2]] if argument else keys


def _has(data: Any, keys: Keys) -> bool:
    for key in keys:
        if isinstance(key, int):
            if not isinstance(data, list) or key >= len(data):
                return False
        elif not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True
