"""Errors of one-step predictions of several states of one model, and what they cost in units of one noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models._shared import refuse_luck
from evenhand.models.base import Model, by_action, fades
from evenhand.numerics.evidence import BELIEVED


def check_fades(name: str, inner: Model) -> None:
    """Refuse a model that cannot forget, or that draws its parameters."""
    if not fades(inner):
        expected = "a model that can forget, such as BayesianRidge, BayesianLogistic, Ridge or Tabular"
        raise InvalidInput(f"{name}.inner", expected, shown(inner))
    refuse_luck(name, inner)


def told(model: Model, x: Floats, seen: Bools) -> Bools:
    """Return the plays that the model learns from: all their outcomes are seen, and not all features are 0, `->(P)`."""
    lead = 0 if by_action(model) is None else 1
    return np.asarray(seen.all(2) & (x[:, :, lead:] != 0.0).any(2))


def missed(model: Model, states: Sequence[Any], x: Floats, y: Floats, plays: Bools, units: Floats) -> Floats:
    """Compute the errors of the predictions of every state, 0 for other plays, `(P,n),(P,M),(P),(M)->(S,M,P)`.

    They are in units of the outcomes' ranges.
    """
    replicas, outcomes = len(x), y.shape[2]
    w = np.ascontiguousarray(np.broadcast_to(np.eye(outcomes)[None, :, None], (replicas, outcomes, 1, outcomes)))
    asked, luck = np.where(plays[:, :, None], x, 0.0), np.zeros((replicas, 0))
    said = np.stack([model.value(state, asked, w, luck).mean for state in states], 1)
    return np.where(plays[:, None, None], (y.transpose(0, 2, 1)[:, None] - said) / units[:, None], 0.0)


@kernel
def nats(errors: Floats, count: Floats) -> Floats:
    """Compute half the squared errors in units of the noise, less those of the best state, `(S,M),()->(S)`.

    The noise of an outcome is one for all states, as separate ones would reward the state whose plays happened to have
    little: it is the least of the states' mean squared errors, with the prior belief as one more observation.
    """
    found = np.zeros(errors.shape[:2])
    for r in range(len(errors)):
        for m in range(errors.shape[2]):
            least = errors[r, 0, m]
            for k in range(errors.shape[1]):
                least = min(least, errors[r, k, m])
            noise = (BELIEVED + least) / (1.0 + count[r])
            for k in range(errors.shape[1]):
                found[r, k] += 0.5 * (errors[r, k, m] - least) / noise
        best = found[r, 0]
        for k in range(errors.shape[1]):
            best = min(best, found[r, k])
        for k in range(errors.shape[1]):
            found[r, k] -= best
    return found


def steps(seen: Bools, share: Floats, weight: float) -> Floats:
    """Return how many rounds a lesson counts for in every replica, `->()`; none where nothing was seen."""
    return np.asarray(weight * share * seen.any((1, 2)))
