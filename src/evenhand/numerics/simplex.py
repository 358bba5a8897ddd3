"""Small linear programs over lotteries with bounds, many at once, by the simplex method on a dictionary.

A dictionary states basic variables and objectives by the others: x_i + sum_k t_ik x_k = t_i for each row i, and
z_l - sum_k d_lk x_k = -(-z_l) for each objective l. Objectives are lexicographic: a column may enter at level l only if
its slopes at all levels before l are 0, so that what was reached there stays. Phase 1 is the first level.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints

TIE = 1e-9  # slopes and differences of arms below this part of the largest count as 0
_LEAST = 1e-9  # the smallest pivot, in rows whose entries are at most 1
_STILL = 1e-12  # a step no longer than this is degenerate


@kernel
def pivot(table: Floats, row: int, column: int, basic: Ints, free: Ints) -> None:
    """Exchange the variables of a column and a row, in place."""
    width, inverse = table.shape[1], 1.0 / table[row, column]
    table[row, column] = 1.0
    for k in range(width):
        table[row, k] *= inverse
    above = table[row].copy()  # a copy, so that the compiler knows that rows do not overlap
    for i in range(len(table)):
        slope = table[i, column]
        if i != row and slope != 0.0:
            line = table[i]
            line[column] = 0.0
            for k in range(width):
                line[k] -= slope * above[k]
    basic[row], free[column] = free[column], basic[row]


@kernel
def _entering(table: Floats, rows: int, free: Ints, bland: bool) -> int:
    """Find the column of the steepest slope at the first level that has one or, by Bland's rule, of the least label."""
    best, chosen, first = 0.0, -1, len(table)
    for k in range(table.shape[1] - 1):
        for level in range(rows, first + 1 if first < len(table) else first):
            slope = table[level, k]
            if slope < -TIE:
                break
            if slope > TIE:
                better = free[k] < free[chosen] if bland else slope > best
                if level < first or better:
                    best, chosen, first = slope, k, level
                break
    return chosen


@kernel
def _leaving(table: Floats, rows: int, column: int, basic: Ints, bland: bool) -> tuple[int, float]:
    """Find the row that reaches 0 first, and its step; ties go to the largest pivot, or to the least label (Bland)."""
    least, chosen, last = np.inf, -1, table.shape[1] - 1
    for i in range(rows):
        t = table[i, column]
        if t > _LEAST:
            step = max(table[i, last], 0.0) / t
            if step < least - _STILL:
                least, chosen = step, i
            elif step <= least + _STILL:
                better = basic[i] < basic[chosen] if bland else t > table[chosen, column]
                if better:
                    least, chosen = min(step, least), i
    return chosen, least


@kernel
def maximize(table: Floats, rows: int, basic: Ints, free: Ints) -> None:
    """Pivot a feasible dictionary to the lexicographic maximum of the objectives below its first rows, in place.

    Degenerate steps switch to Bland's rule, which cannot cycle, until a step makes progress.
    """
    size, still = rows + table.shape[1], 0
    for _ in range(100 * size):
        bland = still > size
        column = _entering(table, rows, free, bland)
        if column < 0:
            return
        row, step = _leaving(table, rows, column, basic, bland)
        if row < 0:
            return  # the maximum is not bounded: programs over lotteries have none of these
        still = still + 1 if step <= _STILL else 0
        pivot(table, row, column, basic, free)


@kernel
def enter_where_least(table: Floats, first: int, last: int, column: int, basic: Ints, free: Ints) -> None:
    """Let a variable enter that makes infeasible rows, `t < 0`, feasible, if there are any, in place."""
    worst, chosen = -_STILL, -1
    for i in range(first, last):
        lacks = table[i, table.shape[1] - 1] / -table[i, column]
        if lacks < worst:
            worst, chosen = lacks, i
    if chosen >= 0:
        pivot(table, chosen, column, basic, free)


@kernel
def start_at(
    of_arms: Floats, of_others: Floats, right: Floats, allowed: Bools, budgets: int, levels: int
) -> tuple[Floats, Ints, Ints]:
    """Build the dictionary of `of_arms.p + of_others.x <= right` at a single arm, p a lottery, `(i,A),(i,n),(i),(A)->`.

    The arm has the least excess over the first rows. The row of all probabilities comes last, and empty objectives
    below. Labels are those of the arms, of x, and of slacks.
    """
    (rows, arms), others = of_arms.shape, of_others.shape[1]
    start, least = -1, np.inf
    for a in range(arms):
        if allowed[a]:
            most = 0.0
            for i in range(budgets):
                most = max(most, of_arms[i, a] - right[i])
            if most < least:
                start, least = a, most
    n = np.count_nonzero(allowed) - 1
    table = np.zeros((rows + 1 + levels, n + others + 1))
    basic, free, k = np.empty(rows + 1, np.int64), np.empty(n + others, np.int64), 0
    for a in range(arms):
        if allowed[a] and a != start:
            free[k] = a
            for i in range(rows):
                table[i, k] = of_arms[i, a] - of_arms[i, start]
            k += 1
    for j in range(others):
        free[n + j] = arms + j
        for i in range(rows):
            table[i, n + j] = of_others[i, j]
    for i in range(rows):
        basic[i] = arms + others + i
        table[i, n + others] = right[i] - of_arms[i, start]
    basic[rows] = start
    table[rows, :n] = 1.0
    table[rows, n + others] = 1.0
    return table, basic, free


