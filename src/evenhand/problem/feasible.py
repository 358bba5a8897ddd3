"""Whether the constraints of a problem can be met at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.constraints.base import Region, regions, stated_rows
from evenhand.problem.rows import Rows, select

if TYPE_CHECKING:
    from evenhand.problem.problem import Problem

_CUTS, _OFF = 200, 1e-6


def reach(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """The least and the most that one play of each action can add to rows that concern everybody, `->(A,d),(A,d)`.

    >>> from evenhand.environments import Court
    >>> from evenhand.problem.rows import select
    >>> reach(Court().problem, select(Court().problem, ("appears", "ride")))[1]
    array([[1., 0.],
           [1., 0.],
           [1., 1.]])
    """
    each = problem.declared[:, None, :] * (rows.known * rows.always[:, None])
    waits = ~problem.sure  # they add 0 if a play is not exposed
    fixed = np.where(waits, np.minimum(each, 0.0), each).sum(2), np.where(waits, np.maximum(each, 0.0), each).sum(2)
    w = rows.learned * rows.always[:, None]
    used = (w != 0.0) & ~problem.free[:, None, : len(problem.learned)]
    ends = np.where(w > 0, problem.low, problem.high), np.where(w > 0, problem.high, problem.low)
    parts = zip(fixed, ends, strict=True)
    least, most = (known + np.where(used, w * np.where(w == 0.0, 0.0, end), 0.0).sum(2) for known, end in parts)
    return least, most


def feasible(problem: Problem) -> bool:
    """Whether some mixture of plays meets all constraints on everybody, with learned outcomes at their best.

    Noisy outcomes are at their means.
    Equation: some x in [0, 1]^A with sum_a x_a = P has sum_a x_a least_a <= bound, with x_a the probability that action
    a is among the P different plays of a round; and for every convex set that rows do not describe some z in it has
    sum_a x_a low_a <= z <= sum_a x_a high_a. Where rounds have measures, sum_a x_a <= P, as users may stay without an
    arm. Constraints on single groups are ignored.
    """
    rows, bound = stated_rows(problem, problem.subject_to)
    everybody = np.flatnonzero(rows.grouping < 0)
    rows, bound, plays = rows.take(everybody), bound[everybody], min(problem.n_plays, len(problem.actions))
    curved = [r for r in regions(problem) if all(problem.row(name)[1] < 0 for name in r.outcomes)]
    if not len(bound) and not curved:
        return True
    least, _ = reach(problem, rows)
    unit = _or_one(np.maximum(_largest(least), np.abs(bound)))  # tolerances of the solver are absolute
    least, bound = _finite(least / unit, 1.0), bound / unit
    if not curved:
        cheapest = np.argsort((least - bound / plays).max(1), kind="stable")[:plays]
        if (least[cheapest].sum(0) <= bound).all():
            return True
        return _program(problem, least.T, bound, len(least), plays) is not None
    return _meets(problem, curved, least, bound, plays)


def _finite(ends: Floats, bound: float) -> Floats:
    """Ends without infinite ones: of an unbounded outcome a small probability is enough."""
    most = 1e6 * (1.0 + np.where(np.isfinite(ends), np.abs(ends), 0.0).max(initial=0.0) + bound)
    return np.clip(ends, -most, most)


def _largest(ends: Floats) -> Floats:
    """The largest size of the finite ends of each column, `(A,d)->(d)`."""
    return np.asarray(np.where(np.isfinite(ends), np.abs(ends), 0.0).max(0))


def _or_one(size: Floats) -> Floats:
    return np.where(size > 0.0, size, 1.0)


def _meets(problem: Problem, curved: list[Region], least: Floats, bound: Floats, plays: int) -> bool:
    """Whether some mixture keeps to rows and curved sets: a linear program, with a tangent wherever it leaves a set."""
    ends = [reach(problem, select(problem, r.outcomes)) for r in curved]
    sizes = [r.within.dim for r in curved]
    at = np.cumsum([len(least), *sizes])
    low, high = (np.concatenate([e[i] for e in ends], 1) for i in (0, 1))
    unit = np.repeat([_or_one(_largest(np.concatenate(e)).max(keepdims=True))[0] for e in ends], sizes)
    low, high, one = _finite(low / unit, 0.0), _finite(high / unit, 0.0), np.eye(sum(sizes))
    parts = [np.column_stack([least.T, np.zeros((len(bound), len(one)))])]
    parts += [np.column_stack([low.T, -one]), np.column_stack([-high.T, one])]
    limits = np.append(bound, np.zeros(2 * len(one)))
    for _ in range(_CUTS):
        x = _program(problem, np.concatenate(parts), limits, len(least), plays)
        if x is None:
            return False
        inside = True
        for r, start, size in zip(curved, at, sizes, strict=False):
            z, scale = x[start : start + size], unit[start - len(least)]
            near = r.within.project(scale * z) / scale
            far = float(np.linalg.norm(z - near))
            if far > _OFF * (1.0 + np.abs(z).max()):
                inside, cut = False, np.zeros((1, len(x)))
                cut[0, start : start + size] = (z - near) / far
                parts.append(cut)
                limits = np.append(limits, float((z - near) @ near) / far)
        if inside:
            return True
    return True  # not shown to be impossible


def _program(problem: Problem, rows: Floats, limits: Floats, actions: int, plays: int) -> Floats | None:
    """Some x with rows x <= limits, the first of it probabilities of actions, None if there is none."""
    from scipy.optimize import linprog  # only needed if the cheapest actions do not fit together

    width, count, nothing = rows.shape[1], [float(plays)], np.zeros(rows.shape[1])
    share = np.concatenate([np.ones(actions), np.zeros(width - actions)])[None]
    ranges = [(0.0, 1.0)] * actions + [(None, None)] * (width - actions)
    if problem.measures:
        result = linprog(nothing, np.concatenate([rows, share]), [*limits, *count], bounds=ranges)
    else:
        result = linprog(nothing, rows, limits, share, count, bounds=ranges)
    return np.asarray(result.x) if result.status == 0 else None
