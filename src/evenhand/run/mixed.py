"""The truth of a sample where a part of the rounds is left to known lotteries."""

from __future__ import annotations

import numpy as np

from evenhand.planning.concave_program import Truth
from evenhand.problem.known_rounds import KnownRounds


def mixed(truth: Truth, rounds: KnownRounds) -> Truth:
    """Return the truth for the rounds that the policy decides: the mean outcomes of a case under each candidate.

    Equation: with k_a the chance that a known lottery plays a, and q what is played otherwise, p = k + (1 - sum k) q.
    As q sums to 1, p.y = sum_a q_a (k.y + (1 - sum k) y_a): a program over q alone, with the same bounds.
    """
    if rounds.reserve == 0.0:
        return truth
    chances = rounds.within(truth.offered)
    left = 1.0 - chances.sum(1)[:, None, None]
    outcomes, rows, *followed = (
        np.einsum("sa,sai->si", chances, y)[:, None] + left * y for y in (truth.outcomes, truth.rows, *truth.followed)
    )
    return truth._replace(outcomes=outcomes, rows=rows, followed=tuple(followed))
