"""The findings of the demonstration, in two sentences."""

from __future__ import annotations

import numpy as np

from evenhand.experiments.court.picture import GOODS, OURS
from evenhand.experiments.lock_in import BASELINE
from evenhand.report.limits import exceeds
from evenhand.report.results import Results
from evenhand.run.trace import Trace

OVERSPENT = "overspent"


def overspent(trace: Trace) -> list[bool]:
    """Return for every replica whether it exceeded a budget."""
    budgets = zip(GOODS, trace.problem.spending, strict=True)
    totals = [(trace.total(good), b.total_over(trace.problem.horizon)) for good, b in budgets]
    return [bool(z) for z in np.any([exceeds(spent, total) for spent, total in totals], axis=0)]


def sentences(results: Results) -> str:
    """State in two sentences what was seen: what learning gained, and who overspent.

    Args:
        results: of a demonstration that was not interrupted.
    """
    random, ours, best = (results.find(name, "reward") for name in (BASELINE, OURS, "OPT"))
    if random is None or ours is None or best is None:
        return ""
    share = (ours.mean - random.mean) / (best.mean - random.mean)
    runs = results.settings["replicas"]
    over = {row.system: round(row.mean * float(str(runs))) for row in results.rows if row.metric == OVERSPENT}
    others = ", ".join(f"`{name}` does in {count} of {runs} runs" for name, count in over.items() if count)
    return (
        f"With the same rides and vouchers, {ours.mean:.1%} of the people appear under `{OURS}` and {random.mean:.1%} "
        f"where help is drawn at random: that is {share:.0%} of the gain of the best policy that knows everybody's "
        f"chances.\n`{OURS}` never spends more than there is" + (f", while {others}." if others else ".")
    )
