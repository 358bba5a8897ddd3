"""The report of a curve: its result in words, and the parts of its page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from evenhand.core.faces import amount
from evenhand.logs.checks import Checks, fault_of, scope
from evenhand.offline.doubts import Doubt
from evenhand.offline.lines import Line
from evenhand.offline.results import difference, in_band
from evenhand.offline.scores import Bands, Estimate
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance
from evenhand.report.charts import Course
from evenhand.report.page import Part
from evenhand.report.tables import Table

VALUES = (
    "Each line is a policy: what it brings per case at each budget per case. Bands are 95 % intervals at each budget "
    "alone, for the population behind the log. The dotted line is the budget of the file."
)
DIFFERENCES = (
    "How much more targeting brings than each of the others at the same budget, by pairs of cases. Where a band "
    "includes 0, the difference is indistinguishable from chance. Of twenty budgets, one is outside its band by chance."
)
USES = (
    "What a policy uses, by scores, its 95 % interval, and the confidence that this is within the budget. Plans keep "
    "to the budget by predictions: on average and, if it binds, about half the time. No run is forced to keep it."
)
PRICES = "What one more unit of the budget is predicted to bring. Where it is 0, more of it is worth nothing."


class Drawn(Protocol):
    """The texts and charts of a curve."""

    @property
    def objective(self) -> str: ...

    @property
    def spent(self) -> str: ...

    @property
    def budgets(self) -> tuple[float, ...]: ...

    @property
    def lines(self) -> tuple[Line, ...]: ...

    @property
    def bands(self) -> Mapping[str, Bands]: ...

    @property
    def stated(self) -> float: ...

    @property
    def allowed(self) -> Allowance: ...

    @property
    def rows(self) -> int: ...

    @property
    def doubt(self) -> Doubt: ...

    @property
    def checks(self) -> Checks: ...


def headline(curve: Drawn) -> str:
    """State what targeting brings beyond the best single action, at the budget of the file or the nearest to it."""
    i = _at(curve)
    at = curve.allowed._replace(rate=curve.budgets[i])
    b = f"{amount(at.total, 6)} {curve.spent} in all ({amount(at.rate)} per case)"
    first, *others = curve.lines
    if (fault := fault_of(curve.checks)) is not None:
        return f"What targeting brings cannot be told, as {fault}"
    if curve.doubt.any or math.isnan(first.value[i].se):
        return f"At {b}, what targeting brings cannot be told, as the log says too little of such plays"
    others = [line for line in others if not math.isnan(line.value[i].se)]
    singles = [line for line in others if line.name.startswith("only ")] or others
    if not singles:
        low, high = first.value[i].interval
        value = f"{first.value[i].value:.4f} {curve.objective} per case (95 %: {low:.4f} to {high:.4f})"
        return f"{scope(curve.checks)}At {b}, {first.name} is worth {value}"
    best = max(singles, key=lambda line: line.value[i].value)
    beyond = difference(best.less[i], f" {curve.objective} per case beyond {best.name}")
    return f"{scope(curve.checks)}At {b}, targeting brings {beyond}"


def sentences(curve: Drawn) -> Iterator[str]:
    """Yield where differences are told from chance, by bands of all budgets, and the worth of one more unit."""
    first, *others = curve.lines
    yield from allowances.sentences((curve.allowed,))
    for line in others if fault_of(curve.checks) is None and not curve.doubt.any else ():
        each = zip(curve.budgets, line.less, strict=True)
        errors = curve.bands[line.name].less
        told = [(b, in_band("", z, errors, len(curve.budgets)).told) for b, z in each if not math.isnan(z.se)]
        brings = _where(told) if told else "what the log says too little of"
        yield f"Beyond {line.name}, targeting brings {brings}."
    price = first.price[_at(curve)]
    yield f"One more unit of {curve.spent} is predicted to be worth {amount(price)} {curve.objective} there."


def parts(curve: Drawn, tables: Sequence[Table], uses: Sequence[Table]) -> Iterator[Part]:
    """Yield the parts of a report; `tables` are those of values, of differences if there are any, and of prices.

    `uses` is that of what is used of a budget on what is learned, if it is one.
    """
    values, *less, prices = tables
    _, *others = curve.lines
    yield Part(
        title=f"{curve.objective} per case, by {curve.spent} allowed per case",
        reading=VALUES,
        chart=charts.courses(
            headline(curve),
            curve.budgets,
            [_course(i, z.name, z.value) for i, z in enumerate(curve.lines)],
            curve.stated,
        ),
        keys=tuple((z.name, i) for i, z in enumerate(curve.lines)),
        tables=(values,),
    )
    if others:
        yield Part(
            title="What targeting brings beyond the others",
            reading=DIFFERENCES,
            chart=charts.courses(
                " ".join(sentences(curve)),
                curve.budgets,
                [_course(i, z.name, z.less) for i, z in enumerate(others, 1)],
                curve.stated,
            ),
            keys=tuple((z.name, i) for i, z in enumerate(others, 1)),
            tables=tuple(less),
        )
    yield Part(title=f"What one more unit of {curve.spent} is worth", reading=PRICES, tables=(prices,))
    if uses:
        yield Part(title=f"How surely the budget of {curve.spent} is kept", reading=USES, tables=tuple(uses))


def _at(curve: Drawn) -> int:
    return min(range(len(curve.budgets)), key=lambda i: abs(curve.budgets[i] - curve.stated))


def _course(hue: int, name: str, estimates: Sequence[Estimate]) -> Course:
    ends = [z.interval for z in estimates]
    return Course(name, [z.value for z in estimates], [low for low, _ in ends], [high for _, high in ends], hue)


def _where(told: Sequence[tuple[float, int]]) -> str:
    """Say at how many budgets a difference is told from chance, and between which."""
    found = []
    for sign, word in ((1, "more"), (-1, "less")):
        at = [b for b, z in told if z == sign]
        if at:
            ends = amount(at[0], 3) if len(at) == 1 else f"{amount(at[0], 3)} to {amount(at[-1], 3)}"
            found.append(f"{word} at {len(at)} of {len(told)} budgets ({ends})")
    return ", ".join(found) or f"nothing distinguishable from chance at any of {len(told)} budgets"
