"""A choice that does not look: drawn by fixed weights over whatever is playable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def draw(weights: Floats, playable: Bools, u: Floats) -> tuple[Ints, Floats]:
    """One candidate per replica in proportion to weights over what is playable, `(A),(A),()->(1),(A)`.

    Where all playable candidates have weight 0, each is as likely as the other.
    """
    plays = np.full((len(playable), 1), -1)
    probabilities = np.zeros(playable.shape)
    for r in range(len(playable)):
        weight = weights[r if len(weights) > 1 else 0]
        total, count = 0.0, 0
        for a in range(len(weight)):
            if playable[r, a]:
                total += weight[a]
                count += 1
        if count == 0:
            continue
        reached = 0.0
        for a in range(len(weight)):
            if playable[r, a]:
                probabilities[r, a] = weight[a] / total if total > 0.0 else 1.0 / count
                if probabilities[r, a] > 0.0 and (plays[r, 0] < 0 or reached <= u[r]):
                    plays[r, 0] = a
                reached += probabilities[r, a]
    return plays, probabilities


@dataclass(frozen=True)
class Random:
    """One candidate drawn blindly: uniformly over what is playable, or in proportion to fixed weights.

    Args:
        weights: one per candidate, at least 0; None means the same for all.

    Raises:
        InvalidInput: a weight that is negative or not finite, or no positive one.

    >>> playable, u = np.array([[True, False, True]]), np.array([[0.7]])
    >>> zero = np.zeros((1, 1, 3))
    >>> Random().pick(None, zero, zero, playable, np.zeros(1), u)[:2]
    (array([[2]]), array([[0.5, 0. , 0.5]]))
    """

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            expected = "finite numbers of at least 0, not all 0"
            try:
                w = np.array(self.weights, float)
            except (TypeError, ValueError) as error:
                raise InvalidInput("Random.weights", expected, repr(self.weights)) from error
            if not (w.ndim == 1 and np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
                raise InvalidInput("Random.weights", expected, repr(self.weights))

    @property
    def n_plays(self) -> int:
        """One candidate."""
        return 1

    @property
    def draws(self) -> int:
        """One uniform number."""
        return 1

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Draw, `(K,A),(K,A),(A),(),(1)->(1),(A),()`."""
        candidates = playable.shape[1]
        weights = np.ones((1, candidates)) if self.weights is None else np.array([self.weights], float)
        if weights.shape[1] != candidates:
            raise InvalidInput("Random.weights", f"one per candidate, of which there are {candidates}", self.weights)
        plays, probabilities = draw(weights, playable, u[:, 0])
        return Pick(plays, probabilities, np.zeros(len(playable)))
