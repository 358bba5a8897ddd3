"""Who gets what: the actions of a policy, or of a list, by level of every feature."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats, Ints, Texts
from evenhand.replay.dates import written
from evenhand.report.tables import Table

BANDS = 4  # of numbers, each with about as many rows
MOST = 12  # levels of a feature, the last of them for all others


class Level(NamedTuple):
    """The rows with one level of a feature."""

    feature: str
    level: str
    share: float  # of all rows
    actions: tuple[float, ...]  # the mean probability of each action

    @property
    def name(self) -> str:
        return f"{self.feature}: {self.level}"


def levels_of(
    columns: Mapping[str, Floats | Texts | Sequence[str]], policy: Floats, dates: Collection[str] = ()
) -> Iterator[Level]:
    """Yield the levels of every feature, with the mean probability of each action among their rows.

    Numbers are put into four bands with about equally many rows, or have a level each where there are five at most. Of
    texts, the eleven most frequent have a level each, and the others one together if there are more than twelve.

    Args:
        columns: by feature, `(N)` numbers or texts.
        policy: `(N,A)` the probability of every action.
        dates: the columns of numbers that are days since the start of 1970.

    >>> for level in levels_of({"town": ["A", "B", "A", "A"]}, np.eye(2)[[0, 1, 1, 0]]):
    ...     print(level.name, level.share, [round(p, 2) for p in level.actions])
    town: A 0.75 [0.67, 0.33]
    town: B 0.25 [0.0, 1.0]
    """
    for feature, column in columns.items():
        numeric = isinstance(column, np.ndarray) and column.dtype.kind == "f"
        shown = written if feature in dates else _plain
        names, places = _bands(np.asarray(column, float), shown) if numeric else _texts([str(z) for z in column])
        rows = np.bincount(places, minlength=len(names))
        sums = [np.bincount(places, p, minlength=len(names)) for p in policy.T]
        for i in np.flatnonzero(rows).tolist():
            mean = tuple(float(z[i] / rows[i]) for z in sums)
            yield Level(feature, names[i], float(rows[i] / len(places)), mean)


def table_of(levels: Sequence[Level], actions: Sequence[str], rows: str) -> Table:
    """Return the levels as a table; `rows` names what has them."""
    lines = [[z.name, f"{z.share:.1%}", *(f"{p:.4f}" for p in z.actions)] for z in levels]
    return Table(["who gets what", rows, *actions], lines)


def _plain(number: float) -> str:
    return f"{number:.6g}"


def _bands(z: Floats, shown: Callable[[float], str]) -> tuple[list[str], Ints]:
    """Return the names of bands of numbers, and the band of every row; rows without a number have one of their own."""
    known = np.isfinite(z)
    values = np.unique(z[known])
    if len(values) <= BANDS + 1:
        edges = values[:-1]
    else:
        edges = np.unique(np.quantile(z[known], np.arange(1, BANDS) / BANDS, method="inverted_cdf"))
    places = np.where(known, np.searchsorted(edges, z, side="left"), len(edges) + 1)
    names = []
    for i in range(len(edges) + 1):
        inside = z[places == i]
        ends = [shown(float(z)) for z in (inside.min(), inside.max())] if len(inside) else []
        names.append(" to ".join(dict.fromkeys(ends)))
    return [*names, "missing"], places


def _texts(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return texts by their frequency, and the place of every row among them."""
    place: dict[str, int] = {}
    codes = np.fromiter((place.setdefault(t, len(place)) for t in texts), np.int64, len(texts))
    counts = np.bincount(codes, minlength=len(place)).tolist()
    names = sorted(place, key=lambda t: (-counts[place[t]], t))
    order = np.empty(len(names), np.int64)
    order[[place[t] for t in names]] = np.arange(len(names))
    if len(names) > MOST:
        order = np.minimum(order, MOST - 1)
        names = [*names[: MOST - 1], f"{len(names) - MOST + 1} others"]
    return names, order[codes]
