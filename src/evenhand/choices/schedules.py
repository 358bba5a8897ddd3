"""Learning rates of inverse-gap weighting that follow from a bound on the regret of the regression oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, number, positive


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
