"""The fluid problem with a concave objective, by small linear programs over tangents and policies found so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import Objective, sloped
from evenhand.planning.program import Sample, best_plays, solve

ROUNDS = 300


class Truth(NamedTuple):
    """Sampled contexts, with the expected outcomes and constraint rows of all candidates."""

    outcomes: Floats  # (S, A, m) expected outcomes of every candidate that the objective reads
    rows: Floats  # (S, A, d) expected constraint rows
    offered: Floats  # (S, A) 1 where a candidate may be played
    n_plays: int = 1  # in every context, or all offered candidates if they are fewer


class Best(NamedTuple):
    """What the best static policy reaches on a sample."""

    value: float
    prices: Floats  # (d,) of the constraint rows
    end: Floats  # (m,) its average outcomes
    gap: float  # an upper bound on what is missing to the optimum


def maximize(objective: Objective, truth: Truth, limit: Floats, start: Floats, *, tolerance: float = 1e-6) -> Best:
    """max f(z) over the averages z that static policies within the limits can reach, by HiGHS, `(d),(m)->`.

    Equation: max s over s <= f(z_k) + g_k.(z - z_k) for tangents k, z = sum_i l_i y_i, sum_i l_i c_i <= limit over
    lotteries l of policies i. The duals of one program give the next policy, argmax_a q.y - lam.c in every context, and
    its optimum the next tangent (Dantzig & Wolfe 1960; Kelley 1960). With q = sum_k m_k g_k, any duals bound f* by
    sum_k m_k (f(z_k) - g_k.z_k) + lam.limit + mean max_a [q.y - lam.c]: the gap is to the least of these bounds.

    Args:
        objective: f; only its values and supergradients are used.
        truth: the sample, `(S,A,m),(S,A,d),(S,A)`.
        limit: upper bounds on the averages of rows.
        start: a point in the domain of f.
        tolerance: of the gap, per unit of 1 + |f*|.

    Raises:
        InfeasibleProblem: no static policy keeps to the limits on this sample.
        InvalidInput: a start outside of the domain, or a gap that stays above the tolerance.

    >>> from evenhand.objectives import GeneralizedGini
    >>> outcomes = np.array([[[1.0, 0.0], [0.0, 0.5]]])  # one context, two candidates that serve one outcome each
    >>> truth = Truth(outcomes, np.zeros((1, 2, 0)), np.ones((1, 2)))
    >>> maximize(GeneralizedGini(("a", "b"), (1.0, 0.0)), truth, np.zeros(0), np.zeros(2)).end.round(3)
    array([0.333, 0.333])
    """
    slope = objective.supergradient(start)
    tangents, slopes = [float(objective.value(start)) - slope @ start], [slope]
    steepest = 1e4 * float(np.abs(slope).max()) or np.inf  # steeper tangents are bad for a solver of numbers of order 1
    first = _policy(
        truth, solve(Sample(truth.outcomes @ slope, truth.rows, truth.offered, truth.n_plays), limit).lottery
    )
    found = [first]
    best = Best(-np.inf, np.zeros(len(limit)), first[0], np.inf)
    bound = np.inf
    for _ in range(ROUNDS):
        mix, m, lam = _master(np.array(tangents), np.array(slopes), found, limit)
        z, q = mix @ np.array([y for y, _ in found]), m @ np.array(slopes)
        worth = np.where(truth.offered > 0, truth.outcomes @ q - truth.rows @ lam, -np.inf)
        pure = best_plays(worth, truth.n_plays)
        above = float(m @ np.array(tangents) + lam @ limit + np.where(pure > 0, worth, 0.0).sum(1).mean())
        if above < bound:
            bound, best = above, best._replace(prices=lam)
        value = float(objective.value(z))
        if value > best.value:
            best = best._replace(value=value, end=z)
        if np.isfinite(best.value) and bound - best.value <= tolerance * (1.0 + abs(best.value)):
            return best._replace(gap=max(bound - best.value, 0.0))
        found.append(_policy(truth, pure))
        z, slope = sloped(objective.supergradient, z, start, steepest)
        tangents.append(float(objective.value(z)) - slope @ z)
        slopes.append(slope)
    expected = f"one that {ROUNDS} tangents describe to {tolerance}"
    raise InvalidInput("objective", expected, f"{type(objective).__name__}, with a gap of {bound - best.value}")


def _policy(truth: Truth, lottery: Floats) -> tuple[Floats, Floats]:
    """Average outcomes and rows of a policy, `(S,A)->(m),(d)`."""
    y, c = (np.einsum("sa,sai->i", lottery, z) / len(lottery) for z in (truth.outcomes, truth.rows))
    return y, c


def _master(
    tangents: Floats, slopes: Floats, found: list[tuple[Floats, Floats]], limit: Floats
) -> tuple[Floats, Floats, Floats]:
    """The best lottery of policies under the tangents, and duals of tangents and limits, `(k),(k,m)->(i),(k),(d)`."""
    from scipy.optimize import linprog

    outcomes, rows = np.array([y for y, _ in found]), np.array([c for _, c in found])
    under = np.column_stack([-slopes @ outcomes.T, np.ones(len(tangents))])
    within = np.column_stack([rows.T, np.zeros(len(limit))])
    result = linprog(
        np.append(np.zeros(len(found)), -1.0),
        A_ub=np.concatenate([under, within]),
        b_ub=np.concatenate([tangents, limit]),
        A_eq=np.append(np.ones(len(found)), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0, None)] * len(found) + [(None, None)],
        method="highs",
    )
    if result.x is None:  # pragma: no cover  # the first policy is feasible, and tangents bound the value
        raise InvalidInput("objective", "one whose tangents can be solved with", result.message)
    duals = np.maximum(-result.ineqlin.marginals, 0.0)
    return np.asarray(result.x)[:-1], duals[: len(tangents)], duals[len(tangents) :]
