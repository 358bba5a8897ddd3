"""Factors of learned outcomes: a known number, such as a price, or 0 where an outcome is declared 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.outcome import Outcome


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors:
    """The factors of learned outcomes: a model learns the outcome y, and everything else reads its amount f y.

    Equation: f_am = 0 where outcome m is free under candidate a; else the known outcome of a that m is multiplied by,
    or 1 if there is none.

    Args:
        times: of each learned outcome, the column of the known outcome that multiplies it, -1 for none, `(M)`.
        free: under which candidates each is always 0, `(A,M)`.

    >>> prices = Factors(times=np.array([0, -1]), free=np.zeros((2, 2), bool))
    >>> prices.amounts(np.array([[[20.0], [5.0]]]), np.array([[[1.0, 0.3], [1.0, 0.3]]])).tolist()
    [[[20.0, 0.3], [5.0, 0.3]]]
    """

    times: Ints
    free: Bools

    @staticmethod
    def of_outcomes(learned: Sequence[Outcome], known: Sequence[str], free: Bools) -> Factors:
        """Return the factors of learned outcomes, among known ones of these names."""
        times = [-1 if o.times is None else known.index(o.times) for o in learned]
        return Factors(times=np.array(times, np.int64), free=free)

    @cached_property
    def matter(self) -> Bools:
        """A mask of the learned outcomes with a factor other than 1, `->(M)`."""
        return np.asarray((self.times >= 0) | self.free.any(0))

    def of(self, known: Floats, plays: Ints | None = None) -> Floats:
        """Return the factors of all candidates in order, or of plays, `(A,L)->(A,M)` or `(P,L),(P)->(P,M)`.

        At a place where nothing is played they mean nothing.
        """
        counts = self._counts if plays is None else self._counts[0][plays]
        if not len(self.known):
            return np.asarray(counts)
        f = np.ones((*known.shape[:2], len(self.times)))
        f[..., self.known] = known[..., self.times[self.known]]
        return f * counts if self.free.any() else f

    def amounts(self, known: Floats, y: Floats) -> Floats:
        """Return outcomes of plays times their known factors, `(P,L),(P,m)->(P,m)`; the learned ones are first of m.

        Declared zeros are not looked at: what was observed there is 0.
        """
        found = y.copy()
        found[..., self.known] *= known[..., self.times[self.known]]
        return found

    def reach(self, declared: Floats, span: Floats) -> Floats:
        """Return the ends of amounts over all candidates, from outcomes' and declared values, `(A,L),(2,m)->(2,m)`."""
        found = span.copy()
        for m in self.known:
            f = np.where(self.free[:, m], 0.0, declared[:, self.times[m]])
            ends = np.where(f == 0.0, 0.0, span[:, m, None] * np.where(f == 0.0, 1.0, f))  # 0 times infinity is 0
            found[:, m] = ends.min(), ends.max()
        return found

    @cached_property
    def known(self) -> Ints:
        """The learned outcomes that have a known factor."""
        return np.flatnonzero(self.times >= 0)

    @property
    def declared(self) -> Floats | None:
        """The factors of all candidates where none depends on the case, else None, `->(A,M)`."""
        return None if len(self.known) else self._counts[0]

    @cached_property
    def _counts(self) -> Floats:
        """0 where an outcome is declared 0, 1 elsewhere, `->(1,A,M)`."""
        return np.asarray(1.0 - self.free)[None]


def stated_by_cases(factors: Factors | None) -> bool:
    """Whether any outcome has a factor that depends on the case."""
    return factors is not None and factors.declared is None


def check_factors(outcomes: Sequence[Outcome], actions: tuple[str, ...]) -> None:
    """Refuse a factor that is not known for certain, or is 0 under every action."""
    named = {o.name: o for o in outcomes}
    exact = [o.name for o in outcomes if o.is_known]
    for o in outcomes:
        if o.times is None:
            continue
        where, factor = f"Outcome({o.name!r}).times", named.get(o.times)
        if factor is None:
            raise InvalidInput(where, f"one of the known outcomes {exact}", f"{o.times}{suggestion(o.times, exact)}")
        if not factor.is_known:
            kind = "which is learned" if factor.is_learned else "of which only the mean is known"
            got = "itself" if factor is o else f"{o.times!r}, {kind}"
            raise InvalidInput(where, f"one of the outcomes {exact}, which are known for certain", got)
        if not any(factor.declared(actions)):
            expected = "a factor that is declared other than 0: a typical value, where cases state their own"
            raise InvalidInput(where, expected, f"{o.times!r}, which is 0 under every action")
