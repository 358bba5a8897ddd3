"""Satisfaction of an arm: concave functions of the sum of its matches in a round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number, positive, whole

CAPPED, LOGARITHMIC, POWER, PIECEWISE = 0, 1, 2, 3
_BEND = 1e-9  # tolerated rise of a concave function's slopes, relative to the largest slope
_NONE = np.array([0.0, 1.0])  # points of a function that has none


class Curves(NamedTuple):
    """The functions of A arms in the form that kernels read."""

    kind: Ints  # (A,)
    size: Floats  # (A,) the cap, the scale or the exponent
    knots: Floats  # (A, J) where a piecewise function bends, increasing from 0; padded by its last segment
    values: Floats  # (A, J) its values there

    @staticmethod
    def alike(arms: int, kind: int, size: float, knots: Floats = _NONE, values: Floats = _NONE) -> Curves:
        """Return the same function for all arms; points are needed only if it is piecewise."""
        return Curves(np.full(arms, kind), np.full(arms, size), np.tile(knots, (arms, 1)), np.tile(values, (arms, 1)))


@runtime_checkable
class Curve(Protocol):
    """A concave, non-decreasing function r of the sum x >= 0 of an arm's matches in a round, with r(0) = 0."""

    def curves(self, arms: int) -> Curves:
        """The functions of all arms."""


@checked
@dataclass(frozen=True)
class Linear:
    """All matches count equally: r(x) = x.

    >>> satisfaction(Linear(), np.array([[0.5, 7.0]]))
    array([[0.5, 7. ]])
    """

    def curves(self, arms: int) -> Curves:
        return Curves.alike(arms, CAPPED, math.inf)


@named("A7", source="Shibukawa et al. 2026, Section 5.1: r(x) = min(x, beta)")
@dataclass(frozen=True)
class Capped:
    """Matches count up to a cap: r(x) = min(x, cap).

    Args:
        cap: the cap in matches per round, above 0.

    Raises:
        InvalidInput: the cap is not above 0.

    >>> satisfaction(Capped(5.0), np.array([[0.5, 7.0]]))
    array([[0.5, 5. ]])
    """

    cap: float

    def __post_init__(self) -> None:
        positive("Capped.cap", self.cap)

    def curves(self, arms: int) -> Curves:
        return Curves.alike(arms, CAPPED, float(self.cap))


@checked
@dataclass(frozen=True)
class Logarithmic:
    """Returns diminish logarithmically: r(x) = scale ln(1 + x / scale), whose slope at 0 is 1.

    Args:
        scale: the sum at which the slope is one half; above 0.

    Raises:
        InvalidInput: the scale is not above 0.

    >>> satisfaction(Logarithmic(1.0), np.array([[0.0, math.e - 1.0]]))
    array([[0., 1.]])
    """

    scale: float

    def __post_init__(self) -> None:
        positive("Logarithmic.scale", self.scale)

    def curves(self, arms: int) -> Curves:
        return Curves.alike(arms, LOGARITHMIC, float(self.scale))


@checked
@dataclass(frozen=True)
class Power:
    """Returns diminish as a power: r(x) = ((1 + x)^exponent - 1) / exponent, whose slope at 0 is 1.

    Args:
        exponent: the exponent, in (0, 1]; 1 is linear.

    Raises:
        InvalidInput: the exponent is out of this range.

    >>> satisfaction(Power(0.5), np.array([[0.0, 3.0]]))
    array([[0., 2.]])
    """

    exponent: float

    def __post_init__(self) -> None:
        number("Power.exponent", self.exponent, "a number in (0, 1]", lambda x: 0 < x <= 1)

    def curves(self, arms: int) -> Curves:
        return Curves.alike(arms, POWER, float(self.exponent))


@checked
@dataclass(frozen=True)
class Piecewise:
    """Interpolates linearly between points from (0, 0) on; flat after the last point.

    Args:
        at: the sums at the points, increasing and above 0.
        values: the values at the points, concave and not decreasing.

    Raises:
        InvalidInput: the points do not increase, or the function decreases or is not concave; with the point.

    >>> satisfaction(Piecewise(at=(2.0, 4.0), values=(2.0, 3.0)), np.array([[1.0, 3.0, 9.0]]))
    array([[1. , 2.5, 3. ]])
    """

    at: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        x, y = (np.array(z, float) for z in (self.at, self.values))
        if x.shape != y.shape or x.ndim != 1 or len(x) == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidInput("Piecewise.at, values", "one finite value per point", (self.at, self.values))
        if (np.diff(x, prepend=0.0) <= 0).any():
            raise InvalidInput("Piecewise.at", "points that increase from above 0", self.at)
        _check_concave("Piecewise", np.append(0.0, x), np.append(0.0, y))

    def curves(self, arms: int) -> Curves:
        x, y = np.array((0.0, *self.at), float), np.array((0.0, *self.values), float)
        return Curves.alike(arms, PIECEWISE, 0.0, np.append(x, x[-1] + 1.0), np.append(y, y[-1]))


