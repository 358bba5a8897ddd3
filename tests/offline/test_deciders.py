"""Policies that are fitted elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import Evidence, value
from evenhand.offline.policies import decided
from evenhand.offline.values import policy_of
from tests.offline.logs import draw
from tests.offline.test_commands import PROBLEM

pd = pytest.importorskip("pandas")
tree = pytest.importorskip("sklearn.tree")


@pytest.fixture(scope="module")
def log():
    found = draw(2000, 8).evidence
    return replace(found, columns={**found.columns, "town": np.array(["A", "B"] * 1000)})


def fitted(log, labels, columns=("x1", "x0")):
    frame = pd.DataFrame({c: log.columns[c] for c in columns})
    return tree.DecisionTreeClassifier(random_state=0).fit(frame, labels)


def test_estimators_decide_as_the_rule_that_they_learned(log):
    rule = "large where x0 < -0.2; small where x1 > 0.5; else none"
    labels = np.array(log.names)[policy_of(rule, log).argmax(1)]
    estimator = fitted(log, labels)
    assert np.array_equal(decided("mine", estimator, log), policy_of(rule, log))
    found = {p.policy: p for p in value(log, rules=[rule], policies={"mine": estimator}).policies}
    mine, own = found["mine"], found[rule]
    assert mine._replace(policy=rule, less=own.less) == own
    others = own.less.keys() - {"mine"}
    assert {name: mine.less[name] for name in others} == {name: own.less[name] for name in others}


def test_names_and_functions_are_policies(log):
    """An array, a list and a Series of names, and functions that return names or lotteries, all of one rule."""
    rule = "large where x0 < -0.2; else none"
    names, lottery = np.where(log.columns["x0"] < -0.2, "large", "none"), policy_of(rule, log)
    given = {
        "array": names,
        "list": names.tolist(),
        "series": pd.Series(names, index=np.arange(log.rows) + 5),
        "function": lambda frame: np.where(frame["x0"] < -0.2, "large", "none"),
        "lottery": lambda frame: lottery,
        "frame": lambda frame: pd.DataFrame(lottery, columns=list(log.names)),
    }
    found = {p.policy: p for p in value(log, rules=[rule], policies=given).policies}
    for name in given:
        assert found[name].value == found[rule].value
    for policy, message in (
        (names[:-1], r"policies\['mine'\]: expected an action for each of 2,000 rows, got shape \(1999,\)"),
        (np.where(names == "none", "non", names), r"policies\['mine'\]: expected actions, .*did you mean none"),
        (
            np.array([["a", "b", "c"]] * 2000),
            r"policies\['mine'\]: expected numbers, or the name of an action for each",
        ),
        (lambda frame: 3, r"policies\['mine'\]: expected an action for each row, or probabilities of shape"),
        ("none", r"policies\['mine'\]: expected an action for each row, or probabilities of shape|expected numbers"),
    ):
        with pytest.raises(InvalidInput, match=message):
            value(log, policies={"mine": policy})


def test_a_regressor_with_an_empty_list_of_classes_is_a_regressor():
    """As libraries have it that share a base class with their classifiers."""

    class Mean:
        def fit(self, x, y):
            self.mean, self.classes_ = y.mean(), []
            return self

        def predict(self, x):
            return np.full(len(x), self.mean)

    assert value(draw(600, 1).evidence, model=Mean).policies[1].value.value > 0.0


def test_actions_may_be_named_by_their_values_in_the_log(tmp_path):
    rng, lines = np.random.default_rng(0), ["age,town,sent,p,sale"]
    for _ in range(200):
        sent = "letter" if rng.random() < 0.5 else "no"
        lines.append(f"{rng.integers(20, 60)},{'AB'[rng.integers(2)]},{sent},0.5,{int(rng.random() < 0.3)}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "problem.toml").write_text(PROBLEM)
    log = Evidence.read(tmp_path / "log.csv", tmp_path / "problem.toml")
    wanted = log.columns["age"] < 40
    by_name = fitted(log, np.where(wanted, "letter", "none"), ["age"])
    by_value = fitted(log, np.where(wanted, "letter", "no"), ["age"])
    assert np.array_equal(decided("mine", by_name, log), decided("mine", by_value, log))
    assert np.array_equal(decided("mine", by_name, log)[:, 1] == 1.0, wanted)


def test_estimators_that_cannot_decide(log):
    labels = np.array(["none", "small"] * 1000)
    plain = tree.DecisionTreeClassifier().fit(log.features, labels)
    for estimator, message in (
        (plain, r"policies\['mine'\]: expected an estimator that was fitted to a data frame, got DecisionTreeCl"),
        (fitted(log, np.array(["none", "smal"] * 1000)), r"expected actions, .* got smal \(did you mean small\?\)"),
        (fitted(log, np.arange(2000) % 2), "expected actions, .* got 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            value(log, policies={"mine": estimator})
    other = fitted(replace(log, columns={"x9": log.columns["x1"]}), labels, ["x9"])
    with pytest.raises(InvalidInput, match=r"an estimator of features of drawn.toml, .* got x9"):
        value(log, policies={"mine": other})
    pairs = fitted(log, np.column_stack([labels, labels]))
    with pytest.raises(InvalidInput, match=r"an action for each of 2,000 rows, got shape \(2000, 2\)"):
        value(log, policies={"mine": pairs})
    with pytest.raises(InvalidInput, match=r"expected actions, .* got small"):
        value(replace(log, problem=replace(log.problem, withdrawn=("small",))), policies={"mine": fitted(log, labels)})
