"""The report of values of policies: differences with intervals, budgets used, and what other estimators say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenhand.core.faces import amount
from evenhand.offline.policies import Valued
from evenhand.offline.told import interval
from evenhand.report import charts
from evenhand.report.charts import Bar
from evenhand.report.intervals import Interval
from evenhand.report.page import Part
from evenhand.report.tables import Table

DIFFERENCES = (
    "Dots are differences to what was logged, by pairs of cases; lines are their 95 % intervals, for the population "
    "behind the log. Grey intervals include 0: such a difference is indistinguishable from chance. Blue ones "
    "are above 0, and orange ones below. Dashed lines are bounds of guesses, which may go beyond the picture. The "
    "largest of several estimates is too optimistic."
)
USES = "Bars are parts of the budget that a policy uses per case; at the line all of it is used."
OTHERS = (
    "IPS weights cases by inverse propensities, and SNIPS divides by the sum of the weights; neither needs a model of "
    "outcomes. The model alone and switch have no errors, as nothing says how wrong the model is. Where estimators are "
    "further apart than their errors explain, check the propensities and the overlap."
)

KEPT = (
    "How much a policy has of what a constraint limits, its 95 % interval, and the confidence that it is kept. "
    "A policy that was tuned to meet a limit exactly has a confidence of a half."
)


def differences(policies: Sequence[Valued]) -> list[Interval]:
    """Return the gain of every policy over the first one, the logged policy."""
    return [interval(p.policy, p.beyond, p.beyond_bounds) for p in policies[1:]]


def uses(policies: Sequence[Valued], limits: Mapping[str, float]) -> dict[str, list[float | None]]:
    """Return the fraction of each limit that every policy uses; limits of 0 are left out."""
    return {name: [p.used[name].value / limit for p in policies] for name, limit in limits.items() if limit}


def parts(
    policies: Sequence[Valued], limits: Mapping[str, float], objective: str, tables: Sequence[Table]
) -> Iterator[Part]:
    """Yield the parts of a report; `tables` are those of values, of other estimators and of constraints."""
    first, others, *kept = tables
    found = differences(policies)
    about = "; ".join(f"{z.name}: {z.said}" for z in found)
    yield Part(
        title=f"What policies bring beyond what was logged: {objective} per case",
        reading=DIFFERENCES,
        chart=charts.intervals(about, found),
        tables=(first,),
    )
    used = uses(policies, limits)
    if used:
        yield Part(
            title=f"Budgets used: {', '.join(f'{name} of {amount(limits[name])} per case' for name in used)}",
            reading=USES,
            chart=_used(policies, used),
            keys=tuple((name, hue) for hue, name in enumerate(used)) if len(used) > 1 else (),
        )
    yield Part(title="By other estimators", reading=OTHERS, tables=(others,))
    if kept:
        yield Part(title="Constraints", reading=KEPT, tables=tuple(kept))


def _used(policies: Sequence[Valued], used: Mapping[str, Sequence[float | None]]) -> str:
    bars = [
        Bar(p.policy, part, f"{part:.1%}", hue)
        for i, p in enumerate(policies)
        for hue, each in enumerate(used.values())
        if (part := each[i]) is not None
    ]
    return charts.bars("; ".join(f"{bar.name}: {bar.words}" for bar in bars), bars, limit=1.0)
