"""The best static policy of lists as a linear program over the chances of every candidate at every place, by HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.errors import InfeasibleProblem
from evenhand.core.types import Floats
from evenhand.objectives import GeneralizedGini, Linear, Objective, WeightedSum
from evenhand.planning.lists import Lists, pulled
from evenhand.planning.mixing import Best
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select, stack

LARGEST = 100_000  # chances: 50 users, 50 items and 10 places are 25,000, which take some seconds


def is_linear_program(objective: Objective, lists: Lists) -> bool:
    """Whether an objective is made of linear parts and generalised Gini functions, and the cases are few enough."""
    terms = objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),)
    cases, candidates = lists.learned.shape[:2]
    few = cases * candidates * lists.position.shape[1] <= LARGEST
    return few and all(isinstance(part, Linear | GeneralizedGini) for _, part in terms)


def solve_lists(objective: Objective, problem: Problem, lists: Lists, rows: Rows, limit: Floats) -> Best:
    """Maximise f(z) over the averages z that lotteries of lists within the limits can reach, exactly.

    Equation: chances P(s, a, p) of candidate a at place p in case s, which sum to 1 over candidates for every place and
    to at most 1 over places for every candidate, are a mixture of lists (Birkhoff 1946). A generalised Gini function
    sum_h w_h z_(h) is the least sum over ways to assign weights to outcomes, so it is the largest sum of numbers
    alpha_i + beta_h with alpha_i + beta_h <= w_h z_i, by duality.

    Args:
        objective: f, of linear parts and generalised Gini functions (`is_linear_program`).
        problem: for the shares of groups.
        lists: the cases.
        rows, limit: of the constraints, `(d)`.

    Raises:
        InfeasibleProblem: no policy of lists keeps to the limits.
    """
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    terms = objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),)
    names = tuple(objective.outcomes)
    index, reads = _chances(lists), _reads(stack([select(problem, names), rows]), problem, lists)
    m, n = len(names), int(index.max()) + 1
    gain, inside, size = np.zeros(m), list[tuple[Any, int, Floats]](), n + m
    for c, part in terms:
        at = np.array([names.index(name) for name in part.outcomes])
        if isinstance(part, Linear):
            gain[at] += c * np.array(list(part.weights.values()))
        elif isinstance(part, GeneralizedGini):
            inside.append((at + n, size, c * np.array(part.weights, float)))
            size += 2 * len(at)
    uses = reads[m:]
    most = np.abs(uses).max(1, initial=0.0)
    unit = np.where(most > 0.0, most, 1.0)
    places, alone = _each(index, (0, 2), size), _each(index, (0, 1), size)
    filled = (places.sum(1) > 0.0).astype(float)
    sums = _wide(np.hstack([reads[:m], -np.eye(m)]), size)
    above = [alone, _wide(uses / unit[:, None], size), *(_assigned(*part, size) for part in inside)]
    right = [np.ones(alone.shape[0]), limit / unit, *(np.zeros(len(w) ** 2) for _, _, w in inside)]
    cost = np.concatenate([np.zeros(n), -gain, -np.ones(size - n - m)])
    result = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        cost,
        A_ub=vstack(above).tocsr(),
        b_ub=np.concatenate(right),
        A_eq=vstack([places, sums]).tocsr(),
        b_eq=np.concatenate([filled, np.zeros(m)]),
        bounds=np.stack([np.where(np.arange(size) < n, 0.0, -np.inf), np.full(size, np.inf)], 1),
        method="highs-ipm",
    )
    if result.status != 0:
        raise InfeasibleProblem(f"no policy of lists keeps to the constraints: {result.message}")
    duals = result.ineqlin.marginals[alone.shape[0] : alone.shape[0] + len(limit)]
    end = reads[:m] @ result.x[:n]
    return Best(float(objective.value(end)), np.maximum(-duals, 0.0) / unit, end, 0.0)


def _chances(lists: Lists) -> Any:
    """The number of every chance, -1 where a candidate is not offered or a place stays empty, `->(S,A,P)`."""
    cases, candidates = lists.learned.shape[:2]
    offered = np.broadcast_to(lists.offered, (cases, candidates))
    filled = np.arange(lists.position.shape[1]) < offered.sum(1)[:, None]
    possible = offered[:, :, None] & filled[:, None, :]
    return np.where(possible, np.cumsum(possible).reshape(possible.shape) - 1, -1)


def _each(index: Any, axes: tuple[int, int], size: int) -> Any:
    """Sums of the chances over the third axis, a row for each pair of the two others, `->(pairs,size)`."""
    from scipy.sparse import csr_array

    at = np.nonzero(index >= 0)
    row = at[axes[0]] * index.shape[axes[1]] + at[axes[1]]
    shape = (index.shape[axes[0]] * index.shape[axes[1]], size)
    return csr_array((np.ones(len(row)), (row, index[at])), shape=shape)


def _reads(rows: Rows, problem: Problem, lists: Lists) -> Floats:
    """The use of every row by every chance, `->(d,n)`: by exposure, and at once where an outcome is sure."""
    possible, found = _chances(lists) >= 0, []
    at_once = lists._replace(known=lists.known * rows.sure)
    waits = lists._replace(known=lists.known * ~rows.sure)
    for j in range(len(rows)):
        q = np.eye(len(rows))[j]
        price = pulled(rows, problem, lists, q)[0]  # factors are due with their outcomes, whether or not they are sure
        exposed = (lists.learned * price).sum(2) + pulled(rows, problem, waits, q)[1]
        placed = pulled(rows, problem, at_once, q)[1]
        each = exposed[:, :, None] * lists.position[:, None, :] + placed[:, None]
        found.append((lists.weight[:, None, None] * each)[possible])
    return np.array(found).reshape(len(rows), -1)


def _wide(z: Floats, size: int) -> Any:
    """Rows with zeros for the variables that come after, `(d,n)->(d,size)`."""
    from scipy.sparse import csr_array, hstack

    return hstack([csr_array(z), csr_array((len(z), size - z.shape[1]))]) if len(z) else csr_array((0, size))


def _assigned(at: Any, first: int, w: Floats, size: int) -> Any:
    """alpha_i + beta_h - w_h z_i <= 0, with alpha and beta from `first` on, `->(m*m,size)`."""
    from scipy.sparse import csr_array

    m = len(w)
    i, h = np.divmod(np.arange(m * m), m)
    row = np.tile(np.arange(m * m), 3)
    column = np.concatenate([first + i, first + m + h, at[i]])
    return csr_array((np.concatenate([np.ones(2 * m * m), -w[h]]), (row, column)), shape=(m * m, size))
