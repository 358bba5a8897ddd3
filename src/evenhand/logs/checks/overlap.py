"""The check of overlap: all kinds of cases, also by pairs of columns, need some chance of every action."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.checks.rows import ERROR, SURE, Drawn

_SAMPLE = 10_000  # rows from which the ends of intervals are read
_PAIRS = 40_000  # rows among which pairs of columns are looked for
_MOST = 8  # rectangles per action
_COLUMNS = 16  # of which pairs are looked through for an action: those along which its share varies most
_RUNS = 210  # of twentieths, at most


def overlap(log: Drawn) -> str | None:
    """Say whether some rows had an action with probability 1, or some kind of case never got an action.

    An action whose least propensity is p occurs in none of n rows with a chance of at most (1 - p)^n, and in none of n
    clusters likewise. Kinds of cases are groups, and levels or tenths of each feature.
    """
    count = len(log.names)
    sure = int((log.propensities >= SURE).sum())
    if sure and count > 1:
        return (
            f"in {sure:,} of {len(log.actions):,} rows the logged action was certain, so no other one can be judged "
            "in such cases, and averages are biased by them; the log of a campaign whose recipe does not `explore` has "
            "such rows"
        )
    least = np.array([log.propensities[log.actions == a].min(initial=1.0) for a in range(count)])
    kinds = [(names, _seen(log, kind, len(names)), log.counted(kind, len(names))) for names, kind in _kinds(log)]
    cells = count * sum(len(names) for names, _, _ in kinds)
    most, told, others = 0, None, 0
    for names, seen, drawn in kinds:
        rows = seen.sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = drawn[:, None] * np.log1p(-least)
        never = (seen == 0) & (chance < np.log(ERROR / cells)) & (seen.sum(0) > 0)
        others += int(never.sum())
        for g, a in np.argwhere(never).tolist():
            if rows[g] > most:
                most = int(rows[g])
                told = f"{log.names[a]!r} was never drawn in {most:,} rows with {names[g]}"
    if told is None:
        return None
    more = f" (nor were actions in {others - 1} other kinds of rows)" if others > 1 else ""
    return f"{told}{more}: what it would bring there is a guess by a model that has not seen it"


def _seen(log: Drawn, kind: Ints, kinds: int) -> Ints:
    """Count the rows of each kind and action, `(N)->(K,A)`."""
    count = len(log.names)
    return np.bincount(kind * count + log.actions, minlength=kinds * count).reshape(kinds, count)


def _kinds(log: Drawn) -> Iterator[tuple[list[str], Ints]]:
    """Yield ways to divide the rows: the names of the parts, and `(N)` the part of every row."""
    for by, group in log.groups.items():
        yield [f"{by} = {name}" for name in log.group_names[by]], group
    step = max(1, len(log.actions) // _SAMPLE)
    for column, level, f, _ in log.features():
        if level is not None:
            yield [f"{column} other than {level}", f"{column} = {level}"], (f > 0.5).astype(np.int64)
            continue
        ends = np.unique(np.quantile(f[::step], np.linspace(0.0, 1.0, 11), method="lower"))[:-1]
        if len(ends):
            yield _names(column, ends), np.searchsorted(ends, f, side="left")


def _names(column: str, ends: Floats) -> list[str]:
    told = [f"{end:.4g}" for end in ends]
    between = [f"{column} above {low} and up to {high}" for low, high in pairwise(told)]
    return [f"{column} up to {told[0]}", *between, f"{column} above {told[-1]}"]


FEW = 50  # rows, or clusters


def groupings(log: Drawn) -> str | None:
    """Say which group has too few rows or clusters for a comparison, or none."""
    of, total = ("rows", len(log.actions)) if log.clusters is None else ("clusters", log.clusters.count)
    few = [
        (int(rows), f"{by} = {name}")
        for by, names in log.group_names.items()
        for name, rows in zip(names, log.counted(log.groups[by], len(names)), strict=True)
        if rows < FEW
    ]
    if not few:
        return None
    rows, group = min(few)
    more = f", and {len(few) - 1} other groups have less than {FEW}" if len(few) > 1 else ""
    return f"{rows:,} of {total:,} {of} have {group}{more}: too few to compare groups by"


def holes(log: Drawn) -> dict[int, Bools]:
    """Find the rows in which actions were never drawn though chance would have drawn them, by action, `->(N)` each.

    Holes are runs of values of a feature, or groups: all rows between two values with which an action was drawn, or
    beyond the last one. An action whose least propensity is p occurs in none of n rows with a chance of at most
    (1 - p)^n, which has to be small for all runs of all columns together; where rows have clusters, which may have got
    one action each, n is at most the number of clusters. Holes of two columns are found by `rectangles`.
    """
    count, found = len(log.names), dict[int, Bools]()
    least = [float(log.propensities[log.actions == a].min(initial=1.0)) for a in range(count)]
    columns = log.count + sum(len(names) for names in log.group_names.values())
    draws = np.ones(len(log.actions)) if log.clusters is None else log.clusters.parts()
    for values in each_column(log):
        each, where = np.unique(values, return_inverse=True)
        enough = math.log(ERROR / (count * columns * len(each)))
        until = np.cumsum(np.bincount(where, draws))  # draws with this value or a smaller one
        for a in range(count):
            drawn = np.flatnonzero(np.bincount(where[log.actions == a], minlength=len(each)))
            if not len(drawn) or least[a] >= 1.0:
                continue
            starts, ends = np.r_[-1, drawn], np.r_[drawn, len(each)]
            rows = np.r_[until, until[-1]][ends - 1] - np.where(starts >= 0, until[starts], 0)
            rows = np.where(ends - starts > 1, rows, 0)
            for run in np.flatnonzero(rows * math.log1p(-least[a]) < enough).tolist():
                hole = (where > starts[run]) & (where < ends[run])
                found[a] = found[a] | hole if a in found else hole
    return found


def each_column(log: Drawn) -> Iterator[Floats]:
    """Yield features, and an indicator of every group."""
    yield from (feature.values for feature in log.features())
    for by, names in log.group_names.items():
        yield from ((log.groups[by] == g) * 1.0 for g in range(len(names)))


def rectangles(log: Drawn, never: Mapping[int, Bools]) -> dict[int, Bools]:
    """Return the rectangles of two columns in which an action was never drawn beside its holes, `->(N)` by action.

    Ends of rectangles are twentieths of a feature, or a level or group, which do not depend on what was drawn: an
    action whose least propensity is p occurs in none of n rows with a chance of at most (1 - p)^n, which has to be
    small for all rectangles of all pairs of columns together. Each one then grows up to the next row with the action.
    Pairs are those of the columns along which the share of an action varies most: all pairs of a hundred took 35 s.
    """
    found: dict[int, Bools] = {}
    step = max(1, len(log.actions) // _PAIRS)
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
