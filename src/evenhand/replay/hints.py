"""JSON Schema of the values that a file can give to an argument, by the type in its signature."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, Union

from evenhand.core.arguments import KIND, arguments, can_be_written, kinds
from evenhand.core.types import Floats

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
