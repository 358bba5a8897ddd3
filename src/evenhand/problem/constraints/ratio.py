"""The constraint of a ratio: the sum of one outcome per unit of another's, such as cost per sale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats
from evenhand.problem.clock import Per, refuse_truth
from evenhand.problem.constraints._periods import averages_of
from evenhand.problem.constraints.base import unknown_grouping
from evenhand.problem.constraints.sums import Sums, total
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select, stack
from evenhand.problem.spans import Spans


@named("X11", source="evenhand's own: the rows of return on spend in Balseiro et al. 2023, arXiv:2302.08530, softly")
@dataclass(frozen=True)
class Ratio:
    """The sum of one outcome over the sum of another, at most or at least a number: cost per sale, return on spend.

    Equation: sum_t a_t <= at_most * sum_t b_t, or sum_t a_t >= at_least * sum_t b_t, of a = `of` and b = `over`. A name
    may be that of an outcome, or of its sum over one group (`Problem.each`). Both are of everybody or of one group; or
    they are of the same outcome, which makes the ratio the share of a group. Nothing over nothing keeps every limit.

    Args:
        of: the numerator, in its units.
        over: the denominator, which is never negative.
        at_most, at_least: in units of `of` per unit of `over`, at least 0. Exactly one of the two is given.
        by: the grouping in whose every group the limit holds; None for one ratio.
        hard: False or None; a ratio is kept at the end, and may be missed before.
        per: the period in which it is to hold, each by itself: "hour", "day", "week" or "month" where the problem has
            dates, or a number in units of its clock; None for the whole run. An outcome belongs to the period of its
            decision.

    Raises:
        InvalidInput: neither or both limits are given, or one that is negative or not finite; an outcome over itself
            without a group; hard=True. In a problem: an unknown name, an `over` that may be negative, sums that are
            not of the same group, or a period that its clock does not have.

    >>> Ratio("dollars", over="sale", at_most=0.3).label
    'dollars / sale'
    >>> Ratio("dollars area=south", over="dollars", at_least=0.65).worst
    'low'
    >>> Ratio("dollars", over="sale", at_most=0.3, hard=True)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Ratio('dollars').hard: expected False or None, as once the capital is lost \
