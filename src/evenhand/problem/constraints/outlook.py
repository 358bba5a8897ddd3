"""Forecasts of whether a constraint will be missed: the effect of chance, and the reach of the remaining rounds."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.constraints.statements import Statement
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select

ERRORS = 3.0  # standard errors that chance is allowed
_ROUNDING = 1e-9


class Rest(NamedTuple):
    """The average that the remaining rounds need to keep a constraint, and the best average that they can reach."""

    needed: float
    best: float


def is_missed(value: float, limit: float, worst: Literal["low", "high"], error: float = 0.0, size: float = 0.0) -> bool:
    """Whether a value is on the wrong side of its limit by more than rounding and `ERRORS` standard errors.

    `size` is that of the numbers that the value is made of, so that rounding exceeds no limit of 0.

    >>> is_missed(0.0796, 0.08, "low", error=0.001), is_missed(0.04, 0.08, "low", error=0.001)
    (False, True)
    >>> is_missed(0.04, 0.08, "high")
    False
    """
    beyond = value - limit if worst == "high" else limit - value
    return bool(beyond > _ROUNDING * max(abs(limit), size) + ERRORS * error)


def deviation(stated: Statement, problem: Declarations) -> float:
    """Return an upper bound of the standard deviation, from round to round, of a constraint's measure.

    Equation: a row in [l, u] whose mean is the bound b has a variance of at most (b - l)(u - b), and the largest of
    all rows counts; the distance of averages in [l, u] from a set has one of at most sum ((u - l) / 2)^2. Known
    outcomes may differ from the declared ones in every case: a row that reads them varies by |b| at least. Infinite
    where a range is, and where an outcome has a factor, such as a price: it is then unknown how far rounds vary.

    Source: Bhatia & Davis 2000, A better bound on the variance, and Popoviciu 1935.

    >>> from dataclasses import replace
    >>> from evenhand.environments import Court
    >>> from evenhand.problem import Floor
    >>> court = replace(Court().problem, subject_to=(Floor("appears", rate=0.2),))
    >>> round(deviation(court.stated[0], court), 3)  # of an outcome in [0, 1]
    0.4
    """
    if stated.whole is not None:
        low, high = _ends(select(problem, stated.whole.outcomes), problem)
        return float(np.sqrt((((high - low) / 2.0) ** 2).sum()))
    rows, bound = stated.rows, stated.bound
    low, high = _ends(rows, problem)
    if not len(low) or not (np.isfinite(low).all() and np.isfinite(high).all()):
        return math.inf
    b = np.clip(bound, low, high)
    least = np.where(_reads_stated(rows, problem), np.abs(bound), 0.0)
    return float(np.maximum(np.sqrt((b - low) * (high - b)), least).max())


def chance(stated: Statement, problem: Declarations, rounds: Floats, per: Floats | None = None) -> float:
    """Return an upper bound of the standard error of a constraint's measure, as a mean over R runs, `(R)->()`.

    Equation: deviation / sqrt(n), with n the rounds of all runs where the measure is the average of one row. The
    largest of several rows and a distance do not average out over runs: n is then the rounds of one run. A measure per
    unit of something other than rounds has n / (sum of it) times this error, which is infinite where that sum is 0.

    Args:
        stated, problem: what is measured, and what it reads.
        rounds: of each run.
        per: the sums that are measured per unit of, of each run; None for rounds.
    """
    alone = stated.whole is None and len(stated.rows) == 1
    n = float(rounds.sum() if alone else rounds.mean())
    error = deviation(stated, problem) / math.sqrt(max(n, 1.0))
    if per is None:
        return error
    divisor = float(per.sum() if alone else per.mean())
    return error * (n / divisor) if divisor > 0.0 else math.inf


def rest(stated: Statement, run: Sums) -> Rest | None:
    """Return the average that the remaining rounds of a replica need, for a limit on one observed outcome of everybody.

    None, too, where cases state what the outcome is multiplied by: there is no best that they could bring.

    Equation: (T limit - sum so far) / (T - n), against what P plays of the best outcome bring.
    """
    problem, rounds = run.problem, float(run.elapsed[-1, 0])
    to_come = problem.horizon - rounds
    if to_come <= 0.0 or stated.outcome is None or stated.by is not None:
        return None
    rows = stated.rows
    if len(rows) != 1 or _reads_stated(rows, problem).any():
        return None
    low, _ = _ends(rows, problem)
    so_far = float(rows.weights[0] @ run.totals[-1, 0])
    needed = (problem.horizon * float(stated.bound[0]) - so_far) / to_come
    sign = 1.0 if stated.constraint.worst == "high" else -1.0
    return Rest(sign * needed, sign * float(low[0]))


def _reads_stated(rows: Rows, problem: Declarations) -> Bools:
    """Mark rows that read numbers which cases may state: outcomes known for certain, or factors, `->(d)`."""
    exact = (rows.known[:, len(problem.noisy) :] != 0.0).any(1)
    return np.asarray(exact | (rows.learned[:, _factors(problem)] != 0.0).any(1))


def _factors(problem: Declarations) -> Ints:
    """The learned outcomes that have a factor, for which a case may state another number than the declared one."""
    return np.zeros(0, np.int64) if problem.factors is None else problem.factors.known


def _ends(rows: Rows, problem: Declarations) -> tuple[Floats, Floats]:
    """The least and the most that the plays of a round can add to each row, infinite with a factor, `->(d),(d)`."""
    learned, exact = len(problem.learned), problem.declared[:, len(problem.noisy) :]
    low, high = np.concatenate([problem.span, [exact.min(0), exact.max(0)]], axis=1)
    low[_factors(problem)], high[_factors(problem)] = -np.inf, np.inf
    waits = np.append(np.full(learned, not problem.sure.all()), ~problem.sure)  # 0 where a play is not exposed
    low, high = np.where(waits, np.minimum(low, 0.0), low), np.where(waits, np.maximum(high, 0.0), high)
    w = rows.weights
    with np.errstate(invalid="ignore"):
        ends = np.where(w == 0.0, 0.0, w * low), np.where(w == 0.0, 0.0, w * high)
    least, most = np.minimum(*ends).sum(1), np.maximum(*ends).sum(1)
    counts = np.array([len(g.names) for g in problem.groups] or [1])
    share = np.append(problem.shares, 1.0)[rows.column]
    share = np.where(np.isnan(share), 1.0 / counts[np.maximum(rows.grouping, 0)], share)
    inside = np.where(rows.by_share, rows.inside / share, rows.inside)
    factors = rows.always, np.where(rows.column >= 0, rows.always + inside, rows.always)
    with np.errstate(invalid="ignore"):  # a group of others has a factor of 0
        found = np.stack([np.where(factor == 0.0, 0.0, factor * end) for factor in factors for end in (least, most)])
    return problem.n_plays * found.min(0), problem.n_plays * found.max(0)
