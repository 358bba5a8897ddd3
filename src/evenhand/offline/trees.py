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
_NO = {"<": ">=", "=": "!=", "!=": "="}


class Branch(NamedTuple):
    """A cut, with what follows where its condition holds, and where it does not."""

    cut: int
    yes: Tree
    no: Tree


Tree = Branch | int  # an action, or a cut


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
    if name and all(c.isalnum() or c in "_.-" for c in name):
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
    def of(columns: Mapping[str, Floats | Texts], most: int, dates: Collection[str] = ()) -> Cuts:
        """Cut features between all values if there are few, else at quantiles; names one by one, the most frequent.

        Args:
            columns: by feature, `(N)`.
            most: cuts of a feature.
            dates: the columns of numbers that are days since the start of 1970.
        """
        codes, found, starts, ordered = list[Places](), list[Condition](), [0], []
        for name, column in columns.items():
            numeric = column.dtype.kind == "f"
            if numeric:
                own, conditions = _numbers(name, np.asarray(column, float), most, name in dates)
            else:
                own, conditions = _names(name, np.asarray(column, str), most)
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

    def leaf_of(self, tree: Tree) -> Ints:
        """Return the number of the leaf of every row, in the order of `leaves`, `->(N)`."""
        if isinstance(tree, int):
            return np.zeros(len(self.codes), np.int64)
        own, first = self.leaf_of(tree.yes), len(list(self.leaves(tree.yes)))
        return np.where(self.holds(tree.cut), own, first + self.leaf_of(tree.no))

    def leaves(self, tree: Tree) -> Iterator[tuple[tuple[tuple[int, bool], ...], int]]:
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

    def words(self, path: tuple[tuple[int, bool], ...]) -> str:
        """Return the conditions of a leaf in words."""
        each = ((self.conditions[cut], holds) for cut, holds in path)
        return " and ".join(z.text() if holds else z.opposite() for z, holds in each) or "all"


def _numbers(name: str, z: Floats, most: int, dated: bool) -> tuple[Ints, list[Condition]]:
    gaps = np.isnan(z)
    values = np.unique(z[~gaps])
    edges = values[:-1]
    if len(edges) > most:
        edges = np.unique(np.quantile(z[~gaps], np.arange(1, most + 1) / (most + 1), method="inverted_cdf"))
        edges = edges[edges < values[-1]]
    after = values[np.searchsorted(values, edges, side="right")]
    texts = [_between(low, high, dated) for low, high in zip(edges.tolist(), after.tolist(), strict=True)]
    edges = edges[[text != "" for text in texts]]
    found = [Condition(name, "<", text, bool(gaps.any())) for text in texts if text]
    codes = np.searchsorted(edges, z, side="left")
    if gaps.any():
        found.append(Condition(name, "!=", MISSING))
        codes = np.where(gaps, -1, codes)
    return np.where(codes < len(found), codes, -1), found


