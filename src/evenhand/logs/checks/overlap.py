"""Whether a log can tell what other actions would have brought, in all kinds of cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.checks.drawn import ERROR, SURE, Drawn

_SAMPLE = 10_000  # rows from which the ends of intervals are read


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
    kinds = list(_kinds(log))
    cells = count * sum(len(names) for names, _ in kinds)
    most, told, others = 0, None, 0
    for names, kind in kinds:
        seen = np.bincount(kind * count + log.actions, minlength=len(names) * count).reshape(len(names), count)
        rows, drawn = seen.sum(1), log.counted(kind, len(names))
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
