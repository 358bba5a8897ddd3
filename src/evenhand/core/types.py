"""Array types: leading axes are independent replicas, core axes come last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]  # of rows and actions, where there are very many
Bools = NDArray[np.bool_]
Texts = NDArray[np.str_]
