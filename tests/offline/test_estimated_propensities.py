"""Estimated propensities: beside those of drawn logs, and what is said where the model or the log is not right."""

import numpy as np
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.offline import Evidence
from evenhand.offline.estimated_propensities import CAUTION

pytest.importorskip("sklearn")
ARMS = np.array(["none", "mail", "call"])
PROBLEM = {
    "maximize": "sale",
    "horizon": "log",
    "features": {"numeric": ["x", "z"]},
    "action": {"column": "arm", "values": ARMS.tolist()},
    "propensity": {"estimated": True},
    "outcomes": {"sale": {"range": [0, 10]}},
}
RULE = "mail where x > 0; else none"


def drawn(rows, seed, bend=0.0, slope=0.7):
    """A log whose actions follow a multinomial logistic regression, unless it bends."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, rows))
    off = np.column_stack([0 * x, slope * x - 0.3 * z, 0.5 * z - 0.4 + bend * (x**2 - 1.0)])
    p = np.exp(off) / np.exp(off).sum(1, keepdims=True)
    arm = (rng.random((rows, 1)) > p.cumsum(1)).sum(1).clip(0, 2)
    mean = 2.0 + 0.8 * x + 0.5 * np.sin(2 * z) + np.choose(arm, [0 * x, 0.6 * x, 0 * x + 0.3])
    sale = np.clip(mean + rng.standard_normal(rows), 0.0, 10.0)
    return pa.table({"x": x, "z": z, "arm": ARMS[arm], "sale": sale}), p[np.arange(rows), arm]


def truth():
    rng = np.random.default_rng(99)
    x, z, e = rng.standard_normal((3, 2_000_000))
    return np.clip(2.0 + 0.8 * x + 0.5 * np.sin(2 * z) + 0.6 * x * (x > 0) + e, 0.0, 10.0).mean()


def test_intervals_hold_with_propensities_that_are_estimated():
    value, held, by, errors = truth(), 0, {"ips": 0, "snips": 0}, []
    for seed in range(80):
        found = eh.value(drawn(1500, seed)[0], PROBLEM, rules=[RULE]).policies[-1]
        low, high = found.value.interval
        held += low <= value <= high
        errors.append((found.value.value - value, found.value.se))
        for name in by:
            ends = found.by[name].interval
            by[name] += ends[0] <= value <= ends[1]
    off, se = np.array(errors).T
    assert held >= 71  # of 80: three in a thousand fall below where 95 % hold
    assert min(by.values()) >= 71
    assert abs(off.mean()) < 3.0 * off.std() / np.sqrt(80.0)
    assert se.mean() / off.std() == pytest.approx(1.0, abs=0.25)


def test_estimates_are_near_the_propensities_and_are_said():
    log, p = drawn(6000, 100)
    evidence = Evidence.read(log, PROBLEM)
    assert np.abs(evidence.propensities - p).mean() < 0.01
    found = eh.value(evidence)
    assert found.notes[0] == CAUTION
    assert CAUTION in str(found)
    assert found.summary().endswith(f"P{CAUTION[1:]}.")
    assert CAUTION in str(list(found.cautions()))
    assert found.checks["calibration"] is found.checks["propensities"] is found.checks["features"] is None
    assert "is worth the most" in found.headline()
    counted = Evidence.read(log.append_column("n", pa.array(np.arange(6000) % 3 + 1.0)), PROBLEM | {"weight": "n"})
    assert np.abs(counted.propensities - p).mean() < 0.02
    assert np.abs(counted.propensities - evidence.propensities).max() > 0.0


def test_a_log_that_the_model_does_not_fit_recommends_nothing():
    found = eh.value(drawn(4000, 7, bend=0.6)[0], PROBLEM)
    assert "was expected in" in found.checks["calibration"]
    assert "worth" not in found.headline()
    lonely = eh.value(drawn(3000, 8, slope=4.0)[0], PROBLEM)
    assert "had a probability below 1%" in lonely.checks["calibration"]
    right = [Evidence.read(drawn(800, seed)[0], PROBLEM).checks["calibration"] for seed in range(200, 300)]
    assert sum(each is not None for each in right) <= 2


def test_the_order_of_rows_does_not_decide_whether_a_log_fits():
    rng = np.random.default_rng(12)
    town, arm = rng.integers(0, 2, 3000), np.sort(rng.choice(ARMS, 3000))  # rows that are sorted by what was done
    log = pa.table({"x": town * 1.0, "z": np.ones(3000), "arm": arm, "sale": rng.random(3000)})
    assert Evidence.read(log, PROBLEM).checks["calibration"] is None


def test_shares_where_nothing_is_known_of_cases():
    log = drawn(400, 9)[0]
    evidence = Evidence.read(log, PROBLEM | {"features": {}})
    shares = np.bincount(evidence.actions) / 400
    assert evidence.propensities == pytest.approx(shares[evidence.actions], abs=0.05)


def test_what_cannot_be_estimated():
    log = drawn(300, 10)[0]
    with pytest.raises(InvalidInput, match="estimated: expected false where a column or a constant states it"):
        eh.value(log, PROBLEM | {"propensity": {"constant": 0.5, "estimated": True}})
    with pytest.raises(InvalidInput, match=r'estimated = true fits them.*propensity.column = "probability"'):
        eh.value(log, PROBLEM | {"propensity": {}})
    with pytest.raises(InvalidInput, match="propensity: expected a column or a constant"):
        eh.replay_log(log, PROBLEM)


def test_scikit_learn_is_needed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra, match="estimated propensities"):
        eh.value(drawn(300, 11)[0], PROBLEM)
