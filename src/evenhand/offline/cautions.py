"""Doubts about estimates of a policy: too few plays or events, budgets that never bind, constraints hardly kept.

A policy that plays what was never logged has a value that a model guesses, and whose error nothing tells. It has no
standard error and no interval, and no sentence recommends it. It has bounds instead, with outcomes that were never
logged at the ends of their range. An average of amounts, such as spending, that a handful of rows make has no error
either: how large the next amount is cannot be told from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import inf, isnan
from typing import NamedTuple

import numpy as np

from evenhand.core.texts import amount, count
from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.checks import SURE, quantile, reach
from evenhand.logs.clusters import Clusters
from evenhand.logs.units import Units
from evenhand.offline.estimated_propensities import tenths
from evenhand.offline.events import FEW_EVENTS, Occurrences, scaled
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.scores import Average, Estimate, student, weights
from evenhand.problem.constraints import Statement
from evenhand.problem.constraints.base import relative
from evenhand.problem.rows import Rows

FEW = 50.0  # effective cases below which an estimate is not to be trusted
_SMALL = 0.01  # part of the rows
_ERRORS = 3.0  # standard errors that chance is allowed
_ROUNDING = 1e-9
_LEAST_CASES = 2.0  # effective cases of learned outcomes, below which no error is known
_LEAST = 1e-300  # above 0, where limit and value are 0
_PARTS, _FEW_ROWS, _MANY_ROWS = 10, 200, 20_000  # of an action: how many tenths and rows are compared
_FEW_CLUSTERS, _MODEL = 20, 4.0  # of a tenth; variances of a mean that a model has along a feature
_CLOSE = 1e-3  # of its mean: as near as this no prediction of an outcome that hardly varies is off
_OFF = 0.1  # standard deviations of an outcome by which predictions may be off


class Doubt(NamedTuple):
    """The reasons to doubt the estimates of a policy."""

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
    """Return the doubts about each policy, `(N,A)` each."""
    played, p = evidence.played, evidence.propensities
    ask = doubter(p, len(policies), evidence.clusters, evidence.events)
    return {name: ask(weights(policy, played, p)) for name, policy in policies.items()}


def doubter(
    propensities: Floats, count: int, clusters: Clusters | None = None, events: Sequence[Occurrences] = ()
) -> Callable[[Floats], Doubt]:
    """Return a function that finds the doubts about a policy with some weights, one of so many, `(N),->`, `(N)->`.

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
        of_rows = clusters.times(w)
        total, square = float(of_rows.sum()), float(of_rows @ w)
        if not total:
            return Doubt(0.0, 1.0)
        cases, missing = clusters.effective(w), 1.0 - total / len(w)
        never = float(clusters.times(1.0 - w)[certain].sum()) / len(w)
        if missing > _SMALL:
            variance, third = np.array(square / total - 1.0), np.array(float((of_rows * w) @ w) / total)
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
    """The bounds of a value for any outcomes of plays that were never logged."""

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


