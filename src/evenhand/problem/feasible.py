"""The feasibility of a problem's constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenhand.core.types import Floats
from evenhand.objectives.steepness import widths
from evenhand.problem.constraints.statements import Region, Statement, States, regions, stated_rows
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select

_CUTS, _OFF = 200, 1e-6


def reach(problem: Declarations, rows: Rows) -> tuple[Floats, Floats]:
    """Return the least and the most that one play of each action can add to rows of everybody, `->(A,d),(A,d)`.

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
    if problem.factors is not None:
        w = w * problem.factors.of(problem.declared[None])[0][:, None]
    low, high = problem.span_by_action[:, :, None, : len(problem.learned)]
    ends = np.where(w > 0, low, high), np.where(w > 0, high, low)
    parts = zip(fixed, ends, strict=True)
    least, most = (known + (w * np.where(w == 0.0, 0.0, end)).sum(-1) for known, end in parts)
    return least, most


def sizes(problem: Declarations, rows: Rows) -> Floats:
    """Return the largest size that one play can add to each row, without factors of groups, `->(d)`.

    Learned outcomes count times their factors as declared, and those without a finite range as 1.
    """
    most = np.abs(problem.amount_span[:, : len(problem.learned)]).max(0)
    learned = np.abs(rows.learned) @ np.where(np.isfinite(most), most, 1.0)
    return np.asarray(learned + np.abs(rows.known) @ np.abs(problem.declared).max(0, initial=0.0))


def feasible(problem: States, stated: Iterable[Statement] | None = None) -> bool:
    """Whether some mixture of plays meets all constraints on everybody, with learned outcomes at their best.

    Noisy outcomes are at their means.
    Equation: some x in [0, 1]^A with sum_a x_a = P, x_a the probability that action a is among the P different plays of
    a round, and some z with sum_a x_a low_a <= z <= sum_a x_a high_a have W z <= bound, and the z of every convex set
    that rows do not describe in it. Where rounds have measures, sum_a x_a <= P, as users may stay without an arm.
    Constraints on single groups are ignored.
    """
    stated = problem.stated if stated is None else tuple(stated)
    rows, bound = stated_rows(problem, stated)
    everybody = np.flatnonzero(rows.grouping < 0)
    rows, bound, plays = rows.take(everybody), bound[everybody], min(problem.n_plays, len(problem.actions))
    curved = [r for r in regions(stated) if all(problem.row(name)[1] < 0 for name in r.outcomes)]
    if not len(bound) and not curved:
        return True
    if not curved and ((rows.weights != 0.0).sum(0) <= 1).all():  # then every row may be at its best by itself
        least = reach(problem, rows)[0]
        unit = _or_one(np.maximum(_largest(least), np.abs(bound)))
        least, limit = _finite(least / unit, 1.0), bound / unit
        cheapest = np.argsort((least - limit / plays).max(1), kind="stable")[:plays]
        if (least[cheapest].sum(0) <= limit).all():
            return True
    return _meets(problem, curved, rows, bound, plays)


def holds_nothing(problem: Declarations, region: Region) -> bool:
    """Whether a set contains the averages of doing nothing, up to rounding in units of its outcomes."""
    nothing = np.zeros(region.within.dim)
    return bool(np.abs(region.within.project(nothing)).max() <= 1e-9 * widths(*problem.ranges(region.outcomes)).max())


def conflict(problem: States) -> tuple[Statement, ...]:
    """Return a minimal set of constraints on everybody that exclude each other, if there is one."""
    left = [s for s in problem.stated if not s.rows.by_group]
    for s in tuple(left):
        others = [other for other in left if other is not s]
        if not feasible(problem, others):
            left = others
    return tuple(left)


def _finite(ends: Floats, bound: float) -> Floats:
    """Replace infinite ends by large ones: of an unbounded outcome a small probability is enough."""
    most = 1e6 * (1.0 + np.where(np.isfinite(ends), np.abs(ends), 0.0).max(initial=0.0) + bound)
    return np.clip(ends, -most, most)


def _largest(ends: Floats) -> Floats:
    return np.asarray(np.where(np.isfinite(ends), np.abs(ends), 0.0).max(0))


def _or_one(size: Floats) -> Floats:
    return np.where(size > 0.0, size, 1.0)


def _meets(problem: Declarations, curved: list[Region], rows: Rows, bound: Floats, plays: int) -> bool:
    """Whether some mixture keeps to rows and curved sets: a linear program, with a tangent wherever it leaves a set."""
    read = (rows.weights != 0.0).any(0)
    places = [[problem.names.index(name) for name in r.outcomes] for r in curved]
    used = sorted({*np.flatnonzero(read).tolist(), *(i for at in places for i in at)})
    low, high = reach(problem, select(problem, (problem.names[i] for i in used)))
    unit = _or_one(_largest(np.concatenate([low, high])))  # tolerances of the solver are absolute
    low, high, one, n = _finite(low / unit, 0.0), _finite(high / unit, 0.0), np.eye(len(used)), len(low)
    each = rows.weights[:, used] * rows.always[:, None] * unit
    size = _or_one(np.maximum(np.abs(each).max(1, initial=0.0), np.abs(bound)))
    parts = [np.column_stack([np.zeros((len(bound), n)), each / size[:, None]])]
    parts += [np.column_stack([low.T, -one]), np.column_stack([-high.T, one])]
    limits = np.concatenate([bound / size, np.zeros(2 * len(used))])
    for _ in range(_CUTS):
        x = _program(problem, np.concatenate(parts), limits, n, plays)
        if x is None:
            return False
        inside = True
        for r, at in zip(curved, places, strict=True):
            here = np.array([used.index(i) for i in at])
            scale = unit[here].max()
            z = x[n + here] * unit[here] / scale
            near = r.within.project(scale * z) / scale
            far = float(np.linalg.norm(z - near))
            if far > _OFF * (1.0 + np.abs(z).max()):
                inside, cut = False, np.zeros((1, len(x)))
                np.add.at(cut[0], n + here, (z - near) / far * unit[here] / scale)
                parts.append(cut)
                limits = np.append(limits, float((z - near) @ near) / far)
        if inside:
            return True
    return True  # not shown to be impossible


def _program(problem: Declarations, rows: Floats, limits: Floats, actions: int, plays: int) -> Floats | None:
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
