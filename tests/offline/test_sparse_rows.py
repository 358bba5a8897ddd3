"""Values by logs with hashed features: models of outcomes read sparse rows; what reads dense ones is refused."""

import csv

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import unpack
from evenhand.offline import Evidence, Stack, for_whom, to_bandit_feedback, value
from evenhand.offline.outcome_models import Logistic, RidgeByErrors, predicted
from evenhand.offline.sparse_rows import sparse, sparse_ridge
from tests import wide


def test_rows_of_a_log_are_those_of_its_packed_rows(tmp_path):
    log, problem = wide.write(tmp_path)
    evidence = Evidence.read(log, problem)
    found = evidence.features[np.array([5, 3, 500])]
    rows = evidence.features._features[np.array([5, 3, 500])]
    assert np.array_equal(found.toarray(), unpack(rows, 163))
    assert evidence.exact.shape == (600, 3)


def test_a_name_may_be_missing_where_it_is_hashed(tmp_path):
    """Checks of a log read its exact columns, of which such a name has none."""
    problem = wide.PROBLEM.replace("[action]", 'missing = { site = "level" }\n\n[action]')
    log, file = wide.write(tmp_path, problem=problem)
    log.write_text(log.read_text().replace("site7.com", ""))
    assert Evidence.read(log, file).exact[:].shape == (600, 3)
    assert "all shoes" in {p.policy for p in value(log, file).policies}


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sparse_ridge_is_the_dense_one_with_its_penalty(weighted):
    """By the normal equations, with an intercept that is not penalised."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(400), rng.normal(size=400), rng.integers(0, 2, (400, 6))]).astype(float)
    y, weights = x @ rng.normal(size=8) + rng.normal(size=400), rng.uniform(1, 3, 400) if weighted else None
    found, penalty = sparse_ridge(csr_matrix(x), y, weights)
    w = np.ones(400) if weights is None else weights
    shrunk = np.diag(np.r_[0.0, np.full(7, penalty)])
    assert np.allclose(found, np.linalg.solve(x.T @ (w[:, None] * x) + shrunk, x.T @ (w * y)), atol=1e-5)
    assert penalty < 1000.0  # which would leave out what there is to see


def test_a_penalty_is_large_where_there_is_nothing_to_see():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(500), np.eye(50)[rng.integers(0, 50, 500)]])
    assert sparse_ridge(csr_matrix(x), rng.normal(size=500), None)[1] >= 100.0


@pytest.mark.parametrize("model", [RidgeByErrors, Logistic])
def test_a_value_is_that_of_the_log_and_nearer_by_what_sites_and_words_say(tmp_path, model):
    """By the chances of the world: .2 without the advertisement; its effect is on a third of sites and some queries."""
    log, problem = wide.write(tmp_path, count=4000, sites=12)
    chance = np.mean([0.2 + 0.3 * (("shoes" in q) + (int(s[4:-4]) % 3 == 0)) for _, _, s, q, *_ in wide.rows(4000, 12)])
    by_name = {p.policy: p.value for p in value(log, problem, model=model).policies}
    for name, true in (("all none", 0.2), ("all shoes", chance)):
        assert abs(by_name[name].value - true) < 3.5 * by_name[name].se
    bare = wide.PROBLEM.replace('hashed = { site = 64, "site x device" = 32 }', "")
    (tmp_path / "bare.toml").write_text(bare.replace("texts = { query = { hashed = 64, words = 2, at_most = 8 } }", ""))
    without = {p.policy: p.value for p in value(log, tmp_path / "bare.toml", model=model).policies}
    assert by_name["all shoes"].se < 0.97 * without["all shoes"].se


def test_a_list_is_assigned_by_names_that_the_log_has_not(tmp_path):
    log, problem = wide.write(tmp_path, count=3000)
    cases = tmp_path / "cases.csv"
    with cases.open("w", newline="") as out:
        words = ("cheap shoes", "hotel rome", "running shoes red", "")
        csv.writer(out).writerows([wide.HEADER[:4], *[[30, "phone", f"other{i}", q] for i, q in enumerate(words)]])
    found = eh.assign(cases, problem, learn_from=log)
    shoes, *others = (found.expected["click"][i] for i in ([0, 2], [1], [3]))
    assert found.chosen.shape == (4,)
    assert shoes.min() > np.concatenate(others).max()


@pytest.mark.parametrize("read", [for_whom, lambda log, problem: to_bandit_feedback(Evidence.read(log, problem))])
def test_what_reads_dense_rows_refuses_hashed_ones_before_work(tmp_path, read):
    with pytest.raises(InvalidInput, match="none that are hashed in"):
        read(*wide.write(tmp_path))


def test_a_model_that_takes_no_sparse_rows_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="an estimator that takes sparse rows"):
        value(*wide.write(tmp_path), model=Stack)


def test_a_classifier_of_scikit_learn_predicts_sparse_cases():
    from sklearn.linear_model import LogisticRegression

    x = sparse(np.array([[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]] * 50), 3)
    y = np.tile([1.0, 0.0], 50)
    found = predicted(LogisticRegression, x, y, x[:2])
    assert found[0] > 0.8
    assert found[1] < 0.2
