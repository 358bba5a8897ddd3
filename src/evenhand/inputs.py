"""Numbers that a user hands in: floats where they can be used, one clear error where they cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

import numpy as np

from evenhand.errors import InvalidInput
from evenhand.types import Bools, Floats


def number(field: str, value: object, expected: str, holds: Callable[[float], bool] = math.isfinite) -> float:
    """A number of which something holds, as a float.

    Raises:
        InvalidInput: what is no number, or a number of which it does not hold.

    >>> number("beta", 1, "a finite number above 0", lambda x: math.isfinite(x) and x > 0)
    1.0
    """
    try:
        x = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:  # a whole number beyond all floats
        x = math.inf
    if not holds(x):
        raise InvalidInput(field, expected, value if isinstance(value, Real) else repr(value))
    return x


def numbers(
    field: str, values: object, m: int, expected: str, holds: Callable[[Floats], Bools] = np.isfinite
) -> Floats:
    """m numbers of which something holds, `->(m)`.

    Raises:
        InvalidInput: what are no numbers, such as text, not m of them, or one of which it does not hold.

    >>> numbers("weights", (1, 0.5), 2, "2 finite numbers")
    array([1. , 0.5])
    """
    try:
        given = np.array(values)
        x = np.array(given, float) if given.dtype.kind in "biufO" else np.array(math.nan)  # text is no number
    except (TypeError, ValueError, OverflowError):
        x = np.array(math.nan)
    if x.shape != (m,) or not holds(x).all():
        raise InvalidInput(field, expected, repr(values) if isinstance(values, str) else values)
    return x
