"""Arrays that kernels can read."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools

NUMBERS = frozenset(np.dtype(kind) for kind in "?bBhHiIlLqQfd")  # types of arrays that kernels can read

EVERYWHERE = np.zeros((0, 0, 0), bool)  # to kernels, a mask of outcomes that is true everywhere
EVERY_PLAY = np.zeros((0, 0), bool)  # and one of plays
NOTHING = np.zeros((0, 0, 0), bool)  # what was not observed, where everything was


def readable(field: str, z: object, kinds: str = "iufb") -> np.ndarray[Any, Any]:
    """Return an array that kernels can read, converted where that changes no number.

    Other byte orders and half precision are converted; numbers with more than 64 bits are not.

    Args:
        field: its name, for messages.
        z: as it was given.
        kinds: the kinds of its type, as numpy abbreviates them.
    """
    if not isinstance(z, np.ndarray) or isinstance(z, np.ma.MaskedArray):
        raise InvalidInput(field, "an array", type(z).__name__)
    if z.dtype.kind not in kinds or z.dtype.itemsize > 8:
        expected = "numbers" if "f" in kinds else "whole numbers" if "i" in kinds else "true or false"
        raise InvalidInput(field, expected, z.dtype)
    if z.dtype not in NUMBERS:
        z = z.astype(np.float64 if z.dtype.itemsize == 2 and z.dtype.kind == "f" else z.dtype.newbyteorder("="))
    return np.asarray(z)


def mask(name: str, given: Bools, shape: tuple[int, ...]) -> None:
    """Refuse anything but an array of true and false of this shape."""
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        raise InvalidInput(name, "an array", type(given).__name__)
    if given.shape != shape or given.dtype.kind != "b":
        raise InvalidInput(name, f"true or false, of shape {shape}", f"{given.dtype} of shape {given.shape}")
