"""Checks of arguments by the types that a signature declares, and of parts by the members of a protocol.

Python 3.11 gathers the members of a protocol anew in every `isinstance`, so that a policy, which asks some twenty
times per goal what it can do, took 0.6 ms to make, and takes a ninth of it since this is kept.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard, TypeVar, Union

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion

__all__ = ["accept", "checked", "lacks", "narrower", "typed", "value_text"]

T = TypeVar("T")

_also: dict[Any, Callable[[object], bool]] = {}  # what is taken in place of the parts of a protocol
_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("True or False", "True or False"),
    str: ("a text", "texts"),
    Path: ("a path", "paths"),
    type(None): ("None", "None"),
}
_KINDS: dict[Any, tuple[type, ...]] = {float: (Real,), str: (str,), Path: (str, Path), type(None): (type(None),)}
_MOST = 2**64  # whole numbers that arrays can have are below it
_LONGEST = 60  # characters of a value in a message
_SUCH_AS = {"model": ", such as eh.models.advised(problem)"}  # for a value that is lacking


def has(part: object, ability: type[T]) -> TypeGuard[T]:
    """Return whether a part has all public members of a protocol, as `isinstance(part, ability)` tells.

    A method that is None counts as absent.

    >>> from evenhand.choices import TopK
    >>> from evenhand.choices.base import Choice, Hears
    >>> has(TopK(), Choice), has(TopK(), Hears)
    (True, False)
    """
    protocol: Any = ability  # which mypy does not take for hashable
    for name, is_method in _members(protocol):
        if not hasattr(part, name) or (is_method and getattr(part, name) is None):
            return False
    return True


@functools.cache
def members(protocol: Any) -> list[str]:
    """Return the names of the public members of a protocol.

    >>> from evenhand.models.base import Model
    >>> members(Model)
    ['draws', 'n_features', 'n_outcomes', 'start', 'update', 'value']
    """
    parts = [c for c in protocol.__mro__ if getattr(c, "_is_protocol", False)]
    names = {n for c in parts for n in (*vars(c), *vars(c).get("__annotations__", {}))}
    return sorted(n for n in names if not n.startswith("_"))


@functools.cache
def _members(protocol: Any) -> list[tuple[str, bool]]:
    """The public members of a protocol, and whether each is a method."""
    return [(name, callable(getattr(protocol, name, None))) for name in members(protocol)]


class Wrong(NamedTuple):
    """A fault of a value, whose text is written once it becomes an error, as writing a large value takes time."""

    place: str  # within it, such as "[0]"
    expected: str
    value: object  # at this place
    lacks: str = ""  # what a part lacks

    @property
    def received(self) -> str:
        return self.lacks or value_text(self.value)


def checked(part: T) -> T:
    """Make a function or class refuse arguments of types that it does not declare, and unknown keywords.

    Types are not taken too literally: any sequence is taken for a tuple, and any real number for a float. Protocols
    are compared by the names of their members, and by how many arguments their methods take. Where a class refuses an
    argument itself, its own message counts.

    >>> @checked
    ... def half(of: float, *, times: int = 1) -> float: return of / 2**times
    >>> half("3")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: of: expected a number, got '3'
    >>> half(3, tims=2)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: tims: expected one of the arguments of half: of, times, \
got an unknown one (did you mean times?)
    """
    if not isinstance(part, type):
        return typed(part)
    call: Any = part.__init__  # type: ignore[misc]

    @functools.wraps(call)
    def made(*given: Any, **named: Any) -> None:
        try:
            call(*given, **named)
        except InvalidInput:
            raise
        except Exception:
            _refuse(part, given[1:], named)
            raise
        _refuse(part, given[1:], named)

    part.__init__ = made  # type: ignore[misc]
    return part


def typed(part: T) -> T:
    """Do as `checked`, but check types before the part's own checks, which may read its parts."""
    call: Any = part.__init__ if isinstance(part, type) else part  # type: ignore[misc]
    first = 1 if isinstance(part, type) else 0

    @functools.wraps(call)
    def careful(*given: Any, **named: Any) -> Any:
        _refuse(part, given[first:], named)
        return call(*given, **named)

    if not isinstance(part, type):
        return careful  # type: ignore[return-value]
    part.__init__ = careful  # type: ignore[misc]
    return part


def accept(protocol: Any, test: Callable[[object], bool]) -> None:
    """Accept values for which `test` is true in place of parts of a protocol, as a caller wraps them."""
    _also[protocol] = test


def lacks(value: object, protocol: Any) -> list[str]:
    """Return the public members of a protocol that a value does not have.

    >>> from evenhand.models.base import Model
    >>> lacks(3, Model)
    ['draws', 'n_features', 'n_outcomes', 'start', 'update', 'value']
    """
    return [name for name in members(protocol) if not hasattr(value, name)]


