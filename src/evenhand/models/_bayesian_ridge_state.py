"""The state of `BayesianRidge`, which `BayesianBilinear` shares."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.models._shared import wider, without_data
from evenhand.models.base import AFFORDABLE, AHEAD, ZEROS
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import BELIEVED


@dataclass
class BayesianRidgeState:
    """Sufficient statistics, and the posterior; outcomes are in units of their ranges.

    With coefficients by action there are A rows per replica of what is marked so, and one of all else.
    """

    gram: Floats  # (R A, n, n) sum of x x^T
    moment: Floats  # (R A, M, n) sum of z x, z = y - origin.x
    squares: Floats  # (R, M, M) sum of z z^T
    inverse: Floats  # (R A, n, n) of V = ridge I + gram
    theta: Floats  # (R A, M, n)
    sigma: Floats  # (R, M, M) covariance of the noise
    ridge: Floats  # (R,) 0 before the first fit
    count: Floats  # (R,) observations
    zeros: Floats = field(metadata=ZEROS)  # (R, M) of these, in which an outcome was declared 0
    fitted: Floats  # (R,) observations at the last fit
    rounds: Floats  # (R,) rounds in which something was seen
    taught: Floats  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    affordable: Floats = field(metadata=AFFORDABLE)  # (R, A) plays of each action that budgets can pay for, or (R, 0)
    origin: Floats  # (R A, M, n) theta before any data
    spreads: Floats  # (M,) variances of means before any data
    ends: Floats  # (2, M) of the ranges
    units: Floats  # (M,) lengths of the ranges, 1 where infinite
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy

    def begin(self, rows: Ints) -> None:
        """Set appended actions to what the common penalty says of an action without data, `(rows)->`."""
        without_data(rows, self.ridge, self.inverse)

    def widen(self, first: int) -> None:
        """Set features without data to what the penalty says of them."""
        wider(first, self.ridge, self.inverse)


def empty(
    n: int, n_replicas: int, low: Floats, high: Floats, horizon: int, prior: Prior, actions: int = 1
) -> BayesianRidgeState:
    """Return the state before any data, `(M),(M)->`."""
    m, rows, units = len(low), n_replicas * actions, np.where(np.isfinite(high - low), high - low, 1.0)
    origin = prior.origin(n_replicas, actions, m, n) / units[:, None]
    return BayesianRidgeState(
        gram=np.zeros((rows, n, n)),
        moment=np.zeros((rows, m, n)),
        squares=np.zeros((n_replicas, m, m)),
        inverse=np.zeros((rows, n, n)),
        theta=origin.copy(),
        sigma=np.tile(BELIEVED * np.eye(m), (n_replicas, 1, 1)),
        ridge=np.zeros(n_replicas),
        count=np.zeros(n_replicas),
        zeros=np.zeros((n_replicas, m)),
        fitted=np.zeros(n_replicas),
        rounds=np.zeros(n_replicas),
        taught=np.zeros(n_replicas),
        ahead=np.ones(n_replicas),
        affordable=np.zeros((n_replicas, 0)),
        origin=origin,
        spreads=prior.variance(m, BELIEVED * units**2) / units**2,
        ends=np.stack([low, high]) / units,
        units=units,
        horizon=np.full(n_replicas, float(horizon)),
    )
