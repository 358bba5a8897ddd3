"""Lines of a problem file: TOML's reader does not tell where a key is, so errors find it in the text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import snake

Keys = list[str | int]


@contextmanager
def located(text: str, file: str) -> Iterator[None]:
    """Name the file, and the line of the key, in errors of what the text of a problem file states.

    Raises:
        InvalidInput, InfeasibleProblem: in place of those that name the key only.
    """
    try:
        yield
    except InfeasibleProblem as error:
        raise InfeasibleProblem(f"{file}: {error}") from error
    except InvalidInput as error:
        if error.field.startswith(file):  # it is no TOML
            raise
        line = line_of(text, error.field, str(error.got))
        where = file if line is None else f"{file}, line {line}"
        raise InvalidInput(f"{where}: {error.field}", error.expected, error.got) from error


def line_of(text: str, field: str, got: str = "") -> int | None:
    """The line of what a field names, or of the table that lacks it; None for a key of the top level that is missing.

    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\nrat = 3', "budget[1].rat")
    5
    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\noutcome = "b"', "Budget('b').rate")
    4
    """
    data, lines = tomllib.loads(text), text.splitlines()
    keys = _keys(data, field, got)
    while keys and not _has(data, keys):
        keys.pop()
    name = next((str(key) for key in reversed(keys) if isinstance(key, str)), None)
    if name is None:
        return None
    for i, line in enumerate(lines):
        if name in line.split("#")[0]:
            found = next(filter(None, (_parsed(lines[:n]) for n in range(i + 1, len(lines) + 1))), None)
            if found is not None and _has(found, keys):
                return i + 1
    return None


def _keys(data: dict[str, Any], field: str, got: str) -> Keys:
    """The path of what a field of an error names: keys of the file, or a part by its class and outcome."""
    part = re.match(r"(\w+)\('(.*?)'\)\.?(\w*)", field)
    field = field.removeprefix("Problem.")
    first = re.split(r"\W", field)[0]
    kind = snake(first)
    if part and kind in ("outcome", "groups"):
        return ["outcomes" if kind == "outcome" else kind, part[2], part[3]]
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


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except ValueError:
        return None
