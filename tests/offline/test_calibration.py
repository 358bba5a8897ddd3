"""The check of predicted outcomes: silent where models are right, also by weights and customers, else a sentence."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.logs.clusters import Clusters
from evenhand.offline import RidgeByErrors, Stack, curve, value
from evenhand.offline.cautions import calibration
from evenhand.offline.evidence import Tables
from evenhand.problem import Budget, Outcome
from tests.offline import units
from tests.offline.regimes import World, alike, bent, clicks, log_of, noisy, spent


def straight(traits, time):
    """What a ridge regression can say."""
    return np.stack([traits[:, 0], 0.5 * traits[:, 0] + traits[:, 1], 0.0 * traits[:, 0]], 1)


def found(log, model=RidgeByErrors):
    return calibration(log, log.tables(model=model))


def weighted(log, seed):
    """The log with rows that count differently, the largest a hundred times as much as the least or more."""
    weights = np.exp(np.random.default_rng(seed).standard_normal(log.rows))
    return replace(log, cluster=log.clusters.weighted(weights))


RIGHT = {
    "numbers": lambda seed: log_of(World(3000, straight, amounts=noisy), seed)[0],
    "by weights": lambda seed: weighted(log_of(World(3000, straight, amounts=noisy), seed)[0], seed),
    "clicks": lambda seed: log_of(World(3400, alike, 10, 0.1), seed)[0],
    "spending": lambda seed: log_of(World(2000, clicks, amounts=spent), seed)[0],
    "customers": lambda seed: units.log_of(units.World(200, 10, True), seed)[0],
}


@pytest.mark.parametrize("kind", RIGHT)
def test_it_is_silent_where_the_model_is_right(kind):
    assert sum(found(RIGHT[kind](seed)) is not None for seed in range(200)) <= 1  # .2 are expected


def test_a_wave_a_square_and_a_product_are_not_what_a_ridge_predicts():
    logs = [log_of(World(6000, bent, amounts=noisy), seed)[0] for seed in range(20)]
    assert all(found(log) for log in logs)
    assert all(found(weighted(log, seed)) for seed, log in enumerate(logs))
    pytest.importorskip("sklearn")
    assert found(logs[0], Stack) is None


def test_value_and_curve_say_so_and_recommend_all_the_same():
    log, cost = log_of(World(6000, bent, amounts=noisy), 0)[0], Outcome("cents", known={"1": 1.0, "2": 1.0})
    stated = replace(log.problem, outcomes=(*log.problem.outcomes, cost), subject_to=(Budget("cents", rate=0.5),))
    log = replace(log, problem=stated, known=stated.declared[None])
    result, other = value(log), curve(log, budgets=(0.2, 0.5))
    said = result.checks["predictions"]
    assert said == other.checks["predictions"]  # though the rows of a curve are in the order of folds
    assert said.startswith("predictions of 'worth' are off: in 10% of the rows with '")
    assert f"check: {said}" in str(result)
    assert "is worth the most" in result.headline()


def by_hand(off, rows=1000, predicted=0.0, **other):
    """A log of one action whose prediction is the same in all rows, 0 if none is stated, and what follows."""
    log = log_of(World(rows, straight, amounts=noisy), 0)[0]
    features, none = np.column_stack([np.ones(rows), np.arange(rows) % 2]), np.full((rows, 3), predicted)
    log = replace(log, features=features, actions=np.zeros(rows, int), outcomes=off[:, None], **other)
    return calibration(log, {"worth": Tables(none, none)})


def test_rounding_of_an_outcome_that_hardly_varies_is_no_fault():
    rows = np.arange(1000) % 2
    assert by_hand(np.full(1000, 0.4), predicted=0.4 - 1e-5) is None
    assert by_hand(0.4 + 1e-4 * rows, predicted=0.4) is None
    assert by_hand(np.full(1000, 0.4), predicted=0.39) is not None


def test_weights_customers_and_the_number_of_rows_count():
    apart = np.where(np.arange(1000) % 4 < 2, 1.0, -1.0)
    assert by_hand(apart) is None
    heavy = Clusters.of(np.arange(1000)).weighted(np.where(apart > 0.0, 2.0, 0.5))
    assert "0 was predicted and 0.6 ± " in by_hand(apart, cluster=heavy)
    noise = 0.7 + np.random.default_rng(0).standard_normal(1000)
    assert "0 was predicted and 0.6" in by_hand(noise)
    assert by_hand(noise, cluster=Clusters.of(np.arange(1000) // 25)) is not None
    assert by_hand(noise, cluster=Clusters.of(np.arange(1000) // 100)) is None  # ten customers tell too little
    assert by_hand(noise[:199] + 9.0, 199) is None