@functools.cache
def narrower(kind: Any, protocol: Any) -> tuple[str, str] | None:
    """Return the first method of a protocol that a class has with fewer arguments: as required, and as it is.

    >>> from evenhand.models.base import Model
    >>> class Mine:
    ...     def draws(self): return 0
    >>> narrower(Mine, Model)
    ('draws(candidates)', 'draws()')
    """
    for name in members(protocol):
        asked, made = (inspect.getattr_static(z, name, None) for z in (protocol, kind))
        if not (inspect.isfunction(asked) and inspect.isfunction(made)):
            continue
        wanted, taken = (inspect.signature(f).parameters for f in (asked, made))
        try:
            inspect.signature(made).bind(*wanted)
        except TypeError:
            said = [f"{name}({', '.join([*names][1:])})" for names in (wanted, taken)]
            return said[0], said[1]
    return None


def value_text(value: object) -> str:
    """Return a value as text for a message: on one line, and not too long.

    >>> value_text("a" * 90)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a number of thousands of digits
        text = f"{type(value).__name__} of thousands of digits"
    except RecursionError:
        text = f"{type(value).__name__} that is nested too deep"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}..."


@functools.cache
def _declaration(part: Any) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(part), typing.get_type_hints(part, include_extras=True)


def _refuse(part: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    signature, hints = _declaration(part)
    try:
        bound = signature.bind(*given, **named).arguments
    except TypeError:
        raise _misuse(part, signature, given, named) from None
    for name, value in bound.items():
        wrong = _wrong(value, hints.get(name, Any))
        if wrong is not None:
            field = f"{part.__name__}.{name}" if isinstance(part, type) else name
            raise InvalidInput(field + wrong.place, wrong.expected, wrong.received)


def _misuse(part: Any, signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]) -> InvalidInput:
    """Return the error of a call with unknown, too many or too few arguments."""
    name, known = part.__name__, list(signature.parameters)
    for key in named:
        if key not in known:
            expected = f"one of the arguments of {name}: {', '.join(known)}"
            hint = suggestion(key, known, minimise='maximize=Linear({"cost": -1})')
            return InvalidInput(key, expected, f"an unknown one{hint}")
    by_place = [n for n, p in signature.parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(given) > len(by_place):
        return _nameless(name, by_place, [n for n in known if n not in by_place], len(given))
    for key, p in signature.parameters.items():
        if key in by_place[: len(given)]:
            if key in named:
                return InvalidInput(key, "one value", f"two: {value_text(given[by_place.index(key)])} and a keyword")
        elif key not in named and p.default is inspect.Parameter.empty:
            return _missing_arguments(name, signature, {*by_place[: len(given)], *named}, key)
    return InvalidInput(name, f"arguments {', '.join(known)}", "others")


def _missing_arguments(name: str, signature: inspect.Signature, given: set[str], first: str) -> InvalidInput:
    """Return the error of a call without needed arguments, with an example of the call."""
    needed = [n for n, p in signature.parameters.items() if p.default is inspect.Parameter.empty]
    named = {n for n, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    lacking = [n for n in needed if n not in given]
    if len(lacking) == 1:
        return InvalidInput(first, f"a value, as {name} needs one{_SUCH_AS.get(first, '')}", "nothing")
    written = ", ".join(f"{n}=..." if n in named else n for n in needed)
    return InvalidInput(", ".join(lacking), f"a value each, as in {name}({written})", "nothing")


def _nameless(name: str, by_place: list[str], by_name: list[str], given: int) -> InvalidInput:
    """Return the error of a call with too many arguments that are not named."""
    if not by_name:
        return InvalidInput(name, f"at most {len(by_place)} arguments", given)
    options, most = ", ".join(f"{n}=" for n in by_name), f"{len(by_place)} argument{'s' if len(by_place) != 1 else ''}"
    return InvalidInput(name, f"at most {most} without a name, the others by name ({options})", given)


def _wrong(value: Any, hint: Any) -> Wrong | None:
    """Find the fault of a value of a type, None if it fits or the type cannot be checked."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:  # a type, and where its values come from
        wrong = _wrong(value, inner[0])
        return wrong and wrong._replace(expected=f"{wrong.expected} {inner[1]}")
    if hint in _KINDS:
        fits = isinstance(value, _KINDS[hint])
    elif hint is bool:
        fits = _is_flag(value)
    elif hint is int:
        fits = isinstance(value, Integral) and not _is_flag(value)
        if fits and not -_MOST < value < _MOST:
            return Wrong("", "a whole number of at most 64 bits", value)
    elif origin is Literal:
        fits = any(value is z or (isinstance(value, type(z)) and value == z) for z in inner)
    elif origin in (Union, types.UnionType):
        found: list[Wrong] = []
        for h in inner:
            wrong = _wrong(value, h)
            if wrong is None:
                return None
            found.append(wrong)
        inside = [w for w in found if w.place]  # say which entry of a list is wrong, or what the closest protocol has
        least = min(found, key=lambda w: (w.received == value_text(value), len(w.received)))
        return inside[0] if len(inside) == 1 else least._replace(place="", expected=_in_words(hint))
    elif _is_array(origin):
        fits = _numeric(value)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        return _wrong_entries(value, inner, hint)
    elif isinstance(origin, type) and issubclass(origin, Iterable):
        return _wrong_items(value, origin, inner, hint)
    elif origin is Callable or hint is Callable:
        fits = callable(value)
    elif isinstance(hint, type) and not origin:
        return _wrong_part(value, hint)
    else:
        return None
    return None if fits else Wrong("", _in_words(hint), value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool) or (getattr(value, "dtype", None) == "bool" and value.ndim == 0)


