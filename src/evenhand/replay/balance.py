"""Which columns depend on the action, so that they cannot have been known before."""

from __future__ import annotations

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.replay.columns import Columns, Names
from evenhand.replay.looks import Look, is_gap

_SURE = 1e-6  # the chance of such a difference, if there were none
_ERRORS = 4.0  # standard errors that chance is allowed
_NEAR = 1e-6  # the error of probabilities by rounding
_PARTS = 10  # into which numbers are divided


def unbalanced(columns: Columns, action: Names, found: tuple[Look, ...], decimal: str, rows: Ints) -> list[str]:
    """Return the names of the columns that depend on the action, by chi-squared tests of some rows' values."""
    return [look.name for look in found if _depends(_parts(columns, look, decimal)[rows], action.codes[rows])]


def stated_under(columns: Columns, action: Names, found: tuple[Look, ...]) -> dict[str, list[str]]:
    """Return the actions under which columns have values, for those that have none under others.

    The minutes of a call are an example. Columns that are so often empty that chance may explain it are not among them.
    """
    rows = np.bincount(action.codes, minlength=len(action.values))
    some: dict[str, list[str]] = {}
    for look in found:
        names = columns.names(look.name)
        empty = names.are(tuple(filter(is_gap, names.values)))
        there = np.bincount(action.codes[~empty], minlength=len(action.values))
        never = (there == 0) & (empty.mean() ** rows < _SURE)
        if never.any() and there.any():
            some[look.name] = sorted(action.values[a] for a in np.flatnonzero(there))
    return some


def drawn_by(columns: Columns, action: str, chances: str, decimal: str) -> bool:
    """Whether a column may be what was drawn with the probabilities of another.

    Equation: mean_i 1[a_i = a] / p_i is 1 for every action a that can always be drawn, up to four standard errors.
    """
    names, p = columns.names(action), columns.names(chances).numbers(decimal)
    there = np.flatnonzero(p > 0.0)
    w, count = 1.0 / p[there], len(names.values)
    sums, squares = (np.bincount(names.codes[there], z, count) for z in (w, w**2))
    used = sums > 0.0
    mean = sums[used] / len(there)
    se = np.sqrt((squares[used] / len(there) - mean**2) / len(there))
    return bool((np.abs(mean - 1.0) <= _ERRORS * se + _NEAR).all())


def _parts(columns: Columns, look: Look, decimal: str) -> Ints:
    """Divide the rows by the values of a column: names as they are, numbers by their size."""
    names = columns.names(look.name)
    if look.kind != "number" or len(look.values) <= _PARTS:
        return names.codes
    z = names.numbers(decimal)
    ends = np.nanquantile(z, np.linspace(0, 1, _PARTS + 1)[1:-1])
    return np.where(np.isnan(z), _PARTS, np.searchsorted(ends, np.nan_to_num(z), side="right"))


def _depends(parts: Ints, actions: Ints) -> bool:
    counts = np.zeros((int(parts.max()) + 1, int(actions.max()) + 1))
    np.add.at(counts, (parts, actions), 1.0)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    if min(counts.shape) < 2:
        return False
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    return chance(counts, expected, (counts.shape[0] - 1) * (counts.shape[1] - 1)) < _SURE


def chance(counts: Floats, expected: Floats, freedom: int) -> float:
    """Return the p-value of the difference of counts from what is expected, by the chi-squared distribution.

    >>> round(chance(np.array([60.0, 40.0]), np.array([50.0, 50.0]), 1), 4)
    0.0455
    """
    from scipy.special import chdtrc  # slow to import

    return float(chdtrc(freedom, ((counts - expected) ** 2 / expected).sum()))
