"""The two per-round records: what is known before acting, and the receipt that is kept until the outcome comes.

R replicas, A candidates, P plays, n features, M learned and L known outcomes, G groupings, C groups in all,
K readings of the goals. A leading 1 in place of R means "the same for every replica".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats, Ints

__all__ = ["Context", "Decision", "Offer", "Worth"]


class Context(NamedTuple):
    """What the decision-maker sees before acting."""

    features: Floats  # (R, A, n) of every candidate
    known: Floats  # (R or 1, A, L) outcomes that are declared rather than learned
    groups: Ints  # (R, G) the group of the case at hand, per grouping, as a column of all groups
    offered: Bools  # (R or 1, A) candidates that may be played at all


class Worth(NamedTuple):
    """What a model says of every candidate at the goals' prices."""

    mean: Floats  # (R, K, A)
    bonus: Floats  # (R, K, A) optimism, or what a draw from the posterior adds to the mean
    random: bool  # whether luck was used: then nobody can state the probability of a play


class Offer(NamedTuple):
    """Which candidates may be played, one by one and together."""

    playable: Bools  # (R, A) offered, and within every hard limit if played alone
    worst: Floats  # (R or 1, A, d) the most that each candidate can use of each hard limit
    left: Floats  # (R, d) of the hard limits


class Decision(NamedTuple):
    """What was decided and why: kept, or logged, until its outcome arrives."""

    plays: Ints  # (R, P) chosen candidates, -1 where nothing could be played
    propensities: Floats  # (R, P) probability of each play given the plays before it
    rounds: Floats  # (R,) 1 for a round that counts, 0 where nothing was played or the play was not taken
    steered: Floats  # (R,) 1 where prices made the choice, 0 in a warm-up
    features: Floats  # (R, P, n) of the plays
    known: Floats  # (R, P, L) known outcomes of the plays
    groups: Ints  # (R, G)
    shares: Floats  # (R or 1, C) shares of the groups as they were believed
    prices: Floats  # (R, K, M) of learned outcomes
    row_prices: tuple[Floats, ...]  # per priced goal (R, k, d): prices of its rows
    mean: Floats  # (R, K, A) worth of every candidate, per reading of the goals
    bonus: Floats  # (R, K, A) and the optimism added to it
    playable: Bools  # (R, A) offered and within every hard limit
    lottery: Floats  # (R, A) chances of every candidate at the first place

    @property
    def worth(self) -> Floats:
        """Optimistic value of every candidate, (R, A)."""
        return np.asarray((self.mean + self.bonus).sum(1))
