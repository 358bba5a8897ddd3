"""LinUCB as one would write it in NumPy for one problem: what act and learn cost at the least in Python."""

from __future__ import annotations

import numpy as np

ARMS, FEATURES, WIDTH = 20, 20, 0.5


class PlainLinUCB:
    """Ridge regression with the inverse kept by rank-one updates."""

    def __init__(self) -> None:
        self.inverse, self.theta = np.eye(FEATURES), np.zeros(FEATURES)

    def act(self, x: np.ndarray) -> int:
        """The arm of highest optimistic value, `(A,n)->()`."""
        z = x @ self.inverse
        return int((x @ self.theta + WIDTH * np.sqrt((z * x).sum(1))).argmax())

    def learn(self, x: np.ndarray, y: float) -> None:
        """Absorb one observation, `(n),()`."""
        gain = self.inverse @ x
        size = 1.0 + x @ gain
        self.inverse -= np.outer(gain, gain) / size
        self.theta += gain * ((y - x @ self.theta) / size)
