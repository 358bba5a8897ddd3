"""Theory's values for a problem beside the defaults: bounds of prices, steps, margins and thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.texts import amount, count
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative, number, whole
from evenhand.models import SelfNormalised
from evenhand.problem.constraints import constraint_rows, slack_rows
from evenhand.problem.feasible import reach, sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.pgd import default_step, experimental_thresholds, regimes
from evenhand.recipes.terms import Terms, group_factors
from evenhand.report.summary import table
from evenhand.run.optimum import PriceBound

if TYPE_CHECKING:
    import pandas as pd

_FAR = 1e6  # in units of a round: what stands for an outcome without a range
_LARGE = 1e9  # one over a price, from which on it is 0
_LONGEST = 128  # horizons beyond 2 to this power are not tried


@dataclass(frozen=True, kw_only=True, eq=False)
class DeclaredBounds:
    """The d of D rows that can bind, in units of a round's largest addition, and rewards in units of their worth."""

    binds: Bools  # (D,)
    unit: Floats  # (d,)
    worth: float
    factor: float  # the largest of a group, by which units are above those of `pgd`
    bound: Floats  # (d,)
    least: Floats  # (A, d) that a play adds at least, whatever the policy
    most: Floats  # (A, d) that it adds at most on average, if actions are drawn alike in all cases
    best: Floats  # (A,) the reward of a play at most, whatever the policy
    sure: Floats  # (A,) and at least, if actions are drawn alike in all cases
    plays: int

    @staticmethod
    def of(problem: Problem) -> DeclaredBounds:
        """Read a problem with a linear objective and constraints with straight sides."""
        rows, bound = constraint_rows(problem)
        terms, binds, plays = Terms(problem), ~slack_rows(problem), problem.n_plays
        goal = terms.reward
        rows, bound = rows.take(np.flatnonzero(binds)), bound[binds]
        size, factor = sizes(problem, rows), float(group_factors(problem, rows)[0].max(initial=1.0))
        unit, worth = plays * factor * np.where(size > 0.0, size, 1.0), plays * terms.worth
        least, _, _, most = _ends(problem, rows)
        low, high, sure_low, sure_high = (_times(np.array(goal.weights), z) for z in _ends(problem, goal.rows))
        return DeclaredBounds(
            binds=binds,
            unit=unit,
            worth=worth,
            factor=factor,
            bound=bound / unit,
            least=np.maximum(least / unit, -_FAR),
            most=np.minimum(most / unit, _FAR),
            best=np.maximum(low, high).sum(1) / worth,
            sure=np.maximum(np.minimum(sure_low, sure_high).sum(1) / worth, -_FAR),
            plays=plays,
        )

    def slack(self) -> float:
        """The most by which all rows can be tightened together for certain; 0 if no lottery keeps them for certain."""
        n, d = self.most.shape
        uses, one = np.column_stack([self.most.T, np.ones(d)]), np.append(np.ones(n), 0.0)[None]
        found = _solve(np.append(np.zeros(n), -1.0), uses, self.bound, one, [self.plays], [1.0] * n + [None])
        return math.inf if d == 0 else 0.0 if found is None else float(found[-1]) + 0.0

    def price(self, direction: Floats, off: float = 0.0) -> float:
        """Bound direction.lam at all bounds that are tightened by up to `off` in all rows, infinite if nothing does.

        Equation: the least (best.x* - sure.x) / s over lotteries x and s > 0 with most.x + s direction <= bound - off,
        with x* the lottery that is best where least.x* <= bound. In x and s over best.x* - sure.x, it is one over the
        largest s of a linear program.
        """
        if not np.isfinite(self.best).all():
            return math.inf
        n, d = self.most.shape
        top = _solve(-self.best, self.least.T, self.bound, np.ones((1, n)), [self.plays], [1.0] * n)
        if top is None:
            return math.inf
        if float(self.best @ top) <= self.plays * float(self.sure.min()):  # no lottery loses anything
            return 0.0
        uses = np.column_stack([self.most.T, off - self.bound, direction])
        once = np.column_stack([np.eye(n), -np.ones(n), np.zeros(n)])
        equal = np.array([[*np.ones(n), -self.plays, 0.0], [*-self.sure, float(self.best @ top), 0.0]])
        value, limits = np.append(np.zeros(n + 1), -1.0), [None] * (n + 1) + [_LARGE]
        found = _solve(value, np.concatenate([uses, once]), np.zeros(d + n), equal, [0.0, 1.0], limits)
        if found is None or found[-1] <= 0.0:
            return math.inf
        return 1.0 / float(found[-1]) if found[-1] < 0.5 * _LARGE else 0.0


