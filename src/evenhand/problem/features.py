"""Named features of a case, and the numbers that models read in their place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import InvalidInput
from evenhand.core.levels import level_among, level_of
from evenhand.core.registry import suggestion
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, cached_property
from evenhand.core.validate import number
from evenhand.problem.hashes import Hashing, bucket, check_columns, is_hashed, level_text, reads
from evenhand.problem.row_layout import Packing, table

_DIGITS = 12  # of values that are computed from their numbers: the others are rounding
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
class Decodes(Protocol):
    """A feature whose values follow from their numbers."""

    def decode(self, numbers: Floats) -> Any:
        """Return the values that have some numbers, `(N,units)->(N)`."""


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

    def decode(self, numbers: Floats) -> Floats:
        """Return the values that have some numbers, to 12 digits, `(N,1)->(N)`.

        >>> Numeric("age", 18, 80).decode(np.array([Numeric("age", 18, 80).encode(44)])).tolist()
        [44.0]
        """
        digits = _DIGITS - math.ceil(math.log10(max(abs(self.low), abs(self.high))))
        return np.round(self.low + (numbers[:, 0] + 1.0) / 2.0 * (self.high - self.low), digits)

    def outside(self, value: Any) -> bool:
        """Return whether a number counts as the nearest end of the range."""
        return not self.low <= value <= self.high


@checked
@dataclass(frozen=True)
class Categorical:
    """One of several levels, such as a channel or a country.

    Equation: one number per level but the first, 1 where the value is this level and 0 elsewhere; the first level is
    what the intercept stands for. Where levels are `hashed`: 1 in one of so many columns, by a hash of the level.

    Args:
        name: by which cases state it.
        levels: all values, at least two; none where they are hashed.
        other: the level that stands in for values that are none of the levels; None refuses them.
        hashed: the number of columns for levels that are not stated, such as 2**18 for sites; see `docs/wide.md`.
            No text is refused then.

    Raises:
        InvalidInput: a name that is empty, fewer than two levels, levels that are not text or not all different, an
            `other` that is none of them, or levels beside `hashed`.

    >>> channel = Categorical("channel", ("web", "phone", "shop"), other="web")
    >>> channel.units, channel.encode("phone"), channel.encode("fax")
    (('channel=phone', 'channel=shop'), (1.0, 0.0), (0.0, 0.0))
    >>> Categorical("site", hashed=2**18).buckets("abc.com")
    (68391,)
    """

    name: str
    levels: tuple[str, ...] = ()
    other: str | None = None
    hashed: int | None = None

    def __post_init__(self) -> None:
        _check_name("Categorical", self.name)
        field = f"Categorical({self.name!r})"
        if self.hashed is not None:
            check_columns(f"{field}.hashed", self.hashed)
            if self.levels or self.other is not None:
                raise InvalidInput(f"{field}.levels", "no levels, as they are hashed", self.levels or self.other)
            return
        if isinstance(self.levels, str) or not all(isinstance(level, str) for level in self.levels):
            raise InvalidInput(f"{field}.levels", "a sequence of texts", repr(self.levels))
        object.__setattr__(self, "levels", tuple(self.levels))
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            expected = "at least two different levels, or hashed=2**18 in place of levels"
            raise InvalidInput(f"{field}.levels", expected, self.levels)
        if self.other is not None and self.other not in self.levels:
            raise InvalidInput(f"{field}.other", f"one of the levels {self.levels}, or None", repr(self.other))

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def at_most(self) -> int:
        return 1

    def buckets(self, *values: object) -> tuple[int, ...]:
        """Return the column of a level that is hashed."""
        (value,) = values
        return (bucket(self.name, level_text(self.name, value), self.hashed or 1),)

    def encode(self, value: object) -> tuple[float, ...]:
        if self.hashed is not None:
            level_text(self.name, value)
            return ()
        found = level_among(value, self.levels) or self.other
        if found is None or level_of(value) is None:
            raise InvalidInput(self.name, f"one of {self.levels}", f"{value!r}{suggestion(value, self.levels)}")
        return tuple([1.0 if found == level else 0.0 for level in self.levels[1:]])

    def decode(self, numbers: Floats) -> NDArray[np.object_]:
        """Return the levels that have some numbers, `(N,levels - 1)->(N)`.

        >>> Categorical("town", ("n", "s", "e")).decode(np.array([[0.0, 0.0], [0.0, 1.0]])).tolist()
        ['n', 'e']
        """
        return np.array(self.levels, object)[np.where(numbers.any(1), 1 + numbers.argmax(1), 0)]

    def outside(self, value: Any) -> bool:
        """Return whether a text counts as `other`."""
        return level_among(value, self.levels) is None


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


def decode(features: tuple[Feature, ...], numbers: Floats) -> dict[str, Any]:
    """Return the values of features by name from an intercept and their numbers, `(N,n)->`.

    A feature of your own without `decode` has a column for each of its units.

    >>> decode((Numeric("age", 20, 60), Categorical("channel", ("web", "phone"))), np.array([[1.0, 0.5, 1.0]]))
    {'age': array([50.]), 'channel': array(['phone'], dtype=object)}
    """
    found, at = dict[str, Any](), 1
    for feature in features:
        names = feature.units
        own = numbers[:, at : at + len(names)]
        columns = (
            {feature.name: feature.decode(own)} if isinstance(feature, Decodes) else zip(names, own.T, strict=True)
        )
        found |= columns
        at += len(names)
    return found


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


def packing_of(features: Sequence[Feature]) -> Packing | None:
    """Return the layout of packed rows; None where no feature is hashed, as rows are dense then."""
    hashed = tuple(f for f in features if isinstance(f, Hashing) and is_hashed(f))
    if not hashed:
        return None
    slots, names, at = list[tuple[int, int]](), list[str](), 1
    for feature in features:
        size = len(feature.units)
        width = size if isinstance(feature, Categorical) else 1  # of a slot
        own = [(start, start + width) for start in range(at, at + size, width or 1)]
        slots, names, at = slots + own, names + [feature.name] * len(own), at + size
    return Packing(tuple(slots), tuple(names), hashed)


def pack_all(
    features: tuple[Feature, ...], sizes: tuple[int, ...], packing: Packing, cases: Sequence[Mapping[str, object]]
) -> Floats:
    """Return the packed rows of several cases, `->(N,2k)`."""
    columns = {name: [case[name] for case in cases] for name in reads(features)}
    named = {f: n for f, n in zip(features, sizes, strict=True) if not is_hashed(f)}
    exact = encode_all(tuple(named), tuple(named.values()), [columns[f.name] for f in named], len(cases))
    return packing.rows(exact, [table(h, [columns[name] for name in h.reads]) for h in packing.hashed])


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{kind}.name", "the name of a feature", repr(name))
