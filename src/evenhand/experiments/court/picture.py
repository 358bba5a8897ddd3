"""The pictures of policies that share scarce help: Figure 1 over the rounds, and what each had at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.types import Floats
from evenhand.experiments.lock_in import BASELINE
from evenhand.problem.constraints import by_group
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    from evenhand.report.standings import Column

OURS = "resolving"
GOODS = "ride", "voucher"  # in the order of the budgets

Measure = Callable[[Trace], Floats]


def figure(found: Sequence[Trace], optima: Mapping[str, float], measures: Mapping[str, Measure], path: Path) -> Path:
    """Draw a column of Figure 1: the averages up to every round, the optima and the limits.

    Args:
        found: a curve each.
        optima: the levels of the first panel, by name; the first is that of the whole budgets.
        measures: of the reward, the goods and the fairness cost, `->(G,R)`.
        path: of the picture.
    """
    from evenhand.report.leaders import leads
    from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

    problem = found[0].problem
    budgets = {good: budget.limit(problem.horizon) for good, budget in zip(GOODS, problem.spending, strict=True)}
    person = "per person"
    panels = [
        Panel("average reward", measures["reward"], optima, zoom=True, unit=person),
        *(Panel(f"{z}s", measures[z], {"budget": limit}, zoom=True, unit=person) for z, limit in budgets.items()),
        Panel("fairness cost", measures["fairness"], {"tolerance": tolerance(found[0])}, unit=person),
    ]
    name, best = next(iter(optima.items()))
    said = leads({t.policy: t.objective()[-1] for t in found}, best, name)
    return save(over_rounds(found, panels, columns=1, main=OURS, headline=said), path)


def tolerance(trace: Trace) -> float:
    """Return the limit of the fairness costs."""
    return next(c.limit(trace.problem.horizon) for c, _ in by_group(trace.problem.subject_to))


def picture(found: Sequence[Trace], best: float, fairness: Measure, path: Path) -> Path:
    """Draw the gain of every policy as a share of the possible one, its use of budgets, and its unfairness.

    The possible gain is that of the optimum over drawing actions at random.
    """
    from evenhand.report.plots import save  # matplotlib only when asked for
    from evenhand.report.standings import Column, draw

    problem = found[0].problem
    base = next((t.objective()[-1].mean() for t in found if t.policy == BASELINE), 0.0)
    span = best - base if best > base else 1.0  # after few rounds there may be nothing to gain
    gains = [(t.objective()[-1] - base) / span for t in found]
    totals = [budget.total_over(problem.horizon) for budget in problem.spending]
    used = [np.max([t.total(good) / b for good, b in zip(GOODS, totals, strict=True)], 0) for t in found]
    unfair = [fairness(t)[-1] for t in found]
    of_both = "share of the rides or the vouchers, whichever is more"
    columns = [
        Column("share of the possible gain", "0: at random; 1: optimum", gains, "low", best=1.0),
        Column("budget used", of_both, used, "high", limit=1.0),
        Column("unfairness", "help per person between two groups", unfair, "high", limit=tolerance(found[0])),
    ]
    names = [t.policy for t in found]
    return save(draw(names, columns, headline(names, columns), main=OURS), path)


def headline(names: Sequence[str], columns: Sequence[Column]) -> str:
    """Say what the best policy gained that never overspends, and what the best of the others did.

    Where all policies overspend, the best of them comes first, and in how many runs it overspends is said.
    """
    gains, used, _ = columns
    order = sorted(
        (i for i in range(len(names)) if gains.runs(i)), key=lambda i: (used.n_beyond(i) > 0, -gains.mean(i))
    )
    if not order:
        return "no run has ended"
    first, *rest = order
    said = f"{names[first]} brings {gains.mean(first):.0%} of the possible gain and {_verdict(used, first)}"
    if not rest:
        return said
    other = max(rest, key=gains.mean)
    if gains.mean(other) <= gains.mean(first):
        over = f" and {_verdict(used, other)}" if used.n_beyond(other) else ""
        return f"{said}; the next best, {names[other]}, brings {gains.mean(other):.0%}{over}"
    return f"{said}; {names[other]} brings {gains.mean(other):.0%}, but {_verdict(used, other)}"


def _verdict(used: Column, i: int) -> str:
    """Say in how many runs a policy overspends."""
    from evenhand.report.standings import runs

    over, each = used.n_beyond(i), runs(used.runs(i))
    return f"overspends in {over} of {each}" if over else f"never overspends in {each}"
