"""The table of a curve: its numbers, its result in words, and the parts of its page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.texts import amount
from evenhand.logs.checks import fault_of, scope
from evenhand.offline.cautions import Doubt, sure
from evenhand.offline.curve_limits import Axis
from evenhand.offline.curve_policies import TARGETED, Line
from evenhand.offline.results import LogResult, Total, in_band, interval, reaches, told, use_cell
from evenhand.offline.scores import Bands, Estimate
from evenhand.offline.uplift import Measure, Measures
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance
from evenhand.report.charts import Course
from evenhand.report.page import Part
from evenhand.report.results import Column, Measurement, Records, cells_of, names_of
from evenhand.report.tables import Table

COLUMNS = 6  # budgets of a table
_ROUNDED = 1e-12  # of a value: what the same values may differ by
REACH = "standard errors that hold at all {point}s at once (95 %)"
REACH_OF_MEASURES = "standard errors that hold for all measures at once (95 %)"
VALUES = (
    "Each line is a policy: what it brings per case at each {point}. Bands are 95 % intervals at each {point} alone, "
    "for the population behind the log. The dotted line is the {point} of the file."
)
DIFFERENCES = (
    "How much more targeting brings than each of the others at the same {point}, by pairs of cases. Where a band "
    "includes 0, the difference is indistinguishable from chance. Of twenty {point}s, one is outside its band by "
    "chance."
)
MEASURES = (
    "What targeting brings on average over all {point}s, with 95 % intervals of each alone. Qini is the mean "
    "difference to another line, AUUC that to the cheapest actions; the area is this times the width of the {point}s. "
    "RATE is what those bring beyond the average who are ranked first, by their first step beyond the cheapest action: "
    "above 0, the ranking says something."
)
USES = (
    "What a policy uses, by scores, its 95 % interval, and the confidence that this is within the {point}. Plans keep "
    "to the {point} by predictions: on average and, if it binds, about half the time. No run is forced to keep it."
)
PRICES = "What one more unit of the {point} is predicted to bring. Where it is 0, the {point} does not bind."


class Point(NamedTuple):
    """The numbers of a line at a budget."""

    budget: float
    value: Estimate
    less: Estimate
    spent: float
    used: Estimate
    price: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Curve(LogResult):
    """Values of policies against the budget; print it, draw it with `plot`, or `write` its report.

    Args:
        log, problem_file, objective, rows, folds, seed, checks, notes, clusters: as of `LogResult`.
        axis: what is varied, in words.
        spent: the outcome that the budget or another limit is about.
        budgets: per case, rising; or numbers of the limit.
        lines: one per policy, `targeted` first.
        bands: by policy, the standard errors to either side that hold at all budgets at once.
        measures: of targeting over all budgets.
        stated: the budget of the problem file, per case.
        doubt: what speaks against targeting at the budget of the file.
        learned: whether what the budget limits is learned, so that plans keep to it by predictions.
        baseline: the line beyond which the headline states targeting; None for the best that targets nobody.
    """

    name: ClassVar[str] = "curve"
    kind: ClassVar[str] = "curve"

    axis: Axis
    spent: str
    budgets: tuple[float, ...]
    lines: tuple[Line, ...]
    bands: Mapping[str, Bands]
    measures: Measures
    stated: float
    doubt: Doubt
    learned: bool
    baseline: str | None = None

    @property
    def columns(self) -> tuple[Column[Point], ...]:
        """The numbers of a line at a budget."""
        less = "less than targeted", "se less", "low less", "high less"
        return (
            Column(("value", "se", "low", "high"), self.objective, lambda z: z.value),
            Column(less, f"less than {TARGETED}", lambda z: z.less),
            Column(("spent",), "spent", lambda z: z.spent),
            Column(("used", "se used", "low used", "high used"), "used, by scores", lambda z: z.used),
            Column(("confidence",), f"confidence in the {self.axis.point}", self._confidence),
            Column(("price",), "price", lambda z: z.price),
        )

    def points(self, line: Line) -> Iterator[Point]:
        """Yield the numbers of a line, budget by budget."""
        yield from map(Point, self.budgets, *line[1:])

    def records(self) -> Records:
        """Return a row per policy and budget."""
        columns, reach = self.columns, ("reach of all", "reach less of all")  # errors that hold at all budgets at once
        area, rows = Column(("qini", "se qini", "low qini", "high qini"), "", self.measures.qini), []
        for line in self.lines:
            last = [*map(self.reached, self.bands[line.name]), *area.cells(line.name), *self.cluster_count.values()]
            rows += [[line.name, z.budget, *cells_of(columns, z), *last] for z in self.points(line)]
        return Records(["policy", self.axis.point, *names_of(columns), *reach, *area.names, *self.cluster_count], rows)

    def measurements(self) -> Iterator[Measurement]:
        """Yield the reach in standard errors of intervals that hold at all budgets, and the numbers at each."""
        columns = self.columns
        for measure in self.measures.each:
            name = f"{self.objective}: {measure.name}"
            yield from Column[Measure](("",) * 4, name, lambda z: z.value).measurements(TARGETED, {}, measure)
        yield Measurement(TARGETED, {}, f"{self.objective}: {REACH_OF_MEASURES}", self.reached(self.measures.errors))
        for line in self.lines:
            for what, errors in zip(("", f" less than {TARGETED}"), self.bands[line.name], strict=True):
                name = f"{self.objective}{what}: {REACH.format(point=self.axis.point)}"
                yield Measurement(line.name, {}, name, self.reached(errors))
            for z in self.points(line):
                yield from (row for c in columns for row in c.measurements(line.name, {self.axis.point: z.budget}, z))

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        over = {"over": self.axis.name} if self.axis.name else {}
        baseline = {} if self.baseline is None else {"baseline": self.baseline}
        return super().inputs() | over | {f"stated {self.axis.point}": self.stated} | baseline

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowance of the file's budget, where that is varied."""
        return (
            ()
            if self.axis.name
            else allowances.allowances({self.spent: self.stated}, self.rows, "cases of the log", units=self.units)
        )

    @property
    def about(self) -> str:
        """The contents of the tables, in a few words."""
        return f"{self.objective} per case against {self.axis.unit}"

    @property
    def _at(self) -> int:
        return min(range(len(self.budgets)), key=lambda i: abs(self.budgets[i] - self.stated))

    def headline(self) -> str:
        """State the gain of targeting over the best single action, at the budget of the file or the nearest to it."""
        i = self._at
        at = [each._replace(rate=self.budgets[i]) for each in self.allowed]
        b = "".join(f"{amount(z.total, 6)} {z.what} in all ({amount(z.rate)} per case)" for z in at)
        b = b or f"{self.axis.unit} {amount(self.budgets[i])}"  # of another limit
        first = self.lines[0]
        if (fault := fault_of(self.checks)) is not None:
            return f"What targeting brings cannot be told, as {fault}"
        if self.doubt.any or math.isnan(first.value[i].se):
            return f"At {b}, what targeting brings cannot be told, as the log says too little of such plays"
        best = self._rival
        if best is None:
            low, high = first.value[i].interval
            value = f"{first.value[i].value:.4f} {self.objective} per case (95 %: {low:.4f} to {high:.4f})"
            return f"{scope(self.checks)}At {b}, {first.name} is worth {value}"
        beyond = interval("", best.less[i]).words(f" {self.objective} per case beyond {best.name}")
        return f"{scope(self.checks)}At {b}, targeting brings {beyond}"

    @property
    def _rival(self) -> Line | None:
        """The baseline, or else the best line that targets nobody; None if no error is known of it."""
        i = self._at
        lines = self._rivals if self.baseline is None else [z for z in self.lines if z.name == self.baseline]
        known = [line for line in lines if not math.isnan(line.value[i].se)]
        return max(known, key=lambda line: line.value[i].value, default=None)

    def in_all(self) -> Iterator[str]:
        """State what targeting brings over all rows, and how much that is beyond the other line."""
        first, other, i = self.lines[0], self._rival, self._at
        if not (self.adds_up and self._sound) or math.isnan(first.value[i].se):
            return
        value = Total(first.value[i], self.rows).text(self.objective)
        told = f"Over the {self.rows:,} cases of the log that is {value}"
        if other is not None:
            told += f", {Total(other.less[i], self.rows).text(self.objective, signed=True)} beyond {other.name}"
        yield f"{told}."

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables, with the budgets, what is wrong, the notes, the result and its total."""
        yield from super().heading()
        yield from self.in_all()

    @property
    def _unit(self) -> str:
        """What one more unit is of."""
        return repr(self.axis.name) if self.axis.name else self.spent

    def _confidence(self, z: Point) -> float:
        """The confidence that a policy keeps to the most or the least of an outcome; NaN of other limits."""
        if self.axis.side < 0:
            return sure(z.used.negative(), -z.budget)
        return sure(z.used, z.budget) if self.axis.side else math.nan

    @property
    def _sound(self) -> bool:
        """Whether the log and the plan bear a statement about targeting."""
        return fault_of(self.checks) is None and not self.doubt.any

    def _signs(self, line: Line) -> list[tuple[float, int]]:
        """The budgets, and whether targeting brings more there than a line (1), less (-1), or neither is told (0)."""
        each, errors = zip(self.budgets, line.less, strict=True), self.bands[line.name].less
        return [(b, in_band("", z, errors, len(self.budgets)).sign) for b, z in each if not math.isnan(z.se)]

    @property
    def _rivals(self) -> list[Line]:
        """The lines that target nobody: single actions for rows drawn at random, and the cheapest actions for all.

        None where targeting keeps to limits by predictions alone, with which it seems to bring more than it does.
        """
        return [] if not self.axis.judged else [line for line in self.lines if line.name.startswith(("only ", "all "))]

    def pays(self) -> str:
        """State whether targeting pays, and up to which budget.

        It does where it brings more than every line that targets nobody at the same budget: where the band of each such
        difference, which holds at all budgets at once, is above 0.
        """
        if not self._sound:
            return "Whether targeting pays cannot be told from this log"
        if not self._rivals:
            return "Whether targeting pays cannot be told, as it keeps to limits by predictions alone"
        more = {line.name: {b for b, told in self._signs(line) if told == 1} for line in self._rivals}
        there = [[z.name for z in self._rivals if not math.isnan(z.value[i].value)] for i in range(len(self.budgets))]
        at = [b for b, names in zip(self.budgets, there, strict=True) if names and all(b in more[z] for z in names)]
        points, unit = f"{len(self.budgets)} {self.axis.point}s", self.axis.unit
        if not at:
            alike = next((f": the log cannot tell it from {name!r}" for name, each in more.items() if not each), None)
            return f"Targeting does not pay at any of {points}{alike or ', as far as the log tells'}"
        ends = amount(at[0], 3) if len(at) == 1 else f"{amount(at[0], 3)} to {amount(at[-1], 3)}"
        found = f"Targeting pays at {len(at)} of {points} ({ends} {unit})"
        if at[-1] == self.budgets[-1]:
            return found
        following = self.budgets.index(at[-1]) + 1
        beyond = self.budgets[following]
        rival = next(
            (f"it cannot be told from {name!r}" for name in there[following] if beyond not in more[name]), None
        )
        return f"{found}, and from {amount(beyond, 3)} on, {rival or 'nothing else keeps to all limits'}"

    def sentences(self) -> Iterator[str]:
        """Yield at which budgets differences are told from chance, by bands of all budgets, and the worth of a unit."""
        first, *others = self.lines
        yield from self.in_all()
        yield f"{self.pays()}."
        yield from allowances.sentences(self.allowed)
        for line in others if self._sound else ():
            told = self._signs(line)
            brings = _where(told, self.axis.point) if told else "what the log says too little of"
            yield f"Beyond {line.name}, targeting brings {brings}."
        price = first.price[self._at]
        yield f"One more unit of {self._unit} is predicted to be worth {amount(price)} {self.objective} there."

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: values, differences, prices, and uses if they are learned."""
        point, (values, *less, prices) = self.axis.point, self._lines()
        _, *others = self.lines
        yield Part(
            title=f"{self.objective} per case, by {self.axis.most}",
            reading=VALUES.format(point=point),
            chart=charts.courses(
                self.headline(),
                self.budgets,
                [_course(i, z.name, z.value) for i, z in enumerate(self.lines)],
                self.stated,
            ),
            keys=tuple((z.name, i) for i, z in enumerate(self.lines)),
            tables=(values,),
        )
        if others:
            yield Part(
                title="What targeting brings beyond the others",
                reading=DIFFERENCES.format(point=point),
                chart=charts.courses(
                    " ".join(self.sentences()),
                    self.budgets,
                    [_course(i, z.name, z.less) for i, z in enumerate(others, 1)],
                    self.stated,
                ),
                keys=tuple((z.name, i) for i, z in enumerate(others, 1)),
                tables=tuple(less),
            )
        over_all = MEASURES.format(point=point)
        if self.measures.each:
            yield Part(title=f"What targeting brings over all {point}s", reading=over_all, tables=(self._over_all(),))
        worth = PRICES.format(point=point)
        yield Part(title=f"What one more unit of {self._unit} is worth", reading=worth, tables=(prices,))
        if uses := tuple(self._uses()):
            yield Part(
                title=f"How surely the {point} of {self.spent} is kept", reading=USES.format(point=point), tables=uses
            )

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of values, of differences, of prices, and of uses if they are learned."""
        yield from self._lines()
        if self.measures.each:
            yield self._over_all()
        yield from self._uses()

    def _over_all(self) -> Table:
        """The measures of targeting over all budgets."""
        rows = [
            [z.name, told(z.value), reaches(z.value), "" if math.isnan(z.width) else f"{z.value.value * z.width:.4f}"]
            for z in self.measures.each
        ]
        return Table([f"over all {self.axis.point}s, ± se", f"{self.objective} per case", "95 %", "area"], rows)

    def _lines(self) -> Iterator[Table]:
        first, *others = self.lines
        at = self._few()
        yield self._table(
            f"{self.axis.most}, ± se", {line.name: [told(line.value[i]) for i in at] for line in self.lines}
        )
        if others:
            head = f"{first.name} beyond, ± se"
            yield self._table(head, {line.name: [told(line.less[i]) for i in at] for line in others})
        yield self._table(
            "one more unit is worth", {line.name: [number(line.price[i]) for i in at] for line in self.lines}
        )

    def _uses(self) -> Iterator[Table]:
        """The use of a budget that plans keep to by predictions alone."""
        if self.learned and self.axis.side:
            cells = {
                line.name: [use_cell(z.used, self._confidence(z)) for z in self.points(line)] for line in self.lines
            }
            cells = {name: [each[i] for i in self._few()] for name, each in cells.items()}
            yield self._table(f"{self.spent} used, 95 %, confidence", cells)

    def _table(self, head: str, cells: Mapping[str, list[str]]) -> Table:
        return Table(
            [head, *(amount(self.budgets[i], 3) for i in self._few())], [[n, *row] for n, row in cells.items()]
        )

    def _few(self) -> list[int]:
        """The budgets of tables: about six of them, and the one that the file states."""
        count = len(self.budgets)
        even = {round(i) for i in np.linspace(0, count - 1, min(count, COLUMNS)).tolist()}
        return sorted(even | {i for i, b in enumerate(self.budgets) if b == self.stated})

    def reading(self) -> Iterator[str]:
        """Yield the lines below the tables, which say how to read them."""
        yield f"{self.pays()}."
        yield "se: standard error for the population behind the log. Differences are by pairs of cases."
        if self.learned and self.axis.side:
            point = self.axis.point
            yield f"Plans keep to the {point} by predictions of {self.spent}, so that it holds on average alone."
            yield f"confidence: that the use of the policy is within the {point} in the population behind the log."
        one = f"{self.reached():.2f} se to either side, shifted where few cases weigh heavily"
        yield f"95 % at one {self.axis.point}: {one}, or by events."
        if count := len(self.measures.each):
            yield f"95 % for all {count} measures at once: {self.reached(self.measures.errors):.2f} se"
        yield f"95 % at all {self.axis.point}s of a line at once:"
        for line in self.lines:
            value, less = self.bands[line.name]
            told_value, told_less = (f"{self.reached(errors):.2f} se" for errors in (value, less))
            if line.name == TARGETED:
                yield f"  {line.name}: {told_value}"
                continue
            each = zip(line.less, line.value, strict=True)
            sure = sum(_differs(z, less) for z, own in each if abs(z.value) > _ROUNDED * abs(own.value))
            yield (
                f"  {line.name}: {told_value}; {told_less} for its differences, of which {sure} of "
                f"{len(self.budgets)} are beyond"
            )


def number(z: float) -> str:
    """Return a number for a table; nothing for NaN."""
    return "" if math.isnan(z) else f"{round(z, 4) + 0.0:.4f}"


def _differs(z: Estimate, errors: float) -> bool:
    """Whether an interval of a number of standard errors leaves out 0."""
    low, high = z.within(errors)
    return low > 0.0 or high < 0.0


def _course(hue: int, name: str, estimates: Sequence[Estimate]) -> Course:
    ends = [z.interval for z in estimates]
    return Course(name, [z.value for z in estimates], [low for low, _ in ends], [high for _, high in ends], hue)


def _where(told: Sequence[tuple[float, int]], point: str) -> str:
    """Say at how many points a difference is told from chance, and between which."""
    found = []
    for sign, word in ((1, "more"), (-1, "less")):
        at = [b for b, z in told if z == sign]
        if at:
            ends = amount(at[0], 3) if len(at) == 1 else f"{amount(at[0], 3)} to {amount(at[-1], 3)}"
            found.append(f"{word} at {len(at)} of {len(told)} {point}s ({ends})")
    return ", ".join(found) or f"nothing distinguishable from chance at any of {len(told)} {point}s"
