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


class PlainDisjoint:
    """The same with own coefficients per arm: an inverse each, of which a case reads all and a play changes one."""

    def __init__(self, arms: int = ARMS, features: int = FEATURES) -> None:
        self.inverse, self.theta = np.tile(np.eye(features), (arms, 1, 1)), np.zeros((arms, features))

    def act(self, x: np.ndarray) -> int:
        """The arm of highest optimistic value, `(n)->()`."""
        return int((self.theta @ x + WIDTH * np.sqrt((self.inverse @ x) @ x)).argmax())

    def learn(self, a: int, x: np.ndarray, y: float) -> None:
        """Absorb one observation of an arm, `(),(n),()`."""
        gain = self.inverse[a] @ x
        size = 1.0 + x @ gain
        self.inverse[a] -= np.outer(gain, gain) / size
        self.theta[a] += gain * ((y - x @ self.theta[a]) / size)
