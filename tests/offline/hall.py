"""Intervals of means and shares by independent code: moments by SciPy, and roots of the transformation by search."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import kurtosis, norm, skew, t


def end_of(terms, chance, value=None, degrees=np.inf):
    """The end of the one-sided interval of a mean, or of a value with the influence of these terms."""
    n, mean, fourth = (
        len(terms),
        float(np.mean(terms)) if value is None else value,
        float(kurtosis(terms, fisher=False)),
    )
    se, k = float(np.std(terms, ddof=1)) / n**0.5, (1 + fourth / n) * float(skew(terms)) / n**0.5
    far = -float(t.ppf(chance, min(degrees, n - 1, 2 * n / (fourth - 1))))
    return mean - se * brentq(lambda x: x + k * x**2 / 3 + k**2 * x**3 / 27 + k / 6 - far, -1e3, 1e3)


def interval_of(terms, value=None, degrees=np.inf):
    """The 95 % interval."""
    return end_of(terms, 0.025, value, degrees), end_of(terms, 0.975, value, degrees)


def confidence_of(terms, bound, degrees=np.inf):
    """The confidence of the one-sided interval of a mean that ends at a bound."""
    return brentq(lambda chance: end_of(terms, chance, degrees=degrees) - bound, 1e-12, 1 - 1e-12)


def share_confidence(share, se, cases, bound):
    """The confidence that a share is at most a bound, by the score test; with one event as of cases drawn alike."""
    events, spread = cases * min(share, 1 - share), share * (1 - share)
    variance = (events * se**2 + spread / cases) / (events + 1)
    n = spread / variance if variance else cases
    return float(norm.cdf((bound - share) / (bound * (1 - bound) / n) ** 0.5))
