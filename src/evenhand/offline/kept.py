"""Whether a policy keeps to the constraints of a problem, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from math import inf
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence
from evenhand.offline.scores import Average, Estimate
from evenhand.problem.constraints import Stated
from evenhand.problem.constraints.base import relative

_ROUNDING = 1e-9
_LEAST = 1e-300  # above 0, where limit and value are 0


class Kept(NamedTuple):
    """A constraint under a policy."""

    constraint: str
    row: str  # the row of it that is kept least surely, such as that of a group
    used: Estimate  # of this row, per case of the log
    limit: float
    side: str  # "at most" or "at least"
    confidence: float  # that the constraint holds in the population: of several rows, that all do, at least


def kept(evidence: Evidence, amounts: Callable[[str], Floats], guesses: Set[str] = frozenset[str]()) -> Iterator[Kept]:
    """Yield every constraint that rows describe, of a policy with some amounts by outcome, `(N)` each.

    Of outcomes that are guesses no error is known, so that a constraint which reads them has a confidence of NaN.

    Equation: with the estimate v of a row, its standard error and its bound b, the confidence is Phi((b - v) / se),
    that of the one-sided interval that ends at b. Of several rows it is 1 - sum (1 - confidence), at least 0. The
    average of a group is that of its rows in the log, whose number is taken as random.
    """
    for s in evidence.problem.stated:
        if s.region is not None:
            continue
        ratio = relative(s.constraint) is not None  # whose row is a difference, at most 0
        sign, side = (-1.0, "at least") if s.constraint.worst == "low" and not ratio else (1.0, "at most")
        rows = []
        for j, (name, bound) in enumerate(zip(s.rows.names, s.bound.tolist(), strict=True)):
            estimate = _row(evidence, s, j, amounts, guesses).estimate
            rows.append((sure(estimate, bound), _room(estimate, bound), name, estimate, bound))
        if not rows:
            continue
        least_sure, _, name, used, bound = min(rows)
        joint = float(np.maximum(0.0, 1.0 - sum(1.0 - row[0] for row in rows)))
        label = name if ratio else s.constraint.label.removesuffix(f", {side}")
        yield Kept(
            label,
            name,
            used._replace(value=sign * used.value),
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
    """Return the confidence that a value is at most a bound, `Phi((b - v) / se)`; 0 or 1 where there is no error.

    Where clusters are declared, Phi is Student's distribution with as many degrees of freedom.
    """
    room = bound - estimate.value
    if estimate.se <= _ROUNDING * max(abs(bound), abs(estimate.value)):  # nothing is left to chance
        return float(room >= -_ROUNDING * max(abs(bound), abs(estimate.value)))
    if estimate.degrees == inf:
        return NormalDist().cdf(room / estimate.se)
    from scipy.special import stdtr

    return float(stdtr(estimate.degrees, room / estimate.se))


def _room(estimate: Estimate, bound: float) -> float:
    """Return how many standard errors are left to a bound, which orders what is as sure."""
    return (bound - estimate.value) / max(estimate.se, _ROUNDING * max(abs(bound), abs(estimate.value)), _LEAST)


def _row(evidence: Evidence, s: Stated, j: int, amounts: Callable[[str], Floats], guesses: Set[str]) -> Average:
    """Return the average of a row of a constraint, as `problem.rows` states it."""
    p, rows = evidence.problem, s.rows
    read = {n: q for n, q in zip((*p.learned, *p.known), rows.weights[j].tolist(), strict=True) if q}
    found = _average(evidence, s, j, sum((q * amounts(name) for name, q in read.items()), np.zeros(evidence.rows)))
    return found.guess() if read.keys() & guesses else found


def _average(evidence: Evidence, s: Stated, j: int, v: Floats) -> Average:
    """Return the average of a row of a constraint that reads some amounts of all cases, `(N)->`."""
    p, rows = evidence.problem, s.rows
    clusters = evidence.clusters
    everybody, c = Average.of(rows.always[j] * v, clusters), int(rows.column[j])
    if c < 0:
        return everybody
    by, group = p.columns[c]
    names = next(g.names for g in p.groups if g.name == by)
    inside = evidence.groups[by] == names.index(group)
    if not rows.by_share[j]:
        members = Average.of(rows.inside[j] * np.where(inside, v, 0.0), clusters)
    elif inside.any():
        mean = float(v[inside].mean())
        psi = np.where(inside, v - mean, 0.0) / inside.mean()
        members = Average.by(rows.inside[j] * mean, rows.inside[j] * psi, clusters)
    else:
        members = everybody._replace(value=0.0, psi=np.zeros(clusters.count))
    return everybody._replace(value=everybody.value + members.value, psi=everybody.psi + members.psi)
