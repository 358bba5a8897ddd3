"""The kinds of values in a problem file: what is expected, how it is read, and its JSON Schema."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple, TypeVar, Union

from evenhand.core.arguments import KIND, arguments, can_be_written, described, finite, kinds, read
from evenhand.core.errors import InvalidInput
from evenhand.core.faces import clipped
from evenhand.core.types import Floats
from evenhand.replay.dates import days

Schema = Mapping[str, Any]
_PLAIN: dict[Any, Schema] = {
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    date: {"type": "string"},  # TOML has dates; editors check them as texts
}
_ARRAY: Schema = {"type": "array", "items": {"type": ["number", "array"]}}


def schema_of(hint: Any) -> Schema:
    """Return the schema of a type.

    >>> schema_of(float | None), schema_of(tuple[str, ...])
    ({'type': 'number'}, {'type': 'array', 'items': {'type': 'string'}})
    """
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        each = [schema_of(h) for h in inner if h is not type(None) and (can_be_written(h) or h in _PLAIN)]
        different = [schema for i, schema in enumerate(each) if schema not in each[:i]]
        return different[0] if len(different) == 1 else {"anyOf": different}
    if origin in (tuple, Sequence):
        items = [schema_of(h) for h in inner if h is not ...]
        return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if bool(hint == Floats):
        return _ARRAY
    if inspect.isclass(hint) and hint.__module__.startswith("evenhand."):
        return _part(hint)
    return {}


def table_of(part: Any, given: Sequence[str] = ()) -> Schema:
    """Return the schema of a table whose keys are the arguments of a part.

    Args:
        part: a function or class with annotated arguments.
        given: the arguments that the program sets.
    """
    open_ = {n: a for n, a in arguments(part).items() if n not in given and can_be_written(a.hint)}
    return {
        "type": "object",
        "description": about(part),
        "properties": {name: schema_of(a.hint) for name, a in open_.items()},
        "required": [name for name, a in open_.items() if a.needed],
        "additionalProperties": False,
    }


def about(part: Any) -> str:
    """The first sentence of the documentation of a part."""
    return (inspect.getdoc(part) or "").partition("\n\n")[0].replace("\n", " ")


def _part(hint: Any) -> Schema:
    """A table that names its kind, of which the arguments are those of a part; parts may have parts within."""
    named = list(kinds(hint))
    if len(named) > 1:
        return {"type": "object", "properties": {KIND: {"enum": named}}, "required": [KIND]}
    return table_of(next(iter(kinds(hint).values())))


V = TypeVar("V")


class Kind(NamedTuple):
    """A kind of values.

    Args:
        expected: in words, for messages.
        read: takes the full name of a key and its value.
        schema: JSON Schema.
    """

    expected: str
    read: Callable[[str, Any], Any]
    schema: Schema


def _kind(expected: str, reader: Callable[[Any], Any], schema: Schema) -> Kind:
    """Make a kind of a function that returns None for values of other kinds."""

    def taken(field: str, value: Any) -> Any:
        found = reader(value)
        if found is None:
            raise InvalidInput(field, expected, clipped(repr(value)))
        return found

    return Kind(expected, taken, schema)


def of_hint(hint: Any) -> Kind:
    """The kind of a type in a signature."""
    return Kind(described(hint), lambda field, value: read(field, value, hint, {}), schema_of(hint))


def fraction(expected: str, schema: Schema, holds: Callable[[float], bool]) -> Kind:
    """A finite number for which a condition holds, which its schema states as well."""

    def reader(value: Any) -> float | None:
        found = finite(value)
        return found if found is not None and holds(found) else None

    return _kind(expected, reader, {"type": "number", **schema})


def choice(*names: str) -> Kind:
    """One of some texts."""
    return _kind(f"one of {', '.join(names)}", lambda z: z if z in names else None, {"enum": list(names)})


def either(expected: str, *kinds: Kind) -> Kind:
    """A value of the first of some kinds that accepts it."""

    def reader(value: Any) -> Any:
        for kind in kinds:
            try:
                return kind.read("", value)
            except InvalidInput:
                continue
        return None

    return _kind(expected, reader, {"anyOf": [kind.schema for kind in kinds]})


def _text(z: Any) -> str | None:
    return z if isinstance(z, str) and z else None


def _texts(z: Any) -> tuple[str, ...] | None:
    good = isinstance(z, list) and all(_text(t) for t in z) and len(set(z)) == len(z)
    return tuple(z) if good else None


def _any_texts(z: Any) -> tuple[str, ...] | None:
    return tuple(z) if isinstance(z, list) and all(isinstance(t, str) for t in z) else None


def _mapping(z: Any, read: Callable[[Any], V | None]) -> dict[str, V] | None:
    values = {k: read(v) for k, v in z.items()} if isinstance(z, dict) else {"": None}
    return None if None in values.values() else {k: v for k, v in values.items() if v is not None}


def _pair(z: Any) -> tuple[float, float] | None:
    if not (isinstance(z, list) and len(z) == 2):
        return None
    low, high = (finite(end) if finite(end) is not None else finite(days(end)) for end in z)
    return (low, high) if low is not None and high is not None and low < high else None


def _pairs(z: Any) -> dict[str, tuple[float, float]] | None:
    return _mapping(z, _pair)


def _whole(z: Any) -> int | None:
    return z if type(z) is int else None


def _of(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


_A_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_A_NUMBER: Mapping[str, Any] = {"type": "number"}
_END: Mapping[str, Any] = {"type": ["number", "string"]}

WHOLE = _kind("a whole number", _whole, {"type": "integer"})
TEXT = _kind("a text", _text, _A_TEXT)
TEXTS = _kind("a list of different texts", _texts, {"type": "array", "items": _A_TEXT, "uniqueItems": True})
ANY_TEXTS = _kind("a list of texts", _any_texts, {"type": "array", "items": {"type": "string"}})
NUMBER = _kind("a finite number", finite, _A_NUMBER)
NUMBERS = _kind("a table of finite numbers", lambda z: _mapping(z, finite), _of(_A_NUMBER))
NAMES = _kind("a table of texts", lambda z: _mapping(z, _text), _of(_A_TEXT))
RANGE = _kind("[low, high] with low < high", _pair, {"type": "array", "items": _END, "minItems": 2, "maxItems": 2})
RANGES = either(
    "[low, high] with low < high, or a table of such by action", RANGE, _kind("", _pairs, _of(RANGE.schema))
)
TEXT_OR_NUMBERS = either("a text, or a table of finite numbers", TEXT, NUMBERS)
TEXT_OR_NAMES = either("a text, or a table of texts", TEXT, NAMES)
TABLE = _kind("a table", lambda z: z if isinstance(z, dict) else None, {"type": "object"})
