"""The prior of a regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import checked, value_text
from evenhand.core.types import Floats
from evenhand.core.validate import LARGEST


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """A guess of the coefficients, and how far predictions by it may be off.

    Equation: theta_m = mean_m + delta_m, with x.delta_m of standard deviation sd_m for features x of their mean size.
    The spread of delta is estimated along with the penalty, where sd_m^2 counts as one observation of it
    (`numerics.evidence.fit`). A guess with a smaller sd than is believed by default is dropped once the evidence
    against it is 20 to 1. Until then it is believed, and the smaller sd is, the less is explored.

    Args:
        mean: of the coefficients, in units of an outcome per unit of a feature; of log-odds for `BayesianLogistic`. One
            number for all, or `(n)`, `(M,n)`, or `(A,M,n)` for the actions of `PerAction`.
        sd: in units of the outcome, or log-odds; one number for all outcomes, or `(M)`. None is the default of
            models: a quarter of an outcome's range, or log-odds of 2.

    Raises:
        InvalidInput: a mean beyond 1e100, or an sd that is not within 1e-100 and 1e100; when a model starts, a mean or
            an sd of the wrong shape.

    >>> from evenhand.models.bayesian_ridge import BayesianRidge
    >>> model = BayesianRidge(n_features=2, prior=Prior(mean=[0.1, 0.3], sd=0.05))
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> model.value(state, np.array([[[1.0, 1.0]]]), one[None], np.zeros((1, 0))).mean.item()
    0.4
    """

    mean: float | Sequence[object] | Floats = 0.0
    sd: float | Sequence[float] | Floats | None = None

    def __post_init__(self) -> None:
        mean, sd = _numbers("Prior.mean", self.mean), _numbers("Prior.sd", 1.0 if self.sd is None else self.sd)
        if not (np.abs(mean) <= LARGEST).all():
            raise InvalidInput("Prior.mean", f"numbers in [{-LARGEST:g}, {LARGEST:g}]", value_text(self.mean))
        if not ((sd >= 1.0 / LARGEST) & (sd <= LARGEST)).all():
            raise InvalidInput("Prior.sd", f"numbers in [{1.0 / LARGEST:g}, {LARGEST:g}]", value_text(self.sd))

    def origin(self, n_replicas: int, actions: int, outcomes: int, n: int) -> Floats:
        """Return the mean of every action of every replica, `->(A,M,n)`, as rows."""
        mean, shape = _numbers("Prior.mean", self.mean), (actions, outcomes, n)
        try:
            return np.tile(np.broadcast_to(mean, shape), (n_replicas, 1, 1))
        except ValueError:
            most = f"an array of the shape ({n},), ({outcomes}, {n})" + (f" or {shape}" if actions > 1 else "")
            raise InvalidInput("Prior.mean", f"one number, or {most}", f"one of the shape {mean.shape}") from None

    def of_actions(self, actions: int) -> Prior:
        """Return the prior of the first so many actions, if their means are stated one by one."""
        each = _numbers("Prior.mean", self.mean).ndim == 3
        return replace(self, mean=self.mean[:actions]) if each else self  # type: ignore[index]

    def of_features(self, features: int) -> Prior:
        """Return the prior of the first so many features, if their means are stated one by one."""
        mean = _numbers("Prior.mean", self.mean)
        return replace(self, mean=mean[..., :features]) if mean.ndim else self

    def variance(self, outcomes: int, default: Floats) -> Floats:
        """sd^2 of every outcome, `(M)->(M)`; the default where none is stated."""
        if self.sd is None:
            return default
        sd = _numbers("Prior.sd", self.sd)
        if sd.shape not in ((), (outcomes,)):
            raise InvalidInput("Prior.sd", f"one number, or {outcomes}, one per outcome", value_text(self.sd))
        return np.asarray(np.broadcast_to(sd**2, (outcomes,)).copy())


def _numbers(field: str, value: object) -> Floats:
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise InvalidInput(field, "a number, or an array of numbers", value_text(value)) from None
