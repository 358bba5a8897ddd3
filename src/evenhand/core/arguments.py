"""Building of parts from the values of a file, which are read by the types in the part's signature."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, NamedTuple, Union

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest, exports, snake, unknown_key
from evenhand.core.types import Floats

KIND = "kind"  # the key by which a table names a part


class _NoMatch:
    """Stands for a value that is not of the wanted type."""


_NO = _NoMatch()


class Argument(NamedTuple):
    """An argument of a part: its name, its type, and whether it is required."""

    name: str
    hint: Any
    needed: bool


@cache
def arguments(part: Any) -> Mapping[str, Argument]:
    """Return the arguments of a function or class, in their order.

    >>> from evenhand.problem import Parity
    >>> [(a.name, a.needed) for a in arguments(Parity).values()]
    [('outcome', True), ('by', True), ('tolerance', True), ('hard', False), ('per', False)]
    """
    hints = typing.get_type_hints(part)
    return {
        name: Argument(name, hints.get(name, Any), p.default is inspect.Parameter.empty)
        for name, p in inspect.signature(part).parameters.items()
    }


def build(part: Any, where: str, values: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """Call a part with the values of a file, and with those `given` arguments that it takes.

    Args:
        part: a function or class with annotated arguments.
        where: where the values are in the file, for messages.
        values: numbers, texts, lists and tables by the names of arguments.
        given: arguments that the program sets and no file may set.

    Raises:
        InvalidInput: a key that the part does not have, a value of another type, or an argument that is missing.

    >>> from evenhand.objectives import GeneralizedGini
    >>> build(GeneralizedGini, "maximize", {"outcomes": ["a", "b"], "weights": [1, 0.5]}, {})
    GeneralizedGini(outcomes=('a', 'b'), weights=(1.0, 0.5))
    >>> build(GeneralizedGini, "maximize", {"outcome": ["a", "b"]}, {})
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: maximize.outcome: expected one of the keys outcomes, weights, \
got an unknown key (did you mean outcomes?)
    """
    known = arguments(part)
    open_ = [name for name, a in known.items() if name not in given]
    found = {name: value for name, value in given.items() if name in known}
    for key, value in values.items():
        if key not in open_:
            raise unknown_key(f"{where}.{key}", [n for n in open_ if is_writable(known[n].hint)], key)
        found[key] = read(f"{where}.{key}", value, known[key].hint, given)
    for name in open_:
        if known[name].needed and name not in found:
            named = f"{where}.{name}"
            if not is_writable(known[name].hint):
                raise InvalidInput(named, "an argument that a file can give", f"{part.__name__}, which needs Python")
            raise InvalidInput(named, f"{describe(known[name].hint)}, as {part.__name__} needs one", "nothing")
    try:
        return part(**found)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.field}", error.expected, error.got) from error


def read(field: str, value: Any, hint: Any, given: Mapping[str, Any]) -> Any:
    """Read one value as the type `hint`.

    Raises:
        InvalidInput: it is of another type, or names a part that does not exist.

    >>> read("step", 1, float | None, {}), read("limits", [1, 2], tuple[float, ...], {})
    (1.0, (1.0, 2.0))
    """
    found = _read(field, value, hint, given)
    if found is _NO:
        raise InvalidInput(field, describe(hint), repr(value))
    return found


def finite(value: Any) -> float | None:
    """Return a finite number of a file as a float, None for anything else.

    >>> finite(3), finite(True), finite(float("nan")), finite(10**400)
    (3.0, None, None, None)
    """
    try:
        x = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # a whole number too large for a float
        return None
    return x if math.isfinite(x) else None


def is_writable(hint: Any) -> bool:
    """Whether a file can give a value of this type.

    >>> is_writable(float | None), is_writable(typing.Callable[[int], int])
    (True, False)
    """
    return _describe(hint) != ""


def describe(hint: Any) -> str:
    """Return a type in words, for messages.

    >>> describe(tuple[float, ...]), describe(Literal["row", "net"] | None)
    ('a list of finite numbers', "one of 'row', 'net'")
    """
    return _describe(hint) or "nothing that a file can give"


def kinds(hint: Any) -> dict[str, Any]:
    """Return the parts that fit a type, by name: a class itself, or all exported classes with a protocol's members.

    >>> from evenhand.objectives import Smoothing
    >>> list(kinds(Smoothing))
    ['moreau', 'randomized']
    """
    if not getattr(hint, "_is_protocol", False):
        return {snake(hint.__name__): hint}
    wanted = [n for n in {**vars(hint), **vars(hint).get("__annotations__", {})} if not n.startswith("_")]
    package = ".".join(hint.__module__.split(".")[:2])
    return {
        name: part
        for name, part in exports(package).items()
        if inspect.isclass(part)
        and all(hasattr(part, n) or n in getattr(part, "__dataclass_fields__", {}) for n in wanted)
    }


def _describe(hint: Any, many: bool = False) -> str:
    simple = {float: "finite number", int: "whole number", str: "text"}
    if hint in simple:
        return f"{simple[hint]}s" if many else f"a {simple[hint]}"
    if hint is bool:
        return "true or false"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin in (Union, types.UnionType):
        if date in inner:
            return "dates or numbers" if many else "a date or a number"
        return " or ".join(filter(None, (_describe(h, many) for h in inner if h is not type(None))))
    if origin in (tuple, Sequence):
        each = list(dict.fromkeys(_describe(h, many=True) for h in inner if h is not ...))
        return f"{'lists' if many else 'a list'} of {' and '.join(each)}" if all(each) else ""
    if _is_numbers(hint):  # of some versions of NumPy an alias, whose origin is no class
        return "lists of finite numbers" if many else "a list of finite numbers, or of such lists"
    if origin is not None and issubclass(origin, Mapping):
        each = [_describe(h, many=True) for h in inner[1:]]
        return f"a table of {each[0]}" if all(each) else ""
    if _is_part(hint):
        named = list(kinds(hint))
        return "a table" if named == [snake(hint.__name__)] else f"a table with {KIND} = {' | '.join(named)}"
    return ""


def _read(field: str, value: Any, hint: Any, given: Mapping[str, Any]) -> Any:
    if hint is float:
        x = finite(value)
        return _NO if x is None else x
    if hint in (int, bool, str, date, datetime):
        return value if type(value) is hint else _NO
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return value if value in inner else _NO
    if origin in (Union, types.UnionType):
        named = [h for h in inner if isinstance(value, dict) and _is_part(h) and value.get(KIND) in kinds(h)]
        found = (_read(field, value, h, given) for h in named or inner if h is not type(None))
        return next((z for z in found if z is not _NO), _NO)
    if origin is tuple or (origin is Sequence and is_writable(hint)):
        return _read_list(field, value, inner if origin is tuple else (*inner, ...), given)
    if _is_numbers(hint):
        return _read_numbers(value)
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {k: read(f"{field}.{k}", v, inner[1], given) for k, v in value.items()}
    if _is_part(hint) and isinstance(value, dict):
        return _read_part(field, value, hint, given)
    return _NO


def _read_list(field: str, value: Any, inner: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
    if not isinstance(value, list):
        return _NO
    hints = [inner[0]] * len(value) if inner[-1] is ... else list(inner)
    if len(hints) != len(value):
        return _NO
    return tuple(read(f"{field}[{i}]", v, h, given) for i, (v, h) in enumerate(zip(value, hints, strict=True)))


def _read_numbers(value: Any) -> Any:
    """An array of the finite numbers of a list, or of lists of the same length."""
    if not isinstance(value, list):
        return _NO
    entries: list[Any] = [_read_numbers(v) if isinstance(v, list) else finite(v) for v in value]
    if any(z is None or z is _NO for z in entries) or len({np.shape(z) for z in entries}) > 1:
        return _NO
    return np.array(entries, float)


def _read_part(field: str, value: dict[str, Any], hint: Any, given: Mapping[str, Any]) -> Any:
    known = kinds(hint)
    if KIND not in value and len(known) > 1:
        raise InvalidInput(f"{field}.{KIND}", f"one of {', '.join(known)}", "nothing")
    part = closest(f"{field}.{KIND}", known, str(value[KIND])) if KIND in value else next(iter(known.values()))
    return build(part, field, {k: v for k, v in value.items() if k != KIND}, given)


def _is_numbers(hint: Any) -> bool:
    return bool(hint == Floats)


def _is_part(hint: Any) -> bool:
    return inspect.isclass(hint) and hint.__module__.startswith("evenhand.")