def _ends(problem: Problem, rows: Rows) -> tuple[Floats, Floats, Floats, Floats]:
    """The least and the most that a play of each action adds to rows, alone and on average over groups, `->4 x (A,d)`.

    A play of a policy may be in either part of the cases, in a group or outside. One that is drawn alike in all cases
    is in the group with the probability of its share. An action is in its group, or is not.
    """
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.inside / np.where(rows.by_share, share, 1.0)
    chance = np.tile(share, (len(problem.actions), 1))
    for j in np.flatnonzero(rows.grouping >= 0):
        of = problem.groups[rows.grouping[j]].of
        if of is not None:
            chance[:, j] = [of[a] == problem.columns[rows.column[j]][1] for a in problem.actions]
    out, into = (reach(problem, replace(rows, always=rows.always + f * inside)) for f in (0.0, 1.0))
    can, cannot = chance > 0.0, chance < 1.0
    least = np.minimum(np.where(can, into[0], np.inf), np.where(cannot, out[0], np.inf))
    most = np.maximum(np.where(can, into[1], -np.inf), np.where(cannot, out[1], -np.inf))
    ends = zip(into, out, strict=True)
    low, high = (_times(chance, i) + _times(1.0 - chance, o) for i, o in ends)
    return least, most, low, high


def _times(a: Floats, b: Floats) -> Floats:
    """The product a b, which is 0 where a is, even if b is infinite."""
    return np.multiply(a, b, out=np.zeros_like(b), where=a != 0.0)


def _solve(
    value: Floats,
    rows: Floats,
    limits: Floats,
    equal: Floats,
    sums: Sequence[float],
    highest: Sequence[float | None],
) -> Floats | None:
    """The x of the least value.x with rows.x <= limits, equal.x = sums and 0 <= x <= highest, None if there is none."""
    from scipy.optimize import linprog  # only needed here

    found = linprog(value, rows, limits, equal, sums, bounds=[(0.0, top) for top in highest])
    return np.asarray(found.x) if found.status == 0 else None


