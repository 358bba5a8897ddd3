"""Sums of products of rows: many rows for each time that a sum is read, with the bits of one row after another."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats

_NEAR = 64  # rows of 1,000 numbers that a core keeps at hand


@inlined
def subtract_rows(rows: Floats, count: int, by: Floats, line: Floats, first: int, last: int) -> None:
    """Subtract the first rows times a number each from some numbers of a line, `(k,n),(),(k),(n),(),()`."""
    whole = count - count % 4
    for k in range(0, whole, 4):
        a, b, c, d = by[k], by[k + 1], by[k + 2], by[k + 3]
        for i in range(first, last):
            half = (line[i] - rows[k, i] * a) - rows[k + 1, i] * b
            line[i] = (half - rows[k + 2, i] * c) - rows[k + 3, i] * d
    for k in range(whole, count):
        a = by[k]
        for i in range(first, last):
            line[i] -= rows[k, i] * a


@kernel
def add_products(rows: Floats, amount: Floats, out: Floats) -> None:
    """Add the products of rows with themselves, times an amount each, to a lower half, `(k,n),(k)->(n,n)`."""
    (count, n), by = rows.shape, np.empty(_NEAR)
    for first in range(0, count, _NEAR):
        some = rows[first : first + _NEAR]
        for i in range(n):
            for k in range(len(some)):
                by[k] = -(amount[first + k] * some[k, i])
            subtract_rows(some, len(some), by, out[i], 0, i + 1)
