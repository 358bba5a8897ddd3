"""Radii of confidence ellipsoids: a prediction may be off by the radius times ||x||_{V^-1}."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, number, whole


class _FixedView(NamedTuple):
    size: float

    @kernel
    def radius(self, count: Floats, log_det: Floats) -> Floats:
        return np.full(len(count), self.size)


class _SelfNormalisedView(NamedTuple):
    noise: float
    risk: float
    start: float

    @kernel
    def radius(self, count: Floats, log_det: Floats) -> Floats:
        return _self_normalised(log_det, self.noise, self.risk, self.start)


@kernel
def _logarithmic(count: Floats, scale: float) -> Floats:
    """scale (1 + ln max(count, 1)), `()->()`."""
    radius = np.empty(len(count))
    for r in range(len(count)):
        radius[r] = scale * (1.0 + math.log(max(count[r], 1.0)))
    return radius


class _LogarithmicView(NamedTuple):
    scale: float

    @kernel
    def radius(self, count: Floats, log_det: Floats) -> Floats:
        return _logarithmic(count, self.scale)


@kernel
def _worst_case(count: Floats, n: int, per_case: float, risk: float, noise: float, start: float) -> Floats:
    """noise sqrt(n (ln(1 + count per_case) - risk)) + start, `()->()`."""
    radius = np.empty(len(count))
    for r in range(len(count)):
        radius[r] = noise * math.sqrt(n * (math.log1p(count[r] * per_case) - risk)) + start
    return radius


class _WorstCaseView(NamedTuple):
    n: int
    per_case: float
    risk: float
    noise: float
    start: float

    @kernel
    def radius(self, count: Floats, log_det: Floats) -> Floats:
        return _worst_case(count, self.n, self.per_case, self.risk, self.noise, self.start)


class Width(Protocol):
    """A radius that depends on the number and the spread of the observations."""

    def radius(self, count: Floats, log_det: Floats, ridge: float) -> Floats:
        """Compute the radius after `count` observations with log det(V / ridge) = log_det, `(),(),()->()`."""


@checked
@dataclass(frozen=True)
class Fixed:
    """A radius that is the same at all times; 0 switches optimism off.

    >>> Fixed(0.5).radius(np.array([10.0]), np.array([3.0]), 1.0)
    array([0.5])
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        nonnegative("Fixed.value", self.value)

    def radius(self, count: Floats, log_det: Floats, ridge: float) -> Floats:
        radius = np.empty(len(count))
        radius.fill(self.value)  # in a third of the time of `np.full`
        return radius

    def view(self, ridge: float) -> _FixedView:
        return _FixedView(float(self.value))


@checked
@dataclass(frozen=True)
class Logarithmic:
    """A tuned radius that grows with the logarithm of the data.

    Equation: scale (1 + ln max(t, 1)), t the observations so far.
    Source: Logistic-UCB1 of Faury et al. 2020 as used in Chzhen et al. 2023, Appendix G.1 (scale C_delta).
    Its coverage is tuned, not proved.

    >>> Logarithmic(0.5).radius(np.array([1.0]), np.array([0.0]), 1.0)
    array([0.5])
    """

    scale: float

    def __post_init__(self) -> None:
        nonnegative("Logarithmic.scale", self.scale)

    def radius(self, count: Floats, log_det: Floats, ridge: float) -> Floats:
        return _logarithmic(count, self.scale)

    def view(self, ridge: float) -> _LogarithmicView:
        return _LogarithmicView(float(self.scale))


@kernel
def _self_normalised(log_det: Floats, noise: float, risk: float, start: float) -> Floats:
    """noise sqrt(log_det - risk) + start, `()->()`; one call, where NumPy takes three."""
    radius = np.empty(len(log_det))
    for r in range(len(log_det)):
        radius[r] = noise * math.sqrt(log_det[r] - risk) + start
    return radius


@checked
@dataclass(frozen=True, kw_only=True)
class SelfNormalised:
    """A radius that covers a linear truth in all rounds simultaneously with probability 1 - delta, per outcome.

    Equation: noise sqrt(log det(V / ridge) + 2 ln(1/delta)) + sqrt(ridge) D.
    Source: Abbasi-Yadkori, Pal & Szepesvari 2011, Theorem 2.

    Args:
        delta: the risk that some interval misses the truth, in (0, 1).
        noise: sub-Gaussian scale of the outcomes around their mean, in units of their range; 1/2 is always enough.
        norm_bound: D, a bound on the Euclidean norm of each outcome's true parameter, in the same units.

    >>> bool(SelfNormalised(delta=0.1).radius(np.array([0.0]), np.array([0.0]), 1.0)[0] > 1.0)
    True
    """

    delta: float
    noise: float = 0.5
    norm_bound: float = 1.0

    def __post_init__(self) -> None:
        _check(self, ("noise", "norm_bound"))

    def radius(self, count: Floats, log_det: Floats, ridge: float) -> Floats:
        return _self_normalised(log_det, *self.view(ridge))

    def view(self, ridge: float) -> _SelfNormalisedView:
        start = math.sqrt(ridge) * self.norm_bound
        return _SelfNormalisedView(float(self.noise), 2.0 * math.log(self.delta), float(start))


@checked
@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The self-normalised radius with the largest determinant that features of a given norm can have.

    Equation: noise sqrt(n ln((1 + t length^2 / ridge) / delta)) + sqrt(ridge) D, t the observations so far. It is at
    least that of `SelfNormalised`, and does not depend on the features that came.
    Source: Abbasi-Yadkori, Pal & Szepesvari 2011, Theorem 2, second bound; the alpha_t of Do et al. 2023, equation 76,
    with noise L D_K / 2 and length L D_X in dimension n M (`recipes.fw_linucb`). The paper prints the horizon T for t,
    which is wider still. The second bound follows from the first for n of at least 2 only, which is asked for here.

    Args:
        n_parameters: n, at least 2; for `Scalarised` n M.
        delta, noise, norm_bound: as for `SelfNormalised`.
        length: a bound on the Euclidean norm of the features.

    >>> float(WorstCase(n_parameters=2, delta=0.1).radius(np.array([0.0]), np.array([0.0]), 1.0)[0].round(3))
    2.073
    """

    n_parameters: int
    delta: float
    noise: float = 0.5
    norm_bound: float = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        whole("WorstCase.n_parameters", self.n_parameters, 2)
        _check(self, ("noise", "norm_bound", "length"))

    def radius(self, count: Floats, log_det: Floats, ridge: float) -> Floats:
        return _worst_case(count, *self.view(ridge))

    def view(self, ridge: float) -> _WorstCaseView:
        per_case, start = self.length**2 / ridge, math.sqrt(ridge) * self.norm_bound
        return _WorstCaseView(self.n_parameters, float(per_case), math.log(self.delta), float(self.noise), float(start))


def _check(width: SelfNormalised | WorstCase, sizes: tuple[str, ...]) -> None:
    """Refuse a risk or a size that is out of its range."""
    name = type(width).__name__
    number(f"{name}.delta", width.delta, "a risk in (0, 1)", lambda x: 0 < x < 1)
    for field in sizes:
        number(f"{name}.{field}", getattr(width, field), "a finite number of at least 0", lambda x: 0 <= x < math.inf)
