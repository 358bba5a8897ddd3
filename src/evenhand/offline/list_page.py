"""The report of a list: how many get what, what of the budget is used, and who gets what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenhand.core.faces import amount
from evenhand.offline.levels import Level, table_of
from evenhand.offline.used import Averages, Used
from evenhand.report import charts
from evenhand.report.charts import Bar
from evenhand.report.page import Part
from evenhand.report.tables import Table

ACTIONS = (
    "How many cases get each action, and what they are expected to bring per case by models of the log. Expectations "
    "are predictions for actions that were chosen for the highest predictions, so they are too high on average. Only "
    "outcomes can judge the list, afterwards."
)
BUDGET = "The bar is the part of the budget that the list uses, which is never more than all of it."
PREDICTED = (
    "The bar is the part of the budget that the list is predicted to use, which is never more than all of it. What it "
    "will use is learned, and may be more: if the budget binds, about as often as not."
)
GROUPS = "The average per case in each group, held-out cases included; for learned outcomes, as models predict."
WHO = "The share of each action among the cases with a level. Numbers are in bands of about equally many cases."


def parts(
    shares: Mapping[str, float],
    budgets: Sequence[Used],
    parities: Sequence[Averages],
    tables: Sequence[Table],
    levels: Sequence[Level],
) -> Iterator[Part]:
    """Yield the parts of a report; `tables` are that of actions, and one per grouping."""
    first, *of_groups = tables
    bars = [Bar(name, share, f"{share:.1%}") for name, share in shares.items()]
    about = "; ".join(f"{bar.name}: {bar.words}" for bar in bars)
    yield Part(title="Who gets what", reading=ACTIONS, chart=charts.bars(about, bars), tables=(first,))
    for used in budgets:
        if used.total > 0.0:
            part = used.spent / used.total
            chart = charts.bars(f"{used}", [Bar(used.outcome, part, f"{part:.2%}")], limit=1.0)
            yield Part(
                title=f"The budget: {used.outcome}, {amount(used.spent, 6)} of {amount(used.total, 6)}",
                reading=PREDICTED if used.learned else BUDGET,
                chart=chart,
            )
    for parity, table in zip(parities, of_groups, strict=True):
        bars = [Bar(name, value, f"{value:.4f}") for name, value in parity.averages.items()]
        about = "; ".join(f"{bar.name}: {bar.words}" for bar in bars)
        title = f"{parity.outcome}, evenly by {parity.by}"
        yield Part(title=title, reading=GROUPS, chart=charts.bars(about, bars), tables=(table,))
    if levels:
        yield Part(title="For whom", reading=WHO, tables=(table_of(levels, list(shares), "cases"),))
