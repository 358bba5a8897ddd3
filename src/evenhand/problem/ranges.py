"""What the outcomes of the plays of a round can sum to."""

from __future__ import annotations

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.declared import Declared


def ranges(problem: Declared, outcomes: tuple[str, ...], plays: int | None) -> tuple[Floats, Floats]:
    """Return the least and the most that outcomes can sum to; see `Problem.ranges`."""
    plays = problem.n_plays if plays is None else plays
    found = [problem.row(name) for name in outcomes]
    chosen = [outcome for outcome, _, _ in found]
    waits = np.concatenate([np.zeros(len(problem.learned), bool), ~problem.sure])[chosen]
    inside = np.array([c >= 0 for _, _, c in found], bool)
    most = np.full(len(found), float(plays))
    for i, (_, grouping, column) in enumerate(found):
        if column >= 0:
            most[i] = min(plays, problem.groups[grouping].size(problem.columns[column][1]))
    least, most_of = problem.amount_span[:, : len(problem.learned)]
    low = np.concatenate([least, problem.declared.min(0)])[chosen]
    high = np.concatenate([most_of, problem.declared.max(0)])[chosen]
    optional = waits | inside  # a play outside of the group, or one that is not exposed, brings 0
    low, high = np.where(optional, np.minimum(low, 0.0), low), np.where(optional, np.maximum(high, 0.0), high)
    return low * most, high * most
