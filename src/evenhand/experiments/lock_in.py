"""Measures lock-in: runs that gain little because their first observations misled them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evenhand.core.types import Floats
from evenhand.experiments.experiment import Run
from evenhand.report.results import Measurement
from evenhand.run.trace import Trace

BASELINE = "uniform"  # the system that gains are relative to
LOCKED_IN = "locked in"


def lock_in_share(values: Floats, base: float) -> float:
    """Compute the share of replicas whose gain over a baseline is below half of the mean gain; NaN without a gain.

    >>> import numpy as np
    >>> lock_in_share(np.array([9.0, 9.5, 9.0, 5.1]), base=5.0)
    0.25
    """
    gain = values - base
    return float((gain < 0.5 * gain.mean()).mean()) if gain.mean() > 0.0 else math.nan


def lock_ins(runs: Sequence[Run], worth: Callable[[Trace], Floats]) -> list[Measurement]:
    """Measure lock-in for each run whose point also has a baseline, by the final worth of each replica."""
    base = {tuple(case.at.items()): worth(t).mean() for case, t in runs if t and case.system == BASELINE}
    return [
        Measurement(case.system, case.at, LOCKED_IN, lock_in_share(worth(t), base[tuple(case.at.items())]))
        for case, t in runs
        if t and case.system != BASELINE and tuple(case.at.items()) in base
    ]
