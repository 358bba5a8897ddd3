"""The sums of measures over rounds, of outcomes that arrived and of true means."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem


@kernel
def _seen(plays: Ints, exposed: Bools, y: Floats, sure: Bools) -> Floats:
    """Outcomes that were seen of plays that were made, 0 elsewhere, `(P),(P),(P,m),(m)->(P,m)`."""
    seen = np.zeros(y.shape)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            for m in range(y.shape[2]):
                shown = plays[r, p] >= 0 and (len(exposed) == 0 or exposed[r, p] or sure[m])
                if shown and not np.isnan(y[r, p, m]):
                    seen[r, p, m] = y[r, p, m]
    return seen


@kernel
def _enter(values: Floats, counted: Floats, k: int, sums: Floats) -> bool:
    """Add the values of one measure where they count, `(),()->(k)`; False if one of these is not finite."""
    for r in range(len(values)):
        if counted[r] > 0.0:
            if not np.isfinite(values[r]):
                return False
            sums[r, k] += values[r]
    return True


class Meter:
    """The measures of a problem, of outcomes that were multiplied by their factors."""

    def __init__(self, problem: Problem, sure: Bools) -> None:
        """Read the measures of a problem; `sure` outcomes are due whether or not a play is exposed, `(M+B)`."""
        self._readings = [(m, m.on(problem)) for m in problem.measures]
        self._sure = sure

    def __bool__(self) -> bool:
        return bool(self._readings)

    def add(self, d: Decision, y: Floats, exposed: Bools, sums: Floats) -> None:
        """Add a decision's measures to the sums, if it counts, `(P,m),(P),(k)`; an empty mask is true everywhere.

        Raises:
            InvalidInput: a measure that does not give one finite number per replica.
        """
        seen = _seen(d.plays, exposed, y, self._sure)
        for k, (measure, reading) in enumerate(self._readings):
            values = np.asarray(reading(d.plays, seen), float)
            if values.shape != d.counted.shape or not _enter(values, d.counted, k, sums):
                expected = f"{len(seen)} finite numbers, one per replica"
                raise InvalidInput(f"{type(measure).__name__}.on", expected, values)
