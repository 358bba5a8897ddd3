"""Slopes of concave functions of arms, and their smoothed conjugates."""

from __future__ import annotations

from evenhand.core.kernel import kernel
from evenhand.welfare._kernels import piece, utility
from evenhand.welfare.curves import Curves

_HALVINGS = 60  # of the interval in which a maximiser lies


@kernel
def steepness(curves: Curves, a: int, x: float) -> tuple[float, float]:
    """Compute r_a' to the right of x, and -r_a'', `()->(),()`."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return 1.0 if x < size[a] else 0.0, 0.0
    if kind[a] == 1:
        slope = 1.0 / (1.0 + x / size[a])
        return slope, slope * slope / size[a]
    if kind[a] == 2:
        slope = (1.0 + x) ** (size[a] - 1.0)
        return slope, (1.0 - size[a]) * slope / (1.0 + x)
    if x >= knots[a, -1]:
        return 0.0, 0.0
    i = piece(knots, a, x)
    return (values[a, i + 1] - values[a, i]) / (knots[a, i + 1] - knots[a, i]), 0.0


@kernel
def conjugate(
    curves: Curves, a: int, price: float, most: float, bend: float, matches: float, unit: float
) -> tuple[float, float, float]:
    """Maximise r_a(matches y) / unit - price y - bend y^2 / 2 over y in [0, most]; returns also y and minus its slope.

    `()->(),(),()`; the slope is that of the maximiser in the price. With a bend above 0 the maximiser is unique, and
    the slope -y of the maximum in the price is continuous.
    """
    rise = matches / unit
    first, at_end = rise * steepness(curves, a, 0.0)[0], rise * steepness(curves, a, matches * most)[0]
    if first <= price:
        return 0.0, 0.0, 0.0
    low, high, reaction = 0.0, most, 0.0
    if at_end - bend * most >= price:
        low = most
    else:
        for _ in range(_HALVINGS):
            y = 0.5 * (low + high)
            if rise * steepness(curves, a, matches * y)[0] - bend * y > price:
                low = y
            else:
                high = y
        left, curvature = steepness(curves, a, matches * low)
        jump = rise * (left - steepness(curves, a, matches * high)[0])
        if jump <= 1e-9 * first:  # else r bends here, and the maximiser stays where it is
            reaction = 1.0 / (bend + rise * matches * curvature)
    return utility(curves, a, matches * low) / unit - price * low - 0.5 * bend * low * low, low, reaction