@kernel
def share_alike(readings: Floats, allowed: Bools, p: Floats) -> None:
    """Let arms with equal readings share their probabilities equally, in place, `(K,A),(A),(A)`."""
    none, bound = np.zeros(p.shape), np.zeros(readings.shape[1])
    for r in range(len(p)):
        if allowed[r].any():
            _share(none, readings, sizes(readings, bound, allowed, r), 1.0, allowed, r, p)


@kernel
def sizes(use: Floats, bound: Floats, allowed: Bools, r: int) -> Floats:
    """Compute the largest number in every row of a program, 1 for rows of zeros, `(M,A),(M),(A)->(M)`."""
    size = np.abs(bound)
    for i in range(len(bound)):
        for a in range(len(allowed[r])):
            if allowed[r, a]:
                size[i] = max(size[i], abs(use[r, i, a]))
        if size[i] == 0.0:
            size[i] = 1.0
    return size


@kernel
def _first(worth: Floats, use: Floats, bound: Floats, size: Floats, allowed: Bools, r: int) -> tuple[int, float]:
    """Choose the first arm: the best within all bounds, or else of least excess; returns it and the largest worth."""
    chosen, least, most, largest = -1, np.inf, -np.inf, 0.0
    for a in range(worth.shape[1]):
        if allowed[r, a]:
            largest = max(largest, abs(worth[r, a]))
            excess = 0.0
            for i in range(len(bound)):
                excess = max(excess, (use[r, i, a] - bound[i]) / size[i])
            if excess < least or (excess == least and worth[r, a] > most):
                chosen, least, most = a, excess, worth[r, a]
    return chosen, largest if largest > 0.0 else 1.0


@kernel
def _share(worth: Floats, use: Floats, size: Floats, unit: float, allowed: Bools, r: int, p: Floats) -> None:
    """Let equal arms share their probabilities equally, in place, `(A),(M,A),(M),(),(A),(A)`."""
    arms = p.shape[1]
    alike, done = np.empty(arms, np.bool_), np.zeros(arms, np.bool_)
    for a in range(arms):
        if p[r, a] <= 0.0 or done[a]:
            continue
        total, count = 0.0, 0
        for b in range(arms):
            alike[b] = allowed[r, b] and not done[b] and abs(worth[r, a] - worth[r, b]) <= TIE * unit
            for i in range(len(size)):
                if not alike[b]:
                    break
                alike[b] = abs(use[r, i, a] - use[r, i, b]) <= TIE * size[i]
            if alike[b]:
                total += p[r, b]
                count += 1
        for b in range(arms):
            if alike[b]:
                done[b] = True
                p[r, b] = total / count


@kernel
def lotteries(worth: Floats, use: Floats, bound: Floats, allowed: Bools) -> tuple[Floats, Floats]:
    """Compute the best lottery over allowed arms within all bounds, and its excess, `(A),(M,A),(M),(A)->(A),()`.

    Equation: max worth.p over lotteries p with use.p <= bound. If there is none, the largest excess over a bound,
    relative to the largest number in its row, is minimised first. Ties go to the lottery with the least total use in
    the same units; equal arms share equally. Without ties at most M + 1 arms have positive probability. If no arm is
    allowed, all are 0.

    >>> gain, uses = np.array([[0.8, 0.5, 0.0]]), np.array([[[0.9, 0.4, 0.0]]])
    >>> lotteries(gain, uses, np.array([0.45]), np.ones((1, 3), bool))[0].round(3)
    array([[0.1, 0.9, 0. ]])
    """
    (count, arms), m = worth.shape, len(bound)
    p, excess = np.zeros((count, arms)), np.zeros(count)
    basic, free = np.empty(m + 1, np.int64), np.empty(arms, np.int64)
    for r in range(count):
        size = sizes(use, bound, allowed, r)
        start, unit = _first(worth, use, bound, size, allowed, r)
        if start < 0:
            continue
        n = 0  # columns of the arms other than the first
        for a in range(arms):
            if allowed[r, a] and a != start:
                free[n] = a
                n += 1
        free[n] = arms  # the variable that compensates for excess
        table = np.zeros((m + 4, n + 2))
        for i in range(m):
            basic[i] = arms + 1 + i
            here = use[r, i, start]
            for k in range(n):
                table[i, k] = (use[r, i, free[k]] - here) / size[i]
            table[i, n] = -1.0
            table[i, n + 1] = (bound[i] - here) / size[i]
        basic[m] = start
        table[m, :n] = 1.0
        table[m, n + 1] = 1.0
        table[m + 1, n] = -1.0
        for k in range(n):
            table[m + 2, k] = (worth[r, free[k]] - worth[r, start]) / unit
            for i in range(m):
                table[m + 3, k] -= table[i, k]
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(table[m + 3, k]))
        if largest > 0.0:
            for k in range(table.shape[1]):
                table[m + 3, k] /= largest
        enter_where_least(table, 0, m, n, basic, free[: n + 1])
        maximize(table, m + 1, basic, free[: n + 1])
        total = 0.0
        for i in range(m + 1):
            x = max(table[i, n + 1], 0.0)
            if basic[i] < arms:
                p[r, basic[i]] = x
                total += x
            elif basic[i] == arms:
                excess[r] = x
        for a in range(p.shape[1]):
            p[r, a] /= total
        _share(worth, use, size, unit, allowed, r, p)
    return p, excess
