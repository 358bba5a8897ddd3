"""The fluid problem on sampled contexts as a linear program, by HiGHS: the reference for faster solvers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem
from evenhand.core.types import Floats


class Sample(NamedTuple):
    """Sampled contexts, with the expected objective and constraint rows of all candidates."""

    reward: Floats  # (S, A) expected objective of every candidate
    rows: Floats  # (S, A, d) expected constraint rows
    offered: Floats  # (S, A) 1 where a candidate may be played
    n_plays: int = 1  # in every context, or all offered candidates if they are fewer
    labels: tuple[str, ...] = ()  # of the rows, for messages


def n_played(offered: Floats, n_plays: int) -> Floats:
    """The number of candidates played in every context, `(S,A)->(S)`."""
    return np.asarray(np.minimum(n_plays, offered.sum(1)))


def best_plays(worth: Floats, n_plays: int) -> Floats:
    """1 for the best candidates of every context, as many as are played, `(S,A)->(S,A)`; -inf is never played."""
    order = np.argsort(-worth, axis=1, kind="stable")[:, :n_plays]
    chosen = np.zeros(worth.shape)
    np.put_along_axis(chosen, order, 1.0, 1)
    return np.where(worth > -np.inf, chosen, 0.0)


class Solution(NamedTuple):
    """An optimum of the linear program."""

    value: float
    prices: Floats  # (d,) of the constraint rows
    lottery: Floats  # (S, A) probabilities of the candidates in every context


def solve(sample: Sample, limit: Floats) -> Solution:
    """Solve the linear program on one sample by HiGHS, `(S,A),(S,A,d),(d)->(),(d),(S,A)`.

    Raises:
        InfeasibleProblem: no policy keeps to the limits on this sample.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    count, actions = sample.reward.shape
    variables = np.arange(count * actions)
    one_each = csr_array((np.ones(len(variables)), (variables // actions, variables)))
    # The solver's tolerances are absolute, so rewards and rows are scaled to a size of 1, and summed over contexts.
    gain, uses = sample.reward.ravel(), sample.rows.reshape(count * actions, -1).T
    unit, units = largest(gain[None])[0], largest(uses)
    result = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        -gain / unit,
        A_ub=csr_array(uses / units[:, None]),
        b_ub=limit / units * count,
        A_eq=one_each,
        b_eq=n_played(sample.offered, sample.n_plays),
        bounds=np.stack([0 * variables, sample.offered.ravel()], 1),
        method="highs",
    )
    if result.status != 0:
        raise InfeasibleProblem(conflict_message(_conflict(sample, limit / units, units), count))
    prices = np.maximum(-result.ineqlin.marginals, 0.0) * unit / units
    return Solution(float(-result.fun * unit / count), prices, result.x.reshape(count, actions))


def conflict_message(labels: list[str], contexts: int) -> str:
    """The message that no policy can keep some constraints together.

    >>> conflict_message(["hours per round", "hours per round", "letters per round"], 500)
    'no static policy keeps to the constraints on 500 sampled contexts: hours per round, letters per round'
    """
    names = ": " + ", ".join(dict.fromkeys(labels)) if labels else ""
    return f"no static policy keeps to the constraints on {contexts} sampled contexts{names}"


def _conflict(sample: Sample, limit: Floats, units: Floats) -> list[str]:
    """The labels of the rows that exclude each other: those with a price in min s s.t. rows <= limit + s.

    These prices are a certificate (Farkas): at them, no candidates cost as little as the limits allow.
    """
    from scipy.optimize import linprog

    rows, found = sample.rows / units, [np.zeros(len(limit))]
    mixes: list[Floats] = []
    for _ in range(200):  # by policies found so far, as in `concave_program`
        worth = np.where(sample.offered > 0, -(rows @ found[-1]), -np.inf)
        pure = best_plays(worth, sample.n_plays)
        mixes.append(np.einsum("sa,sad->d", pure, rows) / len(rows))
        uses = np.array(mixes)
        result = linprog(
            np.append(np.zeros(len(uses)), 1.0),
            A_ub=np.column_stack([uses.T, -np.ones(len(limit))]),
            b_ub=limit,
            A_eq=np.append(np.ones(len(uses)), 0.0)[None],
            b_eq=np.ones(1),
            bounds=[(0, None)] * len(uses) + [(None, None)],
        )
        found.append(np.maximum(-result.ineqlin.marginals, 0.0))
        least = -np.where(pure > 0, worth, 0.0).sum(1).mean() - limit @ found[-2]
        reached = float(np.asarray(result.x)[-1])
        if len(mixes) > 1 and reached - least <= 1e-9 * (1.0 + abs(reached)):
            break
    return [name for name, price in zip(sample.labels, found[-1], strict=False) if price > 1e-9]


def largest(z: Floats) -> Floats:
    """The largest absolute entry of every row, 1 for rows of zeros, `(d,n)->(d)`."""
    size = np.maximum(z.max(1, initial=0.0), -z.min(1, initial=0.0))
    return np.where(size > 0.0, size, 1.0)


def dual_value(sample: Sample, limit: Floats, prices: Floats) -> float:
    """The dual function lam.B + mean max_a [r - lam.v], an upper bound for any prices, `(S,A),(S,A,d),(d),(d)->()`.

    If several candidates are played, the sum of the best replaces the maximum.
    """
    worth = np.where(sample.offered > 0, sample.reward - sample.rows @ prices, -np.inf)
    chosen = best_plays(worth, sample.n_plays)
    return float(prices @ limit + np.where(chosen > 0, worth, 0.0).sum(1).mean())