def calibration(evidence: Evidence, tables: Mapping[str, Tables], order: Ints | None = None) -> str | None:
    """Say where an outcome was other than predicted: of an action's rows, in a tenth by the prediction or a feature.

    Equation: the mean of y - q over a tenth is 0 within its error where predictions q are right, by as many clusters as
    it has. Models of n features that were fitted to N rows are off by chance themselves: by var(y - q) / N at a mean,
    and by up to three times that along a feature. They also spread q by v = var(y - q) n / N, so that
    |q - mean q| min(v / var q, 1) is allowed in tenths by q. A tenth of sd(y) always is, as
    it does little harm, and a thousandth of |mean y|.

    Args:
        tables: what is predicted of every outcome, by models that have not seen the row.
        order: of the rows in the tables, that of the log if there is none.
    """
    used, x = evidence.used(evidence.problem.learned), evidence.exact
    played = evidence.played if order is None else evidence.played[order]
    z, worst, told = quantile(_PARTS * x.shape[1] * len(evidence.names) * len(used)), 1.0, None
    for a, action in enumerate(evidence.names):
        rows = np.flatnonzero(played == a)
        if len(rows) < _FEW_ROWS:
            continue
        rows = rows[:: max(1, len(rows) // _MANY_ROWS)]
        of_log = rows if order is None else order[rows]
        own, by_feature = evidence.clusters.kept(of_log), [tenths(f) for f in x[of_log, 1:].T]
        for name, amounts in used.items():
            y, q = amounts[of_log], tables[name].predicted[rows, a]
            off, centre = y - q, own.mean(q)
            spread = own.mean(off**2) * x.shape[1] / len(rows) / max(own.mean((q - centre) ** 2), _LEAST)
            middle = own.mean(y)
            least = max(_OFF * float(np.sqrt(own.mean((y - middle) ** 2))), _CLOSE * abs(middle), _LEAST)
            for part, share in [(tenths(q), min(spread, 1.0)), *((part, 0.0) for part in by_feature)]:
                mean, expected, se, far = _misses(own, part, off, q, z)
                far += share * np.abs(expected - centre)
                beyond = np.abs(mean) / np.maximum(far, least)
                k = int(beyond.argmax())
                if beyond[k] > worst:
                    worst = float(beyond[k])
                    told = (
                        f"predictions of {name!r} are off: in {np.mean(part == k):.0%} of the rows with {action!r}, "
                        f"{amount(expected[k])} was predicted and {amount(expected[k] + mean[k])} ± {amount(se[k])} "
                        "came; values allow for it, but errors and plans are better by another model, such as "
                        "--model stack"
                    )
    return told


def _misses(own: Clusters, part: Ints, off: Floats, q: Floats, z: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return by part of the rows the mean miss, the mean prediction, the error and what chance explains, `->(K)` each.

    Variances are those of all rows at least, as few rows of rare events tell little; parts of few clusters count not.
    """
    each, size = own.times(np.ones(len(off))), np.bincount(part).astype(float)
    total, k = np.bincount(part, each), len(size)
    mean, expected, second, third = (np.bincount(part, each * t) / total for t in (off, q, off**2, abs(off) ** 3))
    count = np.bincount(np.unique(own.numbers * k + part) % k, minlength=k)
    more, third_more = own.excess(off, part, k)
    chance = np.maximum(second, own.mean(off**2)) * more
    se = np.sqrt(chance / size)
    few, errors = count < _FEW_CLUSTERS, np.array([student(z, max(n, _FEW_CLUSTERS) - 1.0) for n in count.tolist()])
    third = np.maximum(third, own.mean(abs(off) ** 3)) * third_more
    far = reach(errors, size, chance * (1.0 + _MODEL * size / len(off)), third)
    return mean, expected, se, np.where(few, np.inf, far)


def idle(
    worth: Floats, tables: Mapping[str, Tables], limits: Mapping[str, float], clusters: Clusters | None = None
) -> str | None:
    """Say that budgets never bind: without limits, the best policy by the models uses less of all of them.

    Where it uses more of one of them, another one may bind within it or not, of which nothing is said.

    Args:
        worth: `(N,A)` what is predicted of the objective.
        tables: what is predicted of every outcome, and its scores.
        limits: budgets per case, by outcome.
        clusters: of the rows.
    """
    best, said = worth >= worth.max(1, keepdims=True), list[tuple[str, str]]()
    for name, limit in limits.items():
        cost = np.where(best, tables[name].predicted, np.inf)  # of actions that are worth the same, the cheapest
        table = tables[name].scores
        used = Average.of(table[np.arange(len(worth)) % len(table), cost.argmin(1)], clusters).estimate
        if used.value + _ERRORS * used.se > limit * (1.0 + 1e-9):
            return None
        said.append((f"{amount(limit)} {name}", amount(used.value)))
    if len(said) == 1:
        return f"the budget of {said[0][0]} per case never binds: the best policy uses {said[0][1]} without it"
    if said:
        budgets, uses = (" and ".join(each) for each in zip(*said, strict=True))
        return f"the budgets of {budgets} per case never bind: the best policy uses {uses} without them"
    return None


def outside(numbers: Mapping[str, Floats], coding: Units) -> str | None:
    """Say which number of a list lies outside the range of the log, where it is clipped; None if hardly any does.

    One that is beyond by more than the range is wide is reported, such as an amount in other units, and otherwise what
    more than 1 % of the cases have.
    """
    found = []
    for name, scale in coding.numeric.items():
        z = numbers[name]
        beyond = np.maximum(scale.low - z, z - scale.high)
        part = float((beyond > 0.0).mean())
        if part > _SMALL or (beyond > scale.high - scale.low).any():
            found.append((-part, name))
    if not found:
        return None
    part, name = min(found)
    scale, z = coding.numeric[name], numbers[name]
    others = f", and so for {len(found) - 1} other columns" if len(found) > 1 else ""
    return (
        f"{-part:.1%} of the cases lie beyond the log in {name!r}, which counts as its end: "
        f"{coding.said(name, scale.low)} to {coding.said(name, scale.high)} there, "
        f"{coding.said(name, float(np.nanmin(z)))} to {coding.said(name, float(np.nanmax(z)))} in the list{others}"
    )


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
        label = name if ratio else s.label.removesuffix(f", {side}")
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
    """Return the number of standard errors to a bound, which orders constraints that are equally sure."""
    return (bound - estimate.value) / max(estimate.se, _ROUNDING * max(abs(bound), abs(estimate.value)), _LEAST)


def _row(
    evidence: Evidence, s: Statement, j: int, amounts: Callable[[str], Floats], w: Floats, guesses: Set[str]
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


def _inside(evidence: Evidence, s: Statement, j: int) -> Bools:
    """The rows of the group that a row of a constraint reads beside all cases, or all rows, `->(N)`."""
    p, c = evidence.problem, int(s.rows.column[j])
    if c < 0:
        return np.ones(evidence.rows, bool)
    by, group = p.columns[c]
    return np.asarray(evidence.groups[by] == next(g.names for g in p.groups if g.name == by).index(group))


def _part(rows: Rows, j: int, v: Floats, inside: Bools, clusters: Clusters) -> Average | None:
    """Return the part of amounts that a row reads of a group, `(N),(N)->`; None if it reads no group."""
    if rows.column[j] < 0:
        return None
    if not rows.by_share[j]:
        return Average.of(rows.inside[j] * np.where(inside, v, 0.0), clusters)
    if not inside.any():
        return Average.by(0.0, np.zeros(len(v)), clusters).guess()
    mean = clusters.mean(v, inside)
    psi = np.where(inside, v - mean, 0.0) / clusters.mean(inside)
    return Average.by(rows.inside[j] * mean, rows.inside[j] * psi, clusters)
