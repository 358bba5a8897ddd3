"""Rows in which an action could not be drawn, such as those of customers below 18: holes that a rule leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.replay.checks.drawn import ERROR, Drawn


def holes(log: Drawn) -> dict[int, Bools]:
    """Find the rows in which actions were never drawn though chance would have drawn them, by action, `->(N)` each.

    Holes are runs of values of a feature, or groups: all rows between two values with which an action was drawn, or
    beyond the last one. An action whose least propensity is p occurs in none of n rows with a chance of at most
    (1 - p)^n, which has to be small for all runs of all columns together; where rows have clusters, which may have got
    one action each, n is at most the number of clusters. Holes of two columns, such as customers below 18 of one town
    alone, are not found.
    """
    count, found = len(log.names), dict[int, Bools]()
    least = [float(log.propensities[log.actions == a].min(initial=1.0)) for a in range(count)]
    columns = log.count + sum(len(names) for names in log.group_names.values())
    draws = np.ones(len(log.actions)) if log.clusters is None else log.clusters.parts()
    for values in _columns(log):
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


def _columns(log: Drawn) -> Iterator[Floats]:
    """Yield features, and an indicator of every group."""
    yield from (feature.values for feature in log.features())
    for by, names in log.group_names.items():
        yield from ((log.groups[by] == g) * 1.0 for g in range(len(names)))
