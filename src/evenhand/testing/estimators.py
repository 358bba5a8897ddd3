"""The contract of an estimator of a policy's value."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.offline.estimators.base import Estimator, Sample
from evenhand.offline.scores import Average
from evenhand.testing.promises import Draw, complete, require, same

_ERRORS = 4.0  # standard errors that chance is allowed
_ROUNDING = 1e-9
MEANS = np.array([[0.2, 0.9, 0.4], [0.7, 0.3, 0.5], [0.1, 0.2, 1.4], [0.8, 1.1, 0.3]])  # by kind of case and action
CHANCES = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]])  # of being logged
POLICY = np.array([[0.0, 1.0, 0.0], [0.6, 0.2, 0.2], [0.0, 0.1, 0.9], [0.3, 0.7, 0.0]])
GROUPS = np.arange(3)  # of actions, of which each is one, as estimators by larger groups may be biased
MODEL = 0.5 * MEANS + np.array([0.3, 0.1, -0.2])  # is wrong, by more under some actions than under others


def check_estimator(estimator: Estimator, *, logs: int = 300, rows: int = 300) -> None:
    """Check that an estimator is unbiased on drawn logs, with an honest error, in any units and any order of rows.

    Equation: over logs whose truth v is known, |mean(value) - v| <= 4 sd(value) / sqrt(logs), and 95 % intervals hold v
    as often but for four standard errors of chance. Of the policy that logged, with a model that is right, this is
    required of every estimator; of another policy with a wrong model, of those that are `unbiased`.

    Args:
        estimator: any of `evenhand.offline.estimators`, or your own.
        logs, rows: how many are drawn, and the rows of each.

    >>> from evenhand.offline.estimators import SNIPS
    >>> check_estimator(SNIPS())
    """
    complete(estimator, Estimator)
    require(bool(estimator.label and estimator.meaning), "an estimator has a label, and a meaning in a sentence")
    drawn = Draw(np.arange(logs), 0)
    kinds, luck, noise = (4 * drawn(1, rows)).astype(np.int64), drawn(2, rows), drawn(3, rows) + drawn(4, rows) - 1.0
    own = [_sample(kinds[i], luck[i], noise[i], CHANCES, MEANS) for i in range(logs)]
    _check_truth(
        estimator, own, float((CHANCES * MEANS).sum(1).mean()), "the policy that logged, by a model that is right"
    )
    other = [_sample(kinds[i], luck[i], noise[i], POLICY, MODEL) for i in range(logs)]
    if estimator.unbiased:
        _check_truth(estimator, other, float((POLICY * MEANS).sum(1).mean()), "another policy, by a wrong model")
    _check_units(estimator, other[0])
    _check_order(estimator, other[0], np.argsort(luck[0]))
    _check_clusters(estimator, other[0])


def _sample(kinds: Ints, luck: Floats, noise: Floats, policy: Floats, model: Floats) -> Sample:
    """A log of cases of four kinds, `(N)` each."""
    actions = (luck[:, None] >= CHANCES[kinds].cumsum(1)).sum(1)
    y = MEANS[kinds, actions] + noise
    return _sample_of(policy[kinds], actions, CHANCES[kinds, actions], y, model[kinds])


def _sample_of(policy: Floats, actions: Ints, propensities: Floats, y: Floats, predicted: Floats) -> Sample:
    return replace(Sample.of(policy, actions, propensities, y, predicted), groups=GROUPS)


def _answer(estimator: Estimator, sample: Sample) -> Average:
    """Return the answer; requires one number per cluster, and an unchanged sample."""
    given = [z.copy() for z in (sample.policy, sample.propensities, sample.y, sample.predicted, sample.scores)]
    found = estimator.average(sample)
    now = (sample.policy, sample.propensities, sample.y, sample.predicted, sample.scores)
    for before, after in zip(given, now, strict=True):
        same(before, after, "an estimator leaves a sample as it is")
    count = len(sample.y) if sample.clusters is None else sample.clusters.count
    require(found.psi.shape == (count,), f"the influence has shape ({count}), not {found.psi.shape}")
    require(bool(np.isfinite([found.value, *found.psi]).all()), "the value and the influence are finite")
    off = abs(float(found.psi.mean())) <= _ROUNDING * (1.0 + float(np.abs(found.psi).max()))
    require(off, "the influence of rows is 0 on average")
    return found


def _check_truth(estimator: Estimator, samples: list[Sample], truth: float, policy: str) -> None:
    estimates = [_answer(estimator, sample).estimate for sample in samples]
    values, errors = (np.array(z) for z in zip(*(one.pair for one in estimates), strict=True))
    count, spread = len(values), float(values.std(ddof=1))
    off = abs(float(values.mean()) - truth) / (spread / sqrt(count))
    require(off <= _ERRORS, f"the value of {policy}, is right on average: it is off by {off:.1f} standard errors")
    if not estimator.unbiased:
        return
    ratio = float(np.sqrt((errors**2).mean())) / spread
    chance = _ERRORS / sqrt(2.0 * count)
    require(abs(ratio - 1.0) <= chance, f"standard errors of {policy}, are {ratio:.2f} of what values vary")
    held = float(np.mean([low <= truth <= high for low, high in (one.interval for one in estimates)]))
    chance = _ERRORS * sqrt(0.95 * 0.05 / count)
    require(abs(held - 0.95) <= chance, f"intervals of 95 % of {policy}, hold the truth in {held:.1%}")


def _check_units(estimator: Estimator, sample: Sample) -> None:
    """Require that value and error follow the unit of y, and the value its zero where weights are 1 on average."""
    one, scaled = _answer(estimator, sample), _answer(estimator, _of_units(sample, 1e3, 0.0))
    more = _sample_of(sample.policy, sample.actions, sample.propensities, sample.y + 1.0, sample.predicted)
    changed = _answer(estimator, more).value != one.value
    require(changed == estimator.corrects, "the value depends on outcomes if the estimator `corrects`, and only then")
    for a, b in zip(one.estimate.pair, scaled.estimate.pair, strict=True):
        require(
            abs(1e3 * a - b) <= _ROUNDING * abs(b), "the value and its error are a thousand times as large of 1e3 y"
        )
    counts = np.rint(16.0 * CHANCES).astype(np.int64).ravel()  # of a log in exact proportion
    kinds, actions = (np.repeat(z.ravel(), counts) for z in np.indices(CHANCES.shape))
    y = MEANS[kinds, actions] + 0.1 * (np.arange(len(kinds)) % 7)
    policy = POLICY if estimator.unbiased else CHANCES  # weights of 1, which no cap or shrinkage is for
    level = _sample_of(policy[kinds], actions, CHANCES[kinds, actions], y, MODEL[kinds])
    one, shifted = _answer(estimator, level), _answer(estimator, _of_units(level, 1.0, 5.0))
    off = abs(shifted.value - one.value - 5.0)
    require(off <= _ROUNDING * 10.0, "where weights are 1 on average, the value of y + 5 is 5 more")


def _of_units(sample: Sample, unit: float, zero: float) -> Sample:
    y, predicted = unit * sample.y + zero, unit * sample.predicted + zero
    return _sample_of(sample.policy, sample.actions, sample.propensities, y, predicted)


def _check_order(estimator: Estimator, sample: Sample, order: Ints) -> None:
    s = sample
    other = _sample_of(s.policy[order], s.actions[order], s.propensities[order], s.y[order], s.predicted[order])
    one, found = _answer(estimator, s), _answer(estimator, other)
    same_value = abs(one.value - found.value) <= _ROUNDING * (1.0 + abs(one.value))
    require(same_value, "the value does not depend on the order of rows")
    off = float(np.abs(one.psi[order] - found.psi).max())
    require(
        off <= _ROUNDING * (1.0 + float(np.abs(one.psi).max())), "the influence of a row does not depend on its place"
    )


def _check_clusters(estimator: Estimator, sample: Sample) -> None:
    """Require that rows that are there twice, as a cluster each, tell no more than once."""
    s, twice = sample, np.repeat(np.arange(len(sample.y)), 2)
    pairs = _sample_of(s.policy[twice], s.actions[twice], s.propensities[twice], s.y[twice], s.predicted[twice])
    one, found = _answer(estimator, s), _answer(estimator, replace(pairs, clusters=Clusters.of(twice, "pair")))
    for a, b, what in zip(one.estimate.pair, found.estimate.pair, ("value", "error"), strict=True):
        close = abs(a - b) <= _ROUNDING * (1.0 + abs(a))
        require(close, f"the {what} of rows that are there twice, as a cluster each, is that of each once")
    require(found.degrees == len(s.y) - 1.0, "clusters are one more than the degrees of freedom")
