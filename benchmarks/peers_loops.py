"""LinUCB in loops that keep no books: NumPy, and compiled by Numba; the least that the mathematics costs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np

from benchmarks.peers_case import Case
from benchmarks.peers_turns import Way
from benchmarks.plain_linucb import WIDTH, PlainDisjoint

NUMPY, CALLS, LOOP = "NumPy loop", "Numba, two calls a round", "Numba loop"


@numba.njit
def _act(inverse, theta, x):
    best, most = 0, -math.inf
    for a in range(len(theta)):
        mean, square = 0.0, 0.0
        for i in range(len(x)):
            mean += theta[a, i] * x[i]
            row = 0.0
            for j in range(len(x)):
                row += inverse[a, i, j] * x[j]
            square += row * x[i]
        worth = mean + WIDTH * math.sqrt(square)
        if worth > most:
            best, most = a, worth
    return best


@numba.njit
def _learn(inverse, theta, a, x, y):
    gain, size, mean = np.zeros(len(x)), 1.0, 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            gain[i] += inverse[a, i, j] * x[j]
        size += gain[i] * x[i]
        mean += theta[a, i] * x[i]
    for i in range(len(x)):
        for j in range(len(x)):
            inverse[a, i, j] -= gain[i] * gain[j] / size
        theta[a, i] += gain[i] * (y - mean) / size


@numba.njit
def _run(inverse, theta, x, y):
    total = 0.0
    for t in range(len(x)):
        a = _act(inverse, theta, x[t])
        _learn(inverse, theta, a, x[t], y[t, a])
        total += y[t, a]
    return total


def ways(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    """Return the three loops; each notes its mean outcome in `gains`."""
    x, y = case.x, case.y

    def in_numpy() -> Callable[[], None]:
        model = PlainDisjoint(case.actions, case.features)

        def run() -> None:
            total = 0.0
            for t in range(len(x)):
                a = model.act(x[t])
                model.learn(a, x[t], y[t, a])
                total += y[t, a]
            gains[NUMPY] = total / len(x)

        return run

    def start() -> tuple[np.ndarray, np.ndarray]:
        return np.tile(np.eye(case.features), (case.actions, 1, 1)), np.zeros((case.actions, case.features))

    def in_calls() -> Callable[[], None]:
        inverse, theta = start()

        def run() -> None:
            total = 0.0
            for t in range(len(x)):
                a = _act(inverse, theta, x[t])
                _learn(inverse, theta, a, x[t], y[t, a])
                total += y[t, a]
            gains[CALLS] = total / len(x)

        return run

    def in_loop() -> Callable[[], None]:
        inverse, theta = start()

        def run() -> None:
            gains[LOOP] = _run(inverse, theta, x, y) / len(x)

        return run

    return {NUMPY: in_numpy, CALLS: in_calls, LOOP: in_loop}
