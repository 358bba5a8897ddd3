"""Columns of a log in few bytes, which are written out when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.types import Floats, Texts
from evenhand.replay.columns import Names

_KINDS = (np.int8, np.int16, np.float32)


class Packed(Mapping[str, "Floats | Texts"]):
    """Columns by name: texts once each, and numbers in the fewest bytes that hold them exactly.

    Args:
        each: by name, numbers `(N)` or names.

    >>> columns = Packed({"age": np.array([30.0, 41.0]), "town": Names.of(["Ulm", "Bonn"])})
    >>> columns["age"].tolist(), columns["town"].tolist(), columns.size
    ([30.0, 41.0], ['Ulm', 'Bonn'], 4)
    """

    def __init__(self, each: Mapping[str, Floats | Names]) -> None:
        self._texts = {name: np.array(column.values) for name, column in each.items() if isinstance(column, Names)}
        self._held = {name: _codes(z) if isinstance(z, Names) else _few(z) for name, z in each.items()}

    def __getitem__(self, name: str) -> Floats | Texts:
        held = self._held[name]
        return self._texts[name][held] if name in self._texts else held.astype(float)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        """The bytes of all rows."""
        return sum(held.nbytes for held in self._held.values())


def _codes(names: Names) -> NDArray[Any]:
    return names.codes.astype(np.min_scalar_type(max(len(names.values) - 1, 0)))


def _few(z: Floats) -> NDArray[Any]:
    """Return numbers in the first kind that gives back the same bits, `(N)->(N)`."""
    z = np.ascontiguousarray(z)
    for kind in _KINDS:
        if _same(z[:1000], kind) and _same(z, kind):
            return z.astype(kind)
    return z.copy()  # as what it is a part of may be large


def _same(z: Floats, kind: type) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.array_equal(z.astype(kind).astype(float).view(np.int64), z.view(np.int64))