class TheoryNumber(NamedTuple):
    """A number as theory has it, and as recipes have it by default, None where they have none."""

    quantity: str
    of: str  # the constraint
    theory: float
    default: float | None
    source: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Theory:
    """Theory's values for a problem, beside the defaults of recipes; print it to see its table.

    Args:
        problem: that it is about.
        delta: the risk that what is guaranteed does not hold.
        prices: the most that the optimal price of each row can be, in units of the objective by units of the row.
        norm: the most that all of them can be together, in units of what a play can be worth and use; without an
            environment, also where all rows are tightened by up to half of `slack`.
        slack: by how much all rows can be tightened together for certain, in their units.
        step: of `pgd`, in its units.
        margins: of `pgd` with this step, per constraint; the recipe takes those of budgets only.
        adaptive_margins: of `pgd_adaptive`, b_T of Theorem 1.
        thresholds: of `pgd_adaptive`, M_0, M_1, ... of Box C, for `reset=True`.
        applies_from: a power of two, the horizon from which Theorem 1 holds at the same bounds per round; infinite if
            it never does.
        few_plays: margins of budgets beside an action that costs nothing (Appendix E.2), by the constraint's number.
    """

    problem: Problem
    delta: float
    prices: Floats  # (d,)
    norm: float
    slack: Floats  # (d,)
    step: float
    margins: Floats  # (D,)
    adaptive_margins: Floats  # (D,)
    thresholds: tuple[float, ...]
    applies_from: float
    few_plays: dict[int, float]

    def settings(self) -> Iterator[TheoryNumber]:
        """Yield all numbers with those of recipes: max_price of hedged prices, and steps and margins of `pgd`."""
        problem, labels = self.problem, [s.label for s in self.problem.stated]
        terms = Terms(problem)
        worth, usual = problem.n_plays * terms.worth, terms.margin.tolist()
        highest = [worth / s.limit if s.spends else None for s in problem.stated]
        thresholds, hard = experimental_thresholds(problem), terms.fluctuation.tolist()

        def each(quantity: str, found: Floats, defaults: Sequence[float | None], source: str) -> Iterator[TheoryNumber]:
            for label, x, default in zip(labels, found.tolist(), defaults, strict=True):
                yield TheoryNumber(quantity, label, x, default, source)

        yield from each("price, at most", _per_constraint(problem, self.prices), highest, "Lemma 3")
        yield TheoryNumber("all prices, in plays, at most", "", self.norm, None, "Lemma 3")
        slack = _per_constraint(problem, self.slack)
        yield from each("can be tightened by", slack, [None] * len(labels), "declared ranges")
        yield TheoryNumber("step of pgd", "", self.step, default_step(problem), "Lemmas 1 and 2")
        yield from each("margin of pgd", self.margins, usual, "Lemma 1")
        yield from each("margin of pgd_adaptive", self.adaptive_margins, usual, "Theorem 1")
        for i, margin in self.few_plays.items():
            yield TheoryNumber("margin beside a free action", labels[i], margin, hard[i], "Appendix E.2")
        for k in sorted({0, len(thresholds) - 1}):
            yield TheoryNumber(f"threshold {k} of pgd_adaptive", "", self.thresholds[k], thresholds[k], "Box C")
        yield TheoryNumber("rounds from which it holds", "", self.applies_from, float(problem.horizon), "Theorem 1")

    def summary(self) -> str:
        """Return the conclusions for this problem, in a few sentences."""
        rounds = count(self.problem.horizon, "round")
        if math.isinf(self.applies_from):
            first = "Declared ranges do not let all constraints be tightened at once, so that Theorem 1 never holds"
        elif self.applies_from <= self.problem.horizon:
            first = f"Theorem 1 holds at {rounds}"
        else:
            first = f"Theorem 1 says nothing at {rounds}: it holds from some {self.applies_from:.0e} on"
        return f"{first}. Hard limits keep budgets at any horizon, without a margin."

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per setting: the number of theory, the default, and the source.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame(list(self.settings()), list(TheoryNumber._fields))

    def _cells(self) -> list[list[str]]:
        def shown(x: float | None) -> str:
            return "" if x is None else "none" if math.isinf(x) else f"{x:.0e}" if x >= 1e9 else amount(x)

        return [[z.quantity, z.of, shown(z.theory), shown(z.default), z.source] for z in self.settings()]

    def __str__(self) -> str:
        return f"{table(list(TheoryNumber._fields), self._cells(), left=2)}\n\n{self.summary()}"

    __repr__ = texts.brief

    def _repr_html_(self) -> str:
        return texts.table(self.summary(), self._cells(), TheoryNumber._fields)