nothing may be played that could earn it back, got True
    """

    of: str
    _: KW_ONLY
    over: str
    at_most: float | None = None
    at_least: float | None = None
    by: str | None = None
    hard: bool | None = None
    per: Per | None = None

    spends = False

    def __post_init__(self) -> None:
        name = f"Ratio({self.of!r})"
        refuse_truth(f"{name}.per", self.per)
        if (self.at_most is None) == (self.at_least is None):
            got = f"at_most={self.at_most}, at_least={self.at_least}"
            raise InvalidInput(name, "exactly one of at_most= and at_least=", got)
        if not (math.isfinite(self._limit) and self._limit >= 0.0):
            field = "at_most" if self.at_least is None else "at_least"
            raise InvalidInput(f"{name}.{field}", "a finite number of at least 0", self._limit)
        if self.of == self.over:
            expected = "another outcome, or for a share `of` with a group, as 'dollars area=south' over 'dollars'"
            raise InvalidInput(f"{name}.over", expected, repr(self.over))
        if self.hard:
            expected = "False or None, as once the capital is lost nothing may be played that could earn it back"
            raise InvalidInput(f"{name}.hard", expected, self.hard)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "high" if self.at_least is None else "low"

    @property
    def label(self) -> str:
        one = f"{self.of} / {self.over}"
        return one if self.by is None else f"{'largest' if self.at_least is None else 'least'} {one} by {self.by}"

    def rows(self, problem: Declarations) -> Rows:
        """The row a - at_most b, or at_least b - a, of everybody or of each group."""
        return stack([self._row(problem, *names) for names in self._names(problem).values()])

    def bound(self, problem: Declarations) -> Floats:
        return np.zeros(len(self._names(problem)))

    def spans(self, problem: Declarations) -> Spans | None:
        """The periods, in each of which the row is at most 0 on average; None if the ratio is of the whole run."""
        return averages_of(problem.clock, f"Ratio({self.of!r})", 0.0, self.per)

    def limit(self, horizon: int) -> float:
        return self._limit

    def at_limit(self, limit: float) -> Ratio:
        """The same constraint with another limit."""
        return replace(self, at_most=limit) if self.at_least is None else replace(self, at_least=limit)

    def total_over(self, horizon: int) -> float:
        """The ratio itself, which is the same over any number of rounds."""
        return self._limit

    def measure(self, run: Sums) -> Floats:
        """The ratio of the sums so far, or the worst of a group; NaN if both sums are 0, `->(G,R)`."""
        ratios, _ = self._ratios(run)
        return np.asarray((np.fmax if self.at_least is None else np.fmin).reduce(ratios, axis=-1))

    def divisor(self, run: Sums) -> Floats:
        """The sum of `over`, in the group that `measure` is of, `->(G,R)`."""
        ratios, over = self._ratios(run)
        sign = 1.0 if self.at_least is None else -1.0
        worst = np.where(np.isnan(ratios), -np.inf, sign * ratios).argmax(-1)
        return np.asarray(np.take_along_axis(over, worst[:, :, None], -1)[:, :, 0])

    def groups(self, run: Sums) -> Mapping[str, Floats]:
        """The ratio of every group, `->(G,R)` each; none without `by`."""
        names = self._names(run.problem) if self.by is not None else {}
        ratios, _ = self._ratios(run)
        return {group: ratios[:, :, i] for i, group in enumerate(names)}

    @property
    def _limit(self) -> float:
        limit = self.at_most if self.at_least is None else self.at_least
        return float(limit or 0.0)

    def _names(self, problem: Declarations) -> dict[str, tuple[str, str]]:
        """The names of both sums by group, one pair under no name without `by`."""
        if self.by is None:
            return {"": (self.of, self.over)}
        groupings = [g.name for g in problem.groups]
        if self.by not in groupings:
            raise unknown_grouping(f"Ratio({self.of!r}).by", groupings, self.by)
        for field, name in (("of", self.of), ("over", self.over)):
            if name not in problem.names:
                got = f"{name}{suggestion(name, problem.names)}"
                raise InvalidInput(f"Ratio({self.of!r}).{field}", f"one of the outcomes {list(problem.names)}", got)
        groups = [group for grouping, group in problem.columns if grouping == self.by]
        return {g: (f"{self.of} {self.by}={g}", f"{self.over} {self.by}={g}") for g in groups}

    def _row(self, problem: Declarations, of: str, over: str) -> Rows:
        a, _, inside = problem.row(of, f"Ratio({self.of!r}).of")
        b, _, outside = problem.row(over, f"Ratio({self.of!r}).over")
        if _least(problem, b) < 0.0:
            expected = "an outcome that is never negative, so that more of it never turns the ratio around"
            raise InvalidInput(f"Ratio({self.of!r}).over", expected, f"{over}, which may be {_least(problem, b):g}")
        sign, c = (1.0, self._limit) if self.at_least is None else (-1.0, self._limit)
        name = f"{of} - {c:g} {over}" if self.at_least is None else f"{c:g} {over} - {of}"
        one, two = (select(problem, (z,)) for z in (of, over))
        if inside == outside:
            learned, known = one.learned - c * two.learned, one.known - c * two.known
            return replace(one, names=(name,), learned=sign * learned, known=sign * known)
        if a != b or min(inside, outside) >= 0:
            whole = problem.names[a]
            expected = f"a sum of the same group, or {whole!r} of everybody, as a row reads one group or one outcome"
            raise InvalidInput(f"Ratio({self.of!r}).over", expected, f"{of!r} per {over!r}, which is not one row")
        always, within = sign * (one.always - c * two.always), sign * (one.inside - c * two.inside)
        return replace(one if inside >= 0 else two, names=(name,), always=always, inside=within)

    def _ratios(self, run: Sums) -> tuple[Floats, Floats]:
        """The ratio and the denominator of every group, `->(G,R,k),(G,R,k)`."""
        names = self._names(run.problem).values()
        a, b = (np.stack([total(run, pair[i]) for pair in names], -1) for i in (0, 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            return a / b, b


def _least(problem: Declarations, outcome: int) -> float:
    """The least that an outcome can be under any action, as declared."""
    if outcome < len(problem.observed):
        return float(problem.amount_span[0, outcome])
    return float(problem.declared[:, outcome - len(problem.learned)].min())
