"""Whether one value of a column is so far from all others that it alone makes the scale of the column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.types import Floats
from evenhand.logs.bad_rows import BadRows
from evenhand.logs.checks.drawn import ERROR
from evenhand.logs.units import Units

_ROUNDING = 1e-9  # of a logarithm: closer ones are of values as far to either side


def alone(z: Floats) -> tuple[float, float] | None:
    """Return a value that outweighs all others, and the chance that a tail has one so far out; None without one.

    Equation: with the different distances d_1 > d_2 > ... from the median, i log(d_i / d_{i+1}) are independent and
    exponential with the same mean in the tail of any power law (Renyi 1953), and the first is smaller than the others
    in lighter tails. So the chance is (1 + E_1 / (E_2 + ... + E_{k+1}))^-k at most, for k the root of their number. A
    value is looked at if its rows have more than half of the variance.

    >>> alone(np.array([18.0, 30.0, 41.0, 44.0, 52.0, 69.0, 1e21]))[0], alone(np.array([1.0, 2.0, 4.0]))
    (1e+21, None)
    """
    middle, mean, variance = float(np.median(z)), float(z.mean()), float(z.var())
    end = float(max(z.max(), z.min(), key=lambda one: abs(one - middle)))
    if not np.count_nonzero(z == end) * (end - mean) ** 2 > 0.5 * len(z) * variance:
        return None
    far = np.unique(np.abs(z - middle))
    far = np.log(far[far > 0.0])[::-1]
    far = far[np.diff(far, prepend=np.inf) < -_ROUNDING]
    count = min(int(np.ceil(np.sqrt(len(far)))), len(far) - 2)
    if count < 1:
        return None
    spacings = np.arange(1, count + 2) * -np.diff(far[: count + 2])
    return end, float((1.0 + spacings[0] / spacings[1:].sum()) ** -count)


def scales(numbers: Mapping[str, Floats], stated: Mapping[str, object], coding: Units, bad: BadRows) -> str | None:
    """Say which value of a column is alone, with its row; None if there is none.

    Args:
        numbers: `(N)` by column, of usable rows, NaN if one is missing.
        stated: the columns whose range is stated, to which numbers are clipped.
        coding: of the features; other columns are known before acting.
        bad: which rows are usable.
    """
    for column, z in numbers.items():
        there = z[~np.isnan(z)]
        found = alone(there / max(float(np.abs(there).max(initial=0.0)), 1e-300)) if column not in stated else None
        if found is None or found[1] > ERROR / len(numbers):
            continue
        end = float(there.max() if found[0] > 0.0 else there.min())
        rows, others = np.flatnonzero(bad.good)[z == end], there[there != end]
        where = bad.columns.where(int(rows[0])) + f" and {len(rows) - 1:,} other rows" * (len(rows) > 1)
        told = ", or state its range in features.ranges, to which it is clipped" if column in coding.numeric else ""
        value, low, high = (coding.said(column, float(one)) for one in (end, others.min(), others.max()))
        return (
            f"{column!r} is {value} in {where}, and {low} to {high} elsewhere: it outweighs all other rows, and no "
            f"tail of theirs reaches so far; correct it{told}"
        )
    return None
