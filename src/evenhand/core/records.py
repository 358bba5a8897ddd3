"""The records of a round: context, worth, offer and decision.

R replicas, A candidates, P plays, n features, M learned and L known outcomes, of which the first B are noisy,
G groupings, C groups in all, K readings of the goals, D rows of all priced goals. A leading 1 in
place of R means "the same for every replica".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints

__all__ = ["Context", "Decision", "Offer", "Worth", "distinct"]


def distinct(z: Floats) -> Floats:
    """Return an array of one replica if all replicas share it (a stride of 0), else the array itself.

    It saves reading the same numbers again for every replica.

    >>> import numpy as np
    >>> distinct(np.broadcast_to(np.eye(2), (100, 2, 2))).shape, distinct(np.zeros((100, 2, 2))).shape
    ((1, 2, 2), (100, 2, 2))
    """
    return z[:1] if z.strides[0] == 0 else z


class Context(NamedTuple):
    """The arrays that a decision is based on, which `Policy.encode` makes of a case that is stated by name.

    ========  ===================  ==================================================================================
    field     shape                meaning
    ========  ===================  ==================================================================================
    features  (R, A, n)            n features of each of A candidates, in each of R replicas; a service has R = 1
    known     (R or 1, A, L)       outcomes that are declared rather than learned, in the order of `Problem.known`;
                                   of noisy ones the means
    groups    (R, 1, G)            the group of the case in each of G groupings, as a place in `Problem.columns`
              or (R, A, G)         the same for every candidate, where a grouping divides actions
    offered   (R or 1, A)          whether a candidate may be played at all, True or False
    time      (R or 1,) or None    when the case came, by the clock of the problem; None for the number of its round
    unit      (R or 1,) or None    the number of its unit, where the problem has units (`problem.unit.unit_number`)
    ========  ===================  ==================================================================================
    """

    features: Floats
    known: Floats
    groups: Ints
    offered: Bools
    time: Floats | None = None
    unit: Ints | None = None

    @property
    def plays(self) -> None:
        return

    def __repr__(self) -> str:
        rows = [(field, _shape(z)) for field, z in zip(self._fields, self, strict=True) if z is not None]
        if isinstance(self.offered, np.ndarray) and not self.offered.all():
            rows[3] = "offered", f"{rows[3][1]}, {int(self.offered.sum()):,} of {self.offered.size:,}"
        return texts.text("Context: arrays of these shapes", rows)


class Mix(NamedTuple):
    """The lottery of a plan among candidates with equal gains: proportional to exp(worth / heat).

    ========  ===================  ==================================================================================
    field     shape                meaning
    ========  ===================  ==================================================================================
    gain      (R, A)               what each candidate brings to the objective, optimistic, at no price of constraints
    worth     (R, A)               what each candidate is worth to the plan, which knows no luck
    heat      (R,)                 the temperature, in units of worth; 0 where the plan found no equal gains
    ========  ===================  ==================================================================================
    """

    gain: Floats
    worth: Floats
    heat: Floats


class Worth(NamedTuple):
    """The value of every candidate at the goals' prices.

    ========  ===================  ==================================================================================
    field     shape                meaning
    ========  ===================  ==================================================================================
    mean      (R, K, A)            what each of A candidates is expected to be worth, in each of K readings
    bonus     (R, K, A)            added to it to explore: optimism, or the drawn worth minus the mean
    random                         whether luck was used; if so, the propensity of a play is unknown
    constant  (R, 1 to K) or None  what the goals add to every mean, played or not; 0 for other readings
    mix       (R, A) or None       how a plan mixes candidates that gain the same
    ========  ===================  ==================================================================================
    """

    mean: Floats
    bonus: Floats
    random: bool = False
    constant: Floats | None = None
    mix: Mix | None = None


class Offer(NamedTuple):
    """The playable candidates, and the limits on playing several of them.

    ========  ===================  ==================================================================================
    field     shape                meaning
    ========  ===================  ==================================================================================
    playable  (R, A)               whether a candidate is offered, and within every hard limit if played alone
    worst     (R or 1, A, d)       the most that each candidate can use of each of d hard limits
    left      (R, d)               what is left of each hard limit
    ========  ===================  ==================================================================================
    """

    playable: Bools
    worst: Floats
    left: Floats


class Decision(NamedTuple):
    """A receipt of a decision, to keep or log until the outcome arrives.

    A service reads `action` and `probability`, or `actions` where several are played at once.

    ============  ===============  ==================================================================================
    field         shape            meaning, in each of R replicas; a service has R = 1
    ============  ===============  ==================================================================================
    id            (3,)             a number, a random token and a checksum, which `commit` gives; -1 before
    plays         (R, P)           the P chosen candidates, -1 where nothing (more) could be played
    propensities  (R, P)           probability of each play given the plays before it; NaN if it is unknown
    counted       (R,)             1 for a round that counts, 0 where nothing is played or the decision is not taken
    forced        (R,)             1 where the values did not make the choice, as in a warm-up
    restricted    (R,)             1 where a hard limit masked something that was offered
    time          (R,)             when it was made, by the clock of the problem; by default the number of its round
    features      (R, P, n)        of the plays
    known         (R, P, L)        known outcomes of the plays, means of noisy ones; 0 where nothing is played
    groups        (R, 1 or P, G)   of the case, or of every play
    shares        (R or 1, C)      shares of all C groups, as believed when the decision was made
    prices        (R, K, 1|P, M)   of the M learned outcomes, in K readings; for all plays, or for each
    row_prices    (R, D)           of the rows of all priced goals, one goal after the other
    carried       (R, C) or (R,0)  what the choice continues from, such as its lottery
    names         (A,) or ()       of the candidates, if these are the actions of the problem
    ============  ===============  ==================================================================================
    """

    id: Ints
    plays: Ints
    propensities: Floats
    counted: Floats
    forced: Floats
    restricted: Floats
    time: Floats
    features: Floats
    known: Floats
    groups: Ints
    shares: Floats
    prices: Floats
    row_prices: Floats
    carried: Floats
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return texts.text(*self._shown())

    def _repr_html_(self) -> str:
        return texts.table(*self._shown())

    def _shown(self) -> tuple[str, list[tuple[str, str]]]:
        """A title, and a line per play; of a batch, one per candidate that is played."""
        plays = self.plays[0].tolist() if len(self.plays) == 1 else []
        rows = [
            (self._name(a), "" if p != p else f"with probability {p:.4g}")
            for a, p in zip(plays, self.propensities[0].tolist(), strict=False)
            if a >= 0
        ]
        if len(self.plays) > 1:  # a batch: how often each candidate is played
            found, times = np.unique(self.plays[self.plays >= 0], return_counts=True)
            order = np.argsort(-times, kind="stable")
            rows = [(self._name(int(found[i])), f"in {texts.count(int(times[i]), 'replica')}") for i in order]
        number = f"number {self.id[0]}" if self.id[0] >= 0 else "not committed"
        title = f"Decision ({number})" + ("" if rows else ": nothing is played")
        if len(self.plays) > 1:
            title += f" of {texts.count(len(self.plays), 'replica')}"
        return title, rows

    def _name(self, candidate: int) -> str:
        return self.names[candidate] if candidate < len(self.names) else f"candidate {candidate}"

    @property
    def action(self) -> str | None:
        """The action that is played, None if nothing could be played; for one play in one replica.

        Raises:
            InvalidInput: several plays or replicas, or candidates without names.
        """
        self._refuse_several()
        return self.names[a] if self.names and (a := self.plays.item()) >= 0 else self.actions[0]

    @property
    def probability(self) -> float | None:
        """The probability of the play, None if nothing is played or it is unknown; for one play in one replica.

        Raises:
            InvalidInput: several plays or replicas.
        """
        self._refuse_several()
        p = float(self.propensities[0, 0])
        return None if self.plays[0, 0] < 0 or p != p else p

    @property
    def actions(self) -> tuple[str | None, ...]:
        """The names of the plays of one replica, in order; None if nothing (more) could be played.

        Raises:
            InvalidInput: several replicas, or candidates without names.
        """
        if len(self.plays) > 1 or not self.names:
            got = f"{len(self.plays)} replicas" if self.names else "candidates without names"
            raise InvalidInput("decision", "one replica, whose candidates are the actions of the problem", got)
        return tuple([self.names[a] if a >= 0 else None for a in self.plays[0].tolist()])

    def _refuse_several(self) -> None:
        if self.plays.shape != (1, 1):
            got = f"{len(self.plays)} replicas and {self.plays.shape[1]} plays; see `actions` and `propensities`"
            raise InvalidInput("decision", "one play in one replica", got)


def _shape(z: object) -> str:
    return str(z.shape) if isinstance(z, np.ndarray) else type(z).__name__
