"""What a problem shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.faces import clipped, count, few
from evenhand.problem.constraints.stated import Stated

if TYPE_CHECKING:  # the module of `Problem` imports this one
    from evenhand.problem.problem import Problem


def title(problem: Problem) -> str:
    """How large a problem is."""
    plays = "" if problem.n_plays == 1 else f", {problem.n_plays:,} plays per round"
    return f"Problem: {count(len(problem.actions), 'action')} over {count(problem.horizon, 'round')}{plays}"


def rows(problem: Problem) -> list[tuple[str, str]]:
    """What a problem states, by name."""
    factors = {o.name: f"{o.name} (times {o.times})" for o in problem.outcomes if o.times is not None}
    learned = tuple(factors.get(name, name) for name in problem.learned)
    kinds = {"learned": learned, "known on average": problem.noisy}
    kinds["known"] = problem.known[len(problem.noisy) :]
    stated = {
        "actions": few(problem.actions),
        "maximize": clipped(problem.maximize if isinstance(problem.maximize, str) else repr(problem.maximize)),
        "subject to": few(map(_said, problem.stated)),
        **{name: few(names) for name, names in kinds.items()},
        "features": few(f.name for f in problem.features),
        "groups": few(f"{g.name} ({few(g.names, 24)})" for g in problem.groups),
        "measures": few(m.name for m in problem.measures),
    }
    return [(name, value) for name, value in stated.items() if value]


def _said(s: Stated) -> str:
    side = "at most" if s.constraint.worst == "high" else "at least"
    if s.spends and s.outcome is not None:
        return f"{s.outcome} {side} {s.total:,.6g} in all"
    return f"{s.constraint.label} {side} {s.limit:.4g}"
