"""Logs and lists have the same results in blocks of any size."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from evenhand.logs import arrow, reading
from evenhand.offline import assign, curve, outcome_models, value
from evenhand.offline.evidence import Evidence
from evenhand.offline.plans import allocation

ALONE = """
maximize = "y"
horizon = 100
features = { numeric = ["x", "few"], categorical = ["town"], missing = { few = "indicator", town = "level" } }
action = { column = "arm", values = ["none", "letter", "call"] }
propensity = { constant = 0.3333333333333333 }
outcomes = { y = { range = [0, 1] }, cost = { known = { letter = 1, call = 3 } } }
groups = { town = { column = "town", shares = "log" } }
budget = [{ outcome = "cost", rate = 0.7 }]
"""
FAIR = ALONE + 'parity = [{ outcome = "cost", by = "town", tolerance = 0.3 }]'
PROBLEM = tomllib.loads(FAIR)
SIZES = ((outcome_models, "_AT_ONCE"), (outcome_models, "_PREDICTED"), (allocation, "_AT_ONCE"), (reading, "_NARROW"))


def log(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    arm, x, few = rng.integers(0, 3, rows), rng.normal(size=rows), rng.integers(0, 200, rows) * 1.0
    few[::50] = np.nan
    y = rng.random(rows) < 0.2 + 0.2 * (arm == 1) * (x > 0) + 0.1 * (arm == 2)
    towns, arms = np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, rows)], np.array(["none", "letter", "call"])[arm]
    return pd.DataFrame({"x": x, "few": few, "town": towns, "arm": arms, "y": y * 1.0})


def results(found: pd.DataFrame, folder) -> list[object]:
    found.to_parquet(folder / "log.parquet", row_group_size=1000)
    (folder / "fair.toml").write_text(FAIR)
    path = folder / "log.parquet"
    listed = assign(path, folder / "fair.toml", learn_from=path)
    lines = curve(path, tomllib.loads(ALONE), budgets=4)
    return [value(path, PROBLEM).to_dict(), lines.to_dict(), listed.to_frame().to_dict()]


def test_results_are_the_same_for_blocks_of_any_size(tmp_path, monkeypatch):
    found = log()
    whole = results(found, tmp_path)
    for module, name in SIZES:
        monkeypatch.setattr(module, name, 256)
    monkeypatch.setattr(arrow, "_AT_ONCE", 77)
    assert str(results(found, tmp_path)) == str(whole)


def test_sums_over_parts_of_rows_are_those_of_all(monkeypatch):
    evidence = Evidence.read(log(), PROBLEM)
    whole = evidence.tables()["y"].predicted
    monkeypatch.setattr(outcome_models, "_SUMMED", 100)
    np.testing.assert_allclose(evidence.tables()["y"].predicted, whole, rtol=0.0, atol=1e-12)


def test_features_are_those_of_a_table_by_row_and_by_column():
    features = Evidence.read(log(), PROBLEM).features
    table, rows = features[:], np.array([7, 0, 50])
    assert features[rows].tobytes() == table[rows].tobytes()
    assert features[table[:, 1] > 0].shape[0] == (table[:, 1] > 0).sum()
    for j in range(table.shape[1]):
        assert features[:, j].tobytes() == table[:, j].tobytes()
    assert set(table[:, 3]) == {0.0, 1.0}  # that a number is missing


def test_rows_of_a_log_take_few_bytes():
    columns = Evidence.read(log(), PROBLEM).columns
    assert columns.size == pytest.approx((8 + 4 + 1) * len(log()))  # any number, one with gaps, a level
