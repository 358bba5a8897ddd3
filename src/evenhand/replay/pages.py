"""The parts of the reports of replays: paired differences, what was used of budgets, and the other tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenhand.report import charts
from evenhand.report.charts import Bar
from evenhand.report.intervals import Interval
from evenhand.report.page import Part
from evenhand.report.tables import Table

DIFFERENCES = (
    "Dots are paired differences, as all read the same cases in the same orders; lines are their 95 % intervals, for "
    "the population behind the log. Grey intervals include 0: such a difference is indistinguishable from chance. "
    "Blue ones are above 0, and orange ones below."
)
ALONE = "Dots are paired differences. Nothing was resampled, so that no errors are known."
USES = "Bars are parts of the budget that were used on average; at the line all of it is used."


def differences(title: str, found: Sequence[Interval], *tables: Table) -> Iterator[Part]:
    """Yield a chart of differences, with tables beside it, or the tables alone if there are none."""
    if not found:
        yield from others(title, tables, "")
        return
    known = any(z.low is not None for z in found)
    about = "; ".join(f"{z.name}: {z.said}" for z in found)
    yield Part(
        title=f"Differences: {title}",
        reading=DIFFERENCES if known else ALONE,
        chart=charts.intervals(about, found),
        tables=tables,
    )


def uses(
    names: Sequence[str],
    budgets: Mapping[str, Sequence[float | None]],
    marks: Mapping[str, Sequence[float | None]],
    tables: tuple[Table, ...],
) -> Iterator[Part]:
    """Yield a chart of the use of each budget by every system, and a chart of other fractions, each from 0 to 1."""
    if not budgets:
        yield from others("Outcomes", tables, "")
    for title, reading, parts in (("Budgets used", USES, budgets), ("Rounds served", "", marks)):
        if not parts:
            continue
        bars = [
            Bar(name, part, f"{part:.1%}", hue)
            for i, name in enumerate(names)
            for hue, each in enumerate(parts.values())
            if (part := each[i]) is not None
        ]
        about = "; ".join(f"{bar.name}: {bar.words}" for bar in bars)
        keys = tuple((name, hue) for hue, name in enumerate(parts)) if len(parts) > 1 else ()
        shown = tables if parts is budgets else ()
        chart = charts.bars(about, bars, limit=1.0)
        yield Part(title=f"{title}: {', '.join(parts)}", reading=reading, chart=chart, keys=keys, tables=shown)


def others(title: str, tables: Iterable[Table], text: str) -> Iterator[Part]:
    """Yield tables and lines, if there are any."""
    found = tuple(tables)
    if found or text:
        yield Part(title=title, tables=found, text=text)
