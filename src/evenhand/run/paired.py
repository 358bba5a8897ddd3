"""Differences between policies by pairs of replicas, which met the same contexts and luck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.numerics.student import reach
from evenhand.report.summary import standard_error
from evenhand.run.trace import Trace


class Paired(NamedTuple):
    """A quantity of a policy minus that of the first one, over replicas.

    The interval is that of the t distribution at 95 %, for other seeds of the same world. It and the standard error are
    NaN with a single replica.
    """

    policy: str
    beyond: str  # the first policy
    name: str  # the quantity
    mean: float
    se: float
    low: float
    high: float
    worst: float  # the replica in which it compares worst with the first policy

    @staticmethod
    def of(policy: str, beyond: str, name: str, values: Floats, worst: Literal["low", "high"]) -> Paired:
        """Summarise one difference per replica.

        >>> p = Paired.of("mine", "theirs", "reward", np.array([0.1, 0.2, 0.3]), "low")
        >>> round(p.se, 4), round(p.low, 4), p.worst
        (0.0577, -0.0484, 0.1)
        """
        mean, se, n = float(values.mean()), standard_error(values), len(values)
        half = reach(se, n - 1)
        extreme = float(values.min() if worst == "low" else values.max())
        return Paired(policy, beyond, name, mean, se, mean - half, mean + half, extreme)


def paired(traces: Sequence[Trace]) -> Iterator[Paired]:
    """Compare every finished trace with the first one: all quantities at the end that both have.

    A run that was interrupted is left out, as its replicas met rounds other than those of the first.
    """
    from evenhand.report.quantities import quantities  # reports only when asked for one

    if not traces or not traces[0].finished:
        return
    first = {q.name: q.value(traces[0])[-1] for q in quantities(traces[0])}
    for trace in traces[1:]:
        for q in quantities(trace) if trace.finished else ():
            if q.name in first:
                with np.errstate(invalid="ignore"):  # an infinite value, as of a cost without a sale
                    values = np.asarray(q.value(trace)[-1] - first[q.name])
                yield Paired.of(trace.policy, traces[0].policy, q.name, values, q.worst)
