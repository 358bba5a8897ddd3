"""The parts that features have in a difference of worths, of models whose predictions come from x.theta."""

from __future__ import annotations

import numpy as np

from evenhand.core.types import Floats


def linear_parts(theta: Floats, x: Floats, w: Floats) -> Floats:
    """Divide w.(theta x) of the first candidate less that of the second, `(M,n),(2,n),(K,1|2,M)->(K,n)`.

    Candidates that have one feature more lead with the index of an action, which says whose row of theta they read, and
    has no part.
    """
    replicas, lead = len(x), x.shape[2] - theta.shape[2]
    found = np.zeros((replicas, w.shape[1], x.shape[2]))
    for side, sign in enumerate((1.0, -1.0)):
        rows = np.arange(replicas) * (len(theta) // replicas) + (x[:, side, 0].astype(np.int64) if lead else 0)
        prices = w[:, :, side if w.shape[2] > 1 else 0]
        found[:, :, lead:] += sign * np.einsum("rkm,rmn,rn->rkn", prices, theta[rows], x[:, side, lead:])
    return found


def logistic_parts(theta: Floats, x: Floats, w: Floats) -> Floats:
    """Divide w sigmoid(theta.x) of the first candidate less that of the second, `(n),(2,n),(K,1|2,1)->(K,n)`.

    Equation: on the straight way from the one log-odds to the other every feature has the same share of the difference
    of probabilities as of that of log-odds (the integral of gradients along it).
    """
    own = linear_parts(theta[:, None], x, np.ones((len(x), 1, 1, 1)))
    step, first = own.sum(2, keepdims=True), _log_odds(theta, x)
    p = 1.0 / (1.0 + np.exp(-np.stack([first, first - step[:, 0, 0]])))
    near = np.abs(step[:, 0, 0]) < 1e-9
    slope = np.where(near, p[0] * (1.0 - p[0]), (p[0] - p[1]) / np.where(near, 1.0, step[:, 0, 0]))
    return np.asarray(w.mean(2) * slope[:, None, None] * own)


def _log_odds(theta: Floats, x: Floats) -> Floats:
    """The log-odds of the first candidate, `(n),(2,n)->()`."""
    own = x[:, :1].repeat(2, 1)
    own[:, 1, x.shape[2] - theta.shape[1] :] = 0.0
    return np.asarray(linear_parts(theta[:, None], own, np.ones((len(x), 1, 1, 1))).sum((1, 2)))
