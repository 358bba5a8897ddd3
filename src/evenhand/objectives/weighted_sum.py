"""Weighted sums of objectives, such as users' utility plus fairness between items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.norms import Norm, dual_order, length
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.numerics.isotonic import gini_gradient
from evenhand.objectives.base import (
    Conjugate,
    Objective,
    Proximal,
    able,
    by_prox,
    check_finite,
    each,
    flat,
    whole_space,
)
from evenhand.objectives.gini import GeneralizedGini
from evenhand.objectives.linear import Linear
from evenhand.objectives.steepness import steepness

_FEW = 64  # up to so many places, sorting by insertion is faster than a call of NumPy's sort
_UNSORTED = np.zeros((0, 0), np.int64)


class _EnvelopeView(NamedTuple):
    """A Gini function and linear parts, smoothed."""

    tilt: Floats
    places: Ints
    ranked: Floats
    factor: float
    beta: float

    @kernel
    def slope(self, z: Floats, t: Floats) -> Floats:
        beta, order = np.empty(len(t)), np.zeros((0, 0), np.int64)
        for r in range(len(t)):
            beta[r] = self.beta / math.sqrt(t[r] + 1.0)
        if len(self.places) > _FEW:
            order = np.empty((len(z), len(self.places)), np.int64)
            for r in range(len(z)):
                order[r] = np.argsort((z[r] + beta[r] * self.tilt)[self.places], kind="mergesort")
        return gini_gradient(z, self.tilt, self.places, order, self.ranked, self.factor, beta)


@named("C7", source="Do et al. 2023, eq. 2 and Appendix B.1: user utility plus beta times an objective of items")
@dataclass(frozen=True)
class WeightedSum:
    """A weighted sum of objectives, each of which reads its own outcomes.

    Equation: f(z) = sum_i c_i f_i(z restricted to the outcomes of i).

    Value and supergradient always exist. A prox or a maximizer exists if, apart from `Linear` parts, each part has one
    and no two parts share an outcome (see `able`). If there is no prox, smooth the sum by `Randomized`.

    Args:
        terms: pairs of a factor c_i above 0 and an objective.

    Raises:
        InvalidInput: there are no pairs, a factor is not finite and above 0, or a part is not an objective; later, from
            `prox` and `maximizer`, parts share outcomes or lack the ability.

    >>> from evenhand.objectives import GeneralizedGini
    >>> items = GeneralizedGini.difference(("song", "film", "book"))
    >>> ranking = WeightedSum(((1.0, Linear({"clicks": 1.0})), (0.5, items)))  # eq. 2 with beta = 0.5
    >>> ranking.outcomes
    ('clicks', 'song', 'film', 'book')
    >>> round(ranking.value(np.array([0.5, 0.1, 0.2, 0.3])).item(), 9)
    0.433333333
    """

    terms: tuple[tuple[float, Objective], ...]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "terms", tuple((c, part) for c, part in self.terms))
        except (TypeError, ValueError) as error:
            raise InvalidInput("WeightedSum.terms", "pairs of a factor and an objective", repr(self.terms)) from error
        if not self.terms:
            raise InvalidInput("WeightedSum.terms", "at least one pair of a factor and an objective", "none")
        for c, part in self.terms:
            expected = "a finite factor above 0, for the sum to be concave (signs belong into Linear's weights)"
            number(f"WeightedSum.terms, {type(part).__name__}", c, expected, lambda x: math.isfinite(x) and x > 0)
            if isinstance(part, type) or not isinstance(part, Objective):
                raise InvalidInput("WeightedSum.terms", "objectives", repr(part))

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of all parts, in order of first appearance."""
        return tuple(dict.fromkeys(name for _, part in self.terms for name in part.outcomes))

    @property
    def smooth(self) -> bool:
        return all(part.smooth for _, part in self.terms)

    @property
    def lipschitz(self) -> float:
        """The norm of the parts' constants if they share no outcome, else their sum."""
        steepness = [c * part.lipschitz for c, part in self.terms]
        apart = sum(len(part.outcomes) for _, part in self.terms) == len(self.outcomes)
        return math.hypot(*steepness) if apart else sum(steepness)

    @cached_property
    def whole_space(self) -> bool:
        return all(whole_space(part) for _, part in self.terms)

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)
        for (_, part), at in zip(self.terms, self._at, strict=True):
            part.check(z[..., at], place)

    def value(self, z: Floats) -> Floats:
        out = np.zeros(z.shape[:-1])
        for (c, part), at in zip(self.terms, self._at, strict=True):
            out += c * part.value(z[..., at])
        return out

    def supergradient(self, z: Floats) -> Floats:
        out = np.zeros(z.shape)
        for (c, part), at in zip(self.terms, self._at, strict=True):
            out[..., at] += c * part.supergradient(z[..., at])
        return out

    def able(self, ability: type) -> bool:
        """Whether the parts allow a prox (`Proximal`) or a maximizer (`Conjugate`) of the sum."""
        others = (part for _, part in self.terms if not isinstance(part, Linear))
        return not self._shared_outcomes and all(able(part, ability) for part in others)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Step along the weights of linear parts, then apply the prox of each other part, `(m),()->(m)`."""
        out = z + np.asarray(beta, float)[..., None] * self._slope
        for c, part, at in self._proximal:
            out[..., at] = part.prox(out[..., at], c * beta)
        return out

    def envelope_gradient(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute (prox(z) - z) / beta, in one step if the only part that is not linear is a Gini function."""
        if self._only_gini is None:
            return by_prox(self, z, beta)
        (places, ranked, c), rows, widths = self._only_gini, flat(z), each(beta, z)
        order = _UNSORTED
        if len(places) > _FEW:
            order = np.argsort((rows + widths[:, None] * self._slope)[:, places])
        out = gini_gradient(rows, self._slope, places, order, ranked, c, widths)
        return out if z.ndim == 2 else out.reshape(z.shape)

    def envelope_view(self, beta: float) -> _EnvelopeView | None:
        """The kernels' view of it under `Moreau(beta)`; None unless its only non-linear part is a Gini function."""
        if self._shared_outcomes or self._only_gini is None:
            return None
        places, ranked, c = self._only_gini
        return _EnvelopeView(self._slope, places, ranked, c, float(beta))

    def maximizer(self, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
        """Maximise each part that is not linear at theta plus the linear weights, `(m),(m),(m)->(m)`."""
        tilted, ends = theta + self._slope, np.empty((2, len(self.outcomes)))
        ends[0], ends[1] = low, high
        out: Floats = np.where(tilted > 0.0, ends[1], ends[0])
        for c, part, at in self._conjugate:
            out[..., at] = part.maximizer(tilted[..., at] / c, ends[0, at], ends[1, at])
        return out

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """Compute the constant of `lipschitz` per unit, `(m)->`."""
        parts = [c * steepness(part, unit[at], norm) for (c, part), at in zip(self.terms, self._at, strict=True)]
        apart = sum(len(part.outcomes) for _, part in self.terms) == len(self.outcomes)
        return float(length(np.array(parts), dual_order(norm))) if apart else sum(parts)

    @cached_property
    def _at(self) -> tuple[slice | Ints, ...]:
        """The positions of each part's outcomes among all; a slice, which is fastest, if they are consecutive."""
        position = {name: i for i, name in enumerate(self.outcomes)}
        places = [np.array([position[name] for name in part.outcomes]) for _, part in self.terms]
        return tuple(slice(p[0], p[-1] + 1) if (np.diff(p) == 1).all() else p for p in places)

    @cached_property
    def _slope(self) -> Floats:
        """The sum of the weights of all linear parts, `()->(m)`."""
        out = np.zeros(len(self.outcomes))
        for (c, part), at in zip(self.terms, self._at, strict=True):
            if isinstance(part, Linear):
                out[at] += c * np.array(list(part.weights.values()), float)
        return out

    @cached_property
    def _shared_outcomes(self) -> list[str]:
        """Outcomes that several parts read, linear parts aside."""
        read = Counter(name for _, part in self.terms if not isinstance(part, Linear) for name in part.outcomes)
        return [name for name, times in read.items() if times > 1]

    @cached_property
    def _proximal(self) -> list[tuple[float, Any, slice | Ints]]:
        return list(self._parts("prox", Proximal))

    @cached_property
    def _conjugate(self) -> list[tuple[float, Any, slice | Ints]]:
        return list(self._parts("maximizer", Conjugate))

    @cached_property
    def _only_gini(self) -> tuple[Ints, Floats, float] | None:
        """Positions, ranked weights and factor of the only part that is not linear, if that is a Gini function."""
        if len(self._proximal) != 1 or not isinstance(self._proximal[0][1], GeneralizedGini):
            return None
        c, gini, at = self._proximal[0]
        return np.arange(len(self.outcomes))[at], gini.ranked, float(c)

    def _parts(self, what: str, ability: type) -> Iterator[tuple[float, Any, slice | Ints]]:
        """Yield the parts that are not linear; refuse parts that share outcomes or lack the ability."""
        if self._shared_outcomes:
            expected = "parts that share no outcomes (or smoothing by Randomized, which needs none of this)"
            raise InvalidInput(f"WeightedSum.{what}", expected, f"{self._shared_outcomes} in several")
        for (c, part), at in zip(self.terms, self._at, strict=True):
            if not isinstance(part, Linear):
                if not able(part, ability):
                    expected = f"parts that have a {what}" + (" (or smoothing by Randomized)" if what == "prox" else "")
                    raise InvalidInput(f"WeightedSum.{what}", expected, type(part).__name__)
                yield c, part, at
