"""The check of propensities: actions have to be drawn by those that are stated, overall and in every group."""

from __future__ import annotations

import numpy as np

from evenhand.core.texts import few
from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.checks.rows import Drawn, quantile, reach

_FAR = 0.25  # relative errors of propensities from which on a log is refused, if they are twice what chance explains
_SMALL = 0.01  # relative errors of propensities up to this change no number that matters


def propensities(log: Drawn) -> str | None:
    """Say where propensities do not fit: the rows with an action, weighted by 1 / propensity, must add up to all rows.

    Equation: mean_i 1{a_i = a} / p_i = 1 within its error, of all rows and of those of every group in which the action
    could be drawn. The variance of a term is E[1 / p_a] - 1, with E[1 / p_a] = sum_i 1{a_i = a} / p_i^2 / sum_i
    1{a_i = a} / p_i, which few rows do not make small. Clusters multiply it by as much as they do that of the mean of
    1{a_i = a} / p_i. Where an action could not be drawn, mean_i 1 / p_i is the number of those that could.
    """
    parts = [([""], np.zeros(len(log.actions), np.int64))]
    parts += [([f" of {by} = {name}" for name in log.group_names[by]], g) for by, g in log.groups.items()]
    count = len(log.names)
    z = quantile(count * sum(len(places) for places, _ in parts) + len(log.holes))
    worst, told, others = 1.0, None, 0
    for places, group in parts:
        mean, far = _weights(log, group, len(places), z)
        off = np.abs(mean - 1.0) / np.maximum(far, _SMALL)
        others += int((off > 1.0).sum())
        g, a = divmod(int(off.argmax()), count)
        if off[g, a] > worst:
            worst = float(off[g, a])
            told = (
                f"the propensities do not fit the log: rows with {log.names[a]!r}{places[g]}, each divided by its "
                f"propensity, make up {mean[g, a]:.3f} of all such rows where 1 was expected, within {far[g, a]:.3f}"
            )
    for a, hole in log.holes.items():
        average, error, expected = _others(log, hole, z)
        off_others = abs(average - expected) / max(error, _SMALL * expected)
        others += off_others > 1.0
        if off_others > worst:
            worst = off_others
            told = (
                f"the propensities do not fit the log: where {log.names[a]!r} is never drawn, 1 / propensity is "
                f"{average:.3f} on average, and not {expected:.3f}, the number of other actions, within {error:.3f}"
            )
    if told is None:
        return None
    return told + (f"; so do {others - 1} others" if others > 1 else "") + "; the results below may be biased"


def _others(log: Drawn, hole: Bools, z: float) -> tuple[float, float, float]:
    """Return the average of 1 / p in a hole, how far it may be off, and the average number of actions there."""
    drawable = np.full(int(hole.sum()), float(len(np.unique(log.actions))))
    for other in log.holes.values():
        drawable -= other[hole]
    w = 1.0 / log.propensities[hole]
    d = w - drawable
    more, third_more = log.of(hole).excess(d)
    far = reach(z, len(w), d.var() * more, (np.abs(d) ** 3).mean() * third_more)
    return float(w.mean()), float(far[0]), float(drawable.mean())


def misfit(log: Drawn, *, by_row: bool = True) -> str | None:
    """Say which shares of actions are far from those that the stated propensities give; None if they are not.

    Rows that could not get an action, as in a campaign whose budget is spent, rightly make it rarer. Too rare an action
    counts only where the same is stated for all rows, which leaves none without it.

    Args:
        log: what was drawn.
        by_row: whether every row states a probability of its own.
    """
    log = log.unsure
    if not len(log.actions):
        return None
    mean, far = (z[0] for z in _weights(log, np.zeros(len(log.actions), np.int64), 1, quantile(len(log.names))))
    varies = np.ptp(log.propensities) > 1e-9
    off = mean - 1.0 if by_row and varies else np.abs(mean - 1.0)
    if not (off > np.maximum(2.0 * far, _FAR)).any():
        return None
    share = np.bincount(log.actions, minlength=len(log.names)) / len(log.actions)
    stated = np.divide(share, mean, out=np.full(len(share), np.nan), where=mean > 0.0)
    order = np.argsort(-off, kind="stable")
    told = [f" (stated: {z:.1%})" if varies and np.isfinite(z) else "" for z in stated]
    return few((f"{log.names[a]} {share[a]:.1%}{told[a]}" for a in order.tolist()), width=200)


def _weights(log: Drawn, group: Ints, groups: int, z: float) -> tuple[Floats, Floats]:
    """Return the average weight by group and action, and how far it may be from 1, `(N)->(G,A)` each."""
    count, w, each = len(log.names), 1.0 / log.propensities, log.counted_as(np.ones(len(group)))
    cell, total = group * count + log.actions, np.bincount(group, each, groups)
    parts, rows = (np.repeat(z[:, None] * 1.0, count, 1) for z in (total, np.bincount(group, minlength=groups)))
    for a, hole in log.holes.items():
        parts[:, a] -= np.bincount(group[hole], each[hole], groups)
        rows[:, a] -= np.bincount(group[hole], minlength=groups)
    rows = np.maximum(rows, 1.0)
    first, second, third = (
        np.bincount(cell, weights=each * w**k, minlength=groups * count).reshape(groups, count) for k in (1, 2, 3)
    )
    moments = []
    for of, all_rows in ((second, second.sum(0)), (third, third.sum(0))):
        inside = np.divide(of, first, out=np.zeros_like(of), where=first > 0.0)
        overall = np.divide(all_rows, first.sum(0), out=np.zeros(count), where=first.sum(0) > 0.0)
        moments.append(np.maximum(inside, overall))
    there = (first.sum(1, keepdims=True) > 0.0) & ((first > 0.0) | (rows > 1.0))
    mean = np.divide(first, parts, out=np.ones_like(first), where=there & (parts > 0.0))
    more = np.array([log.excess((log.actions == a) * w, group, groups) for a in range(count)])  # (A,2,G)
    return mean, reach(z, rows, np.maximum(moments[0] - 1.0, 0.0) * more[:, 0].T, moments[1] * more[:, 1].T)
