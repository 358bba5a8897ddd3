"""What is left of the credits of constraints: what these promise, at the worst outcome of what waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.goals.base import Credits
from evenhand.problem.problem import Problem


def credits_left(problem: Problem, goals: Sequence[tuple[int, object]], states: Sequence[Any]) -> Floats | None:
    """Return the remaining credit of every constraint that states one, in their order, `->(R,k)`; None without any.

    NaN stands for a credit that no goal keeps, as in a policy that was composed without it.
    """
    wanted = [s.credit for s in problem.stated if s.credit is not None]
    kept = {g.credit: g.left(states[i]) for i, g in goals if isinstance(g, Credits)}
    if not kept:
        return None
    none = np.full(len(next(iter(kept.values()))), np.nan)
    return np.stack([kept.get(credit, none) for credit in wanted], 1)
