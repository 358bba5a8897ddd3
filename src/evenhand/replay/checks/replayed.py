"""The checks of a log before it is replayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.problem.problem import Problem
from evenhand.replay.checks.budgets import budget, ends, most_of
from evenhand.replay.checks.horizons import horizon, lasts
from evenhand.replay.checks.refused import drawn_of
from evenhand.replay.checks.told import Checks, of_log
from evenhand.replay.encoding import Encoded


def of_replay(problems: Sequence[Problem], encoded: Encoded) -> Checks:
    """Check a log and how long it lasts, for a problem or for several that differ only in their budgets."""
    p = problems[0]
    log = drawn_of(p, encoded)
    known = p.declared[None] if encoded.known is None else encoded.known
    rows = np.arange(len(encoded.actions)) % len(known)
    amounts = p.amounts(known[rows, encoded.actions], encoded.outcomes)
    most = most_of(log, p, {name: amounts[:, m] for m, name in enumerate(p.learned)}, known)
    rounds = min(float(p.horizon), lasts(log))
    idle = (budget(problem, most, rounds) for problem in problems)
    return {
        **encoded.checks,
        **of_log(log),
        "horizon": horizon(log, p.horizon) if p.until is None else None,
        "ends": ends(p, known, most, rounds),
        "budget": next((sentence for sentence in idle if sentence is not None), None),
    }
