"""The numbers of a case's features, all at once: one call per feature took most of the time of a decision by names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from operator import itemgetter
from struct import pack_into
from typing import Any

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.problem.features import EXACT, Categorical, Feature, Numeric, encode

_PLAIN = frozenset((float, int, np.float64, np.int64))  # types of numbers that arrays hold as `float` does


def items(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads several items at once, as a tuple.

    >>> items(["age"])({"age": 20, "region": "north"})
    (20,)
    """
    if len(keys) > 1:
        return itemgetter(*keys)
    return partial(_each, tuple(keys))


def _each(keys: tuple[Any, ...], of: Any) -> tuple[Any, ...]:
    return tuple([of[key] for key in keys])


@kernel
def _scale(x: Floats, places: Ints, low: Floats, high: Floats, length: Floats, out: Floats) -> int:
    """Write numbers to their places, as `Numeric.encode` does, `(k),(k),(k),(k),(k)->(n)`.

    It returns how many are out of their range, -1 where one is not finite.
    """
    outside = 0
    for i in range(len(x)):
        if not abs(x[i]) < np.inf:
            return -1
        inside = min(max(x[i], low[i]), high[i])
        outside += inside != x[i]
        out[places[i]] = 2.0 * (inside - low[i]) / length[i] - 1.0
    return outside


@dataclass(frozen=True, eq=False)
class Coding:
    """Makes the numbers of a case as `features.encode` does.

    Args:
        features: of the case.
        sizes: how many units each has.

    >>> from evenhand.problem.features import Categorical, Numeric
    >>> coding = Coding((Numeric("age", 20, 60), Categorical("channel", ("web", "phone"))), (1, 1))
    >>> row = np.array([1.0, 0.0, 0.0])
    >>> coding.fill([50, "phone"], row), row
    (True, array([1. , 0.5, 1. ]))
    """

    features: tuple[Feature, ...]
    sizes: tuple[int, ...]

    def fill(self, values: Sequence[object], row: Floats) -> bool:
        """Write the numbers of all features behind an intercept, `(G)->(n)`; returns whether none counts as another.

        It may be False if none does. The row may be longer, and is 0 where numbers come.

        Raises:
            InvalidInput: a value that its feature cannot have.
        """
        if self._is_usual and (within := self._at_once(values, row)) is not None:
            return within
        row[: self._firsts[-1]] = encode(self.features, self.sizes, list(values))
        return False

    def _at_once(self, values: Sequence[object], row: Floats) -> bool | None:
        """Do as `fill`; None where values are not plain numbers and levels."""
        for i, levels in self._levels:
            value = values[i]
            place = levels.get(value) if type(value) is str else None
            if place is None:
                return None
            row[place] = 1.0  # the intercept's place, in which it is 1, for the first level
        read, form, places, low, high, length = self._ranges
        given = read(values)
        if not _PLAIN.issuperset(map(type, given)):
            return None
        numbers: Any = np.empty(len(given))
        try:
            pack_into(form, numbers, 0, *given)  # in a third of the time that `np.array` takes
        except OverflowError:
            return None
        outside = _scale(numbers, places, low, high, length, row)
        return outside == 0 if outside >= 0 else None

    @cached_property
    def _is_usual(self) -> bool:
        return len(self._numeric) + len(self._levels) == len(self.features)

    @cached_property
    def _firsts(self) -> list[int]:
        """The place of the first number of each feature."""
        return list(accumulate(self.sizes, initial=1))

    @cached_property
    def _numeric(self) -> dict[int, Numeric]:
        """The features that are numbers, with ends that arrays hold."""
        found = {i: f for i, f in enumerate(self.features) if type(f) is Numeric}
        return {i: f for i, f in found.items() if max(abs(f.low), abs(f.high)) < EXACT}

    @cached_property
    def _ranges(self) -> tuple[Callable[[Any], tuple[Any, ...]], str, Ints, Floats, Floats, Floats]:
        """What reads the numbers; their form in memory; their places, ends, and the lengths of their ranges, `(k)`."""
        places = np.array([self._firsts[i] for i in self._numeric], np.int64)
        low, high = np.array([(f.low, f.high) for f in self._numeric.values()], float).reshape(-1, 2).T.copy()
        read = items(list(self._numeric)) if self._levels else tuple  # of all values
        return read, f"{len(places)}d", places, low, high, high - low

    @cached_property
    def _levels(self) -> list[tuple[int, dict[str, int]]]:
        """Features with levels, and the places of these, 0 for the first."""
        found = []
        for i, (f, first) in enumerate(zip(self.features, self._firsts, strict=False)):
            if type(f) is Categorical and f.units:
                found.append((i, {level: first + k - 1 if k else 0 for k, level in enumerate(f.levels)}))
        return found
