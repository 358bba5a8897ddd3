"""Propensities of a log that states none: cross-fitted logistic regressions of the action, and their calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.extras import scikit_learn
from evenhand.core.types import Floats, Ints
from evenhand.logs.checks import quantile, reach
from evenhand.logs.clusters import Clusters
from evenhand.offline.outcome_models import members_of

CALIBRATION = "calibration"  # the name of the check
CAUTION = (
    "propensities were estimated from the features, as the log states none: all numbers rest on that nothing else "
    "decided what was done, and on the model (a logistic regression)"
)
_FOLDS, _STEPS = 5, 1000
_PARTS = 10  # of rows, by what is estimated
_SMALL, _FEW = 0.01, 0.01  # a propensity, and the part of rows that may have such a small one
_OFF = 0.02  # a share that is off by less biases no number that matters


class Estimated(NamedTuple):
    """Estimates of how likely each logged action was."""

    propensities: Floats  # (N,)
    fault: str | None  # of calibration or overlap


def estimated(features: Floats, actions: Ints, names: tuple[str, ...], clusters: Clusters) -> Estimated:
    """Estimate the propensities of logged actions by models of the action that have not seen the row's cluster.

    Equation: P(a | x) = exp(b_a + x t_a) / sum_c exp(b_c + x t_c), fitted without each of five folds by the greatest
    likelihood less |t|^2 / 2. As means of doubly robust scores do not move with small errors of either model, their
    errors are stated as if propensities were known (Chernozhukov et al. 2018, Theorem 5.1); those of IPS are then too
    large rather than too small (Hirano, Imbens and Ridder 2003).

    Args:
        features: `(N,n)`, of which the first is 1.
        actions: `(N)` that were logged.
        names: of all actions.
        clusters: of the rows.

    Raises:
        InvalidInput: an action has no row outside a fold.
        MissingExtra: scikit-learn is not installed.

    >>> x = np.column_stack([np.ones(400), np.tile([0.0, 1.0], 200)])
    >>> drawn = np.where(np.arange(400) % 4 == 3, 1, 0)  # never where x is 0, and half of the time where it is 1
    >>> estimated(x, drawn, ("none", "letter"), Clusters.of(np.arange(400))).propensities[1:4].round(1).tolist()
    [0.5, 1.0, 0.5]
    """
    regressions = scikit_learn("linear_model", "estimated propensities")
    members = members_of(clusters.numbers, min(_FOLDS, clusters.count), 0)
    chances = np.zeros((len(actions), len(names)))
    for rows in members:
        others = np.ones(len(actions), bool)
        others[rows] = False
        seen, weights = actions[others], clusters.times(np.ones(len(actions)))[others]
        shares = np.bincount(seen, weights, len(names)) / weights.sum()
        if not shares.all():
            got = f"none of {names[int(shares.argmin())]!r}"
            raise InvalidInput("propensity.estimated", "rows with every action outside of each fold", got)
        if features.shape[1] == 1 or len(names) == 1:
            chances[rows] = shares
            continue
        model = regressions.LogisticRegression(max_iter=_STEPS)
        model.fit(features[others, 1:], seen, sample_weight=weights)
        chances[rows] = model.predict_proba(features[rows, 1:])
    fault, rare = _uncalibrated(features, chances, actions, names, clusters), (chances < _SMALL).mean(0)
    if fault is None and rare.max() > _FEW:
        rarest = names[int(rare.argmax())]
        fault = f"in {rare.max():.1%} of the rows, {rarest!r} had a probability below {_SMALL:.0%} by the estimates"
    return Estimated(chances[np.arange(len(actions)), actions], fault)


def _uncalibrated(
    features: Floats, chances: Floats, actions: Ints, names: tuple[str, ...], clusters: Clusters
) -> str | None:
    """Say where an action was drawn more or less often than is estimated: in a tenth by the estimate, or by a feature.

    Equation: the mean of 1{a_i = a} - p_i(a) over a tenth is 0 within its error, by its variance p (1 - p), and by the
    rows and clusters that there are.
    """
    count, each = len(actions), clusters.times(np.ones(len(actions)))
    alone = clusters.count == count and clusters.weights is None
    parts = [tenths(z) for z in features[:, 1:].T]
    z, worst, told = quantile(_PARTS * len(names) * (1 + len(parts))), 1.0, None
    for a, name in enumerate(names):
        p = chances[:, a]
        off, spread = (actions == a) - p, p * (1.0 - p)
        for part in (tenths(p), *parts):
            rows, total = np.bincount(part).astype(float), np.bincount(part, each)
            mean, expected, variance = (np.bincount(part, each * v) / total for v in (off, p, spread))
            more, third_more = (1.0, 1.0) if alone else clusters.excess(off, part, len(rows))
            far = reach(z, rows, variance * more, variance * third_more)
            beyond = np.abs(mean) / np.maximum(far, _OFF)
            k = int(beyond.argmax())
            if beyond[k] > worst:
                worst = float(beyond[k])
                told = (
                    f"the estimated propensities do not fit the log: in {total[k] / count:.0%} of the rows, {name!r} "
                    f"was expected in {expected[k]:.1%} and is in {expected[k] + mean[k]:.1%}, of which chance "
                    f"explains {far[k]:.1%}; something else than the features, or in another way, decided what was done"
                )
    return told


def tenths(values: Floats) -> Ints:
    """Number the tenths of rows by their value, `(N)->(N)`; equal values are in one, so that there may be fewer.

    >>> tenths(np.array([5.0, 1.0, 5.0, 1.0])).tolist()
    [1, 0, 1, 0]
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = (2 * np.cumsum(count) - count) * _PARTS // (2 * len(values))
    return np.asarray(np.unique(middle, return_inverse=True)[1][place])
