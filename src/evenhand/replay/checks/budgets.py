"""Whether a budget decides anything: one that pays for the dearest action in every round does not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.problem import Problem
from evenhand.replay.checks.drawn import Drawn, quantile


def budget(problem: Problem, most: Mapping[str, float], rounds: float) -> str | None:
    """Say which budget never binds, as no action uses more of it in so many rounds.

    Args:
        problem: that states budgets.
        most: by outcome, what the dearest action uses per round on average, or an upper bound of it.
        rounds: those that are played.
    """
    for s in problem.stated:
        if s.spends and s.by is None and s.spans is None and s.outcome is not None:
            uses = most[s.outcome] * rounds
            if uses <= s.total:
                return (
                    f"the budget of {s.total:,.6g} {s.outcome} never binds: the dearest action uses {uses:,.6g} of it "
                    f"in some {rounds:,.0f} rounds"
                )
    return None


def most_of(log: Drawn, problem: Problem, used: Mapping[str, Floats], known: Floats) -> dict[str, float]:
    """Return the average use per round of the dearest action; for a learned outcome, an upper bound of it.

    Args:
        log: what was drawn.
        problem: that states budgets.
        used: by outcome, `(N)` what was logged.
        known: `(N or 1,A,L)` known outcomes.
    """
    found = {name: float(known[:, :, k].mean(0).max()) for k, name in enumerate(problem.known)}
    w, rows = 1.0 / log.propensities, len(log.actions)
    z = quantile(len(log.names))
    for name in problem.learned:
        wy = w * used[name]
        mean = log.sums(wy) / rows
        error = np.sqrt(np.maximum(log.sums(wy * wy) / rows - mean**2, 0.0) / rows)
        found[name] = float((mean + z * error).max())
    return found
