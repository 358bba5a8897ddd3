"""Checks of user input: a usable value, or one clear error that names the field."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from numbers import Integral, Real

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints

LARGEST = 1e100  # the largest feature or outcome: sums of squares of such numbers stay finite


def number(field: str, value: object, expected: str, holds: Callable[[float], bool] = math.isfinite) -> float:
    """Return a number for which `holds` is true, as a float.

    Raises:
        InvalidInput: the value is not a number, or the condition does not hold for it.

    >>> number("beta", 1, "a finite number above 0", lambda x: math.isfinite(x) and x > 0)
    1.0
    """
    try:
        x = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:  # an integer too large for a float
        x = math.inf
    if not holds(x):
        raise InvalidInput(field, expected, value if isinstance(value, Real) else repr(value))
    return x


def numbers(
    field: str, values: object, m: int, expected: str, holds: Callable[[Floats], Bools] = np.isfinite
) -> Floats:
    """Return m numbers for which `holds` is true, `->(m)`.

    Raises:
        InvalidInput: values that are not numbers, not m of them, or one for which the condition does not hold.

    >>> numbers("weights", (1, 0.5), 2, "2 finite numbers")
    array([1. , 0.5])
    """
    try:
        given = np.array(values)
        x = np.array(given, float) if given.dtype.kind in "biufO" else np.array(math.nan)  # text is not a number
    except (TypeError, ValueError, OverflowError):
        x = np.array(math.nan)
    if x.shape != (m,) or not holds(x).all():
        raise InvalidInput(field, expected, repr(values) if isinstance(values, str) else values)
    return x


def numbered(field: str, value: int | Sequence[int] | Ints) -> Ints:
    """Numbers from 0 on for a count, or those of a list, `->(n)`.

    Raises:
        InvalidInput: fewer than one, or numbers that are not whole or below 0.

    >>> numbered("replicas", 3), numbered("replicas", [4, 1])
    (array([0, 1, 2]), array([4, 1]))
    """
    ids = np.arange(value) if isinstance(value, int | np.integer) else np.array(value)
    if ids.ndim != 1 or len(ids) < 1 or ids.dtype.kind not in "iu" or (ids < 0).any():
        raise InvalidInput(field, "at least one, numbered from 0", value)
    return ids.astype(np.int64)


def whole(field: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`.

    >>> whole("rounds", 3, 1)
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(field, f"a whole number of at least {least}", value)


def one_of(field: str, value: object, names: tuple[str, ...]) -> None:
    """Refuse anything but one of `names`.

    >>> one_of("on", "observed", ("observed", "optimistic"))
    """
    if value not in names:
        raise InvalidInput(field, f"one of {names}", repr(value))


def picklable(field: str, build: object) -> None:
    """Refuse a function that other processes cannot be told of.

    Raises:
        InvalidInput: a lambda or an inner function.
    """
    try:
        pickle.dumps(build)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        expected = "a function of a module rather than a lambda, where runs are divided among processes"
        raise InvalidInput(field, expected, repr(build)) from error
