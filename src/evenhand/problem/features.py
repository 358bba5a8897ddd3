"""Named features of a case, and the numbers that models read in their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, cached_property
from evenhand.core.validate import number

EXACT = 2**53  # up to which all integers are doubles


@runtime_checkable
class Feature(Protocol):
    """A property of a case that models read as one number or more."""

    @property
    def name(self) -> str:
        """The name by which cases state it."""

    @property
    def units(self) -> tuple[str, ...]:
        """The names of the numbers."""

    def encode(self, value: object) -> tuple[float, ...]:
        """Return the numbers of one value.

        Raises:
            InvalidInput: a value that the feature cannot have.
        """


@runtime_checkable
class Ranged(Protocol):
    """A feature that maps some values to others: those out of its range, or not among its levels."""

    @property
    def name(self) -> str:
        """The name by which cases state it."""

    def outside(self, value: Any) -> bool:
        """Return whether an accepted value is mapped to another one."""


@checked
@dataclass(frozen=True)
class Numeric:
    """A number, such as an age or an amount.

    Equation: 2 (x - low) / (high - low) - 1, so that low becomes -1 and high becomes 1; what is outside [low, high]
    counts as the nearest end. Models converge faster on numbers of one size, and a single absurd value, once learned,
    would outweigh all others.

    Args:
        name: by which cases state it.
        low, high: the range of usual values, in units of the feature; both are needed.

    Raises:
        InvalidInput: a name that is empty, or a range that is missing, empty or not finite.

    >>> age = Numeric("age", 20, 60)
    >>> age.encode(40), age.encode(1000)
    ((0.0,), (1.0,))
    >>> Numeric("age")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: low, high: expected a value each, as in Numeric(name, low, high), got nothing
    >>> age.encode("forty")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: age: expected a finite number, got 'forty'
    """

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_name("Numeric", self.name)
        for field in ("low", "high"):
            number(f"Numeric({self.name!r}).{field}", getattr(self, field), "a finite number")
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            expected = "a range whose low end is below its high end"
            raise InvalidInput(f"Numeric({self.name!r})", expected, f"[{self.low:g}, {self.high:g}]")

    @property
    def units(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, value: object) -> tuple[float, ...]:
        if type(value) is not float or not math.isfinite(value):
            x = float(value) if isinstance(value, bool | np.bool_) else number(self.name, value, "a finite number")
        else:
            x = value
        low, high = self.low, self.high
        x = low if x < low else high if x > high else x
        return (2.0 * (x - low) / (high - low) - 1.0,)

    @property
    def is_double(self) -> bool:
        """Whether arrays hold both ends of the range as they are, also where they are large integers."""
        return all(isinstance(z, float) or abs(z) <= EXACT for z in (self.low, self.high))

    def scaled(self, x: Floats) -> Floats:
        """Return the numbers of many values, which are finite, where the range `is_double`, `(N)->(N)`."""
        x = np.where(x < self.low, self.low, np.where(x > self.high, self.high, x))
        with np.errstate(over="ignore"):  # as without arrays
            return np.asarray(2.0 * (x - self.low) / (self.high - self.low) - 1.0)

    def outside(self, value: Any) -> bool:
        """Return whether a number counts as the nearest end of the range."""
        return not self.low <= value <= self.high


@checked
@dataclass(frozen=True)
class Categorical:
    """One of several levels, such as a channel or a country.

    Equation: one number per level but the first, 1 where the value is this level and 0 elsewhere; the first level is
    what the intercept stands for.

    Args:
        name: by which cases state it.
        levels: all values, at least two.
        other: the level that stands in for values that are none of the levels; None refuses them.

    Raises:
        InvalidInput: a name that is empty, fewer than two levels, levels that are not text or not all different, or an
            `other` that is none of them.

    >>> channel = Categorical("channel", ("web", "phone", "shop"), other="web")
    >>> channel.units, channel.encode("phone"), channel.encode("fax")
    (('channel=phone', 'channel=shop'), (1.0, 0.0), (0.0, 0.0))
    """

    name: str
    levels: tuple[str, ...]
    other: str | None = None

    def __post_init__(self) -> None:
        _check_name("Categorical", self.name)
        field = f"Categorical({self.name!r})"
        if isinstance(self.levels, str) or not all(isinstance(level, str) for level in self.levels):
            raise InvalidInput(f"{field}.levels", "a sequence of texts", repr(self.levels))
        object.__setattr__(self, "levels", tuple(self.levels))
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise InvalidInput(f"{field}.levels", "at least two different levels", self.levels)
        if self.other is not None and self.other not in self.levels:
            raise InvalidInput(f"{field}.other", f"one of the levels {self.levels}, or None", repr(self.other))

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def encode(self, value: object) -> tuple[float, ...]:
        if not isinstance(value, str) or (self.other is None and value not in self.levels):
            raise InvalidInput(self.name, f"one of {self.levels}", f"{value!r}{suggestion(value, self.levels)}")
        if value not in self.levels:
            value = self.other
        return tuple([1.0 if value == level else 0.0 for level in self.levels[1:]])

    def outside(self, value: Any) -> bool:
        """Return whether a text counts as `other`."""
        return value not in self.levels


def encode(features: tuple[Feature, ...], sizes: tuple[int, ...], values: list[object]) -> Floats:
    """Return an intercept and the numbers of all features, `(G),(G),(G)->(n)`.

    Args:
        features: the features.
        sizes: how many units each has, which would be named anew for every case.
        values: a value of each.

    >>> encode((Numeric("age", 20, 60), Categorical("channel", ("web", "phone"))), (1, 1), [50, "phone"])
    array([1. , 0.5, 1. ])
    """
    numbers = [1.0]
    for feature, size, value in zip(features, sizes, values, strict=True):
        own = feature.encode(value)
        if len(own) != size:
            expected = f"as many numbers as it has units, {size}"
            raise InvalidInput(f"{type(feature).__name__}({feature.name!r}).encode", expected, len(own))
        numbers += own
    return np.array(numbers)


def encode_all(
    features: tuple[Feature, ...], sizes: tuple[int, ...], columns: Sequence[list[object]], count: int
) -> Floats:
    """Return what `encode` returns for several cases, from the columns of their values, `->(N,n)`.

    >>> encode_all((Numeric("age", 20, 60), Categorical("channel", ("web", "phone"))), (1, 1), [[50], ["phone"]], 1)
    array([[1. , 0.5, 1. ]])
    """
    numbers, at = np.ones((count, 1 + sum(sizes))), 1
    for feature, size, values in zip(features, sizes, columns, strict=True):
        numbers[:, at : at + size] = _column(feature, size, values)
        at += size
    return numbers


def _column(feature: Feature, size: int, values: list[object]) -> Floats:
    """The numbers of many values of a feature, `->(N,size)`."""
    if type(feature) is Numeric and feature.is_double and set(map(type, values)) <= {float}:
        x: Floats = np.array(values, float)
        if np.isfinite(x).all():
            return feature.scaled(x)[:, None]
    if type(feature) is Categorical and set(map(type, values)) <= {str}:
        coded = {value: feature.encode(value) for value in set(values)}
        return np.array([coded[value] for value in values]).reshape(len(values), size)
    found = []
    for value in values:
        own = feature.encode(value)
        if len(own) != size:
            encode((feature,), (size,), [value])  # says what is wrong
        found.append(own)
    return np.array(found).reshape(len(values), size)


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{kind}.name", "the name of a feature", repr(name))
