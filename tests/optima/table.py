"""Rows of the table: what every recipe reaches of the optimum, and what it overspends."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.types import Floats
from evenhand.experiments.lock_in import lock_in_share
from evenhand.goals import HardBudget
from evenhand.policy import Policy
from evenhand.report.summary import standard_error
from evenhand.run import Trace, simulate
from tests.optima.calls import CALLS
from tests.optima.worlds import WORLDS, world

REPLICAS = 20


class Row(NamedTuple):
    """One recipe in one environment."""

    share: float  # of the optimum, mean over replicas
    se: float  # of the mean, with that of the optimum
    worst: float  # share of the worst replica
    locked: float  # share of replicas that gained less than half of the mean gain; NaN where there is next to no gain
    overspent: Floats  # (R,) the largest share of a budget that was spent on top of it
    missed: float  # by how much the worst parity was missed per round, mean over replicas
    hard: bool  # budgets are never exceeded; False as well where nothing is spent


class Refused(NamedTuple):
    """A recipe that does not accept an environment."""

    why: str


def needs(error: InvalidInput | InfeasibleProblem) -> str:
    """What an error says is needed, without what came, which can be long."""
    return f"{error.field}: expected {error.expected}" if isinstance(error, InvalidInput) else str(error)


def made(recipe: str, name: str) -> Policy | Refused:
    """The policy, or why there is none. Any other error is a bug, and is raised."""
    try:
        return CALLS[recipe](world(name))
    except (InvalidInput, InfeasibleProblem) as error:
        return Refused(needs(error))


@cache
def nothing_or_uniform(name: str, seed: int, replicas: int) -> float:
    """The share that doing nothing or drawing blindly reaches, whichever is more: gains are counted from here."""
    w, found = world(name), made("uniform", name)
    best, _ = w.best(seed, replicas)
    blind = -math.inf if isinstance(found, Refused) else float((_reached(found, name, seed, replicas)[1] / best).mean())
    return max(w.nothing / float(best.mean()), blind)


def measure(recipe: str, name: str, seed: int, replicas: int = REPLICAS) -> Row | Refused:
    """One row of the table."""
    policy = made(recipe, name)
    if isinstance(policy, Refused):
        return policy
    trace, reached = _reached(policy, name, seed, replicas)
    best, best_se = world(name).best(seed, replicas)
    share = reached / best
    base = nothing_or_uniform(name, seed, replicas)
    return Row(
        share=float(share.mean()),
        se=math.hypot(standard_error(share), float(share.mean()) * best_se / float(best.mean())),
        worst=float(share.min()),
        locked=lock_in_share(share, base) if share.mean() - base > (1.0 - base) / 10 else math.nan,
        overspent=overspent(trace),
        missed=_missed(trace),
        hard=any(isinstance(g, HardBudget) for g in policy.goals),
    )


def pairs() -> list[tuple[str, str]]:
    """Every recipe with every environment."""
    return [(recipe, name) for recipe in CALLS for name in WORLDS]


def overspent(trace: Trace) -> Floats:
    """The largest share of a budget that was spent on top of it, at least 0, `->(R)`."""
    horizon, most = trace.problem.horizon, np.zeros(len(trace.replicas))
    for c in trace.problem.spending:
        spent = c.measure(trace)[-1] * trace.elapsed[-1]
        most = np.maximum(most, spent / c.total_over(horizon) - 1.0)
    return most


def _missed(trace: Trace) -> float:
    """By how much the worst parity was missed per round, mean over replicas."""
    found = [0.0]
    for c in trace.problem.subject_to:
        if not c.spends:
            miss = c.measure(trace)[-1] - c.limit(trace.problem.horizon)
            found.append(float(np.maximum(miss if c.worst == "high" else -miss, 0.0).mean()))
    return max(found)


def _reached(policy: Policy, name: str, seed: int, replicas: int) -> tuple[Trace, Floats]:
    """A run, and the objective in which every replica ended."""
    trace = simulate(policy, world(name).environment, replicas=replicas, seed=seed, progress=False)
    return trace, np.asarray(trace.objective()[-1])