def _names(name: str, column: Texts, most: int) -> tuple[Ints, list[Condition]]:
    levels, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    chosen = np.sort(np.argsort(-counts, kind="stable")[: most if len(levels) > 1 else 0])
    places = np.full(len(levels), -1)
    places[chosen] = np.arange(len(chosen))
    return places[codes], [Condition(name, "=", str(levels[i])) for i in chosen]


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

    The search is exact up to a rounding of each number by 2^-51 N of the largest one. Among equals, a tree with fewer
    cuts comes first, then the first feature, and the least cut.

    Equation: max mean_i w_i(t(x_i)) over trees t of a depth of at most 2 s.t. mean_i u_i(t(x_i)) <= B. Sums over rows
    by cut of the root and cut below give the sums of all leaves, in O(F^2 N + C^2 A) for C cuts of F features. For each
    cut of the root, the dual bound at the best price of the budget says whether it can have the best tree; if so, pairs
    of subtrees that are good enough at this price are compared.

    Source: Zhou, Athey & Wager 2023, offline multi-action policy learning, without a budget; the bound is ours.
    """
    rows, actions = worth.shape
    (first, _), (second, unit) = (_even(np.broadcast_to(z, worth.shape), rows) for z in (worth, use))
    table, found = np.hstack([first, second]), np.full(3, -1)
    most = limit * rows * unit
    _search(cuts.codes, cuts.starts, cuts.ordered, table, most + _ROUNDED * abs(most), depth, found)
    if found[1] < 0:
        return None
    root, yes, no = found.tolist()
    return _subtree(yes, actions) if root < 0 else Branch(root, _subtree(yes, actions), _subtree(no, actions))


def _even(table: Floats, rows: int) -> tuple[Floats, float]:
    """Round numbers to multiples of a unit, so that sums of all rows are exact; the factor comes second."""
    size = float(np.abs(table).max())
    unit = 2.0 ** (_BITS - math.ceil(math.log2(rows)) - (math.frexp(size)[1] if size else 0))
    return np.rint(table * unit), unit


def _subtree(code: int, actions: int) -> Tree:
    cut, yes, no = code // actions**2 - 1, code // actions % actions, code % actions
    return yes if cut < 0 else Branch(cut, yes, no)


@kernel
def _search(codes: Places, starts: Ints, ordered: Bools, table: Floats, limit: float, depth: int, found: Ints) -> None:
    """Write the cut of the root of the best tree, and the codes of both sides; -1 and one code for a depth of 1."""
    rows, features = codes.shape
    width, count = table.shape[1], starts[features]
    sums, total = np.zeros((count, width)), np.zeros(width)
    for i in range(rows):
        _add(codes, starts, table, i, sums, total)
    left, nothing = np.zeros((count, width)), np.zeros((0, 3))
    _cumulate(sums, starts, ordered, left)
    each = np.empty((_near(left, total, 0.0, -np.inf, nothing), 3))
    _near(left, total, 0.0, -np.inf, each)
    best = -np.inf
    for k in range(len(each)):
        if each[k, 1] <= limit and each[k, 0] > best:
            best, found[1] = each[k, 0], int(each[k, 2])
    if depth == 1:
        return
    order, ends, pair = np.empty(rows, np.int64), np.empty(0, np.int64), np.empty(2, np.int64)
    part, part_total, yes, no = np.zeros((count, width)), np.zeros(width), np.zeros((count, width)), left.copy()
    for f in range(features):
        ends = np.zeros(starts[f + 1] - starts[f] + 1, np.int64)
        for i in range(rows):
            ends[codes[i, f] + 1] += 1
        for b in range(1, len(ends)):
            ends[b] += ends[b - 1]
        for i in range(rows - 1, -1, -1):
            ends[codes[i, f] + 1] -= 1
            order[ends[codes[i, f] + 1]] = i
        part[:], part_total[:] = 0.0, 0.0
        for b in range(len(ends) - 1):
            if not ordered[f]:
                part[:], part_total[:] = 0.0, 0.0
            last = ends[b + 2] if b + 2 < len(ends) else rows
            for p in range(ends[b + 1], last):
                _add(codes, starts, table, order[p], part, part_total)
            if last == ends[b + 1]:
                continue
            _cumulate(part, starts, ordered, yes)
            no[:] = left - yes
            more = _within(yes, part_total, no, total - part_total, limit, best, pair)
            if more > best:
                best = more
                found[0], found[1], found[2] = starts[f] + b, pair[0], pair[1]


@kernel
def _add(codes: Places, starts: Ints, table: Floats, i: int, sums: Floats, total: Floats) -> None:
    """Add a row to the sums of its bins, and to the total."""
    for m in range(len(total)):
        total[m] += table[i, m]
    for f in range(codes.shape[1]):
        if codes[i, f] >= 0:
            t = starts[f] + codes[i, f]
            for m in range(len(total)):
                sums[t, m] += table[i, m]


@kernel
def _cumulate(sums: Floats, starts: Ints, ordered: Bools, left: Floats) -> None:
    """Write the sums of the rows in which each condition holds."""
    for f in range(len(ordered)):
        for t in range(starts[f], starts[f + 1]):
            for m in range(sums.shape[1]):
                left[t, m] = sums[t, m] + (left[t - 1, m] if ordered[f] and t > starts[f] else 0.0)


@kernel
def _choice(left: Floats, total: Floats, weight: float, price: float) -> tuple[float, float, int]:
    """Return the worth, the use and the code of the subtree with the greatest weight * worth - price * use."""
    n = len(total) // 2
    top, cut, one, two = -np.inf, -1, 0, 0
    for a in range(n):
        z = weight * total[a] - price * total[n + a]
        if z > top:
            top, one, two = z, a, a
    for t in range(len(left)):
        yes, no, p, q = -np.inf, -np.inf, 0, 0
        for a in range(n):
            z = weight * left[t, a] - price * left[t, n + a]
            if z > yes:
                yes, p = z, a
            z = weight * (total[a] - left[t, a]) - price * (total[n + a] - left[t, n + a])
            if z > no:
                no, q = z, a
        if yes + no > top:
            top, cut, one, two = yes + no, t, p, q
    code = (cut + 1) * n * n + one * n + two
    if cut < 0:
        return total[one], total[n + one], code
    return (
        left[cut, one] + (total[two] - left[cut, two]),
        left[cut, n + one] + (total[n + two] - left[cut, n + two]),
        code,
    )


@kernel
def _near(left: Floats, total: Floats, price: float, floor: float, found: Floats) -> int:
    """Write the worth, use and code of subtrees with worth - price * use of at least a floor, and return how many."""
    n, count = len(total) // 2, 0
    for t in range(-1, len(left)):
        for a in range(n):
            for b in range(n):
                if t < 0 and a != b:
                    continue
                worth, use = total[b], total[n + b]
                if t >= 0:
                    worth, use = worth - left[t, b] + left[t, a], use - left[t, n + b] + left[t, n + a]
                if worth - price * use >= floor:
                    if count < len(found):
                        found[count, 0], found[count, 1] = worth, use
                        found[count, 2] = (t + 1) * n * n + a * n + b
                    count += 1
    return count


@kernel
def _within(
    yes: Floats, yes_total: Floats, no: Floats, no_total: Floats, limit: float, best: float, found: Ints
) -> float:
    """Write the codes of the best pair of subtrees within a limit if it is worth more than a number; the more of both.

    The price is that at which the dual bound is least. It is found where lines through two pairs, one within the limit
    and one beyond it, are no longer exceeded.
    """
    one, other = _choice(yes, yes_total, 1.0, 0.0), _choice(no, no_total, 1.0, 0.0)
    high, spent = one[0] + other[0], one[1] + other[1]
    if high <= best:
        return best
    if spent <= limit:
        found[0], found[1] = one[2], other[2]
        return high
    one, other = _choice(yes, yes_total, 0.0, 1.0), _choice(no, no_total, 0.0, 1.0)
    low, saved = one[0] + other[0], one[1] + other[1]
    if saved > limit:
        return best
    while True:
        price = (high - low) / (spent - saved)
        one, other = _choice(yes, yes_total, 1.0, price), _choice(no, no_total, 1.0, price)
        worth, use = one[0] + other[0], one[1] + other[1]
        slack = _ROUNDED * (abs(high) + abs(price * spent) + abs(price * limit))
        if worth - price * use <= high - price * spent + slack:
            break
        if use > limit:
            high, spent = worth, use
        else:
            low, saved = worth, use
    bound = worth - price * use + price * limit + slack
    floor = max(best, low)
    if bound <= best:
        return best
    reach = floor - bound - slack  # how much less than the best ones subtrees may be worth
    some, others, nothing = one[0] - price * one[1] + reach, other[0] - price * other[1] + reach, np.zeros((0, 3))
    mine = np.empty((_near(yes, yes_total, price, some, nothing), 3))
    _near(yes, yes_total, price, some, mine)
    rest = np.empty((_near(no, no_total, price, others, nothing), 3))
    _near(no, no_total, price, others, rest)
    order = np.argsort(rest[:, 1], kind="mergesort")
    uses, top = rest[order, 1], order.copy()
    for k in range(1, len(top)):
        if rest[top[k], 0] <= rest[top[k - 1], 0]:
            top[k] = top[k - 1]
    for i in range(len(mine)):
        k = np.searchsorted(uses, limit - mine[i, 1], side="right") - 1
        if k >= 0 and mine[i, 0] + rest[top[k], 0] > best:
            best = mine[i, 0] + rest[top[k], 0]
            found[0], found[1] = int(mine[i, 2]), int(rest[top[k], 2])
    return best
