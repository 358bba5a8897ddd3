"""The k best candidates, with less optimism about those that were often exposed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.choices._shared import check_candidates, count_plays
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.choices.top_k import TopK
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import counts


@dataclass
class UnbiasedState:
    """The number of exposures of every candidate."""

    exposures: Floats  # (R, A)


@checked
@dataclass(frozen=True)
class Unbiased:
    """The k candidate with the highest optimistic value, with bonuses that shrink with past exposure.

    Equation: worth_i = mean_i + eta_i bonus_i, eta_i = 1 - k N_i / sum_j N_j with N_i the exposures of candidate i so
    far. The factor is 1 before any exposure. It falls below 0 for candidates that took more than 1/k of all exposures,
    whose bonus is then subtracted, as in the source. Candidates must stand for the same thing in every round.
    Source: Mansoury et al. 2021, as in Do et al. 2023, equation (14).

    Args:
        n_plays: k, the number of plays.
        candidates: A.

    Raises:
        InvalidInput: numbers below 1; later, another number of candidates.

    >>> choice = Unbiased(1, candidates=2)
    >>> state = choice.start(1)
    >>> state.exposures[:] = 3.0, 1.0
    >>> worth = Worth(np.array([[[0.5, 0.5]]]), np.full((1, 1, 2), 0.1), random=False)
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> choice.pick(state, worth, offer, np.zeros(1), np.zeros((1, 1))).plays  # 0.1 (1 - 3/4) < 0.1 (1 - 1/4)
    array([[1]])
    """

    n_plays: int
    candidates: int
    reads_bonus = True

    def __post_init__(self) -> None:
        counts(self, {"n_plays": 1, "candidates": 1})

    def draws(self, candidates: int) -> int:
        return self._top.draws(candidates)

    def start(self, n_replicas: int) -> UnbiasedState:
        return UnbiasedState(np.zeros((n_replicas, self.candidates)))

    def pick(self, state: UnbiasedState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        check_candidates("Unbiased", self.candidates, worth)
        total = state.exposures.sum(1, keepdims=True)
        eta = 1.0 - self.n_plays * state.exposures / np.maximum(total, 1.0)
        return self._top.pick(None, worth._replace(bonus=worth.bonus * eta[:, None]), offer, t, u)

    def on_outcome(self, state: UnbiasedState, decision: Decision, exposed: Bools | None) -> None:
        seen = np.ones(decision.plays.shape, bool) if exposed is None else exposed
        count_plays(state.exposures, decision.plays, decision.counted, seen)

    @cached_property
    def _top(self) -> TopK:
        return TopK(self.n_plays)
