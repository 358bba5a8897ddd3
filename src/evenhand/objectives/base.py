"""The contract of an objective: a concave function f of the average outcomes, which is maximised.

Every objective has a value, a supergradient and a domain. Three abilities are optional: `prox` gives the Moreau
envelope and its gradient (`smoothing.py`), `maximizer` gives the conjugate, and `intercept` gives the value at 0 of the
tangent with a given slope. Use `able` to test for an ability: a sum has methods that work only if its parts allow it.
Two more only save time: `envelope_gradient`, and `whole_space`, which says that no finite average has to be checked.
Leading axes are replicas; each replica gets the same result, bit for bit, as if it were computed alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats

_FLOAT = np.dtype(np.float64)


@runtime_checkable
class Objective(Protocol):
    """A concave function of the average of some outcomes."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of its outcomes: coordinate i of z is the average of outcome i per round."""

    @property
    def smooth(self) -> bool:
        """Whether the gradient is Lipschitz on the domain, so that no smoothing is needed."""

    @property
    def lipschitz(self) -> float:
        """A constant L with |f(y) - f(z)| <= L |y - z|_2 for y and z in the domain; infinite if there is none."""

    def check(self, z: Floats, place: str) -> None:
        """Refuse points without a supergradient, `(m)->`.

        Args:
            z: average outcomes.
            place: their description for the message, such as "the average after round 7".

        Raises:
            InvalidInput: a point is outside the domain or on its edge; names the place, the outcome and a remedy.
        """

    def value(self, z: Floats) -> Floats:
        """Compute f(z), `(m)->()`; -inf outside the domain."""

    def supergradient(self, z: Floats) -> Floats:
        """Compute a g with f(y) <= f(z) + g.(y - z) for all y, `(m)->(m)`.

        Raises:
            InvalidInput: as `check`.
        """


@runtime_checkable
class Proximal(Protocol):
    """An objective with a prox, which can be smoothed exactly."""

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute argmax_y f(y) - |y - z|^2 / (2 beta), `(m),()->(m)`, for beta > 0 and any z, in the domain or not.

        Raises:
            InvalidInput: a sum of objectives has no prox after all.
        """


@runtime_checkable
class Enveloped(Protocol):
    """An objective that computes the gradient of its Moreau envelope faster than by the prox."""

    def envelope_gradient(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute (prox(z) - z) / beta, `(m),()->(m)`, for beta > 0."""


