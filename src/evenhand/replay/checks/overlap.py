"""Whether a log can tell what other actions would have brought, in all kinds of cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.replay.checks.drawn import ERROR, SURE, Drawn

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
