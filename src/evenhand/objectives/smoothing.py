"""Smooth approximations f_t of an objective with kinks, which converge to it over the rounds.

z is the average of t rounds, and f_t prices round t + 1; its smoothing is beta / sqrt(t + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import positive, whole
from evenhand.objectives.base import Objective, Proximal, able, by_prox, flat, total
from evenhand.objectives.steepness import widths, worth_of_an_outcome


class Smoothing(Protocol):
    """A smoothing of objectives."""

    def draws(self, m: int) -> int:
        """Return the number of standard normal numbers per gradient with respect to m outcomes."""

    def gradient(self, objective: Objective, z: Floats, t: Floats, luck: Floats) -> Floats:
        """Compute the gradient of f_t at z, or an unbiased estimate of it, `(m),(),(draws)->(m)`.

        Raises:
            InvalidInput: the objective cannot be smoothed in this way at this point.
        """


@named("C6", source="Do et al. 2023, Section 3.3, Lemmas 15 and 16 (after Lan 2013)")
@dataclass(frozen=True)
class Moreau:
    """Smoothing by the Moreau envelope, for objectives that have a prox.

    Equation: f_t(z) = max_y f(y) - |y - z|^2 / (2 beta_t), beta_t = beta / sqrt(t + 1), with gradient
    (prox(z) - z) / beta_t. If f is L-Lipschitz, f <= f_t <= f + L^2 beta_t / 2.

    Args:
        beta: beta_0, above 0; in theory D_K / L (D_K the diameter of the set of outcomes), in the papers' experiments
            0.01 for a few outcomes and 1 for rankings.

    Raises:
        InvalidInput: beta is out of range; from `gradient`, the objective has no prox.

    Deviation: the paper prints the gradient with the sign of convex functions.

    >>> from evenhand.objectives import EqualExposure
    >>> Moreau(0.1).gradient(EqualExposure(("a", "b")), np.array([0.5, 0.5]), np.array(0.0), np.zeros(0))
    array([0., 0.])
    """

    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive("Moreau.beta", self.beta))

    def draws(self, m: int) -> int:
        return 0

    def gradient(self, objective: Objective, z: Floats, t: Floats, luck: Floats) -> Floats:
        if not hasattr(objective, "prox"):  # checking the protocol would take longer than the gradient
            expected = "an objective with a prox, or smoothing by Randomized"
            raise InvalidInput("Moreau.gradient", expected, type(objective).__name__)
        proximal: Any = objective
        return moreau_gradient(proximal, z, self.beta / np.sqrt(t + 1.0))

    def view(self, objective: Objective) -> Any:
        """The kernels' view of a smoothed objective, None if the objective has nothing for them."""
        make: Any = getattr(objective, "envelope_view", None)
        return None if make is None else make(self.beta)


@named("C6", source="Do et al. 2023, Appendix F.2, Lemmas 17 and 18 (after Duchi et al. 2012)")
@dataclass(frozen=True)
class Randomized:
    """Smoothing by averaging over a ball, for any objective.

    Equation: f_t(z) = E f(z + beta_t u), u uniform in the unit ball, beta_t = beta / sqrt(t + 1); its gradient is
    estimated by the mean of `samples` supergradients. If f is L-Lipschitz, f - L beta_t <= f_t <= f.

    The ball must be inside the domain. u is the first m coordinates of a uniform point of the sphere in m + 2
    dimensions, so that only normal numbers are needed.

    Args:
        beta: beta_0, above 0; in theory m^(1/4) D_K, with D_K the diameter of the set of outcomes.
        samples: points per gradient, at least 1.

    Raises:
        InvalidInput: beta or samples are out of range; from `gradient`, a point is near the edge of the domain.

    Deviation: Lemma 17 prints the bounds of convex functions (f <= f_t <= f + L beta_t), and Lemma 18 a smoothness of
    f_t that does not follow from it: by Lemma 17 its gradient is (L m^(1/2) / beta_t)-Lipschitz.

    >>> from evenhand.objectives import Linear
    >>> smoothing, luck = Randomized(0.1, samples=4), np.ones(16)
    >>> smoothing.draws(2)
    16
    >>> smoothing.gradient(Linear({"a": 1.0, "b": 3.0}), np.array([0.5, 0.5]), np.array(0.0), luck)
    array([1., 3.])
    """

    beta: float
    samples: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive("Randomized.beta", self.beta))
        whole("Randomized.samples", self.samples, 1)

    def draws(self, m: int) -> int:
        return self.samples * (m + 2)

    def gradient(self, objective: Objective, z: Floats, t: Floats, luck: Floats) -> Floats:
        m = z.shape[-1]
        beta = np.asarray(self.beta / np.sqrt(t + 1.0))[..., None, None]
        points = z[..., None, :] + beta * ball(luck.reshape(*luck.shape[:-1], self.samples, m + 2))
        slopes = objective.supergradient(points).swapaxes(-1, -2)  # samples last, to sum them in a fixed order
        return total(flat(slopes)).reshape(slopes.shape[:-1]) / self.samples


def ball(normals: Floats) -> Floats:
    """Map standard normal numbers to uniform points of the unit ball, `(m+2)->(m)`."""
    rows = flat(normals)
    norm = np.sqrt(total(rows * rows)).reshape(*normals.shape[:-1], 1)
    return np.asarray(normals[..., :-2] / np.maximum(norm, np.finfo(float).tiny))


def moreau_gradient(objective: Proximal, z: Floats, beta: Floats | float) -> Floats:
    """Compute the gradient of the envelope, (prox(z) - z) / beta, `(m),()->(m)`; beta > 0.

    >>> from evenhand.objectives import GeneralizedGini
    >>> moreau_gradient(GeneralizedGini(("a", "b")), np.array([0.1, 0.2]), 0.5)
    array([0.85, 0.65])
    """
    in_one_step: Callable[..., Floats] | None = getattr(objective, "envelope_gradient", None)
    return by_prox(objective, z, beta) if in_one_step is None else in_one_step(z, beta)


def default_smoothing(objective: Objective, low: Floats, high: Floats) -> Smoothing | None:
    """Choose None for a smooth objective, `Moreau` if it has a prox, else `Randomized`, `(m),(m)->`.

    Equation: beta_0 = 0.01 for outcomes in [0, 1] of which one adds at most 1 to f, as for `GeneralizedGini`. With
    other ranges, the widest of length u, and w the most that an outcome adds by the slope near the middle, it is
    0.01 u^2 / w for `Moreau` and 0.01 u for `Randomized`, so that units of outcomes and of f do not matter.

    A sum whose parts share outcomes has no prox, although it has the method.

    >>> from evenhand.objectives import GeneralizedGini
    >>> default_smoothing(GeneralizedGini(("a", "b")), np.zeros(2), np.full(2, 100.0))
    Moreau(beta=1.0)
    """
    if objective.smooth:
        return None
    wide = float(widths(low, high).max())
    if not able(objective, Proximal):
        return Randomized(0.01 * wide)
    return Moreau(0.01 * wide * (wide / worth_of_an_outcome(objective, low, high)))