def tabulated(function: Callable[[float], float], up_to: float, pieces: int = 256) -> Piecewise:
    """Approximate a function of your own by linear pieces between equally spaced points; flat after the last one.

    Args:
        function: maps a sum of matches to satisfaction; its value at 0 is subtracted.
        up_to: the largest relevant sum, such as the number of users; above 0.
        pieces: the number of linear pieces.

    Raises:
        InvalidInput: the function has infinite values, decreases or is not concave; with the point.

    >>> satisfaction(tabulated(math.sqrt, up_to=16.0), np.array([[4.0, 9.0]]))
    array([[2., 3.]])
    """
    positive("tabulated.up_to", up_to)
    whole("tabulated.pieces", pieces, 1)
    x = np.linspace(0.0, up_to, pieces + 1)
    y = np.array([float(function(z)) for z in x.tolist()])
    wrong = np.flatnonzero(~np.isfinite(y))
    if len(wrong):
        raise InvalidInput("tabulated.function", "finite values", f"{y[wrong[0]]} at {x[wrong[0]]:g}")
    _check_concave("tabulated.function", x, y)
    return Piecewise(tuple(x[1:].tolist()), tuple((y[1:] - y[0]).tolist()))


@checked
@dataclass(frozen=True)
class PerArm:
    """Combines one function per arm.

    Args:
        each: one function per arm, in order; their kinds may differ.

    Raises:
        InvalidInput: from `curves`, the number of arms differs.

    >>> satisfaction(PerArm((Capped(1.0), Linear())), np.array([[2.0, 2.0]]))
    array([[1., 2.]])
    """

    each: tuple[Curve, ...]

    def curves(self, arms: int) -> Curves:
        if len(self.each) != arms:
            raise InvalidInput("PerArm.each", f"{arms} functions, one per arm", len(self.each))
        parts = [curves_of(f"PerArm.each[{a}]", curve, 1) for a, curve in enumerate(self.each)]
        return join(parts)


def join(parts: Sequence[Curves]) -> Curves:
    """Return the functions of the arms of all parts, in order."""
    longest = max(p.knots.shape[1] for p in parts)
    return Curves(
        np.concatenate([p.kind for p in parts]),
        np.concatenate([p.size for p in parts]),
        np.concatenate([_pad(p.knots, longest, 1.0) for p in parts]),
        np.concatenate([_pad(p.values, longest, 0.0) for p in parts]),
    )


def curves_of(field: str, curve: Curve, arms: int) -> Curves:
    """Return the functions of all arms; refuse anything but a curve, by the name of the field."""
    if not isinstance(curve, Curve) or isinstance(curve, type):
        raise InvalidInput(field, "a function of matches, such as Capped(5.0)", repr(curve))
    return curve.curves(arms)


def satisfaction(curve: Curve, sums: Floats) -> Floats:
    """Compute r of every arm's sum of matches, `(A)->(A)`."""
    c = curve.curves(sums.shape[-1])
    kind, size = (np.broadcast_to(z, sums.shape) for z in (c.kind, c.size))
    value = np.minimum(sums, np.where(kind == CAPPED, size, math.inf))
    log, power = kind == LOGARITHMIC, kind == POWER
    scale, one = np.where(log, size, 1.0), np.where(power, size, 1.0)
    value = np.where(log, scale * np.log1p(sums / scale), value)
    value = np.where(power, np.expm1(one * np.log1p(sums)) / one, value)
    for a in np.flatnonzero(c.kind == PIECEWISE):
        value[..., a] = np.interp(sums[..., a], c.knots[a], c.values[a])
    return np.asarray(value)


def plain(curves: Curves) -> Curves:
    """Convert to a plain tuple, which kernels receive several microseconds faster than a named one."""
    return cast("Curves", tuple(curves))


def _pad(z: Floats, length: int, step: float) -> Floats:
    """Extend a flat end by further points, `(1,J)->(1,length)`."""
    more = z[:, -1:] + step * np.arange(1, length - z.shape[1] + 1)
    return np.concatenate([z, more], 1)


def _check_concave(name: str, x: Floats, y: Floats) -> None:
    """Refuse a function that decreases or is not concave, naming the first such point, `(J),(J)`."""
    slope = np.diff(y) / np.diff(x)
    slack = _BEND * np.abs(slope).max()
    for i, s in enumerate(slope):
        if s < -slack:
            raise InvalidInput(name, "a function that never decreases", f"one that falls from {x[i]:g} to {x[i + 1]:g}")
        if i and s > slope[i - 1] + slack:
            raise InvalidInput(name, "a concave function", f"one whose slope rises at {x[i]:g}")