def _is_array(origin: Any) -> bool:
    return getattr(origin, "__module__", "") == "numpy"


def _numeric(value: Any) -> bool:
    """Whether a value is an array of numbers, or can be one."""
    import numpy as np  # not above, as the command line names experiments before it needs any

    try:
        return not isinstance(value, str | bytes) and np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):
        return False


def _wrong_entries(value: Any, inner: tuple[Any, ...], hint: Any) -> Wrong | None:
    if not isinstance(value, Mapping):
        return Wrong("", _in_words(hint), value)
    for key, entry in value.items() if len(inner) == 2 else ():
        wrong = _wrong(key, inner[0]) or _wrong(entry, inner[1])
        if wrong is not None:
            return wrong._replace(place=f"[{key!r}]{wrong.place}")
    return None


def _wrong_items(value: Any, origin: type, inner: tuple[Any, ...], hint: Any) -> Wrong | None:
    unordered = isinstance(value, Mapping | set | frozenset) and issubclass(origin, Sequence)
    if unordered or isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return Wrong("", _in_words(hint), value)
    if not isinstance(value, list | tuple) or not inner:
        return None  # an iterator can be read once, and arrays are looked at by who reads them
    hints = [inner[0]] * len(value) if len(inner) == 1 or inner[-1] is ... else list(inner)
    if len(hints) != len(value):
        return Wrong("", _in_words(hint), value)
    for i, (item, h) in enumerate(zip(value, hints, strict=True)):
        wrong = _wrong(item, h)
        if wrong is not None:
            return wrong._replace(place=f"[{i}]{wrong.place}")
    return None


def _wrong_part(value: Any, hint: type) -> Wrong | None:
    if hint in (object, Any) or (hint in _also and _also[hint](value)):
        return None
    protocol = getattr(hint, "_is_protocol", False)
    if isinstance(value, type) and not issubclass(hint, type) and (protocol or issubclass(value, hint)):
        return Wrong("", f"{_in_words(hint)}, as {value.__name__}(...) makes one", value)
    if not protocol:
        return None if isinstance(value, hint) else Wrong("", _in_words(hint), value)
    missing = lacks(value, hint)
    if not missing:
        kind: Any = type(value)
        fewer = narrower(kind, hint)
        if fewer is None:
            return None
        return Wrong("", f"{_in_words(hint)} with {fewer[0]}", value, f"{kind.__name__}, which has {fewer[1]}")
    plain = type(value).__module__ == "builtins"  # such as a text, which is not a part at all
    has_no = "" if plain else f"{type(value).__name__}, which has no {', '.join(missing)}"
    return Wrong("", _in_words(hint), value, has_no)


def _in_words(hint: Any, many: bool = False) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _in_words(inner[0], many)
    if hint in _WORDS:
        return _WORDS[hint][many]
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_in_words(h, many) for h in inner if h is not type(None)))
    if _is_array(origin):
        return "arrays of numbers" if many else "an array of numbers"
    if many and isinstance(origin, type) and issubclass(origin, Iterable):
        return "mappings" if issubclass(origin, Mapping) else "sequences"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping to {_in_words(inner[1], True)}" if len(inner) == 2 else "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        each = dict.fromkeys(_in_words(h, True) for h in inner if h is not ...)
        return f"a sequence of {' and '.join(each)}" if each else "a sequence"
    if origin is Callable or hint is Callable:
        return "functions" if many else "a function"
    name = getattr(hint, "__name__", "") or "value of its type"
    return f"{name} objects" if many else f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
