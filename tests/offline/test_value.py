"""Values of rules and policies, and the errors of bad ones."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.logs.problem_file import parse
from evenhand.offline import value
from evenhand.offline.values import policy_of
from evenhand.problem import Budget, Outcome
from tests.offline.logs import draw, problem

PROBLEM = """
maximize = "sale"
horizon = 10
action = { values = { "" = "none", "S-Mail 07" = "small", L = "large" } }
outcomes = { sale = { column = "sale" } }
"""


@pytest.fixture(scope="module")
def log():
    found = draw(3000, 8).evidence
    return replace(found, columns={**found.columns, "town": np.array(["A", "B", "A"] * 1000)})


def valued(found, name):
    return next(p for p in found.policies if p.policy == name)


def test_rules_decide_by_their_first_part_that_holds(log):
    x0, x1, town = (log.columns[c] for c in ("x0", "x1", "town"))
    rule = "small where x0 < 0 and town = A; large where x1 >= 0.5; else none"
    expected = np.where((x0 < 0) & (town == "A"), 1, np.where(x1 >= 0.5, 2, 0))
    assert np.array_equal(policy_of(rule, log).argmax(1), expected)
    assert policy_of("else large", log)[:, 2].all()
    assert np.array_equal(policy_of("small where town != A; else none", log)[:, 1] == 1, town == "B")
    assert np.array_equal(policy_of("small where x0 == 0.25; else none", log)[:, 1] == 1, x0 == 0.25)


def test_missing_numbers_satisfy_no_condition_but_that_they_are_missing(log):
    x0 = np.where(np.arange(log.rows) % 5 == 0, np.nan, log.columns["x0"])
    gappy = replace(log, columns={"x0": x0, "x1": log.columns["x1"]})
    for condition, holds in (
        ("x0 = missing", np.isnan(x0)),
        ("x0 != missing", ~np.isnan(x0)),
        ("x0 > 0.5", x0 > 0.5),
        ("x0 != 0.5", (x0 != 0.5) & ~np.isnan(x0)),
    ):
        assert np.array_equal(policy_of(f"small where {condition}; else none", gappy)[:, 1] == 1, holds), condition
    with pytest.raises(InvalidInput, match="a number to compare x1 with, got 'missing'"):
        policy_of("small where x1 = missing; else none", gappy)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "rule: expected"),
        ("small where x0 < 0", "rule: expected"),
        ("small; else none", "rule: expected"),
        ("small where x0; else none", "a condition such as"),
        ("smal where x0 < 0; else none", r"one of the actions .* \\(did you mean small\\?\\)"),
        ("small where x0 < 0; else nothing", "one of the actions"),
        ("small where x9 < 0; else none", "one of the features"),
        ("small where x0 < many; else none", "a number to compare x0 with, got 'many'"),
        ("small where town < A; else none", "= or != for town"),
        ("small where x0 < nan; else none", "a number to compare x0 with, got 'nan'"),
        ("small where x0 < 4_0; else none", "a number to compare x0 with, got '4_0'"),
        ("small where town = C; else none", "one of the values of town"),
    ],
)
def test_rules_that_are_none(log, rule, message):
    with pytest.raises(InvalidInput, match=message.replace("\\\\", "\\")):
        policy_of(rule, log)


@pytest.mark.parametrize("word", ["or", "OR"])
def test_rules_have_no_or_but_two_parts(log, word):
    for first in ("x0 < 0", "x0 < 0 and x3 < 1"):
        rule = f"small where {first} {word} x1 > 1; else none"
        with pytest.raises(InvalidInput, match=r"there is no or: write two parts, such as \"small where \.\.\."):
            policy_of(rule, log)
    with pytest.raises(InvalidInput, match="there is no or"):
        policy_of(f"small where town = A {word} town = B; else none", log)
    either = replace(log, columns={"town": np.array([f"A {word} B", "C", "C"] * 1000)})
    assert policy_of(f"small where town = A {word} B; else none", either)[:, 1].sum() == 1000


def test_unknown_actions_of_rules_are_said_to_be_others(log):
    spec = parse(PROBLEM, "p.toml")
    for name, meant in (("SMALL", "small"), ("S-Mail 07", "small"), ("Large", "large")):
        with pytest.raises(InvalidInput, match=rf"got {name} \(did you mean {meant}\?\)"):
            policy_of(f"{name} where x0 < 0; else none", replace(log, spec=spec))


def test_quoted_names_of_rules(log):
    towns = np.array(["Bonn and Ulm", "'s-Gravenhage", "a; b = c"] * 1000)
    odd = replace(log, columns={"town; part": towns, "x0": log.columns["x0"]})
    for rule, town in (
        ('small where "town; part" = "Bonn and Ulm"; else none', "Bonn and Ulm"),
        ('small where "town; part" = "\'s-Gravenhage"; else none', "'s-Gravenhage"),
        ("small where 'town; part' = 'a; b = c' and x0 < 9; else none", "a; b = c"),
    ):
        assert np.array_equal(policy_of(rule, odd)[:, 1] == 1, towns == town)


def test_names_that_the_table_has(log):
    for name in ("as logged", "all none"):
        with pytest.raises(InvalidInput, match="policies: expected names that no other policy of the table has"):
            value(log, policies={name: np.full((3000, 3), 1 / 3)})


def test_a_model_that_predicts_columns(log):
    class Column:
        def fit(self, x, y):
            return self

        def predict(self, x):
            return np.zeros((len(x), 1))

    with pytest.raises(InvalidInput, match=r"model: expected a finite prediction for each of 600 rows, got shape"):
        value(log, model=Column)


def test_values_against_the_truth():
    log, means = draw(40_000, 3, skewed=True)
    rule = "large where x0 > 0; else none"
    found = value(log, rules=[rule], policies={"even": np.full((40_000, 3), 1 / 3)})
    truths = {
        "all none": means[:, 0].mean(),
        "all large": means[:, 2].mean(),
        rule: np.where(log.columns["x0"] > 0, means[:, 2], means[:, 0]).mean(),
        "even": means.mean(),
    }
    for name, truth in truths.items():
        p = valued(found, name)
        for estimate in (p.value, p.by["ips"], p.by["snips"]):
            assert abs(estimate.value - truth) <= 4 * estimate.se, name
    assert valued(found, rule).value.se < valued(found, rule).by["ips"].se
    assert valued(found, "as logged").value.value == log.outcomes.mean()
    assert valued(found, "all large").used["cents"].value == 2.0
    assert [p.policy for p in found.policies] == [
        *(
            "as logged",
            "all none",
            "all small",
            "all large",
            "targeted, cents 0.4",
            "targeted, all limits",
            rule,
            "even",
        )
    ]
    targeted = valued(found, "targeted, cents 0.4")
    assert targeted.used["cents"].value == pytest.approx(0.4)
    assert "note: 'all large' uses 2 cents per case of 0.4" in str(found)


def test_two_actions_with_equal_chances_are_compared_as_cuped_does():
    rng, rows = np.random.default_rng(4), 4000
    x, letter = rng.standard_normal(rows), rng.random(rows) < 0.5
    y = np.clip(10.0 + 2.0 * x + 0.3 * letter + rng.standard_normal(rows), 0.0, 20.0)
    stated = {"maximize": "y", "horizon": 100, "features": {"numeric": ["x"]}, "propensity": {"constant": 0.5}}
    stated |= {"action": {"column": "arm", "values": ["none", "letter"]}, "outcomes": {"y": {"range": [0, 20]}}}
    found = value(pa.table({"x": x, "arm": np.where(letter, "letter", "none"), "y": y}), stated)
    z = y - np.cov(x, y)[0, 1] / x.var(ddof=1) * (x - x.mean())  # Deng, Xu, Kohavi and Walker 2013
    cuped = z[letter].mean() - z[~letter].mean()
    error = np.sqrt(z[letter].var() / letter.sum() + z[~letter].var() / (~letter).sum())
    plain = np.sqrt(y[letter].var() / letter.sum() + y[~letter].var() / (~letter).sum())
    less = found.policies[2].less["all none"]
    assert less.value == pytest.approx(cuped, abs=0.1 * error)
    assert less.se == pytest.approx(error, rel=0.01)
    assert found.cuped == pytest.approx(1.0 - (error / plain) ** 2, abs=0.01)
    assert f"predictions take {found.cuped:.0%} off the variance of 'all letter' less 'all none'" in str(found)


def test_few_rows_that_agree_are_said():
    log = draw(90, 3).evidence
    assert "effective cases, too few for its intervals" in str(value(log))


def test_learned_costs_are_estimated(log):
    stated = problem(subject_to=(Budget("sale", rate=0.3),), maximize="cents")
    found = value(replace(log, problem=stated))
    p = valued(found, "all small")
    rows = log.actions == 1
    assert p.value.value == 1.0
    assert abs(p.used["sale"].value - log.outcomes[rows].mean()) < 4 * p.used["sale"].se


def test_prices_multiply_what_is_learned():
    outcomes = (Outcome("sale", times="price"), Outcome("price", known={"small": 10.0, "large": 40.0}))
    stated = problem(outcomes=outcomes, subject_to=())
    log, means = draw(40_000, 6, stated=stated)
    p = valued(value(log), "all large")
    assert abs(p.value.value - 40.0 * means[:, 2].mean()) <= 4 * p.value.se


def test_results_and_frames(log, tmp_path):
    found = value(log, rules=["small where x0 < 0; else none"], out=tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert {row["system"] for row in kept["rows"]} == {"all policies", *(p.policy for p in found.policies)}
    frame = found.to_frame().set_index("policy")
    assert frame.loc["all none", "value"] == valued(found, "all none").value.value
    assert frame.loc["as logged", "beyond logged"] == 0.0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            np.ones((2, 3)) / 3,
            r"policies\['mine'\]: expected an action for each row, or probabilities of shape \(3000, 3\)",
        ),
        (np.ones((3000, 3)), r"policies\['mine'\]: expected probabilities of at least 0 that add up to 1"),
        (np.full((3000, 3), np.nan), r"policies\['mine'\]: expected probabilities of at least 0"),
    ],
)
def test_policies_that_are_none(log, policy, message):
    with pytest.raises(InvalidInput, match=message):
        value(log, policies={"mine": policy})


def test_the_columns_of_a_data_frame_are_found_by_the_names_of_actions(log):
    pd = pytest.importorskip("pandas")
    array = np.tile([0.7, 0.2, 0.1], (3000, 1))
    frame = pd.DataFrame(array, columns=["none", "small", "large"], index=np.arange(3000) + 7)
    frame = frame[["large", "none", "small"]]
    found = value(log, policies={"array": array, "frame": frame})
    assert valued(found, "frame").value == valued(found, "array").value
    for columns in (["a", "none", "small"], [0, 1, 2], ["none", "small"]):
        named = ", ".join(map(str, columns))
        with pytest.raises(InvalidInput, match=rf"each action \(none, small, large\).* got the columns {named}"):
            value(log, policies={"mine": pd.DataFrame(array[:, : len(columns)], columns=columns)})
    with pytest.raises(InvalidInput, match=r"policies\['mine'\]: expected numbers in every column"):
        value(log, policies={"mine": frame.astype(object).replace(0.7, "much")})


def test_rows_with_withdrawn_actions_agree_with_no_policy(log):
    stated = replace(log.problem, withdrawn=("large",))
    found = value(replace(log, problem=stated))
    same = value(log)
    for name in ("all none", "all small"):
        assert valued(found, name).value == valued(same, name).value
        assert valued(found, name).by["ips"] == valued(same, name).by["ips"]
    assert "all large" not in {p.policy for p in found.policies}
