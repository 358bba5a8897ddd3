"""Why a decision was made, in numbers."""

from __future__ import annotations

from evenhand.core.records import Decision
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows


def explain(problem: Problem, goals: list[Rows], d: Decision, replica: int) -> str:
    """Prices of every row, the value of every candidate, what was masked and what was played."""
    lines = []
    for rows, q in zip(goals, d.row_prices, strict=True):
        for name, price in zip(rows.names, q[replica].sum(0), strict=True):
            lines.append(f"  price of {name:<34} {price:+.4f}")
    for i, (grouping, group) in enumerate(problem.columns):
        if i in d.groups[replica]:
            lines.append(f"  the case is in {grouping} = {group}")
    played = d.plays[replica].tolist()
    for a, worth in enumerate(d.worth[replica].tolist()):
        name = problem.actions[a] if len(problem.actions) == d.worth.shape[1] else f"candidate {a}"
        note = "" if d.playable[replica, a] else "  masked: not offered, or its worst case does not fit"
        note = f"  played ({played.index(a) + 1} of {len(played)})" if a in played else note
        lines.append(f"  {name:<20} worth {worth:+.4f}  probability {d.lottery[replica, a]:.3f}{note}")
    if d.rounds[replica] == 0:
        lines.append("  nothing was played: nothing fits, or the horizon is over")
    elif d.steered[replica] == 0:
        lines.append("  warm-up: the choice did not look at the values")
    return "\n".join(lines)
