"""Rows in which a rule of two columns lets an action never be drawn, such as calls to those below 18 of one town."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.checks.drawn import ERROR, Drawn
from evenhand.logs.checks.overlap import each_column

_SAMPLE = 40_000  # rows among which pairs of columns are looked for
_MOST = 8  # rectangles per action
_COLUMNS = 16  # of which pairs are looked through for an action: those along which its share varies most
_RUNS = 210  # of twentieths, at most


def rectangles(log: Drawn, never: Mapping[int, Bools]) -> dict[int, Bools]:
    """Return the rectangles of two columns in which an action was never drawn beside its holes, `->(N)` by action.

    Ends of rectangles are twentieths of a feature, or a level or group, which do not depend on what was drawn: an
    action whose least propensity is p occurs in none of n rows with a chance of at most (1 - p)^n, which has to be
    small for all rectangles of all pairs of columns together. Each one then grows up to the next row with the action.
    Pairs are those of the columns along which the share of an action varies most: all pairs of a hundred took 35 s.
    """
    found: dict[int, Bools] = {}
    step = max(1, len(log.actions) // _SAMPLE)
    columns = list(each_column(log))
    ends = [np.unique(np.quantile(f[::step], np.linspace(0.0, 1.0, 21), method="lower"))[:-1] for f in columns]
    bins = [np.searchsorted(z, f[::step], side="left") for z, f in zip(ends, columns, strict=True)]
    draws = np.ones(len(log.actions)) if log.clusters is None else log.clusters.parts()
    pairs = math.comb(len(columns), 2)
    for a in range(len(log.names)):
        played = log.actions == a
        least = float(log.propensities[played].min(initial=1.0))
        if least >= 1.0 or pairs == 0:
            continue
        enough = math.log(ERROR / (len(log.names) * pairs * _RUNS**2)) / math.log1p(-least)
        free = ~never.get(a, np.zeros(len(played), bool))
        some, few = free[::step] * draws[::step], played[::step]
        tried = combinations(sorted(_by_variation(bins, few)[:_COLUMNS]), 2)
        likely = [(i, j) for i, j in tried if _empty(bins[i], bins[j], few, some)[0] > enough / min(step, 2)]
        parts = {k: np.searchsorted(ends[k], columns[k], side="left") for k in {k for pair in likely for k in pair}}
        for _ in range(_MOST if likely else 0):
            best = [(*_empty(parts[i], parts[j], played, draws * free), i, j) for i, j in likely]
            rows, sides, i, j = max(best, key=lambda one: one[0])
            if rows <= enough:
                break
            one, other = (_between(parts[k], *side) for k, side in zip((i, j), sides, strict=True))
            one = _up_to_draws(columns[i], one, played & other)
            hole = one & _up_to_draws(columns[j], other, played & one)
            found[a] = found[a] | hole if a in found else hole
            free &= ~hole
    return found


def _by_variation(bins: Sequence[Ints], played: Bools) -> list[int]:
    """Order columns by how far the rows with an action are from its share of the rows of some part, `(N),(N)->(k)`."""
    most = []
    for part in bins:
        rows = np.maximum(np.bincount(part), 1)
        seen = np.bincount(part, played, minlength=len(rows))
        most.append(float((np.square(seen - rows * played.mean()) / rows).max()))
    return sorted(range(len(most)), key=lambda k: -most[k])


def _empty(one: Ints, other: Ints, played: Bools, draws: Floats) -> tuple[float, tuple[tuple[int, int], ...]]:
    """Return the most draws in a rectangle in which none got the action, and its first and last parts by column."""
    shape = int(one.max()) + 1, int(other.max()) + 1
    cell = one * shape[1] + other
    seen = np.bincount(cell, played, minlength=shape[0] * shape[1]).reshape(shape)
    rows = np.bincount(cell, draws, minlength=seen.size).reshape(shape)
    if not ((seen == 0.0) & (rows > 0.0)).any():
        return 0.0, ()
    (i, j), (k, m) = (np.triu_indices(n) for n in shape)
    sums = []
    for table in (seen, rows):
        total = np.pad(table.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        strips = total[j + 1] - total[i]
        sums.append(strips[:, m + 1] - strips[:, k])
    size = np.where(sums[0] == 0.0, sums[1], 0.0)
    u, v = np.unravel_index(int(size.argmax()), size.shape)
    return float(size[u, v]), ((int(i[u]), int(j[u])), (int(k[v]), int(m[v])))


def _between(part: Ints, first: int, last: int) -> Bools:
    """Return the rows whose part of a column is from one to another, `(N)->(N)`."""
    return np.asarray((part >= first) & (part <= last))


def _up_to_draws(f: Floats, inside: Bools, played: Bools) -> Bools:
    """Return the rows between the next values of a column to either side with which an action was drawn."""
    low, high, drawn = f[inside].min(), f[inside].max(), f[played]
    below, above = drawn[drawn < low].max(initial=-np.inf), drawn[drawn > high].min(initial=np.inf)
    return np.asarray((f > below) & (f < above))
