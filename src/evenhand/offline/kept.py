"""Whether a policy keeps to the constraints of a problem, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from math import isnan
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.offline.events import scaled
from evenhand.offline.evidence import Evidence
from evenhand.offline.scores import Average, Estimate
from evenhand.problem.constraints import Stated
from evenhand.problem.constraints.base import relative
from evenhand.problem.rows import Rows
from evenhand.replay.clusters import Clusters

_ROUNDING = 1e-9
_LEAST_CASES = 2.0  # effective cases of learned outcomes, below which no error is known
_LEAST = 1e-300  # above 0, where limit and value are 0


class Kept(NamedTuple):
    """A constraint under a policy."""

    constraint: str
    row: str  # the row of it that is kept least surely, such as that of a group
    used: Estimate  # of this row, per case of the log
    limit: float
    side: str  # "at most" or "at least"
    confidence: float  # that the constraint holds in the population: of several rows, that all do, at least


def kept(
    evidence: Evidence, amounts: Callable[[str], Floats], w: Floats, guesses: Set[str] = frozenset[str]()
) -> Iterator[Kept]:
    """Yield every constraint that rows describe, of a policy with some amounts by outcome and weights, `(N)` each.

    Of outcomes that are guesses no error is known, so that a constraint which reads them has a confidence of NaN. So
    has one that reads amounts of too few rows. A row that reads one outcome of two values is a share.

    Equation: the confidence is that of the one-sided interval of a row's estimate which ends at its bound. Of several
    rows it is 1 - sum (1 - confidence), at least 0. The average of a group is that of its rows in the log, whose number
    is taken as random.
    """
    for s in evidence.problem.stated:
        if s.region is not None:
            continue
        ratio = relative(s.constraint) is not None  # whose row is a difference, at most 0
        sign, side = (-1.0, "at least") if s.constraint.worst == "low" and not ratio else (1.0, "at most")
        rows = []
        for j, (name, bound) in enumerate(zip(s.rows.names, s.bound.tolist(), strict=True)):
            estimate = _row(evidence, s, j, amounts, w, guesses)
            rows.append((sure(estimate, bound), _room(estimate, bound), name, estimate, bound))
        if not rows:
            continue
        least_sure, _, name, used, bound = min(rows, key=lambda row: (not isnan(row[0]), *row[:3]))
        joint = float(np.maximum(0.0, 1.0 - sum(1.0 - row[0] for row in rows)))
        label = name if ratio else s.constraint.label.removesuffix(f", {side}")
        yield Kept(
            label,
            name,
            used if sign > 0.0 else used.negative(),
            sign * bound,
            side,
            joint if len(rows) > 1 else least_sure,
        )


def unjudged(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each constraint that rows do not describe."""
    for s in evidence.problem.stated:
        if s.region is not None:
            yield f"whether policies keep to it is not said of: {s.constraint.label}"


def sure(estimate: Estimate, bound: float) -> float:
    """Return the confidence that a value is at most a bound; 0 or 1 where nothing is left to chance."""
    if estimate.events is None and estimate.se <= _ROUNDING * max(abs(bound), abs(estimate.value)):
        return float(bound - estimate.value >= -_ROUNDING * max(abs(bound), abs(estimate.value)))
    return estimate.below(bound)


def _room(estimate: Estimate, bound: float) -> float:
    """Return how many standard errors are left to a bound, which orders what is as sure."""
    return (bound - estimate.value) / max(estimate.se, _ROUNDING * max(abs(bound), abs(estimate.value)), _LEAST)


def _row(
    evidence: Evidence, s: Stated, j: int, amounts: Callable[[str], Floats], w: Floats, guesses: Set[str]
) -> Estimate:
    """Return the estimate of a row of a constraint, as `problem.rows` states it."""
    p, rows, clusters = evidence.problem, s.rows, evidence.clusters
    read = {n: q for n, q in zip((*p.learned, *p.known), rows.weights[j].tolist(), strict=True) if q}
    v = sum((q * amounts(name) for name, q in read.items()), np.zeros(evidence.rows))
    whole, always = Average.of(rows.always[j] * v, clusters), float(rows.always[j])
    inside, by_share = _inside(evidence, s, j), bool(rows.column[j] >= 0 and rows.by_share[j])
    part = _part(rows, j, v, inside, clusters)
    found = whole if part is None else whole.plus(part)
    w_part = w * inside
    learned = [z for name, z in evidence.occurrences.items() if name in read and z.risks(w)]
    few = any(z.are_few(w_part, clusters) for z in learned)
    if read.keys() & guesses or few or (learned and clusters.effective(w_part) < _LEAST_CASES):
        return found.guess().estimate
    ends = learned[0].ends if len(read) == 1 and learned else None
    if ends is None or (part is not None and not by_share):
        return found.estimate
    (weight,), cases = read.values(), clusters.effective(w)
    if part is None:
        return whole.counted(cases, scaled(ends, weight * always))
    own = part.counted(clusters.effective(w_part), scaled(ends, weight * float(rows.inside[j])))
    if not always:
        return own
    other = whole.times(-1.0)
    return part.beyond(own, other, other.counted(cases, scaled(ends, -weight * always)))


def _inside(evidence: Evidence, s: Stated, j: int) -> Bools:
    """The rows of the group that a row of a constraint reads beside all cases, or all rows, `->(N)`."""
    p, c = evidence.problem, int(s.rows.column[j])
    if c < 0:
        return np.ones(evidence.rows, bool)
    by, group = p.columns[c]
    return np.asarray(evidence.groups[by] == next(g.names for g in p.groups if g.name == by).index(group))


def _part(rows: Rows, j: int, v: Floats, inside: Bools, clusters: Clusters) -> Average | None:
    """Return what a row reads of a group, of amounts of all cases, `(N),(N)->`; None if it reads no group."""
    if rows.column[j] < 0:
        return None
    if not rows.by_share[j]:
        return Average.of(rows.inside[j] * np.where(inside, v, 0.0), clusters)
    if not inside.any():
        return Average.by(0.0, np.zeros(len(v)), clusters).guess()
    mean = float(v[inside].mean())
    psi = np.where(inside, v - mean, 0.0) / inside.mean()
    return Average.by(rows.inside[j] * mean, rows.inside[j] * psi, clusters)