@named("K7", source="Chzhen et al. 2023, Lemmas 1 to 3, Corollary 1, Theorem 1 and Appendix E.2")
def theory(
    problem: Problem,
    *,
    n_parameters: int | None = None,
    prices: PriceBound | None = None,
    delta: float = 0.05,
    width_sum: float | None = None,
    least: float | None = None,
) -> Theory:
    """Compute theory's values of prices, steps and margins, beside the defaults of recipes.

    Equation: optimal prices lam at bounds B have s.lam <= OPT(B) - OPT(B - s) for all s >= 0 (Lemma 3). From declared
    ranges alone, OPT(B) is at most the value of the best lottery where rewards are at their best and uses at their
    least, and OPT(B - s) at least that of a lottery that is the same in all cases, with rewards at their least and uses
    at their most. The bound is the least over these lotteries and all s in one direction: that of a row for its own
    price, and that of the units of all rows for all prices together.

    In units of what a round can use and be worth, with d rows that can bind, W the sum of the widths of what is played,
    and U = max(W, 2 sqrt(d T ln(4 T^2 / delta)), sqrt(2 T ln(8 (d + 1) T / delta))): `pgd` with the step max(1, norm) /
    sqrt(T) and the margin ((1 + 3 norm) / step + 20 sqrt(d) U) / T keeps all constraints with probability 1 - delta
    (Lemma 1). `pgd_adaptive` has M_k = 4 sqrt(T) + 20 sqrt(d) U at the risk delta / (k + 2)^2 and b_T = (1 + ceil(log2
    T)) (M_ceil(log2 T) + 2 sqrt(d)) / T, for problems that are feasible at B - 2 b_T (Theorem 1). W is that of ridge
    regression with a penalty of 1, and parameters and features of length 1 at most: its radius (`SelfNormalised`) times
    sqrt(2 T l), with l = n ln(1 + T P / n), and at most T.

    Rows that nothing can exceed are left out. Actions are offered to everybody, cases state known outcomes as they are
    declared, and groups divide cases or actions. A budget per period counts as one over the whole run.

    Args:
        problem: with a linear objective, and constraints with straight sides.
        n_parameters: n, the coefficients of each outcome; by default as many per action as numbers describe a case.
        prices: of `price_bound` in an environment, where more is known than ranges.
        delta: the risk, in (0, 1).
        width_sum: W, in units of the sizes of outcomes, instead of that of ridge regression.
        least: the least mean cost of actions that cost anything, of a single budget beside one that costs nothing; by
            default as declared.

    Raises:
        InvalidInput: no constraint, a curved one, a concave objective, or an argument out of its range.

    >>> from evenhand.environments import Court
    >>> theory(Court().problem).prices[:2].round(2)  # a ride in 20 cases: at most 20 appearances per ride
    array([20.,  5.])
    """
    Terms(problem).with_constraints()
    n, horizon = n_parameters or problem.n_columns * len(problem.actions), problem.horizon
    whole("n_parameters", n if n_parameters is None else n_parameters, 1)
    number("delta", delta, "a risk in (0, 1)", lambda x: 0 < x < 1)
    if width_sum is not None:
        nonnegative("width_sum", width_sum)
    declared = DeclaredBounds.of(problem)
    d, slack, plays = len(declared.bound), declared.slack(), problem.n_plays
    if prices is None:
        each = np.array([declared.price(one) for one in np.eye(d)]) * declared.worth / declared.unit
        norm = declared.price(np.ones(d), 0.5 * slack) if d else 0.0
    elif prices.each.shape != declared.binds.shape:
        raise InvalidInput("prices", f"a bound of {len(declared.binds)} rows", len(prices.each))
    else:
        each = prices.each[declared.binds]
        norm = float((each * declared.unit).max(initial=0.0)) / declared.worth
    sums = _Sums(d, n, plays, max(len(problem.learned), 1), _wide(problem), delta, width_sum)
    lemma = (1.0 / max(1.0, norm) + 3.0 * min(1.0, norm)) * math.sqrt(horizon)  # (1 + 3 norm) / step
    margin = (lemma + 20.0 * math.sqrt(d) * sums.upsilon(delta, horizon)) / horizon
    rows = np.zeros((4, len(declared.binds)))
    rows[:, declared.binds] = each, *(x * declared.unit for x in (slack, margin, sums.margin(horizon)))
    return Theory(
        problem=problem,
        delta=delta,
        prices=rows[0],
        norm=norm,
        slack=rows[1],
        step=max(1.0, norm) / math.sqrt(horizon) / (plays * declared.factor**2),
        margins=_per_constraint(problem, rows[2]),
        adaptive_margins=_per_constraint(problem, rows[3]),
        thresholds=tuple(plays * declared.factor * sums.threshold(k, horizon) for k in range(regimes(problem) + 1)),
        applies_from=sums.applies_from(slack),
        few_plays=dict(_few_plays(problem, _per_constraint(problem, declared.binds.astype(np.float64)) > 0.0, least)),
    )


