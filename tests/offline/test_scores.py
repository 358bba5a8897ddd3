"""Estimators by hand, against the truth of simulated logs, and the coverage of their intervals."""

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import Estimate, RidgeByErrors
from evenhand.offline.cautions import doubter
from evenhand.offline.estimators import IPS, SNIPS, DirectMethod, DoublyRobust, Switch
from evenhand.offline.estimators.base import Sample
from evenhand.offline.estimators.snips import normalised
from evenhand.offline.outcome_models import PENALTIES
from evenhand.offline.scores import weights
from tests.offline.coverage import measured
from tests.offline.folds import cross_fit, folds_of
from tests.offline.hall import interval_of


def test_estimates_by_hand():
    policy = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    actions, p, y = np.array([0, 1, 1]), np.array([0.5, 0.25, 0.5]), np.array([1.0, 2.0, 4.0])
    q = np.array([[1.0, 3.0], [0.0, 1.0], [2.0, 2.0]])
    w = weights(policy, actions, p)
    assert w.tolist() == [1.0, 4.0, 0.0]
    sample = Sample.of(policy, actions, p, y, q)

    def found(estimator):
        return estimator.average(sample).value

    assert found(IPS()) == pytest.approx((1 + 8 + 0) / 3)
    assert found(SNIPS()) == pytest.approx(9 / 5)
    assert found(DirectMethod()) == pytest.approx((2 + 1 + 2) / 3)
    assert found(DoublyRobust()) == pytest.approx((2 + 0 + 1 + 4 * 1 + 2 + 0) / 3)
    assert found(Switch(cap=3.0)) == pytest.approx((2 + 0 + 1 + 2) / 3)
    assert found(Switch()) == pytest.approx(found(DoublyRobust()))
    assert doubter(p, 1)(w).cases == pytest.approx(25 / 17)
    assert weights(policy, np.array([-1, -1, 0]), p).tolist() == [0.0, 0.0, 2.0]


def test_an_estimate_has_the_standard_error_of_a_mean():
    z = np.random.default_rng(0).standard_normal(100)
    found = Estimate.of(z, float(z.mean()))
    assert found.se == pytest.approx(z.std(ddof=1) / 10)
    assert found.interval == pytest.approx(interval_of(z), rel=1e-9)
    assert np.isnan(Estimate.of(np.zeros(1), 0.0).se)
    far = 1e8 + z  # where a sum of squares less a square of sums has no digits
    assert Estimate.of(far, 1e8).se == pytest.approx(np.sqrt(far.var(ddof=1) / 100), rel=1e-12)


def test_a_policy_that_never_agrees():
    with pytest.raises(InvalidInput, match="policy: expected one that plays what was logged in some row"):
        normalised(np.zeros(3), np.ones(3))


def test_the_penalty_has_the_least_error_by_generalised_cross_validation():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(60), rng.standard_normal((60, 5))])
    y = x @ np.array([3.0, 1.0, 0.0, 0.0, -0.5, 0.0]) + 2.0 * rng.standard_normal(60)
    z, centred = x[:, 1:] - x[:, 1:].mean(0), y - y.mean()
    scale = np.trace(z.T @ z) / 5

    def error(penalty):
        hat = z @ np.linalg.solve(z.T @ z + penalty * scale * np.eye(5), z.T) + 1 / 60
        return 60 * ((y - hat @ y) ** 2).sum() / (60 - np.trace(hat)) ** 2

    best = PENALTIES[np.argmin([error(k) for k in PENALTIES])]
    slopes = np.linalg.solve(z.T @ z + best * scale * np.eye(5), z.T @ centred)
    found = RidgeByErrors().fit(x, y)
    assert found.coefficients[1:] == pytest.approx(slopes)
    assert found.predict(x).mean() == pytest.approx(y.mean())


