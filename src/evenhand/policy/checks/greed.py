"""A warning of policies that never explore."""

from __future__ import annotations

import warnings

import numpy as np

from evenhand.choices.base import Choice, greedy
from evenhand.core.errors import EvenhandWarning
from evenhand.core.types import Floats
from evenhand.models import NullModel
from evenhand.models.base import Model


def greed(model: Model, state: object, choice: Choice, x: Floats) -> None:
    """Warn of a choice of the best candidate by a model that adds no bonus, before any data, `(A,n)`.

    Such a policy can lock in: it never plays again what looked bad at first. A model has no bonus if it adds none at a
    price of 1, nor at one of -1, on all outcomes, as a bonus that its range cuts off at one end is left at the other.
    """
    candidates, m = x.shape[1], model.n_outcomes
    if not greedy(choice) or m == 0 or isinstance(model, NullModel) or getattr(model, "selects", False):
        return
    if model.draws(candidates) or (x == x[:, :1]).all():  # candidates that are all the same are another matter
        return
    x, none = np.ascontiguousarray(x), np.zeros((len(x), 0))
    if not any(model.value(state, x, np.full((len(x), 1, 1, m), price), none).bonus.any() for price in (1.0, -1.0)):
        text = (
            f"this policy never explores: {type(model).__name__} adds no width to what it predicts, and the choice "
            "plays what looks best, so an action that was unlucky at first may never be played again: give the model a "
            "width, such as width=Fixed(0.3), use a Bayesian model, or a choice that draws, such as InverseGap"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=4)