@runtime_checkable
class Conjugate(Protocol):
    """An objective with a conjugate over boxes in closed form."""

    def maximizer(self, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
        """Compute argmax_y theta.y + f(y) over low <= y <= high, `(m),(m),(m)->(m)`; ends are finite.

        Raises:
            InvalidInput: a sum of objectives has no closed form after all.
        """


@runtime_checkable
class Tangential(Protocol):
    """An objective that computes the intercept of a tangent from its slope."""

    def intercept(self, slope: Floats) -> Floats:
        """Compute the least c with f(z) <= slope.z + c for all z, `(m)->()`, for slopes of f or of its envelopes.

        It is minus the concave conjugate over R^m; f(z) = slope.z + c where the slope is a supergradient.
        """


@runtime_checkable
class Composite(Protocol):
    """An objective composed of parts, which decide which of its methods work."""

    def able(self, ability: type) -> bool:
        """Whether the objective has an ability, one of `Proximal`, `Conjugate` and `Tangential`."""


def able(objective: object, ability: type) -> bool:
    """Whether an objective has one of the abilities `Proximal`, `Conjugate` and `Tangential`.

    >>> from evenhand.objectives import EqualExposure, GeneralizedGini, WeightedSum
    >>> items = ("song", "film")
    >>> shared = WeightedSum(((1.0, EqualExposure(items)), (1.0, GeneralizedGini(items))))
    >>> able(GeneralizedGini(items), Proximal), able(shared, Proximal)
    (True, False)
    """
    return isinstance(objective, ability) and (not isinstance(objective, Composite) or objective.able(ability))


def by_prox(objective: Proximal, z: Floats, beta: Floats | float) -> Floats:
    """Compute the gradient of the Moreau envelope by the prox, `(m),()->(m)`."""
    return np.asarray((objective.prox(z, beta) - z) / np.asarray(beta, float)[..., None])


def whole_space(objective: object) -> bool:
    """Whether the domain is known to be all of R^m, so that averages need no check.

    >>> from evenhand.objectives import AlphaFair, Linear
    >>> whole_space(Linear({"a": 1.0})), whole_space(AlphaFair(("a",), alpha=1.0))
    (True, False)
    """
    return bool(getattr(objective, "whole_space", False))


class Conjugable(Objective, Conjugate, Protocol):
    """An objective with a conjugate."""


def conjugate(objective: Conjugable, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
    """Compute f*(theta) = max_y theta.y + f(y), low <= y <= high, `(m),(m),(m)->()`; `maximizer` is its (sub)gradient.

    Source: Agrawal & Devanur 2014, Section 2.5, where outcomes are in the unit cube.

    >>> from evenhand.objectives import Linear
    >>> conjugate(Linear({"a": 1.0, "b": 2.0}), np.array([1.0, -3.0])).item()
    2.0
    """
    y = objective.maximizer(theta, low, high)
    return np.asarray(total(flat(theta) * flat(y)).reshape(theta.shape[:-1]) + objective.value(y))


def point_and_slope(
    slope: Callable[[Floats], Floats], z: Floats, start: Floats, steepest: float = np.inf
) -> tuple[Floats, Floats]:
    """Return a point and its slope: z, or the first point towards the start that is not too steep, `(m)->`.

    Domains are convex, so the way to a start inside the domain has points of it.

    >>> from evenhand.objectives import AlphaFair
    >>> point_and_slope(AlphaFair(("a", "b"), alpha=1.0).supergradient, np.array([-0.1, 0.3]), np.array([0.5, 0.5]))[0]
    array([0.05, 0.35])
    """
    for back in (0.0, *(0.5**k for k in range(20, 0, -1))):
        here = z + back * (start - z)
        try:
            found = slope(here)
        except InvalidInput:
            continue
        if np.abs(found).max() <= steepest:
            return here, found
    return start, slope(start)


def flat(z: Floats) -> Floats:
    """Merge all leading axes into contiguous rows, so that sums have the same order in a batch and alone."""
    if z.ndim == 2 and z.dtype is _FLOAT and z.flags.c_contiguous:
        return z
    return np.ascontiguousarray(z, np.float64).reshape(-1, z.shape[-1])


def total(rows: Floats) -> Floats:
    """Sum each contiguous row, `(m)->()`."""
    return np.asarray(rows.sum(-1))


def each(beta: Floats | float, z: Floats) -> Floats:
    """Broadcast beta to one number per row of `flat(z)`.

    >>> each(0.5, np.zeros((2, 3)))
    array([0.5, 0.5])
    """
    shape = z.shape[:-1]
    if isinstance(beta, np.ndarray) and beta.shape == shape and len(shape) == 1 and beta.dtype is _FLOAT:
        return beta
    return np.full(shape, beta, np.float64).reshape(-1)


def outcome_names(kind: str, outcomes: Iterable[str], least: int = 1) -> tuple[str, ...]:
    """Check names of outcomes and return them as a tuple.

    Raises:
        InvalidInput: there are fewer than `least`, a name is not a string, or a name is repeated.
    """
    if isinstance(outcomes, str) or not isinstance(outcomes, Iterable):
        raise InvalidInput(f"{kind}.outcomes", "a sequence of names", repr(outcomes))
    names = tuple(outcomes)
    if len(names) < least or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{kind}.outcomes", f"at least {least} names of outcomes", names)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InvalidInput(f"{kind}.outcomes", "names that differ from each other", f"{twice[0]!r} twice in {names}")
    return names


def check_finite(outcomes: tuple[str, ...], z: Floats, place: str) -> None:
    """Check averages for an objective whose domain is R^m.

    Raises:
        InvalidInput: the number of outcomes differs, or a number is not finite.
    """
    if z.shape[-1] != len(outcomes):
        raise InvalidInput(place, f"{len(outcomes)} average outcomes {outcomes}", f"{z.shape[-1]} of them")
    if not np.isfinite(z).all():
        where = tuple(np.argwhere(~np.isfinite(z))[0])
        raise InvalidInput(f"{place}, outcome {outcomes[where[-1]]!r}", "a finite number", float(z[where]))
