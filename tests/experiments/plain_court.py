"""PGD on the court as a plain NumPy loop over one run: the same mathematics, none of the house.

The tests hold the house against it action for action; the benchmark times both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream

TRUTH = np.array([-1.0, 1.0, 1.0, 2.0, 2.0])
NOTHING, VOUCHER, RIDE = np.eye(3)
ROWS = [RIDE, VOUCHER]  # then, per help, for group 0 and 1, above and below


class Numbers(NamedTuple):
    """All luck of one run, drawn beforehand."""

    people: np.ndarray  # (T, 4)
    outcome: np.ndarray  # (T,)
    choice: np.ndarray  # (T,)


def numbers(seed: int, replica: int, rounds: int) -> Numbers:
    luck = Luck(seed=seed, replicas=np.full(rounds, replica))
    t = np.arange(rounds)
    return Numbers(
        luck.uniform(Stream.CONTEXT, t, 4),
        luck.uniform(Stream.OUTCOME, t, 1)[:, 0],
        luck.uniform(Stream.CHOICE, t, 1)[:, 0],
    )


def features(age: float, proximity: float, poverty: float, group: int) -> np.ndarray:
    first = float(group == 0)
    return np.array(
        [[age, 0, 0, 0, 0], [age, proximity, proximity * first, 0, 0], [age, 0, 0, poverty, poverty * first]]
    )


def costs(group: int) -> np.ndarray:
    """(3, 10) constraint rows of every action."""
    fair = [s * help_ * (2.0 * (group == g) - 1.0) for help_ in (RIDE, VOUCHER) for g in (0, 1) for s in (1.0, -1.0)]
    return np.array([*ROWS, *fair]).T


def objective(x: np.ndarray, y: np.ndarray, theta: np.ndarray, ridge: float) -> float:
    u = x @ theta
    return float(np.logaddexp(0.0, u).sum() - y @ u + 0.5 * ridge * theta @ theta)


def newton(x: np.ndarray, y: np.ndarray, theta: np.ndarray, ridge: float, tolerance: float) -> np.ndarray:
    for _ in range(100):
        mean = 1.0 / (1.0 + np.exp(-x @ theta))
        gradient = x.T @ (mean - y) + ridge * theta
        hessian = (x * (mean * (1.0 - mean))[:, None]).T @ x + ridge * np.eye(len(theta))
        step = np.linalg.solve(hessian, gradient)
        decrement = gradient @ step
        if decrement <= tolerance:
            return theta - step
        size, here = 1.0, objective(x, y, theta, ridge)
        while objective(x, y, theta - size * step, ridge) > here - 1e-4 * size * decrement and size > 1e-6:
            size *= 0.5
        theta = theta - size * step
    return theta


def run(
    luck: Numbers,
    rounds: int,
    *,
    gamma: float = 0.02,
    tau: float = 1e-7,
    margin: float = 0.005,
    scale: float = 0.025,
    ridge: float = 1e-6,
    growth: float = 1.1,
    tolerance: float = 1e-4,
    warmup: int = 50,
) -> np.ndarray:
    """The actions of one run, `->(T)`."""
    bound = np.array([0.05 - margin, 0.20 - margin] + [tau] * 8)
    lam, theta, inverse = np.zeros(10), np.zeros(5), np.eye(5) / ridge
    history, answers, actions = np.zeros((rounds, 5)), np.zeros(rounds), np.zeros(rounds, int)
    fitted = 0
    for t in range(rounds):
        age, proximity, poverty, which = luck.people[t]
        group = 0 if which < 0.5 else 1
        x, c = features(age, proximity, poverty, group), costs(group)
        if t < warmup:
            a = min(int(3 * luck.choice[t]), 2)
        else:
            mean = 1.0 / (1.0 + np.exp(-x @ theta))
            half = scale * (1.0 + math.log(max(t, 1))) * np.sqrt(((x @ inverse) * x).sum(1))
            a = int(np.argmax(np.clip(mean + half, 0.0, 1.0) - (c - bound) @ lam))
            lam = np.maximum(0.0, lam + gamma * (c[a] - bound))
        gain = inverse @ x[a]
        inverse -= np.outer(gain, gain) / (1.0 + x[a] @ gain)
        history[t], answers[t] = x[a], luck.outcome[t] < 1.0 / (1.0 + math.exp(-x[a] @ TRUTH))
        actions[t] = a
        if t + 1 >= growth * fitted:
            theta = newton(history[: t + 1], answers[: t + 1], theta, ridge, tolerance)
            fitted = t + 1
    return actions
