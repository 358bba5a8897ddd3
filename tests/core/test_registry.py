"""Parts by name, and their arguments from plain values."""

from typing import Any

import numpy as np
import pytest

from evenhand.choices import InverseGap, OracleRate, Rate
from evenhand.core.arguments import arguments, build, describe, is_writable, kinds, read
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest, exports
from evenhand.models import Logarithmic, Model, Prior, Ridge
from evenhand.objectives import AlphaFair, GeneralizedGini, Objective, Randomized, WeightedSum
from evenhand.problem import Budget
from evenhand.recipes import fw, primal_lp, resolving
from evenhand.recipes.primal_lp import Slack
from tests.rows import for_each

HOMES = ("recipes", "models", "objectives", "choices", "problem", "environments")


@pytest.mark.parametrize("home", HOMES)
def test_every_export_has_a_name_of_its_own(home):
    import importlib

    package = importlib.import_module(f"evenhand.{home}")
    things = {n: getattr(package, n) for n in package.__all__}
    parts = [n for n, z in things.items() if callable(z) and not getattr(z, "_is_protocol", False)]
    assert len(exports(f"evenhand.{home}")) == len(set(parts)) > 1


def test_what_stands_for_a_protocol_is_what_has_its_methods():
    assert {"ridge", "logistic", "tabular", "sklearn"} <= set(kinds(Model))
    assert not {"fixed", "experts", "model"} & set(kinds(Model))
    assert {"generalized_gini", "linear", "weighted_sum"} <= set(kinds(Objective))
    assert not {"moreau", "objective", "proximal"} & set(kinds(Objective))
    assert kinds(Rate) == {"rate": Rate}


def test_parts_within_parts():
    terms = [[1, {"kind": "generalized_gini", "outcomes": ["a", "b"]}],
             [0.5, {"kind": "alpha_fair", "outcomes": ["a", "b"], "alpha": 1, "offset": 0.1}]]  # fmt: skip
    found = read("maximize", {"kind": "weighted_sum", "terms": terms}, Objective, {})
    gini, fair = GeneralizedGini(("a", "b")), AlphaFair(("a", "b"), 1.0, 0.1)
    assert found == WeightedSum(((1.0, gini), (0.5, fair)))
    model = {"kind": "ridge", "ridge": 2, "width": {"kind": "logarithmic", "scale": 0.1}}
    assert read("model", model, Model, {"n_features": 3}) == Ridge(n_features=3, ridge=2.0, width=Logarithmic(0.1))
    assert read("slack", {"scale": 1, "margin": 0.1}, arguments(primal_lp)["slack"].hint, {}) == Slack(1.0, 0.1)
    choice = arguments(resolving)["choice"].hint
    gamma = {"kind": "inverse_gap", "rate": {"scale": 3, "power": 0.5}}
    assert read("choice", gamma, choice, {}) == InverseGap(Rate(3.0, 0.5))
    gamma["rate"] = {"kind": "rate", "scale": 3, "power": 0.5}
    assert read("choice", gamma, choice, {}) == InverseGap(Rate(3.0, 0.5))
    gamma["rate"] = {"kind": "oracle_rate", "regret": 3, "delta": 0.5}
    assert read("choice", gamma, choice, {}) == InverseGap(OracleRate(regret=3.0, delta=0.5))
    assert read("smoothing", {"kind": "randomized", "beta": 1}, Randomized | None, {}) == Randomized(1.0)


@pytest.mark.parametrize("mean", [0.5, [1, 2.5], [[1, 2], [3, 4]]])
def test_a_prior_may_state_a_number_for_every_coefficient(mean):
    written = {"kind": "bayesian_ridge", "prior": {"mean": mean, "sd": [0.1, 0.2]}}
    prior = read("model", written, Model, {"n_features": 2, "n_outcomes": 2}).prior
    np.testing.assert_array_equal(prior.mean, mean)
    np.testing.assert_array_equal(prior.sd, [0.1, 0.2])


WRONG = [
    (
        {"mean": [1, "2"]},
        Prior,
        r"x\.mean: expected a finite number or a list of finite numbers, or of such lists",
    ),
    ({"mean": [[1, 2], [3]]}, Prior, r"x\.mean: expected .* got \[\[1, 2\], \[3\]\]"),
    ({"mean": [True]}, Prior, r"x\.mean: expected .* got \[True\]"),
    ({"mean": [float("nan")]}, Prior, r"x\.mean: expected .* got \[nan\]"),
    ({"mean": [10**400]}, Prior, r"x\.mean: expected .* got \[1000"),
    ({"kind": "ginny", "outcomes": ["a"]}, Objective, r"x\.kind: expected one of .*alpha_fair, .*, got ginny"),
    ({"outcomes": ["a"]}, Objective, r"x\.kind: expected one of .*alpha_fair, .*, got nothing"),
    ({"kind": "generalized_gini"}, Objective, r"x\.outcomes: expected a list of texts, as GeneralizedGini needs one"),
    ({"kind": "concave", "outcomes": ["a"]}, Objective, r"x\.build: expected an argument that a file can give"),
    ({"kind": "alpha_fair", "outcomes": ["a", "b"], "alpha": -1}, Objective, r"x: AlphaFair.alpha: expected"),
    (
        {"kind": "alpha_fair", "outcomes": ["a"], "alpha": "1"},
        Objective,
        r"x\.alpha: expected a finite number, got '1'",
    ),
    ({"kind": "ridge", "n_features": 3}, Model, r"x\.n_features: expected one of the keys .*, got an unknown key"),
    (float("nan"), float, "x: expected a finite number, got nan"),
    (True, float, "x: expected a finite number, got True"),
    (True, int, "x: expected a whole number, got True"),
    (1, bool, "x: expected true or false, got 1"),
    ([1, "2"], tuple[float, ...], r"x\[1\]: expected a finite number"),
    (3, tuple[float, ...], "x: expected a list of finite numbers, got 3"),
    ([1.0], tuple[float, str], "x: expected a list of finite numbers and texts"),
    (1, dict[str, float], "x: expected a table of finite numbers"),
    (1, Any, "x: expected nothing that a file can give"),
]


@for_each(("value", "hint", "message"), WRONG, ids=lambda z: str(z)[:40])
def test_one_clear_error(value, hint, message):
    with pytest.raises(InvalidInput, match=message):
        read("x", value, hint, {"n_features": 3})


def test_an_argument_that_only_python_can_give_is_said():
    assert not is_writable(arguments(fw)["recipe"].hint)
    with pytest.raises(InvalidInput, match=r"policy\.recipe: expected an argument that a file can give, got fw, which"):
        build(fw, "policy", {}, {"problem": None})
    assert describe(arguments(fw)["recipe"].hint) == "nothing that a file can give"


def test_the_name_that_was_probably_meant_is_not_lost_among_all_others():
    known = {f"name_{i}": i for i in range(50)} | {"uniform": 50}
    with pytest.raises(InvalidInput, match=r"^x: expected one of name_0, .* and \d+ more, got unifrom .did you mean"):
        closest("x", known, "unifrom")
    with pytest.raises(InvalidInput, match=r"name_49, uniform, got zzz$"):
        closest("x", known, "zzz")


def test_a_part_is_built_from_its_own_fields():
    assert build(Budget, "budget[0]", {"outcome": "ride", "total": 3}, {}) == Budget("ride", total=3.0)
    with pytest.raises(InvalidInput, match=r"budget\[0\]\.totl: .* \(did you mean total\?\)"):
        build(Budget, "budget[0]", {"outcome": "ride", "totl": 3}, {})
