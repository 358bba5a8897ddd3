"""Types of arrays, whose leading axes are independent replicas and core axes come last; and of cached properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ints", "Places", "Texts", "cached_property"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]  # of rows and actions, where there are very many
Bools = NDArray[np.bool_]
Texts = NDArray[np.str_]

if TYPE_CHECKING:  # as Pyright refuses a cached property where a protocol has a property
    from builtins import property as cached_property
else:
    from functools import cached_property
