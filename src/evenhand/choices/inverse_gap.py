"""Inverse-gap weighting: candidates with a higher predicted worth are likelier to be played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.choices._shared import add_up, copy_to, draw_free, empty_plays, settle, ties
from evenhand.choices.base import DrawPerPlay, Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked, typed
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import nonnegative, number, positive, whole
from evenhand.core.views import view_of


@runtime_checkable
class Schedule(Protocol):
    """A learning rate per round and number of candidates."""

    def rates(self, t: Floats, candidates: int) -> Floats:
        """The rates after t decided rounds, `(),()->()`."""


@kernel
def _oracle(
    t: Floats, candidates: int, regret: float, growth: float, risk: float, lipschitz: float, diameter: float
) -> Floats:
    rates = np.empty(len(t))
    for r in range(len(t)):
        n = t[r] + 1.0
        error = regret + growth * math.log(1.0 + n) + 8.0 * diameter * diameter * (2.0 * math.log(2.0 * n) + risk)
        rates[r] = 2.0 / lipschitz * math.sqrt(n * candidates / error)
    return rates


class _OracleView(NamedTuple):
    regret: float
    growth: float
    risk: float
    lipschitz: float
    diameter: float

    @kernel
    def rates(self, t: Floats, candidates: int) -> Floats:
        return _oracle(t, candidates, self.regret, self.growth, self.risk, self.lipschitz, self.diameter)


@checked
@dataclass(frozen=True, kw_only=True)
class OracleRate:
    """The learning rate of FW-SquareCB's theorem, from a bound on the regret of the regression oracle.

    Equation: gamma_t = (2 / L) sqrt(t A / (R(t) + 8 D^2 ln(4 t^2 / delta))) in decided round t = 1, 2, ..., with A the
    number of candidates and R(t) = regret + growth ln(1 + t). The regret is that of all outcomes together: the sum of
    |y_hat - y|^2 over the rounds, less that of the best predictor of its class.
    Guarantee: with probability 1 - delta, what plays are worth at the slopes of T rounds is short of the most that it
    could be by at most 4 L sqrt(A T (R(T) + 8 D^2 ln(4 T^2 / delta))) + L D sqrt(2 T ln(2 / delta)) in total, if means
    are in the oracle's class, and outcomes and predictions lie in a set of diameter D.
    Source: Do et al. 2023, Theorem 20, whose R_oracle is R.

    Args:
        regret: of the oracle, at least 0, in units of squared outcomes; constant for a finite class.
        growth: of the regret by each factor of e in the rounds, such as M n times the squared range for linear means.
        delta: the risk, in (0, 1).
        lipschitz: L, a Lipschitz constant of the objective.
        diameter: D, of the set that outcomes of a round lie in.

    Raises:
        InvalidInput: a number out of its range.

    >>> rate = OracleRate(regret=10.0, delta=0.1)
    >>> rate.rates(np.array([0.0, 999.0]), 5).round(2)
    array([ 0.71, 11.55])
    """

    regret: float
    growth: float = 0.0
    delta: float
    lipschitz: float = 1.0
    diameter: float = 1.0

    def __post_init__(self) -> None:
        for field in ("regret", "growth"):
            nonnegative(f"OracleRate.{field}", getattr(self, field))
        for field in ("lipschitz", "diameter"):
            positive(f"OracleRate.{field}", getattr(self, field))
        number("OracleRate.delta", self.delta, "a risk in (0, 1)", lambda x: 0 < x < 1)

    def rates(self, t: Floats, candidates: int) -> Floats:
        return np.asarray(_oracle(t, candidates, *self.view()))

    def view(self) -> _OracleView:
        risk = -math.log(self.delta)
        return _OracleView(float(self.regret), float(self.growth), risk, float(self.lipschitz), float(self.diameter))


@kernel
def _at(scale: float, power: float, t: float) -> float:
    return scale if power == 0.0 else scale * (t + 1.0) ** power


@kernel
def _rates(scale: float, power: float, t: Floats) -> Floats:
    rates = np.empty(len(t))
    for r in range(len(t)):
        rates[r] = _at(scale, power, t[r])
    return rates


class _RateView(NamedTuple):
    scale: float
    power: float

    @kernel
    def rates(self, t: Floats, candidates: int) -> Floats:
        return _rates(self.scale, self.power, t)


@checked
@dataclass(frozen=True)
class Rate:
    """A learning rate scale * (t + 1)^power in decided round t, t counted from 0.

    Power 0 is a fixed rate, power 1/2 the schedule of FW-SquareCB's experiments.

    Raises:
        InvalidInput: a scale that is not positive, or a power outside [0, 1].

    >>> Rate(2.0, 0.5).at(3.0)
    4.0
    """

    scale: float
    power: float = 0.0

    def __post_init__(self) -> None:
        positive("Rate.scale", self.scale)
        if not 0 <= self.power <= 1:
            raise InvalidInput("Rate.power", "a number in [0, 1]", self.power)

    @staticmethod
    def of(rate: Schedule | float) -> Schedule:
        """Return a schedule as it is, and a number as a fixed rate."""
        return rate if isinstance(rate, Schedule) else Rate(rate)

    def at(self, t: float) -> float:
        return float(_at(self.scale, self.power, t))

    def rates(self, t: Floats, candidates: int) -> Floats:
        return np.asarray(_rates(*self.view(), t))

    def view(self) -> _RateView:
        return _RateView(float(self.scale), float(self.power))


@kernel
def _weigh(worth: Floats, free: Bools, rates: Floats) -> Floats:
    """Inverse-gap probabilities of the free candidates, `(A),(A),()->(A)`."""
    chances = np.zeros(worth.shape)
    for r in range(len(free)):
        (top, edge, best), count = ties(worth, free, r), np.count_nonzero(free[r])
        rest = 0.0
        for a in range(free.shape[1]):
            if free[r, a] and worth[r, a] < edge:
                chances[r, a] = 1.0 / (count + rates[r] * (top - worth[r, a]))
                rest += chances[r, a]
        for a in range(free.shape[1]):
            if free[r, a] and worth[r, a] >= edge:
                chances[r, a] = (1.0 - rest) / best
    return chances


@kernel
def _draw(
    mean: Floats,
    playable: Bools,
    worst: Floats,
    left: Floats,
    rates: Floats,
    u: Floats,
    n_plays: int,
) -> tuple[Ints, Floats, Floats]:
    plays, propensities, lottery = empty_plays(playable, n_plays)
    free, left, worth = playable.copy(), left.copy(), add_up(mean)
    for i in range(n_plays):
        chances = _weigh(worth, free, rates)
        played = draw_free(chances.copy(), free, u, i)
        if i == 0:
            copy_to(lottery, chances)
        settle(plays, propensities, i, played, chances, worst, free, left)
    return plays, propensities, lottery


class _InverseGapView(NamedTuple):
    rate: Any
    n_plays: int

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        rates, (playable, worst, left) = self.rate.rates(t, worth.mean.shape[2]), offer
        made = _draw(worth.mean, playable, worst, left, rates, u, self.n_plays)
        return Pick(made[0], made[1], made[2], np.zeros(len(t)), None)


@typed
@dataclass(frozen=True)
class InverseGap(DrawPerPlay):
    """Play candidate a with probability 1 / (A + rate (best - worth of a)), and the best one otherwise.

    Equation: p_a = 1 / (A + rate (l_b - l_a)) for a != b = argmax l, p_b = 1 - sum of the others, with A the number of
    *playable* candidates; as each p_a is at most 1/A, p_b is at least 1/A. Candidates that tie for the best share p_b.
    Bonuses are not read: exploration comes from the draw.
    With several plays the same rule holds at every place, at the same rate, where A counts the candidates that are left
    and fit beside the earlier plays. The published regret bounds are for one play.
    Source: Foster & Rakhlin 2020 (SquareCB); Han et al. 2022, Algorithm 1.

    Args:
        rate: the learning rate, a `Rate`, an `OracleRate` from a bound on the regret of the regression, or a number for
            a fixed one; larger rates explore less.
        n_plays: how many are played.

    Raises:
        InvalidInput: a rate that is not positive, or `n_plays` below 1.

    >>> worth = Worth(np.array([[[0.0, 1.0, 0.5]]]), np.zeros((1, 1, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> InverseGap(2.0).pick(None, worth, offer, np.zeros(1), np.array([[0.9]])).lottery
    array([[0.2 , 0.55, 0.25]])
    """

    rate: Rate | Schedule | float  # in a file, a table without a kind is a `Rate`
    n_plays: int = 1
    reads_bonus = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", Rate.of(self.rate))
        whole("InverseGap.n_plays", self.n_plays, 1)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        rates = Rate.of(self.rate).rates(t, worth.mean.shape[2])
        made = _draw(worth.mean, offer.playable, offer.worst, offer.left, rates, u, self.n_plays)
        return Pick(*made, forced=np.zeros(len(t)))

    def view(self, state: None) -> _InverseGapView | None:
        rate = view_of(self.rate)
        return None if rate is None else _InverseGapView(rate, self.n_plays)
