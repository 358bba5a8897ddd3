"""The measurements and the table that all figures share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evenhand.core.types import Floats
from evenhand.experiments.allocation.standards import Standards
from evenhand.experiments.experiment import Point, Run
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.trace import Trace

SATISFACTION, MATCHES, REALISED = "satisfaction", "matches", "satisfaction, realised"
TO_REFERENCE, TO_BOUND = "/ reference", "/ bound"
REFERENCE, ORACLE, BOUND = "reference: the routine, true parameter", "our oracle, true parameter", "upper bound"


def mean_satisfaction(trace: Trace) -> Floats:
    """Compute the average satisfaction per round at the true means, at every point, `->(G,R)`."""
    whole = trace.in_expectation()
    assert whole is not None  # every world here has a truth
    return whole.average("satisfaction")


def mean_matches(trace: Trace) -> Floats:
    """Compute the average realised matches per round, `->(G,R)`."""
    return trace.average("match")


def measurements(runs: Sequence[Run], standards: Callable[[Point], Standards | None]) -> Iterator[Measurement]:
    """Yield all measurements of systems at the end, and of the standards where they are known."""
    for case, trace in runs:
        assert trace is not None  # nothing here is refused
        own = mean_satisfaction(trace)[-1]
        yield Measurement.of(case.system, case.at, SATISFACTION, own, worst="low")
        known = standards(case.at)
        if known is not None:
            yield Measurement.of(case.system, case.at, TO_REFERENCE, own / known.reference, worst="low")
            yield Measurement.of(case.system, case.at, TO_BOUND, own / known.bound, worst="low")
        yield Measurement.of(case.system, case.at, MATCHES, mean_matches(trace)[-1], worst="low")
        yield Measurement.of(case.system, case.at, REALISED, trace.average("satisfaction")[-1], worst="low")
    for at in _points(runs):
        known = standards(at)
        if known is not None:
            for name, values in ((REFERENCE, known.reference), (ORACLE, known.ours), (BOUND, known.bound)):
                yield Measurement.of(name, at, SATISFACTION, values, worst="low")
                yield Measurement.of(name, at, TO_REFERENCE, values / known.reference, worst="low")
                yield Measurement.of(name, at, TO_BOUND, values / known.bound, worst="low")


def summary(results: Results, at: Point) -> str:
    """Format one line per system: satisfaction with its band and worst replica, both ratios, and matches."""
    rows = [r for r in results.rows if r.at == at]
    lines = []
    for system in dict.fromkeys(r.system for r in rows):
        found = {r.metric: r for r in rows if r.system == system}
        s = found[SATISFACTION]
        cells = [system, number(s.mean, 3), number(None if s.se is None else 2.0 * s.se, 3), number(s.worst, 3)]
        for metric, digits in ((TO_REFERENCE, 4), (TO_BOUND, 4), (MATCHES, 3)):
            cells.append(number(found[metric].mean if metric in found else None, digits))
        lines.append(cells)
    return table(["system", SATISFACTION, "± 2 se", "worst", TO_REFERENCE, TO_BOUND, MATCHES], lines)


def _points(runs: Sequence[Run]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for run in runs:
        if dict(run.case.at) not in found:
            found.append(dict(run.case.at))
    return found
