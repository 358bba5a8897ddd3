"""From an interval per outcome to worth at a price, shared by the kernels of all models with intervals."""

from __future__ import annotations

from evenhand.core.kernel import kernel


@kernel
def optimism(mean: float, half: float, low: float, high: float, price: float) -> float:
    """price * (the end of [mean +- half], clipped to [low, high], that the price likes, minus the mean)."""
    if price > 0.0:
        return price * (min(max(mean + half, low), high) - mean)
    if price < 0.0:
        return price * (min(max(mean - half, low), high) - mean)
    return 0.0
