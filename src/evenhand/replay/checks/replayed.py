"""The checks of a log before it is replayed, and what its averages say of policies that play without a replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.faces import amount, few
from evenhand.core.types import Floats
from evenhand.problem.problem import Problem
from evenhand.replay.checks.budgets import budget, ends, horizon, lasts, most_of
from evenhand.replay.checks.refused import drawn_of
from evenhand.replay.checks.told import Checks, of_log
from evenhand.replay.encoding import Encoded
from evenhand.report.quantities import objective_name


def of_replay(problems: Sequence[Problem], encoded: Encoded) -> Checks:
    """Check a log and how long it lasts, for a problem or for several that differ only in their budgets."""
    p = problems[0]
    log = drawn_of(p, encoded)
    known = p.declared[None] if encoded.known is None else encoded.known
    most = most_of(log, p, _logged(p, encoded), known)
    rounds = min(float(p.horizon), lasts(log))
    idle = (budget(problem, most, rounds) for problem in problems)
    return {
        **encoded.checks,
        **of_log(log),
        "horizon": horizon(log, p.horizon) if p.until is None else None,
        "ends": ends(p, known, most, rounds),
        "budget": next((sentence for sentence in idle if sentence is not None), None),
    }


def averages(p: Problem, encoded: Encoded) -> str:
    """Say what a round brings as logged, and if everybody gets the same, by averages that are weighted by 1 / p."""
    name, w, logged = objective_name(p), 1.0 / encoded.propensities, _logged(p, encoded)
    y = np.stack([logged[outcome] for outcome in p.objective.outcomes], 1)
    whole = amount(float(p.objective.value(y.mean(0))))
    each = [(action, encoded.actions == a) for a, action in enumerate(p.actions)]
    alike = [
        f"{amount(float(p.objective.value(np.average(y[mine], 0, w[mine]))))} with {action!r}"
        for action, mine in each
        if mine.any()
    ]
    return f"By the averages of the log, a round brings {whole} {name} as logged; with one action for all, {few(alike)}"


def _logged(p: Problem, encoded: Encoded) -> dict[str, Floats]:
    """Return what was logged of every outcome, `(N)` each."""
    known = p.declared[None] if encoded.known is None else encoded.known
    of_played = known[np.arange(len(encoded.actions)) % len(known), encoded.actions]
    amounts = p.amounts(of_played, encoded.outcomes)
    return dict(zip((*p.learned, *p.known), (*amounts.T[: len(p.learned)], *of_played.T), strict=True))
