"""Values of Moreau envelopes, by the prox."""

import numpy as np

from evenhand.objectives.base import flat, total


def envelope(objective, z, beta):
    """max_y f(y) - |y - z|^2 / (2 beta), `(m),()->()`."""
    y = objective.prox(z, beta)
    distance = total(flat(y - z) ** 2).reshape(z.shape[:-1])
    return objective.value(y) - distance / (2.0 * np.asarray(beta, float))
