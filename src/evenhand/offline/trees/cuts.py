"""Conditions on features, by which trees divide cases, and trees in the grammar of rules."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats, Ints, Places, Texts
from evenhand.logs.dates import days, written
from evenhand.logs.units import MISSING

ALL = slice(None)
_NO = {"<": ">=", "=": "!=", "!=": "="}


class Branch(NamedTuple):
    """A cut, with what follows where its condition holds, and where it does not."""

    cut: int
    yes: Tree
    no: Tree


Tree = Branch | int  # an action, or a cut
Path = tuple[tuple[int, bool], ...]  # cuts from the root on, and whether their conditions hold


class Condition(NamedTuple):
    """A comparison of a feature with a value; a missing number satisfies `= missing` alone."""

    feature: str
    sign: str
    value: str
    gaps: bool = False  # whether the feature has missing numbers

    def text(self) -> str:
        """Return the condition in the grammar of rules.

        >>> Condition("recency", "<", "4").text(), Condition("zip code", "=", 'the "Hague"').text()
        ('recency < 4', '"zip code" = \\'the "Hague"\\'')
        """
        return f"{quoted(self.feature)} {self.sign} {quoted(self.value)}"

    def opposite(self) -> str:
        """Return where it does not hold, in words."""
        missing = f" or {MISSING}" if self.gaps and self.sign == "<" else ""
        return self._replace(sign=_NO[self.sign]).text() + missing


def quoted(name: str) -> str:
    """Return a name as rules have it: in quotes if it is no plain word; a name with both kinds has both, in turn.

    >>> print(quoted("age"), quoted("zip code"), quoted('5" by 3"'), quoted("5'9\\""))
    age "zip code" '5" by 3"' "5'9"'"'""
    """
    if name and name != "and" and all(c.isalnum() or c in "_.-" for c in name):
        return name
    for mark in ('"', "'"):
        if mark not in name:
            return f"{mark}{name}{mark}"
    return "'\"'".join(f'"{part}"' for part in name.split('"'))


@dataclass(frozen=True, kw_only=True, eq=False)
class Cuts:
    """The cuts of the features of some rows. Those of a feature follow each other.

    Args:
        codes: `(N,F)` the bin of each row; a condition on names holds in its own bin, one on numbers also in those
            before it. -1 where none holds.
        starts: `(F+1)` the first cut of each feature.
        ordered: `(F)` whether bins are in order.
        conditions: of each cut.
    """

    codes: Places
    starts: Ints
    ordered: Bools
    conditions: tuple[Condition, ...]

    @staticmethod
    def of(
        columns: Mapping[str, Floats | Texts], most: int, dates: Collection[str] = (), rows: Ints | slice = ALL
    ) -> Cuts:
        """Cut features between all values if there are few, else at quantiles; names one by one, the most frequent.

        Args:
            columns: by feature, `(N)`.
            most: cuts of a feature.
            dates: the columns of numbers that are days since the start of 1970.
            rows: those by which cuts are chosen; all rows have codes.
        """
        codes, found, starts, ordered = list[Places](), list[Condition](), [0], []
        for name, column in columns.items():
            numeric = column.dtype.kind == "f"
            if numeric:
                own, conditions = _numbers(name, np.asarray(column, float), most, name in dates, rows)
            else:
                own, conditions = _names(name, np.asarray(column, str), most, rows)
            codes.append(own.astype(np.int32))
            found += conditions
            starts.append(len(found))
            ordered.append(numeric)
        table = np.ascontiguousarray(np.stack(codes, 1))
        return Cuts(codes=table, starts=np.array(starts), ordered=np.array(ordered), conditions=tuple(found))

    def holds(self, cut: int) -> Bools:
        """Return in which rows the condition of a cut holds, `->(N)`."""
        f = int(np.searchsorted(self.starts, cut, side="right")) - 1
        own, bin_ = self.codes[:, f], cut - int(self.starts[f])
        return np.asarray((own >= 0) & (own <= bin_) if self.ordered[f] else own == bin_)

    def actions(self, tree: Tree) -> Ints:
        """Return the action of a tree in every row, `->(N)`."""
        if isinstance(tree, int):
            return np.full(len(self.codes), tree)
        return np.where(self.holds(tree.cut), self.actions(tree.yes), self.actions(tree.no))

    def inside(self, path: Path) -> Bools:
        """Return which rows have a path, `->(N)`."""
        found = np.ones(len(self.codes), bool)
        for cut, holds in path:
            found &= self.holds(cut) == holds
        return found

    def leaves(self, tree: Tree) -> Iterator[tuple[Path, int]]:
        """Yield the path of every leaf, by cuts and whether they hold, and its action; where all hold comes first."""
        if isinstance(tree, int):
            yield (), tree
            return
        for branch, holds in ((tree.yes, True), (tree.no, False)):
            for path, action in self.leaves(branch):
                yield ((tree.cut, holds), *path), action

    def rule(self, tree: Tree, names: tuple[str, ...]) -> str:
        """Return a tree in the grammar of `evenhand value --rule`: the first part whose conditions hold decides."""
        *parts, last = list(self.leaves(tree))
        while parts and parts[-1][1] == last[1]:  # the last part says the same
            parts.pop()
        said = []
        for path, action in parts:
            conditions = [self.conditions[cut].text() for cut, holds in self._needed(path) if holds]
            said.append(f"{quoted(names[action])} where {' and '.join(conditions)}")
        return "; ".join([*said, f"else {quoted(names[last[1]])}"])

    def _needed(self, path: Path) -> list[tuple[int, bool]]:
        """Leave out the conditions on a number that narrower ones of the path imply."""
        of = np.searchsorted(self.starts, [cut for cut, _ in path], side="right") - 1
        ends: dict[tuple[int, int, bool], int] = {}
        for (cut, holds), f in zip(path, of.tolist(), strict=True):
            own = f, -1 if self.ordered[f] else cut, holds
            ends[own] = (min if holds else max)(cut, ends.get(own, cut))
        return [(cut, holds) for (_, _, holds), cut in ends.items()]

    def words(self, path: Path) -> str:
        """Return the conditions of a leaf in words."""
        each = ((self.conditions[cut], holds) for cut, holds in self._needed(path))
        return " and ".join(z.text() if holds else z.opposite() for z, holds in each) or "all"


def _numbers(name: str, z: Floats, most: int, dated: bool, rows: Ints | slice) -> tuple[Ints, list[Condition]]:
    own, gaps = z[rows][~np.isnan(z[rows])], bool(np.isnan(z[rows]).any())
    values = np.unique(own)
    edges = values[:-1]
    if len(edges) > most:
        edges = np.unique(np.quantile(own, np.arange(1, most + 1) / (most + 1), method="inverted_cdf"))
        edges = edges[edges < values[-1]]
    after = values[np.searchsorted(values, edges, side="right")]
    texts = [_between(low, high, dated) for low, high in zip(edges.tolist(), after.tolist(), strict=True)]
    found = [Condition(name, "<", text, gaps) for text in texts if text]
    codes = np.searchsorted([days(z.value) if dated else float(z.value) for z in found], z, side="right")
    if gaps:
        found.append(Condition(name, "!=", MISSING))
    return np.where(np.isnan(z) | (codes >= len(found)), -1, codes), found


def _names(name: str, column: Texts, most: int, rows: Ints | slice) -> tuple[Ints, list[Condition]]:
    levels, counts = np.unique(column[rows], return_counts=True)
    chosen = np.sort(np.argsort(-counts, kind="stable")[: most if len(levels) > 1 else 0])
    codes = np.full(len(column), -1)
    for b, i in enumerate(chosen.tolist()):
        codes[column == levels[i]] = b
    return codes, [Condition(name, "=", str(levels[i])) for i in chosen]


def _between(low: float, high: float, dated: bool) -> str:
    """Return the shortest number above one and at most another one, or a day; nothing if there is no day.

    >>> _between(3.0, 4.0, False), _between(0.1234, 0.4567, False), _between(999.0, 1234.0, False)
    ('4', '0.3', '1000')
    """
    if dated:
        text = written(math.floor(high))
        return text if low < days(text) <= high else ""
    middle = low + 0.5 * (high - low)
    for digits in range(1, 17):
        for z in (high, middle):
            if low < (short := float(f"{z:.{digits}g}")) <= high:
                return np.format_float_positional(short, trim="-")
    return np.format_float_positional(high, trim="-")
