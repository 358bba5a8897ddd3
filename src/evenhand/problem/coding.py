"""The numbers of a case's features, all at once: one call per feature took most of the time of a decision by names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.problem.features import EXACT, Categorical, Feature, Numeric, Ranged, encode

_PLAIN = frozenset((float, int, np.float64, np.int64))  # types of numbers that arrays hold as `float` does


class _Ranges(NamedTuple):
    """The ranges of several numbers, and their places among the numbers of a case, `(k)`."""

    read: Callable[[Any], tuple[Any, ...]]
    places: Ints
    low: Floats
    high: Floats
    length: Floats


def items(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads several items at once, as a tuple.

    >>> items(["age"])({"age": 20, "region": "north"})
    (20,)
    """
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda of: tuple([of[key] for key in keys])


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
    >>> coding.numbers([50, "phone"])
    (array([1. , 0.5, 1. ]), True)
    """

    features: tuple[Feature, ...]
    sizes: tuple[int, ...]

    def numbers(self, values: Sequence[object]) -> tuple[Floats, bool]:
        """Return an intercept and the numbers of all features, and whether no value counts as another one, `(G)->(n)`.

        The latter may be False if none does.

        Raises:
            InvalidInput: a value that its feature cannot have.
        """
        found = self._blank.copy()
        for i, places in self._levels:
            value = values[i]
            place = places.get(value) if type(value) is str else None
            if place is None:
                return self._one_by_one(values)
            if place > 0:  # not the first level
                found[place] = 1.0
        for i, first, end in self._others:
            own = self.features[i].encode(values[i])
            if len(own) != end - first:
                return self._one_by_one(values)  # says what is wrong
            found[first:end] = own
        return self._with_numbers(values, found)

    def _with_numbers(self, values: Sequence[object], found: Floats) -> tuple[Floats, bool]:
        """Fill in what is a number."""
        if self._ranges is None:
            return found, self._is_told
        read, places, low, high, length = self._ranges
        given = read(values)
        if not _PLAIN.issuperset(map(type, given)):
            return self._one_by_one(values)
        try:
            outside = _scale(np.array(given, float), places, low, high, length, found)
        except OverflowError:
            return self._one_by_one(values)
        if outside < 0:
            return self._one_by_one(values)
        return found, outside == 0 and self._is_told

    def _one_by_one(self, values: Sequence[object]) -> tuple[Floats, bool]:
        return encode(self.features, self.sizes, list(values)), False

    @cached_property
    def _firsts(self) -> list[int]:
        """The place of the first number of each feature."""
        return list(accumulate(self.sizes[:-1], initial=1)) if self.sizes else []

    @cached_property
    def _blank(self) -> Floats:
        return np.append(1.0, np.zeros(sum(self.sizes)))

    @cached_property
    def _plain(self) -> list[int]:
        """The features that are numbers, with ends that arrays hold."""
        found = [(i, f) for i, f in enumerate(self.features) if type(f) is Numeric]
        return [i for i, f in found if max(abs(f.low), abs(f.high)) < EXACT]

    @cached_property
    def _ranges(self) -> _Ranges | None:
        if not self._plain:
            return None
        low, high = (np.array([getattr(self.features[i], end) for i in self._plain], float) for end in ("low", "high"))
        places = np.array([self._firsts[i] for i in self._plain])
        return _Ranges(items(self._plain), places, low, high, high - low)

    @cached_property
    def _levels(self) -> list[tuple[int, dict[str, int]]]:
        """Features with levels, and the places of these, 0 for the first."""
        found = []
        for i, (f, first) in enumerate(zip(self.features, self._firsts, strict=True)):
            if type(f) is Categorical and f.units:
                found.append((i, {level: first + k - 1 if k else 0 for k, level in enumerate(f.levels)}))
        return found

    @cached_property
    def _others(self) -> list[tuple[int, int, int]]:
        """All other features, and where their numbers begin and end."""
        known = {*self._plain, *(i for i, _ in self._levels)}
        ends = zip(self._firsts, self.sizes, strict=True)
        return [(i, first, first + size) for i, (first, size) in enumerate(ends) if i not in known]

    @cached_property
    def _is_told(self) -> bool:
        """Whether it is known of all values if they count as others."""
        return not any(isinstance(self.features[i], Ranged) for i, _, _ in self._others)
