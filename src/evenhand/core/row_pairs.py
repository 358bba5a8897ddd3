"""Packed rows: the few features of a case that are not 0, out of very many columns; and rows of a case by action."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from evenhand.core.types import Floats


class Packed(NamedTuple):
    """The size of packed rows.

    A row is 2 * pairs floats: [index_1, value_1, index_2, value_2, ...]. Index 0 is the intercept, whose value is 1. A
    pair that is not used is (0, 0.0); the indices of all others differ.

    Args:
        columns: how many coefficients there are: indices are below it.
        pairs: of every row.
    """

    columns: int
    pairs: int


class CaseRows(NamedTuple):
    """The size of rows that have the number of an action, and then the numbers of its case."""

    numbers: int


Size: TypeAlias = int | Packed | CaseRows  # of what is known of a candidate: an ordinary row has a number of features


def unpack(rows: Floats, columns: int) -> Floats:
    """Return packed rows as dense ones, `(...,2k)->(...,d)`.

    >>> unpack(np.array([0.0, 1.0, 2.0, 0.5, 0.0, 0.0]), 4).tolist()
    [1.0, 0.0, 0.5, 0.0]
    """
    flat = rows.reshape(-1, rows.shape[-1])
    dense = np.zeros((len(flat), columns))
    np.add.at(dense, (np.arange(len(flat))[:, None], flat[:, ::2].astype(np.int64)), flat[:, 1::2])
    return dense.reshape(*rows.shape[:-1], columns)
