"""Ranges of sums of outcomes in a round, and slack constraints, which no outcome within its range can miss."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select
from evenhand.problem.spans import Spans
from evenhand.sets.base import ConvexSet

ROUNDING = math.sqrt(np.finfo(float).eps)  # times the largest size of a row: what misses a bound by less keeps it
_CORNERS = 10  # coordinates of a set whose corners are tried, at most


def ranges(problem: Declarations, outcomes: tuple[str, ...], plays: int | None) -> tuple[Floats, Floats]:
    """Return the least and the most that outcomes can sum to; see `Problem.ranges`."""
    plays = problem.n_plays if plays is None else plays
    found = [problem.row(name) for name in outcomes]
    chosen = [outcome for outcome, _, _ in found]
    waits = np.concatenate([np.zeros(len(problem.learned), bool), ~problem.sure])[chosen]
    inside = np.array([c >= 0 for _, _, c in found], bool)
    most = np.full(len(found), float(plays))
    for i, (_, grouping, column) in enumerate(found):
        if column >= 0:
            most[i] = min(plays, problem.groups[grouping].size(problem.columns[column][1]))
    least, most_of = problem.amount_span[:, : len(problem.learned)]
    low = np.concatenate([least, problem.declared.min(0)])[chosen]
    high = np.concatenate([most_of, problem.declared.max(0)])[chosen]
    optional = waits | inside  # a play outside of the group, or one that is not exposed, brings 0
    low, high = np.where(optional, np.minimum(low, 0.0), low), np.where(optional, np.maximum(high, 0.0), high)
    return low * most, high * most


def slack(
    problem: Declarations, rows: Rows, bound: Floats, spans: Sequence[Spans | None] = (), sums: Sequence[bool] = ()
) -> Bools:
    """Tell which rows stay within their bounds for all plays and outcomes, `(d)->(d)`.

    Equation: P max(0, max_f max_{x in X} f w.x) <= bound + 1.5e-8 times the largest size of the left side, with X the
    declared ranges, known outcomes between their least and greatest declared value, and f the factors that a play has
    in the row. In a span of time, that many times its rounds is within its allowance. A row by estimated shares is
    never slack, nor is a sum where the clock does not count rounds, as any number of cases may come. Cases may state
    known outcomes beyond the declared ones: see `are_declared`.

    Args:
        problem: that declares the ranges.
        rows, bound: on average v <= bound.
        spans: of time of each row, None for the whole run; by default none has any.
        sums: whether the sum of each row is bounded, and not its average; by default none is.

    >>> from evenhand.problem import Floor, Outcome, Problem, Ratio
    >>> asked = Floor("sale", rate=0.0), Floor("sale", rate=0.1), Ratio("cost", over="sale", at_most=50.0)
    >>> shop = Problem(actions=("a", "b"), outcomes=(Outcome("sale"), Outcome("cost", known={"b": 1.0})),
    ...                maximize="sale", subject_to=asked, horizon=100)
    >>> [bool(slack(shop, s.rows, s.bound)[0]) for s in shop.stated]  # a ratio binds until there is a sale
    [True, False, False]
    """
    most, size = _most(problem, rows)
    counts = math.isfinite(problem.last_round)
    out = np.zeros(len(rows), bool)
    for j in range(len(rows)):
        over, allowed, rounds = spans[j] if len(spans) else None, bound[j : j + 1], np.ones(1)
        if over is not None:
            allowed = over.allowance
            rounds = np.ones(len(allowed)) if over.averages else _rounds(over, problem.horizon)
        a_sum = not over.averages if over is not None else len(sums) > 0 and bool(sums[j])
        out[j] = (counts or not a_sum) and bool((rounds * most[j] <= allowed + ROUNDING * rounds * size[j]).all())
    return out


def reads_cases(problem: Declarations, rows: Rows) -> Bools:
    """Tell which rows depend on numbers that a case may state: known outcomes, and factors, `->(d)`."""
    stated = ~problem.is_noisy
    scaled = np.zeros(len(problem.learned), bool) if problem.factors is None else problem.factors.times >= 0
    return np.asarray((rows.known[:, stated] != 0.0).any(1) | (rows.learned[:, scaled] != 0.0).any(1))


def are_declared(problem: Declarations, known: Floats, offered: Bools) -> Bools:
    """Tell whether all candidates of the cases have known outcomes between the declared ones, `(S,A,L),(S,A)->()`.

    Of numbers of noisy outcomes, which are means, nothing is asked: what is observed lies in its range.
    """
    low, high = problem.declared.min(0), problem.declared.max(0)
    inside = ((known >= low) & (known <= high) | problem.is_noisy).all(-1)
    return np.asarray((inside | ~offered).all((1, 2)))


def holds_all(problem: Declarations, names: tuple[str, ...], within: ConvexSet) -> bool:
    """Tell whether a set holds all averages of some outcomes within their ranges: it holds the corners of these.

    Known outcomes and factors, which a case may state, have no range here; more than ten coordinates are not tried.
    """
    rows = select(problem, names)
    if rows.known.any() or reads_cases(problem, rows).any() or len(names) > _CORNERS:
        return False
    low, high = ranges(problem, names, None)
    ends = np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)])  # a round may be without a play
    if not np.isfinite(ends).all():
        return False
    corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), -1).reshape(-1, len(names))
    return bool((within.distance(corners) <= ROUNDING * np.abs(ends).max()).all())


def _most(problem: Declarations, rows: Rows) -> tuple[Floats, Floats]:
    """The most that a round can add to every row, and the largest size of what it can or 0, `->(d),(d)`."""
    learned = len(problem.learned)
    low = np.concatenate([problem.amount_span[0, :learned], problem.declared.min(0)])
    high = np.concatenate([problem.amount_span[1, :learned], problem.declared.max(0)])
    noisy = np.concatenate([np.zeros(learned, bool), problem.is_noisy])
    low[noisy], high[noisy] = problem.span[:, learned:]
    if not problem.sure.all():  # then a play may not be exposed, and brings nothing of what waits for it
        waits = np.concatenate([np.ones(learned, bool), ~problem.sure])
        low[waits], high[waits] = np.minimum(low[waits], 0.0), np.maximum(high[waits], 0.0)
    w = rows.weights
    ends = np.where(w > 0.0, low, high), np.where(w > 0.0, high, low)
    least, most = ((w * np.where(w == 0.0, 0.0, end)).sum(1) for end in ends)
    share = np.append(problem.shares, 1.0)[rows.column]
    share = np.where(rows.by_share, share, 1.0)  # NaN where it is estimated
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.stack([rows.always, rows.always + rows.inside / share])
        each = np.stack([factors * least, factors * most])
    each = np.where(np.isnan(each), np.inf, each)
    size, plays = np.abs(each).max((0, 1)), problem.n_plays
    return plays * np.maximum(each.max((0, 1)), 0.0), plays * np.where(np.isfinite(size), size, 0.0)


def _rounds(spans: Spans, horizon: int) -> Floats:
    """The rounds of every span on a clock that counts them, `->(S)`."""
    ends = np.minimum(np.stack([spans.edges[spans.first], spans.ends]), horizon)
    return np.asarray(np.ceil(ends[1]) - np.ceil(ends[0]))
