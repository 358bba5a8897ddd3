"""The options of experiments: fields of a frozen dataclass that the command line can set. Imports stay light."""

from __future__ import annotations

from dataclasses import Field, field, fields
from typing import Any, NamedTuple, TypeVar

from evenhand.core.errors import InvalidInput

T = TypeVar("T")


class Option(NamedTuple):
    """A command-line option, declared by a field of an experiment."""

    field: str
    flag: str
    kind: type  # int, float or str
    default: Any
    about: str
    metavar: str | None
    choices: tuple[str, ...] | None
    repeatable: bool
    least: int | None  # the least allowed whole number


def option(
    default: T,
    metavar: str | None = None,
    about: str = "",
    *,
    flag: str = "",
    choices: tuple[str, ...] | None = None,
    least: int | None = 1,
) -> T:
    """Declare a field that the command line can set; the option of a tuple may be repeated.

    Args:
        default: the default value.
        metavar: the placeholder of the value in the help.
        about: the help text; the default value is added.
        flag: the name on the command line, by default that of the field.
        choices: the allowed texts.
        least: the least allowed whole number, or None for any.
    """
    found: T = field(
        default=default,
        metadata={"option": {"metavar": metavar, "about": about, "flag": flag, "choices": choices, "least": least}},
    )
    return found


def options(experiment: Any) -> list[Option]:
    """List the options of an experiment in the order of its fields."""
    return [_option(f) for f in fields(experiment) if "option" in f.metadata]


def settings(experiment: Any) -> dict[str, object]:
    """Return the fields of an experiment that affect its results: all but the number of processes."""
    values = {f.name: getattr(experiment, f.name) for f in fields(experiment)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if k != "jobs"}


def distinct(field: str, values: tuple[T, ...]) -> tuple[T, ...]:
    """Return the distinct values in order.

    Raises:
        InvalidInput: there are no values.

    >>> distinct("taus", (0.1, 0.025, 0.1))
    (0.1, 0.025)
    """
    if not values:
        raise InvalidInput(field, "at least one", values)
    return tuple(dict.fromkeys(values))


def _option(f: Field[Any]) -> Option:
    meta = f.metadata["option"]
    many = isinstance(f.default, tuple)
    kind = str(f.type).removeprefix("tuple[").removesuffix(", ...]")  # annotations are texts
    return Option(
        field=f.name,
        flag="--" + (meta["flag"] or f.name).replace("_", "-"),
        kind={"int": int, "float": float}.get(kind, str),
        default=f.default,
        about=meta["about"],
        metavar=meta["metavar"],
        choices=meta["choices"],
        repeatable=many,
        least=meta["least"],
    )
