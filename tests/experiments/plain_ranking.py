"""FW-LinUCBRank for equation 2 of Do et al. 2023 as a plain NumPy loop over one run, as Algorithm 5 is printed.

The tests hold the house against it, list for list.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from evenhand.core.luck import Luck, Stream


class Numbers(NamedTuple):
    """All luck of one run, drawn beforehand."""

    user: np.ndarray  # (T,)
    looked: np.ndarray  # (T, k)
    liked: np.ndarray  # (T, k)


class Course(NamedTuple):
    """The lists of one run, and equation 2 after every round: of expected clicks and realised exposures."""

    lists: np.ndarray  # (T, k)
    values: np.ndarray  # (T,)


def numbers(seed: int, replica: int, rounds: int, slots: int) -> Numbers:
    luck = Luck(seed=seed, replicas=np.full(rounds, replica))
    t = np.arange(rounds)
    outcome = luck.uniform(Stream.OUTCOME, t, 2 * slots)
    return Numbers(luck.uniform(Stream.CONTEXT, t, 1)[:, 0], outcome[:, :slots], outcome[:, slots:])


def difference(exposures: np.ndarray) -> float:
    """The mean absolute difference, by its definition."""
    return float(np.abs(exposures[:, None] - exposures[None]).sum() / (2 * len(exposures)))


def smoothed_slope(exposures: np.ndarray, beta: float) -> np.ndarray:
    """Gradient of the Moreau envelope of minus the difference: the nearest point to -z / beta in a permutahedron."""
    m = len(exposures)
    corner, point = (m - 1.0 - 2.0 * np.arange(m)) / m, -exposures / beta
    order = np.argsort(-point, kind="stable")
    pooled = isotonic_regression(point[order] - corner, increasing=False).x
    slope = np.empty(m)
    slope[order] = point[order] - pooled
    return slope


def run(
    luck: Numbers,
    users: np.ndarray,
    items: np.ndarray,
    chances: np.ndarray,
    *,
    beta: float = 1.0,
    ridge: float = 0.1,
    delta: float = 0.1,
    most: float = math.inf,
) -> Course:
    """Equation 2 by FW-LinUCBRank with beta_0 = 1; bounds of clicks are clipped at `most`."""
    rounds, slots = luck.looked.shape
    m, n = len(items), users.shape[1] * items.shape[1]
    position = 1.0 / np.log2(2.0 + np.arange(slots))
    features = np.einsum("ui,aj->uaij", users, items).reshape(len(users), m, n)
    inverse, b, log_det = np.eye(n) / ridge, np.zeros(n), 0.0
    exposed, clicks = np.zeros(m), 0.0
    lists, values = np.zeros((rounds, slots), int), np.zeros(rounds)
    for t in range(rounds):
        who = min(int(luck.user[t] * len(users)), len(users) - 1)
        x = features[who]
        alpha = 0.5 * math.sqrt(log_det - 2.0 * math.log(delta / 3.0)) + math.sqrt(ridge)
        bound = x @ (inverse @ b) + alpha * np.sqrt(np.maximum(((x @ inverse) * x).sum(1), 0.0))
        fair = beta * smoothed_slope(exposed / max(t, 1), beta / math.sqrt(t + 1.0))
        worth = np.minimum(bound, most) + fair
        shown = np.argsort(-worth, kind="stable")[:slots]
        for p, a in enumerate(shown):
            clicks += position[p] * chances[who, a]
            if luck.looked[t, p] < position[p]:
                exposed[a] += 1.0
                gain = inverse @ x[a]
                log_det += math.log1p(x[a] @ gain)
                inverse -= np.outer(gain, gain) / (1.0 + x[a] @ gain)
                if luck.liked[t, p] < chances[who, a]:
                    b += x[a]
        lists[t], values[t] = shown, (clicks - beta * difference(exposed)) / (t + 1.0)
    return Course(lists, values)
