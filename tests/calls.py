"""Short ways to call a model: prices for all candidates `(R,K,M)`, no luck, and NaN for what was not seen."""

import numpy as np


def ask(model, state, x, w):
    """Mean worth and bonus."""
    worth = model.value(state, x, w[:, :, None], np.zeros((len(x), 0)))
    assert not worth.random
    return worth.mean, worth.bonus


def tell(model, state, x, y, rounds, w):
    """Update with what was seen in the rounds that count."""
    seen = ~np.isnan(y) & (rounds != 0.0)[:, None, None]
    model.update(state, x, np.where(seen, y, 0.0), seen, w[:, :, None])