def test_predictions_do_not_depend_on_units():
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(80), rng.standard_normal((80, 3))])
    y = x @ np.array([1.0, 2.0, 0.0, 0.3]) + rng.standard_normal(80)
    a = RidgeByErrors().fit(x, y).predict(x)
    b = RidgeByErrors().fit(x * np.array([1.0, 1e6, 1e6, 1e6]), 1e-3 * y).predict(x * np.array([1.0, 1e6, 1e6, 1e6]))
    assert 1e3 * b == pytest.approx(a)


@pytest.mark.parametrize("rows", [6, 12, 30, 31, 32])
@pytest.mark.filterwarnings("error")
def test_the_penalty_is_no_rounding_where_there_are_as_many_features_as_rows(rows):
    """The same errors by the rows themselves, in long double numbers; other units choose the same penalty."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.ones(rows), rng.standard_normal((rows, 30))])
        y = x[:, 1] + rng.standard_normal(rows)
        found = RidgeByErrors().fit(x, y)
        z, centred = x[:, 1:] - x[:, 1:].mean(0), y - y.mean()
        values, vectors = np.linalg.eigh(z @ z.T)  # by rows: one direction is that of the mean, with 0
        there = values > 1e-9 * values.max()
        values, along = values[there].astype(np.longdouble), (vectors.T @ centred)[there].astype(np.longdouble)
        spare = rows - 1 - there.sum()
        rest = max(centred @ centred - along @ along, 0.0) if spare else 0.0
        kept = [k * (z**2).sum() / 30 / (values + k * (z**2).sum() / 30) for k in PENALTIES]
        errors = np.array([(rest + ((k * along) ** 2).sum()) / (spare + k.sum()) ** 2 for k in kept], float)
        best = PENALTIES[np.flatnonzero(errors <= errors.min() * (1.0 + 1e-9))[-1]]
        assert found.penalty == pytest.approx(best * (z**2).sum() / 30)
        for unit in (3.0, 1e-7, 1e12):
            other = RidgeByErrors().fit(x, unit * y)
            assert other.penalty == found.penalty
            assert other.predict(x) / unit == pytest.approx(found.predict(x), rel=1e-6, abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_an_outcome_that_is_always_the_same_has_the_largest_penalty():
    x = np.column_stack([np.ones(9), np.random.default_rng(0).standard_normal((9, 8))])
    found = RidgeByErrors().fit(x, np.full(9, 0.25))
    assert found.predict(x).tolist() == [0.25] * 9
    assert found.penalty == pytest.approx(PENALTIES[-1] * ((x[:, 1:] - x[:, 1:].mean(0)) ** 2).sum() / 8)


def test_no_model_has_seen_the_row_that_it_predicts():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(90), rng.standard_normal((90, 2))])
    actions, y, fold = rng.integers(0, 2, 90), rng.standard_normal(90), folds_of(90, 5, seed=3)
    before = cross_fit(x, actions, y, 2, fold=fold)
    for row in range(0, 90, 7):
        changed = y.copy()
        changed[row] += 100.0
        after = cross_fit(x, actions, changed, 2, fold=fold)
        same = fold == fold[row]
        assert np.array_equal(after[same], before[same])
        assert not np.array_equal(after[~same], before[~same])


def test_an_action_that_is_hardly_ever_there():
    with pytest.raises(InvalidInput, match=r"at least two rows of every action outside each fold, got 0 of action 1"):
        cross_fit(np.ones((10, 1)), np.zeros(10, int), np.zeros(10), 2, fold=folds_of(10, 5, seed=0))


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """Of 600 logs: .95 within four standard errors of a share of .95, which are sqrt(.95 * .05 / 600) = .0089 each.

    The direct method has no interval: its bias is more than chance explains.
    """
    found = measured(600)
    for name in ("doubly robust", "IPS", "SNIPS", "SNDR"):
        assert abs(found[name] - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / 600), name
    assert abs(found["bias of the model"]) > 4 * found["its error"]
