"""What a log cannot tell of a policy: plays that it does not contain, and rows and events that are too few.

A policy that plays what was never logged has a value that a model guesses, and whose error nothing tells. It has no
standard error and no interval, and no sentence recommends it. It has bounds instead, with outcomes that were never
logged at the ends of their range. An average of amounts, such as spending, that a handful of rows make has no error
either: how large the next amount is cannot be told from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from evenhand.core.faces import count
from evenhand.core.types import Floats
from evenhand.offline.events import FEW_EVENTS, Occurrences
from evenhand.offline.evidence import Evidence
from evenhand.offline.scores import Average, weights
from evenhand.replay.checks import SURE, quantile, reach
from evenhand.replay.clusters import Clusters

FEW = 50.0  # effective cases below which an estimate is not to be trusted
_SMALL = 0.01  # part of the rows


class Doubt(NamedTuple):
    """What speaks against the estimates of a policy."""

    cases: float  # the effective number of rows that agree with it; of clusters, where these are declared
    missing: float = 0.0  # the part of its plays that could not be logged; 0 where chance explains it
    events: float = inf  # the effective number of rows that agree with it and on which its average rests

    @property
    def is_guess(self) -> bool:
        """Whether the value rests on outcomes that were never logged, or on too few, so that its error is not known."""
        return self.missing > 0.0 or self.events < FEW_EVENTS

    @property
    def any(self) -> bool:
        """Whether the policy is not to be recommended."""
        return self.is_guess or self.cases < FEW


def doubts(evidence: Evidence, policies: Mapping[str, Floats]) -> dict[str, Doubt]:
    """Return what speaks against each policy, `(N,A)` each."""
    played, p = evidence.played, evidence.propensities
    ask = doubter(p, len(policies), evidence.clusters, evidence.events)
    return {name: ask(weights(policy, played, p)) for name, policy in policies.items()}


def doubter(
    propensities: Floats, count: int, clusters: Clusters | None = None, events: Sequence[Occurrences] = ()
) -> Callable[[Floats], Doubt]:
    """Return a function that says what speaks against a policy with some weights, one of so many, `(N),->`, `(N)->`.

    Equation: with w_i = pi_i(a_i) / p_i, the effective cases are (sum w)^2 / sum w^2 (Kish 1965). mean_i w_i is 1 where
    every action that the policy plays could be logged, and less by the part of its plays that could not, some of which
    chance explains. What it plays in place of an action that was certain could not be logged, whatever chance does. By
    clusters, the weights are summed over each, and chance explains as much more as the sums vary more. Effective events
    are the effective cases among the rows on which averages of an outcome rest, of the outcome that has the fewest.

    >>> even = doubter(np.full(1000, 0.5), 1)
    >>> even(np.array([2.0, 0.0] * 500)), even(np.array([1.0, 0.0] * 500))
    (Doubt(cases=500.0, missing=0.0, events=inf), Doubt(cases=500.0, missing=0.5, events=inf))
    >>> doubter(np.array([0.5] * 950 + [1.0] * 50), 1)(np.array([2.0, 0.0] * 475 + [0.0] * 50))
    Doubt(cases=475.0, missing=0.05, events=inf)
    """
    z, certain = quantile(count), np.flatnonzero(propensities >= SURE)
    clusters = Clusters.of(np.arange(len(propensities))) if clusters is None else clusters

    def doubt(w: Floats) -> Doubt:
        total, square = float(w.sum()), float(w @ w)
        if not total:
            return Doubt(0.0, 1.0)
        cases, missing = clusters.effective(w), 1.0 - total / len(w)
        never = float((1.0 - w[certain]).sum()) / len(w)
        if missing > _SMALL:
            variance, third = np.array(square / total - 1.0), np.array(float((w * w) @ w) / total)
            more, third_more = (float(k[0]) for k in clusters.excess(w))
            chance = float(reach(z, len(w), np.maximum(variance, 0.0) * more, third * third_more))
            never = max(never, missing if missing > chance else 0.0)
        rare = min((each.effective(w, clusters) for each in events), default=inf)
        return Doubt(cases, never if never > _SMALL else 0.0, rare)

    return doubt


def support(found: Mapping[str, Doubt]) -> str | None:
    """Say which policy plays what the log hardly contains: few rows agree, or some can never agree."""
    few = [(z.cases, name) for name, z in found.items() if z.cases < FEW]
    never = [(-z.missing, name) for name, z in found.items() if z.missing > 0.0]
    rare = [(z.events, name) for name, z in found.items() if z.events < FEW_EVENTS]
    if few:
        rows, name = min(few)
        others = f"; so do {len(few) - 1} other policies, on less than {FEW:.0f}" if len(few) > 1 else ""
        return f"{name!r} rests on {count(round(rows), 'effective case')}, too few for its intervals{others}"
    if never:
        missing, name = min(never)
        others = f", and {len(never) - 1} other policies do so, too" if len(never) > 1 else ""
        return (
            f"{name!r} plays in {-missing:.1%} of its cases what was never logged there, if the propensities are right"
            f"{others}: its value there is a model's guess, without an interval"
        )
    if rare:
        rows, name = min(rare)
        others = f"; so do {len(rare) - 1} other policies, on less than {FEW_EVENTS:.0f}" if len(rare) > 1 else ""
        own = f"{count(round(rows), 'effective row')} with another outcome than most"
        return f"{name!r} rests on {own}, too few for an interval{others}"
    return None


class Bounds(NamedTuple):
    """Between what a value can be, whatever would have followed from plays that were never logged."""

    low: float
    high: float

    @staticmethod
    def of(low: Average, high: Average) -> Bounds:
        """The outer ends of the 95 % intervals of both ends."""
        return Bounds(low.estimate.interval[0], high.estimate.interval[1])


def ends(evidence: Evidence) -> tuple[Floats, Floats] | None:
    """Score a weighted sum of outcomes as if each action were worth the least and the most that it can be, `->(N,A)`.

    The value of a policy by scores is unbiased where it could be logged, and what was predicted elsewhere. These
    predictions are the ends of the outcomes' ranges, so that values by them are bounds (Manski 1990). None for another
    objective, or where a range has no end.
    """
    sums, p = evidence.weights, evidence.problem
    if sums is None or not np.isfinite(p.span[:, [m for m, name in enumerate(p.learned) if name in sums]]).all():
        return None
    shape, (below, above) = (evidence.rows, len(evidence.names)), evidence.ends()
    worst, best = np.zeros(shape), np.zeros(shape)
    for name, weight in sums.items():
        one, other = below[name], above[name]
        rises = weight * one.predicted <= weight * other.predicted  # not where it is weighted, or multiplied, below 0
        worst += weight * np.where(rises, one.scores, other.scores)
        best += weight * np.where(rises, other.scores, one.scores)
    return worst, best
