"""SquareCBwK with Newton oracles as a plain NumPy loop over one run: the same mathematics, none of the house.

The tests hold the house against it action for action; the benchmark times both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream

RESOURCES = 4
SCALE = 4.0  # Z
NOISE = 0.2
RANGE = 2.0  # of every outcome, either way: an arm is not played when so much might not be left


class Numbers(NamedTuple):
    """All luck of one run, drawn beforehand."""

    noise: np.ndarray  # (T, 5)
    choice: np.ndarray  # (T,)


def numbers(seed: int, replica: int, rounds: int) -> Numbers:
    luck = Luck(seed=seed, replicas=np.full(rounds, replica))
    t = np.arange(rounds)
    return Numbers(luck.normal(Stream.OUTCOME, t, 1 + RESOURCES), luck.uniform(Stream.CHOICE, t, 1)[:, 0])


def features(m: int, arms: int) -> np.ndarray:
    x = np.zeros((arms, m))
    for a in range(arms):
        x[a, 0] = x[a, a + 1] = 1.0 / math.sqrt(2.0)
    return x


def truth(m: int) -> np.ndarray:
    theta = np.zeros((1 + RESOURCES, m))
    theta[0, [0, 1]] = theta[1, [0, 2]] = 1.0 / math.sqrt(2.0)
    theta[2, 1:5] = 0.5
    theta[3, 3] = theta[4, 4] = 1.0
    return theta


def project(theta: np.ndarray, whole: bool) -> np.ndarray:
    """Every row into the unit ball; or, as published, all rows at once, without their signs."""
    if whole:
        return np.abs(theta) / max(float(np.linalg.norm(theta)), 1.0)
    return theta / np.maximum(np.linalg.norm(theta, axis=1, keepdims=True), 1.0)


def run(
    luck: Numbers, m: int, arms: int, rounds: int, *, whole: bool = False, ridge: float = 2.25, step: float = 3.0
) -> np.ndarray:
    """The actions of one run, -1 after its end, `->(T)`."""
    x = features(m, arms)
    mean = x @ truth(m).T
    theta = np.full((1 + RESOURCES, m), 1.0 / math.sqrt(m))
    inverse = np.eye(m) / ridge  # of the metric that all outcomes share
    gamma = 2.0 * math.sqrt(arms * rounds / (m * math.log(rounds)))
    rate = 2.0 * math.log(RESOURCES) / math.sqrt(rounds)
    weight = np.full(RESOURCES + 1, 1.0 / (RESOURCES + 1))  # the last one is slack
    left = np.full(RESOURCES, rounds / 4.0)
    actions = np.full(rounds, -1)
    for t in range(rounds):
        if left.min() < RANGE:
            break
        price = SCALE * weight[:-1]
        guess = x @ theta.T
        worth = guess[:, 0] + (0.25 - guess[:, 1:]) @ price
        best = worth >= worth.max() - 1e-9 * abs(worth.max())
        chance = 1.0 / (arms + gamma * (worth.max() - worth))
        chance[best] = 0.0
        chance[best] = (1.0 - chance.sum()) / best.sum()
        a = min(int(np.searchsorted(np.cumsum(chance), luck.choice[t], side="right")), arms - 1)
        y = np.clip(mean[a] + NOISE * luck.noise[t], -RANGE, RANGE)
        actions[t] = a
        left -= y[1:]
        weight[:-1] *= np.exp(rate * (y[1:] - 0.25))
        weight /= weight.sum()
        gain = inverse @ x[a]
        gain /= math.sqrt(1.0 + x[a] @ gain)
        inverse -= np.outer(gain, gain)
        theta = project(theta - step * np.outer(guess[a] - y, inverse @ x[a]), whole)
    return actions
