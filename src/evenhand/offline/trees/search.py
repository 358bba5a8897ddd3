"""The best shallow trees of a log: an exact search over cuts of features and actions of leaves, within a budget."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints, Places, Texts
from evenhand.logs.dates import days, written
from evenhand.logs.units import MISSING

_BITS = 51  # of sums of rows, which are exact in floating point and so the same in any order
_ROUNDED = 1e-12  # of a bound: rounding of products of prices and uses
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
            conditions = [self.conditions[cut].text() for cut, holds in path if holds]
            said.append(f"{quoted(names[action])} where {' and '.join(conditions)}")
        return "; ".join([*said, f"else {quoted(names[last[1]])}"])

    def words(self, path: Path) -> str:
        """Return the conditions of a leaf in words."""
        each = ((self.conditions[cut], holds) for cut, holds in path)
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


def best_tree(cuts: Cuts, worth: Floats, use: Floats, limit: float, depth: int) -> Tree | None:
    """Return the tree with the greatest mean worth whose mean use is within a limit, `(N,A),(N,A)->`; None without one.

    The search is exact up to a rounding of each number by N 2^-51 of the largest one. Among equals, a tree with fewer
    cuts comes first, then the first feature, and the least cut.

    Equation: max mean_i w_i(t(x_i)) over trees t of a depth of at most 2 s.t. mean_i u_i(t(x_i)) <= B. Rows move from
    one side of the root to the other, cut by cut, so that sums by cut below it take O(F^2 N A) for F features. For each
    cut of the root, the dual bound at the best price of the budget says whether it can have the best tree; if so, pairs
    of subtrees that are good enough at this price are compared.

    Source: Zhou, Athey & Wager 2023, offline multi-action policy learning, without a budget; the bound is ours.
    """
    rows, actions = worth.shape
    (first, _), (second, unit) = (_even(np.broadcast_to(z, worth.shape)) for z in (worth, use))
    table, most = np.stack([first, second], 1), limit * rows * unit
    most += _ROUNDED * abs(most)
    whole = _Side.of(cuts, _sums(cuts, table, np.arange(rows)))
    nothing = _Side(np.zeros((2, actions, 1)), np.zeros((2, actions)))
    found, best = _best_pair(whole, nothing, most, -np.inf)
    tree = None if found is None else found[0]
    for cut, side in _roots(cuts, table) if depth > 1 else ():
        found, best = _best_pair(side, whole.less(side), most, best)
        tree = tree if found is None else Branch(cut, *found)
    return tree


class _Side(NamedTuple):
    """The sums of worth and use of the rows on one side of the root."""

    left: Floats  # (2,A,C+1) where the condition of each cut below holds; at first, of no cut, 0
    total: Floats  # (2,A)

    @staticmethod
    def of(cuts: Cuts, sums: Floats) -> _Side:
        """Return a side by the sums of its bins, `(2,A,C+1)->`; the last one is of all its rows."""
        left = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], 2)
        for f in np.flatnonzero(cuts.ordered).tolist():
            own = left[..., cuts.starts[f] + 1 : cuts.starts[f + 1] + 1]
            np.cumsum(own, axis=2, out=own)
        return _Side(left, sums[..., -1])

    def less(self, other: _Side) -> _Side:
        """Return the other side."""
        return _Side(self.left - other.left, self.total - other.total)

    def best(self, weight: float, price: float) -> tuple[Floats, int]:
        """Return the worth and use, `(2)`, of the subtree with the most weight * worth - price * use; and its code."""
        yes = weight * self.left[0] - price * self.left[1]
        no = (weight * self.total[0] - price * self.total[1])[:, None] - yes
        t, actions = int((yes.max(0) + no.max(0)).argmax()), len(yes)
        a, b = int(yes[:, t].argmax()), int(no[:, t].argmax())
        return self.left[:, a, t] + self.total[:, b] - self.left[:, b, t], (t * actions + a) * actions + b

    def near(self, price: float, floor: float) -> tuple[Floats, Ints]:
        """Return the worth and use, `(2,n)`, of subtrees with worth - price * use of at least a floor; and codes."""
        each = self.left[:, :, None] + (self.total[..., None] - self.left)[:, None]
        table = np.moveaxis(each, 3, 1).reshape(2, -1)
        codes = np.flatnonzero(table[0] - price * table[1] >= floor)
        return table[:, codes], codes

    def tree(self, code: int) -> Tree:
        """Return the subtree with a code."""
        actions = self.total.shape[1]
        cut, yes, no = code // actions**2 - 1, code // actions % actions, code % actions
        return no if cut < 0 else Branch(cut, yes, no)


def _even(table: Floats) -> tuple[Floats, float]:
    """Round numbers to multiples of a unit, so that sums of all rows are exact; the factor comes second."""
    size = float(np.abs(table).max())
    unit = 2.0 ** (_BITS - math.ceil(math.log2(len(table))) - (math.frexp(size)[1] if size else 0))
    return np.rint(table * unit), unit


def _roots(cuts: Cuts, table: Floats) -> Iterator[tuple[int, _Side]]:
    """Yield every cut of the root, with the side on which its condition holds."""
    for f, ordered in enumerate(cuts.ordered.tolist()):
        first, last = cuts.starts[f : f + 2].tolist()
        own, sums = cuts.codes[:, f], np.zeros((*table.shape[1:], len(cuts.conditions) + 1))
        order = np.argsort(own, kind="stable")
        ends = np.searchsorted(own[order], np.arange(last - first + 1)).tolist()
        for b, cut in enumerate(range(first, last)):
            rows = order[ends[b] : ends[b + 1]]
            if len(rows):
                sums = sums * ordered + _sums(cuts, table, rows)
                yield cut, _Side.of(cuts, sums)


def _best_pair(yes: _Side, no: _Side, limit: float, best: float) -> tuple[tuple[Tree, Tree] | None, float]:
    """Return the best pair of subtrees within a limit if it is worth more than a number, and the more of both.

    The price is that at which the dual bound is least. It is found where lines through two pairs, one within the limit
    and one beyond it, are no longer exceeded.
    """

    def pair(weight: float, price: float) -> tuple[float, float, tuple[Tree, Tree]]:
        (one, first), (other, second) = yes.best(weight, price), no.best(weight, price)
        return *(one + other).tolist(), (yes.tree(first), no.tree(second))

    high, spent, trees = pair(1.0, 0.0)
    if high <= best or spent <= limit:
        return (trees, high) if high > best else (None, best)
    low, saved, trees = pair(0.0, 1.0)
    if saved > limit:
        return None, best
    while True:
        price = (high - low) / (spent - saved)
        worth, use, _ = pair(1.0, price)
        slack = _ROUNDED * (abs(high) + abs(price * spent) + abs(price * limit))
        if worth - price * use <= high - price * spent + slack:
            break
        if use > limit:
            high, spent = worth, use
        else:
            low, saved = worth, use
    reach = max(best, low) - (worth - price * use) - price * limit - 2.0 * slack
    if reach > 0.0:
        return None, best
    tops = [float(z[0] - price * z[1]) for z, _ in (side.best(1.0, price) for side in (yes, no))]
    (mine, codes), (rest, others) = (side.near(price, top + reach) for side, top in zip((yes, no), tops, strict=True))
    order = np.argsort(rest[1], kind="stable")
    top, at = np.maximum.accumulate(rest[0, order]), np.searchsorted(rest[1, order], limit - mine[1], "right") - 1
    total = np.where(at >= 0, mine[0] + top[at], -np.inf)
    i = int(total.argmax())
    if total[i] <= best:
        return None, best
    j = order[int((rest[0, order] == top[at[i]]).argmax())]
    return (yes.tree(int(codes[i])), no.tree(int(others[j]))), float(total[i])


def _sums(cuts: Cuts, table: Floats, rows: Ints) -> Floats:
    """Return the sums of some rows by bin and, last, of all of them, `(N,2,A),(n)->(2,A,C+1)`."""
    found = np.zeros((*table.shape[1:], len(cuts.conditions) + 1))
    _add(cuts.codes, cuts.starts, table, rows, found)
    return found


@kernel
def _add(codes: Places, starts: Ints, table: Floats, rows: Ints, sums: Floats) -> None:
    """Add rows to the sums of their bins, and to the last one."""
    for i in rows:
        for f in range(codes.shape[1] + 1):
            if f < codes.shape[1] and codes[i, f] < 0:
                continue
            t = starts[f] + codes[i, f] if f < codes.shape[1] else sums.shape[2] - 1
            for m in range(2):
                for a in range(table.shape[2]):
                    sums[m, a, t] += table[i, m, a]
