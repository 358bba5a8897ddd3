"""The records of a round: what is known before acting, which candidates may be played, and what was decided.

R replicas, A candidates, P plays, n features, M learned and L known outcomes, of which the first B are noisy,
G groupings, C groups in all, K readings of the goals, D rows of all priced goals. A leading 1 in
place of R means "the same for every replica".
"""

from __future__ import annotations

from typing import NamedTuple

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints

__all__ = ["Context", "Decision", "Offer", "Worth", "distinct"]


def distinct(z: Floats) -> Floats:
    """An array of one replica where all replicas share it, which a stride of 0 tells, and else the array itself.

    It saves reading the same numbers again for every replica.

    >>> import numpy as np
    >>> distinct(np.broadcast_to(np.eye(2), (100, 2, 2))).shape, distinct(np.zeros((100, 2, 2))).shape
    ((1, 2, 2), (100, 2, 2))
    """
    return z[:1] if z.strides[0] == 0 else z


class Context(NamedTuple):
    """What the decision-maker sees before acting."""

    features: Floats  # (R, A, n) of every candidate
    known: Floats  # (R or 1, A, L) outcomes that are declared rather than learned; means of noisy ones
    groups: Ints  # (R, 1, G) the groups of the case, or (R, A, G) of every candidate, as indices into all C groups
    offered: Bools  # (R or 1, A) candidates that may be played at all


class Worth(NamedTuple):
    """The value of every candidate at the goals' prices."""

    mean: Floats  # (R, K, A)
    bonus: Floats  # (R, K, A) added to it to explore: optimism, or the drawn worth minus the mean
    random: bool = False  # whether luck was used; if so, the propensity of a play is unknown
    constant: Floats | None = None  # (R, 1 to K) what the goals add to every mean, played or not; 0 for other readings


class Offer(NamedTuple):
    """Which candidates may be played, alone and together."""

    playable: Bools  # (R, A) offered, and within every hard limit if played alone
    worst: Floats  # (R or 1, A, d) the most that each candidate can use of each hard limit
    left: Floats  # (R, d) what is left of each hard limit


class Decision(NamedTuple):
    """What was decided: a receipt to keep or log until the outcome arrives."""

    id: Ints  # (3,) a number, a random token and a checksum of `counted`, given by `commit`; -1 before
    plays: Ints  # (R, P) chosen candidates, -1 where nothing (more) could be played
    propensities: Floats  # (R, P) probability of each play given the plays before it; NaN where unknown
    counted: Floats  # (R,) 1 for a round that counts, 0 where nothing was played or the decision was not taken
    forced: Floats  # (R,) 1 where the values did not make the choice, as in a warm-up
    restricted: Floats  # (R,) 1 where a hard limit masked something that was offered
    features: Floats  # (R, P, n) of the plays
    known: Floats  # (R, P, L) known outcomes of the plays, means of noisy ones; 0 where nothing is played
    groups: Ints  # (R, 1 or P, G)
    shares: Floats  # (R or 1, C) shares of the groups, as believed when the decision was made
    prices: Floats  # (R, K, 1 or P, M) of learned outcomes
    row_prices: Floats  # (R, D) of the rows of all priced goals, one goal after the other
    carried: Floats  # (R, C) what the choice continues from, such as its lottery; else (R, 0)
    names: tuple[str, ...] = ()  # of the candidates, if these are the actions of the problem

    @property
    def action(self) -> str | None:
        """The action that is played, None where nothing could be played; for one play in one replica.

        Raises:
            InvalidInput: several plays or replicas, or candidates without names.
        """
        self._refuse_several()
        return self.actions[0]

    @property
    def probability(self) -> float | None:
        """The probability of the play, None where nothing is played or it is unknown; for one play in one replica.

        Raises:
            InvalidInput: several plays or replicas.
        """
        self._refuse_several()
        p = float(self.propensities[0, 0])
        return None if self.plays[0, 0] < 0 or p != p else p

    @property
    def actions(self) -> tuple[str | None, ...]:
        """The names of the plays of one replica, in order; None where nothing (more) could be played.

        Raises:
            InvalidInput: several replicas, or candidates without names.
        """
        if len(self.plays) > 1 or not self.names:
            got = f"{len(self.plays)} replicas" if self.names else "candidates without names"
            raise InvalidInput("decision", "one replica, whose candidates are the actions of the problem", got)
        return tuple([self.names[a] if a >= 0 else None for a in self.plays[0].tolist()])

    def _refuse_several(self) -> None:
        if self.plays.shape != (1, 1):
            got = f"{len(self.plays)} replicas and {self.plays.shape[1]} plays; see `plays` and `actions`"
            raise InvalidInput("decision", "one play in one replica", got)
