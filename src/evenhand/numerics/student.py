"""Intervals of means by the t distribution."""

from __future__ import annotations

import math


def reach(se: float, freedom: float) -> float:
    """Compute how far the 95 % interval of a mean reaches to each side, NaN without a degree of freedom.

    Args:
        se: the standard error of the mean.
        freedom: the degrees of freedom of the standard error.

    >>> round(reach(1.0, 10.0), 3), reach(1.0, 0.0)
    (2.228, nan)
    """
    from scipy.special import stdtrit  # slow to import, and most runs have nothing to compare

    return float(stdtrit(freedom, 0.975)) * se if freedom > 0.0 else math.nan
