"""The check of budgets: one that pays for the dearest action in every round never binds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.logs.checks.rows import Drawn, quantile
from evenhand.problem.problem import Problem


def budget(problem: Problem, most: Mapping[str, float], rounds: float) -> str | None:
    """Say which budget never binds, as no action uses more of it in the given rounds.

    Args:
        problem: that states budgets.
        most: by outcome, what the dearest action uses per round on average, or an upper bound of it.
        rounds: those that are played.
    """
    for s in problem.stated:
        if s.spends and s.spans is None and s.outcome is not None and s.outcome in most:
            uses = most[s.outcome] * rounds
            if uses <= s.total:
                dearest = f"the dearest action uses {amount(uses, 6)} of it in some {rounds:,.0f} rounds"
                return f"the budget of {amount(s.total, 6)} {s.outcome} never binds: {dearest}"
    return None


def ends(problem: Problem, known: Floats, most: Mapping[str, float], rounds: float) -> str | None:
    """Say which budget every action may use, so that a run ends when it is spent.

    Args:
        problem: that states budgets.
        known: `(N or 1,A,L)` known outcomes.
        most, rounds: as for `budget`; a budget that never binds ends no run.
    """
    played = [i for i, name in enumerate(problem.actions) if name not in problem.withdrawn]
    for s in problem.stated:
        if not s.spends or s.spans is not None or s.outcome is None or s.outcome not in most:
            continue
        if most[s.outcome] * rounds <= s.total:
            continue
        end = f"so that a run ends when the budget of {amount(s.total, 6)} is spent"
        if s.outcome in problem.known:
            if (known[:, played, problem.known.index(s.outcome)].min(1) > 0.0).all():
                return f"every action uses {s.outcome}, {end}: an action that uses none would let it go on"
        elif not problem.free[played, problem.learned.index(s.outcome)].any():
            return f"every action may use {s.outcome}, {end}: outcomes.{s.outcome}.free names actions that use none"
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


_SHORT = 0.9  # of the horizon


def lasts(log: Drawn) -> float:
    """Return the expected number of rounds: a row is accepted with its lowest probability."""
    return len(log.actions) * float(log.propensities.min())


def horizon(log: Drawn, rounds: int) -> str | None:
    """Say whether a log ends before the horizon."""
    expected = lasts(log)
    if expected >= _SHORT * rounds:
        return None
    return (
        f"this log lasts for some {expected:,.0f} rounds of {rounds:,}: its rows times "
        f"{amount(expected / len(log.actions), 3)}, the least probability that it has"
    )
