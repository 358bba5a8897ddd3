"""Coefficients of ridge regressions with their standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.evidence import Evidence
from evenhand.offline.outcome_models import Regressor
from evenhand.offline.scores import Estimate
from evenhand.replay.clusters import Clusters


class Coefficient(NamedTuple):
    """The effect of a number of a case on an outcome under an action."""

    outcome: str
    action: str
    name: str
    value: Estimate


def coefficients(evidence: Evidence, names: tuple[str, ...], model: Callable[[], Regressor]) -> Iterator[Coefficient]:
    """Yield the coefficients of models of the whole log, one model per outcome and action; none of other models.

    Args:
        evidence: the log.
        names: of the features, of which the first is the intercept's.
        model: makes a model that is not fitted yet.
    """
    p = evidence.problem
    for m, outcome in enumerate(p.learned):
        for a in evidence.playable[~p.free[evidence.playable, m]].tolist():
            seen = evidence.actions == a
            x, y = evidence.features[seen], evidence.outcomes[seen, m]
            fitted = model().fit(x, y)
            if not isinstance(fitted, RidgeByErrors):
                return
            clusters = evidence.clusters.kept(np.flatnonzero(seen))
            errors = standard_errors(x, y, fitted.coefficients, fitted.penalty, clusters)
            for name, value, se in zip(
                ("intercept", *names[1:]), fitted.coefficients.tolist(), errors.tolist(), strict=True
            ):
                yield Coefficient(outcome, p.actions[a], name, Estimate(value, se, degrees=clusters.degrees))


def standard_errors(x: Floats, y: Floats, found: Floats, penalty: float, clusters: Clusters | None = None) -> Floats:
    """Return the standard errors of ridge coefficients, `(N,n),(N),(n),()->(n)`, robust to unequal variances.

    Equation: with H = X'X + k D, where D leaves out the intercept, and residuals e, the covariance is
    N / (N - tr H^-1 X'X) H^-1 X' diag(e^2) X H^-1 (White 1980, with the factor of MacKinnon and White 1985). The
    penalty is taken as given; what it shrinks is not in the error. NaN if no row is left to judge by. Of G clusters the
    scores x_i e_i are summed over each (Liang and Zeger 1986); the factor is G / (G - 1) (N - 1) / (N - tr H^-1 X'X).

    >>> x = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> y = np.array([0.0, 2.0, 3.0, 5.0])
    >>> standard_errors(x, y, np.array([1.0, 3.0]), 0.0).round(4).tolist()
    [1.0, 1.4142]
    """
    shrunk = np.full(x.shape[1], penalty)
    shrunk[0] = 0.0
    gram = x.T @ x
    inverse = np.linalg.pinv(gram + np.diag(shrunk), hermitian=True)
    left = len(y) - float(np.trace(inverse @ gram))
    if left <= 0.0:
        return np.full(x.shape[1], np.nan)
    clusters = Clusters.of(np.arange(len(y))) if clusters is None else clusters
    scores = clusters.totals(x * (y - x @ found)[:, None])
    rows, count = len(y), clusters.count
    factor = rows / left * (count * (rows - 1) / ((count - 1) * rows)) if count > 1 else np.nan
    covariance = inverse @ (scores.T @ scores) @ inverse * factor
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))
