"""How often a run locks in: plays as if it had learned nothing, because its first observations misled it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evenhand.core.types import Floats
from evenhand.experiments.experiment import Run
from evenhand.report.results import Measurement
from evenhand.run.trace import Trace

BASELINE = "uniform"  # the system above which gains are counted
LOCKED_IN = "locked in"


def locked_in(values: Floats, base: float) -> float:
    """The share of replicas whose gain over a baseline is below half of the mean gain; NaN where nothing is gained.

    >>> import numpy as np
    >>> locked_in(np.array([9.0, 9.5, 9.0, 5.1]), base=5.0)
    0.25
    """
    gain = values - base
    return float((gain < 0.5 * gain.mean()).mean()) if gain.mean() > 0.0 else math.nan


def lock_ins(runs: Sequence[Run], worth: Callable[[Trace], Floats]) -> list[Measurement]:
    """A measurement for each run of a point where the baseline was run as well, by the worth of each replica's end."""
    base = {tuple(case.at.items()): worth(t).mean() for case, t in runs if t and case.system == BASELINE}
    return [
        Measurement(
            case.system, case.at, LOCKED_IN, locked_in(worth(t), base[tuple(case.at.items())]), None, None, None
        )
        for case, t in runs
        if t and case.system != BASELINE and tuple(case.at.items()) in base
    ]
