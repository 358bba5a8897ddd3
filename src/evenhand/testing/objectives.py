"""The contract of an objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import Conjugate, Enveloped, Objective, Proximal, Tangential, able, conjugate
from evenhand.testing.promises import Draw, require, same


def check_objective(
    objective: Objective, *, low: float = 0.05, high: float = 0.95, beta: float = 0.3, tolerance: float = 1e-9
) -> None:
    """Check that an objective is concave, and that its supergradient and abilities are right, in a batch and alone.

    Equation: f(y) <= f(z) + g(z).(y - z), |f(y) - f(z)| <= L |y - z|, the prox and the maximizer are no worse than any
    other point that is tried, and tangents touch f.

    Args:
        objective: any of `evenhand.objectives`, or your own.
        low, high: averages between these are in its domain.
        beta: the beta of the prox.
        tolerance: the allowed error per unit of distance.

    >>> from evenhand.objectives import GeneralizedGini
    >>> check_objective(GeneralizedGini(("a", "b", "c")))
    """
    m, draw = len(objective.outcomes), Draw(np.arange(12), 0)
    y, z = low + (high - low) * draw(1, m), low + (high - low) * draw(2, m)
    z[0] = z[0, 0]  # all equal, where many objectives have their kink
    theta = 4.0 * draw(3, m) - 2.0
    objective.check(z, "a point inside the domain")
    value, slope = _answer(objective.value, z), _answer(objective.supergradient, z)
    require(value.shape == z.shape[:1] and slope.shape == z.shape, "values and supergradients have shapes () and (m)")
    for step in (y - z, 0.01 * (y - z)):
        gain, far = objective.value(z + step) - value, np.sqrt((step**2).sum(1))
        slack = tolerance * (1.0 + far)
        require(bool((gain <= (slope * step).sum(1) + slack).all()), "f(y) <= f(z) + g.(y - z)")
        require(bool((np.abs(gain) <= objective.lipschitz * far + slack).all()), "|f(y) - f(z)| <= L |y - z|")
    touched = [(z, slope)]
    if isinstance(objective, Proximal) and _able(objective, Proximal, lambda: objective.prox(z, beta)):
        best = _answer(lambda points: objective.prox(points, beta), z)
        touched.append((best, (best - z) / beta))
        if isinstance(objective, Enveloped):
            gap = np.abs(_answer(lambda points: objective.envelope_gradient(points, beta), z) - touched[1][1])
            require(bool((gap <= tolerance * (1.0 + 1.0 / beta)).all()), "envelope_gradient is (prox(z) - z) / beta")
        reached = objective.value(best) - ((best - z) ** 2).sum(1) / (2.0 * beta)
        for other in (y, z, best + 0.01 * (draw(4, m) - 0.5)):
            worth = objective.value(other) - ((other - z) ** 2).sum(1) / (2.0 * beta)
            require(bool((worth <= reached + tolerance).all()), "the prox is no worse than any other point")
    if isinstance(objective, Tangential):
        for point, g in touched:
            gap = objective.value(point) - (g * point).sum(1) - _answer(objective.intercept, g)
            require(bool((np.abs(gap) <= tolerance * (1.0 + np.abs(g).sum(1))).all()), "f(z) = g.z + intercept(g)")
    if isinstance(objective, Conjugate) and _able(objective, Conjugate, lambda: objective.maximizer(theta)):
        top = _answer(objective.maximizer, theta)
        require(bool(((top >= 0.0) & (top <= 1.0)).all()), "the maximizer is in the unit cube")
        best_value = conjugate(objective, theta)
        for other in (np.clip(y, 0.0, 1.0), np.clip(top + 0.01 * (draw(5, m) - 0.5), 0.0, 1.0)):
            worth = (theta * other).sum(1) + objective.value(other)
            require(bool((worth <= best_value + tolerance).all()), "the maximizer is no worse than any other point")


def _able(objective: Objective, ability: type, ask: Callable[[], Floats]) -> bool:
    """Return whether the objective has an ability, which sums of objectives may lack; requires that `able` agrees."""
    stated = able(objective, ability)
    try:
        ask()
    except InvalidInput:
        require(not stated, f"what is {ability.__name__}, as `able` says, answers")
    else:
        require(stated, f"what is not {ability.__name__}, as `able` says, refuses")
    return stated


def _answer(ask: Callable[[Floats], Floats], z: Floats) -> Floats:
    """Return the answer for a batch; requires the same for each row alone, and unchanged input."""
    given, out = z.copy(), ask(z)
    require(bool(np.isfinite(out).all()), "answers are finite")
    same(z, given, "an objective leaves what it is handed as it is")
    for i, row in enumerate(z):
        same(out[i], np.asarray(ask(row)), "a replica has in a batch what it has alone")
    return out
