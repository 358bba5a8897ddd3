"""Checks of user input: a usable value, or one clear error that names the field."""

from __future__ import annotations

import math
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from evenhand.core.errors import EvenhandError, InvalidInput, MissingFile
from evenhand.core.registry import suggestion
from evenhand.core.types import Bools, Floats, Ints

EXACT = 2**53  # whole numbers up to this are the same as floats
MOST = 10**7  # replicas
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6  # of what is taught: beyond them, sums of weighted observations lose the others
_FOLDER = "a folder, or the name of one that can be made"
LARGEST = 1e100  # the largest feature or outcome: sums of squares of such numbers stay finite


def number(field: str, value: object, expected: str, holds: Callable[[float], bool] = math.isfinite) -> float:
    """Return a number for which `holds` is true, as a float.

    Raises:
        InvalidInput: the value is not a number, or the condition does not hold for it.

    >>> number("share", 1, "a number in [0, 1]", lambda x: 0 <= x <= 1)
    1.0
    """
    try:
        x = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:  # an integer too large for a float
        x = math.inf
    if not holds(x):
        raise InvalidInput(field, expected, value if isinstance(value, Real) else repr(value))
    return x


def positive(field: str, value: object) -> float:
    """Return a finite number above 0, as a float.

    >>> positive("beta", 1)
    1.0
    """
    return number(field, value, "a finite number above 0", lambda x: 0.0 < x < math.inf)


def nonnegative(field: str, value: object) -> float:
    """Return a finite number of at least 0, as a float.

    >>> nonnegative("margin", 0)
    0.0
    """
    return number(field, value, "a finite number of at least 0", lambda x: 0.0 <= x < math.inf)


def as_weight(field: str, value: object) -> float:
    """Return a weight: the number of observations that one counts for.

    Raises:
        InvalidInput: a number that is not within 1e-6 and 1e6.

    >>> as_weight("log_weight", 0.05)
    0.05
    """
    expected = f"a number in [{LEAST_WEIGHT:g}, {MOST_WEIGHT:g}]"
    return number(field, value, expected, lambda x: LEAST_WEIGHT <= x <= MOST_WEIGHT)


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


def indices(field: str, value: int | Sequence[int] | Ints) -> Ints:
    """Return the numbers from 0 on for a count, or those of a list, `->(n)`.

    Raises:
        InvalidInput: fewer than one or more than `MOST`, or numbers that are not whole, below 0 or there twice.

    >>> indices("replicas", 3), indices("replicas", [4, 1])
    (array([0, 1, 2]), array([4, 1]))
    """
    count = int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
    if count is not None and count > MOST:
        raise InvalidInput(field, f"at most {MOST:,}", count)
    try:
        ids = np.array(value) if count is None else np.arange(count)
    except ValueError:  # lists of different lengths
        ids = np.zeros(0)
    if ids.ndim != 1 or len(ids) < 1 or ids.dtype.kind not in "iu" or (ids < 0).any():
        raise InvalidInput(field, "at least one, numbered from 0", repr(value) if isinstance(value, str) else value)
    found, times = np.unique(ids, return_counts=True)
    if len(found) < len(ids):
        raise InvalidInput(field, "numbers that differ from each other", f"{found[times.argmax()]} twice")
    return ids.astype(np.int64)


def whole(field: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`.

    >>> whole("rounds", 3, 1)
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(field, f"a whole number of at least {least}", value)


def counts(part: object, least: Mapping[str, int]) -> None:
    """Refuse fields of a part that are not whole numbers of at least `least`, by name."""
    for name, lowest in least.items():
        whole(f"{type(part).__name__}.{name}", getattr(part, name), lowest)


def one_of(field: str, value: object, names: tuple[str, ...]) -> None:
    """Refuse anything but one of `names`.

    >>> one_of("on", "observed", ("observed", "optimistic"))
    """
    if value not in names:
        raise InvalidInput(field, f"one of {names}", f"{value!r}{suggestion(value, names)}")


def file(field: str, path: object) -> Path:
    """Return the path of a file or folder.

    Raises:
        InvalidInput: something other than a text or a path.

    >>> file("out", "results").name
    'results'
    """
    if isinstance(path, str | os.PathLike) and "\0" not in str(path):
        return Path(path)
    got = repr(path) if isinstance(path, str | os.PathLike) else path
    raise InvalidInput(field, "the path of a file or folder", got)


@contextmanager
def on_disk(field: str, expected: str) -> Iterator[None]:
    """Turn an error of the operating system into an `InvalidInput` that names the file or folder."""
    try:
        yield
    except EvenhandError:  # some are errors of the operating system too, and say what is wrong
        raise
    except FileNotFoundError as error:
        where = "" if error.filename is None or str(error.filename) == field else f": {error.filename}"
        raise MissingFile(field, expected, f"{error.strerror or error}{where}") from error
    except OSError as error:
        raise InvalidInput(field, expected, error.strerror or error) from error


def wrong(checks: Iterable[Callable[[], object]]) -> InvalidInput | None:
    """Return one error for all fields that checks refuse, None if they refuse none.

    >>> str(wrong([lambda: positive("a", 0), lambda: positive("b", 1), lambda: positive("c", -1)]))
    'a: expected a finite number above 0, got 0; c: expected a finite number above 0, got -1'
    """
    found: dict[str, InvalidInput] = {}
    for check in checks:
        try:
            check()
        except InvalidInput as error:
            found.setdefault(error.field, error)
    if not found:
        return None
    first, *others = found.values()
    first.others = tuple(others)
    return first


def picklable(field: str, build: object) -> None:
    """Refuse a function that cannot be sent to other processes, such as a lambda or an inner function."""
    try:
        pickle.dumps(build)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        expected = "a function of a module rather than a lambda, where runs are divided among processes"
        raise InvalidInput(field, expected, repr(build)) from error


def folder(path: Path) -> Path:
    """Create a folder for results.

    Raises:
        InvalidInput: the folder cannot be created or written to, or is a file.
    """
    with on_disk("out", _FOLDER):
        path.mkdir(parents=True, exist_ok=True)
    return writable(path)


def writable(path: Path) -> Path:
    """Check, before the work starts, that a folder for results can be created and written to; nothing is left there.

    Raises:
        InvalidInput: the folder cannot be created or written to, or is a file.

    >>> place = Path(tempfile.mkdtemp()) / "of" / "results"
    >>> writable(place).exists(), writable(folder(place)).exists()
    (False, True)
    """
    with on_disk("out", "a folder that can be written to" if os.path.isdir(path) else _FOLDER):
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        with tempfile.TemporaryFile(dir=there):
            return path