class _Sums(NamedTuple):
    """The sums of Box C, in units of what a round can use: of d rows, and models of n parameters per outcome."""

    d: int
    n: int
    plays: int
    outcomes: int
    wide: float  # the longest range in units of the largest size
    delta: float
    width_sum: float | None

    def widths(self, risk: float, horizon: int) -> float:
        """W: the P plays of a round are counted when the next one comes, which multiplies their lengths by sqrt(P)."""
        if self.width_sum is not None:
            return self.width_sum
        log_det = self.n * math.log1p(horizon * self.plays / self.n)
        radius = SelfNormalised(delta=risk / self.outcomes).radius(np.ones(1), np.array([log_det]), 1.0)[0]
        return min(float(horizon), self.wide * float(radius) * math.sqrt(2.0 * horizon * log_det))

    def upsilon(self, risk: float, horizon: int) -> float:
        return max(
            self.widths(risk / 4.0, horizon),
            2.0 * math.sqrt(self.d * horizon * math.log(4.0 * horizon**2 / risk)),
            math.sqrt(2.0 * horizon * math.log(8.0 * (self.d + 1) * horizon / risk)),
        )

    def threshold(self, k: int, horizon: int) -> float:
        upsilon = self.upsilon(self.delta / (k + 2) ** 2, horizon)
        return 4.0 * math.sqrt(horizon) + 20.0 * math.sqrt(self.d) * upsilon

    def margin(self, horizon: int) -> float:
        top = math.ceil(math.log2(horizon))
        return (1 + top) * (self.threshold(top, horizon) + 2.0 * math.sqrt(self.d)) / horizon

    def applies_from(self, slack: float) -> float:
        """The first power of two of rounds at which twice the margin is at most the slack."""
        return next((float(2**k) for k in range(_LONGEST) if 2.0 * self.margin(2**k) <= slack), math.inf)


def _per_constraint(problem: Problem, rows: Floats) -> Floats:
    """The largest number of the rows of every constraint, `(d)->(D)`."""
    first = np.cumsum([0, *(len(s.rows) for s in problem.stated)]).tolist()
    return np.array([rows[a:b].max(initial=0.0) for a, b in pairwise(first)])


def _wide(problem: Problem) -> float:
    """The longest range of a learned outcome in units of its largest size: 1 from 0 on, and 2 around it."""
    low, high = problem.span[:, : len(problem.learned)]
    size = np.maximum(np.abs(low), np.abs(high))
    some = np.isfinite(size) & (size > 0.0)
    return float(((high - low)[some] / size[some]).max(initial=1.0))


def _few_plays(problem: Problem, binds: Bools, least: float | None) -> Iterator[tuple[int, float]]:
    """Yield c sqrt(min(B / least, P) / T) for every budget B that may bind beside an action that costs nothing.

    The others cost `least` or more on average, and c at most, so that the budget pays for T B / least of them: their
    sum of costs spreads by c sqrt(T B / least), which is less than the c sqrt(T P) of all plays if the budget is small.
    Where an action may earn, the budget pays for more, and nothing is said.

    Raises:
        InvalidInput: `least` is out of its range, or belongs to no single budget beside an action that costs nothing.
    """
    stated = problem.stated
    if least is not None and (len(stated) != 1 or not stated[0].spends):
        raise InvalidInput("least", "a single budget, if it is stated", [s.label for s in stated])
    for i, s in enumerate(stated):
        low, high = (z.max(1) for z in reach(problem, s.rows))
        if not s.spends or high.min() > 0.0 or low.min() < 0.0:
            if least is not None:
                raise InvalidInput("problem.actions", "an action that costs nothing, and none that earns", low.tolist())
            continue
        most, some = float(high.max()), float(low[high > 0.0].min(initial=math.inf)) if least is None else least
        if least is not None and not 0.0 < least <= most:
            raise InvalidInput("least", f"above 0 and at most {most:g}, the most that an action costs", least)
        if binds[i] and 0.0 < some < math.inf and most < math.inf:
            yield i, most * math.sqrt(min(s.limit / some, problem.n_plays) / problem.horizon)
