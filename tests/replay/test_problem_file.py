"""Problem files: what they say, and one clear error for each thing that can be wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.goals import HardBudget, Resolving
from evenhand.live import open_campaign
from evenhand.logs.log import read_log
from evenhand.logs.problem_file import constraint_kinds, read_spec
from evenhand.logs.settings import Settings, systems
from evenhand.logs.spec import Grouping
from evenhand.models import (
    BayesianLogistic,
    Fixed,
    Glmtron,
    Gradient,
    Logarithmic,
    OnlineToBatch,
    Ridge,
    Stacked,
    advised,
)
from evenhand.objectives import GeneralizedGini, Linear
from evenhand.problem import Budget, NeverWorse, Parity, Within
from evenhand.recipes import resolving
from evenhand.replay import replay_log
from evenhand.sets import Ball, Halfspaces, Intersection
from tests.replay import shop

EMAIL = Path(__file__).parents[2] / "examples" / "email.toml"


def read(tmp_path, text):
    path = tmp_path / "problem.toml"
    path.write_text(text)
    return read_spec(path)


def test_the_example_of_the_e_mails():
    spec = read_spec(EMAIL)
    assert tuple(spec.actions.values()) == ("none", "mens", "womens")
    assert spec.subject_to == (Budget("email", rate=0.3), Parity("email", by="zip_code", tolerance=0.02))
    assert spec.groups == {"zip_code": Grouping(column="zip_code")}
    assert spec.columns == {"visit": "visit"}
    problem = spec.problem({"zip_code": {"Rural": 0.2, "Urban": 0.8}})
    assert problem.declared.tolist() == [[0.0], [1.0], [1.0]]
    assert (problem.maximize, problem.horizon) == ("visit", 20_000)


def test_the_guide_shows_the_example_as_it_is(tmp_path):
    guide = (EMAIL.parents[1] / "docs" / "replay.md").read_text()
    shown = guide.split("```toml\n")[1].split("```")[0]
    assert read(tmp_path, shown) == read_spec(EMAIL)


def test_the_guide_shows_policies_and_objectives_that_can_be_read(tmp_path):
    guide = (EMAIL.parents[1] / "docs" / "replay.md").read_text()
    shown = [part.split("```")[0] for part in guide.split("```toml\n")[1:]]
    (policies,) = (part for part in shown if part.startswith("[policy]"))
    (objective,) = (part for part in shown if part.startswith("[maximize]"))
    spec = read(tmp_path, shop.PROBLEM[: shop.PROBLEM.index("[policy]")] + policies)
    assert (spec.settings.name, spec.settings.model) == ("resolving", "logistic")
    text = shop.PROBLEM.replace('maximize = "visit"', "").replace("[outcomes.post]", "[outcomes.call]\n[outcomes.post]")
    assert read(tmp_path, text[: text.index("[policy]")] + objective + policies).maximize == GeneralizedGini(
        ("visit", "call"), (1.0, 0.25)
    )


def test_everything_that_can_be_said(tmp_path):
    spec = read(
        tmp_path,
        """
        maximize = { visit = 1, money = 0.01 }
        horizon = 100
        allow_bad = 0.2
        features = { numeric = ["age"], categorical = ["town"] }
        interactions = { a = ["age", "town"], b = [] }
        action = { column = "letter", values = { "0" = "none", "1" = "a", "2" = "b", "3" = "b" } }
        propensity = { column = "p" }
        budget = [{ outcome = "post", total = 30 }, { outcome = "money", rate = 5 }]
        parity = [
            { outcome = "post", by = "where", tolerance = 0 },
            { outcome = "post", by = "age group", tolerance = 1 },
        ]
        [outcomes]
        visit = {}
        money = { column = "spend", range = [-5, 500] }
        post = { known = { a = 1, b = 2 } }
        [groups]
        where = { column = "town", shares = { north = 0.3, south = 0.7 } }
        "age group" = { shares = "estimated" }
        [policy]
        name = "pgd_adaptive"
        model = "ridge"
        ridge = 2
        width = 0
        warmup = 0
        thresholds = [10, 20.5]
        reset = true
        margin = 0
        """,
    )
    assert spec.propensity == "p"
    assert spec.interactions == {"a": ("age", "town"), "b": ()}
    assert spec.actions == {"0": "none", "1": "a", "2": "b", "3": "b"}
    assert spec.maximize == Linear({"visit": 1.0, "money": 0.01})
    assert spec.groups["where"] == Grouping(column="town", shares={"north": 0.3, "south": 0.7})
    assert spec.groups["age group"] == Grouping(column="age group", shares="estimated")
    assert spec.settings == Settings(
        name="pgd_adaptive",
        arguments={"warmup": 0, "thresholds": [10, 20.5], "reset": True, "margin": 0},
        model="ridge",
        model_arguments={"ridge": 2, "width": 0},
    )
    problem = spec.problem({"age group": ("young", "old")})
    assert problem.high.tolist() == [1.0, 500.0]
    assert problem.actions == ("none", "a", "b")
    assert spec.places == {
        "letter": "action.column",
        "p": "propensity.column",
        "age": "features.numeric",
        "town": "groups.where",
        "visit": "outcomes.visit",
        "spend": "outcomes.money",
        "age group": "groups.age group",
    }


@pytest.mark.parametrize("count", [9, 8])
def test_a_prior_has_as_many_numbers_as_the_log_has_features(tmp_path, count):
    """Of three letters an intercept, the age and the town each; the file alone says not how many towns there are."""
    problem = shop.PROBLEM[: shop.PROBLEM.index("[policy]")]
    stated = f"[policy]\nname = 'ucb'\nmodel = 'bayesian_ridge'\nprior = {{ mean = {[0.1] * count}, sd = 0.05 }}"
    files = shop.write(tmp_path, shop.rows(1000), problem + stated)
    if count == 9:
        assert replay_log(*files, replicas=1, bootstrap=0, progress=False).runs
    else:
        with pytest.raises(InvalidInput, match=r"Prior\.mean: .* shape \(9,\).*, got one of the shape \(8,\)"):
            replay_log(*files, replicas=1, bootstrap=0, progress=False)


def policy(text):
    """The problem with another [policy]."""
    return shop.PROBLEM[: shop.PROBLEM.index("[policy]")] + f"[policy]\n{text}\n"


def test_any_recipe_with_its_own_arguments(tmp_path):
    spec = read(
        tmp_path, policy('name = "resolving"\nmodel = "ridge"\nwarmup = 7\nevery = 50\ncontexts = 200\nwidth = 0.2')
    )
    assert spec.settings == Settings(
        name="resolving",
        arguments={"warmup": 7, "every": 50, "contexts": 200},
        model="ridge",
        model_arguments={"width": 0.2},
    )
    made = spec.settings.build(spec.problem({"town": ("north", "south")}), n_features=3)
    direct = resolving(made.problem, Ridge(n_features=3, width=Fixed(0.2)), warmup=7, every=50, contexts=200)
    assert (made.choice, made.model) == (direct.choice, direct.model)
    (planner,) = (g for g in made.goals if isinstance(g, Resolving))
    assert (planner.every, planner.contexts) == (50, 200)


def test_a_model_with_its_own_arguments(tmp_path):
    text = 'name = "lin_cbwk"\n[policy.model]\nname = "ridge"\nridge = 2\nwidth = { kind = "logarithmic", scale = 0.1 }'
    spec = read(tmp_path, policy(text))
    assert spec.settings.model_arguments["ridge"] == 2
    problem = spec.problem({"town": ("north", "south")})
    assert spec.settings.build_model(problem, 3) == Ridge(n_features=3, ridge=2.0, width=Logarithmic(0.1))
    oracle = read(tmp_path, policy('name = "square_cbwk"\nrate = 20\nmodel = "glmtron"\nlink = "logistic"'))
    assert oracle.settings.build_model(problem, 3) == Glmtron(n_features=3, link="logistic")
    inner = 'name = "resolving"\n[policy.model]\nname = "online_to_batch"\ninner = { kind = "gradient", step = 0.5 }'
    assert read(tmp_path, policy(inner)).settings.build_model(problem, 3) == OnlineToBatch(
        inner=Gradient(n_features=3, step=0.5)
    )


def test_without_a_model_it_is_the_one_that_is_advised(tmp_path):
    settings = read(tmp_path, policy('name = "resolving"')).settings
    problem = read(tmp_path, shop.PROBLEM).problem({"town": ("north", "south")})
    assert settings.build(problem, n_features=3).model == advised(problem, 3) == BayesianLogistic(n_features=3)
    with pytest.raises(InvalidInput, match=r"policy\.width: expected one of the keys name, model, .*, every, .*got"):
        read(tmp_path, policy("name = 'resolving'\nwidth = 0.2"))


def test_a_width_is_in_units_of_each_outcomes_range(tmp_path):
    text = policy("model = 'ridge'\nwidth = 0.5").replace(
        "[outcomes.post]", "[outcomes.spend]\nrange = [0, 100]\n\n[outcomes.post]"
    )
    spec = read(tmp_path, text)
    model = spec.settings.build_model(spec.problem({"town": ("north", "south")}), 3)
    assert model == Stacked((Ridge(n_features=3, width=Fixed(0.5)),) * 2)
    state = model.start(1, np.zeros(2), np.array([1.0, 100.0]), 100)
    w, x = np.array([[[[1.0, 0.0]], [[0.0, 1.0]]]]), np.full((1, 1, 3), 0.1)
    bonus = model.value(state, x, w, np.zeros((1, 0))).bonus[0, :, 0]
    assert bonus[1] == 100.0 * bonus[0] > 0.0


def test_budgets_are_hard_unless_the_file_says_otherwise(tmp_path):
    for text, hard in (("", True), ("hard = false", False)):
        spec = read(tmp_path, policy(text))
        goals = spec.settings.build(spec.problem({"town": ("north", "south")}), 3).goals
        assert any(isinstance(g, HardBudget) for g in goals) is hard


TWO = shop.PROBLEM.replace("[outcomes.post]", '[outcomes.call]\ncolumn = "p"\nrange = [0, 0.5]\n\n[outcomes.post]')
GINI = '{ kind = "generalized_gini", outcomes = ["visit", "call"], weights = [1, 0.25] }'


def test_an_objective_of_any_kind(tmp_path):
    text = TWO.replace('maximize = "visit"', f"maximize = {GINI}").replace("[policy]", '[policy]\nname = "fw_dual"')
    spec = read(tmp_path, text)
    assert spec.maximize == GeneralizedGini(("visit", "call"), (1.0, 0.25))
    names = [p.name for p in systems(spec.problem({"town": ("north", "south")}), spec.settings, 3)]
    assert names == ["fw_dual, budget and parity", "fw_dual, budget alone", "no constraints", "uniform"]


def test_a_baseline_and_a_withdrawn_action(tmp_path):
    limit = '[[never_worse]]\noutcome = "visit"\nthan = "usual"\nalpha = 0.1\nslack = 5\n\n[policy]'
    spec = read(tmp_path, shop.PROBLEM)
    actions = list(dict.fromkeys(spec.actions.values()))
    known = "{" + ", ".join(f'"{a}" = 0.2' for a in actions) + "}"
    text = f'withdrawn = ["{actions[-1]}"]\n' + shop.PROBLEM.replace(
        "[policy]", f"[outcomes.usual]\nknown = {known}\n\n{limit}"
    )
    found = read(tmp_path, text).problem({"town": ("north", "south")})
    assert found.withdrawn == (actions[-1],)
    assert NeverWorse("visit", than="usual", alpha=0.1, slack=5.0) in found.subject_to


def test_averages_in_a_convex_set(tmp_path):
    disc = '{ kind = "ball", centre = [0.2, 0.1], radius = 0.3 }'
    cut = f'{{ kind = "intersection", parts = [{disc}, {{ kind = "halfspaces", rows = [[1, -1]], bounds = [0.2] }}] }}'
    text = TWO.replace("[policy]", f'[[within]]\noutcomes = ["visit", "call"]\nwithin = {cut}\n\n[policy]')
    spec = read(tmp_path, text[: text.index("[policy]")] + '[policy]\nname = "resolving"')
    within = Within(("visit", "call"), Intersection((Ball((0.2, 0.1), 0.3), Halfspaces(((1.0, -1.0),), (0.2,)))))
    assert within in spec.subject_to
    found = systems(spec.problem({"town": ("north", "south")}), spec.settings, 3)
    assert next(p.name for p in found) == "resolving, budget and parity and within"


def test_a_recipe_of_allocations_is_refused_by_name_and_not_replaced(tmp_path):
    """Without constraints, a recipe that needs some is compared as `ucb`; one that needs arms is no such recipe."""
    problem = replace(read(tmp_path, policy("")).problem({"town": ("north", "south")}), subject_to=())
    for name in ("cab_ucb", "resolving_allocation"):
        with pytest.raises(InvalidInput, match=r"policy: Problem\.measures: expected one Satisfaction"):
            systems(problem, Settings(name=name), 3)
    assert [p.name for p in systems(problem, Settings(name="pgd"), 3)] == ["no constraints", "uniform"]


def test_kinds_of_constraints_are_what_the_package_exports():
    assert {"budget", "parity"} <= set(constraint_kinds())


def test_another_recipe_keeps_the_arguments_that_it_has(tmp_path):
    settings = read(tmp_path, shop.PROBLEM).settings
    other, notes = settings.with_recipe("resolving")
    assert (other.name, other.arguments) == ("resolving", {"warmup": 20})
    (step,) = set(settings.arguments) - {"warmup"}
    assert notes == [f"policy.{step} is not an argument of resolving and was left out"]


def test_a_learned_or_noisy_outcome_may_be_free_under_some_actions(tmp_path):
    text = shop.PROBLEM.replace(
        "[outcomes.visit]", '[outcomes.cents]\nrange = [0, 9]\nfree = ["none"]\n\n[outcomes.visit]'
    )
    spec = read(tmp_path, text)
    (cents,) = (o for o in spec.outcomes if o.name == "cents")
    assert (cents.free, cents.is_learned, cents.is_free("none"), cents.is_free("a")) == (("none",), True, True, False)
    noisy = read(tmp_path, text.replace("range = [0, 9]", "range = [0, 9]\nmean = { a = 2, b = 3 }")).outcomes[0]
    assert (noisy.free, noisy.is_noisy) == (("none",), True)
    with pytest.raises(InvalidInput, match=r"line 18: .*cents.*free: expected one of the actions .* got nobody"):
        read(tmp_path, text.replace('free = ["none"]', 'free = ["nobody"]'))
    with pytest.raises(InvalidInput, match=r"outcomes\.cents\.free: expected a list of different texts"):
        read(tmp_path, text.replace('free = ["none"]', 'free = "none"'))


def test_a_learned_or_noisy_outcome_may_have_a_range_for_each_action(tmp_path):
    cents = '[outcomes.cents]\nrange = { a = [0, 2], b = [1, 9] }\nfree = ["none"]\n\n[outcomes.visit]'
    text = shop.PROBLEM.replace("[outcomes.visit]", cents)
    found = read(tmp_path, text).outcomes[0]
    assert [found.ends(action) for action in ("none", "a", "b")] == [(0, 0), (0, 2), (1, 9)]
    assert found.widest == (0, 9)
    noisy = read(tmp_path, text.replace('free = ["none"]', "mean = { a = 1, b = 3 }")).outcomes[0]
    assert [noisy.ends(action) for action in ("none", "a", "b")] == [(0, 0), (0, 2), (1, 9)]
    with pytest.raises(InvalidInput, match=r"line 17: .*an end for every action that is not free, got none for 'none'"):
        read(tmp_path, text.replace('free = ["none"]\n', ""))
    for wrong in ("{ a = [0, 2], b = [9, 1] }", "{ a = 2, b = 9 }", "[2, 1]"):
        expected = r"outcomes\.cents\.range: expected \[low, high\] with low < high, or a table of such by action"
        with pytest.raises(InvalidInput, match=expected):
            read(tmp_path, text.replace("{ a = [0, 2], b = [1, 9] }", wrong))


@pytest.mark.parametrize("kind", ['free = ["none"]', "mean = { a = 2, b = 3 }", "mean = { a = 2, b = 3 }\nfree = []"])
def test_a_total_below_what_any_paid_play_may_cost_is_refused_before_the_log_is_read(tmp_path, kind):
    """0.02 x 300 rounds are 6, and any letter may cost 9: nothing would ever be spent, and all systems be alike."""
    text = shop.PROBLEM.replace("[outcomes.visit]", f"[outcomes.cents]\nrange = [0, 9]\n{kind}\n\n[outcomes.visit]")
    budget = '[[budget]]\noutcome = "cents"\nrate = '
    expected = r"Budget 'cents', kept hard: expected a total of at least 9: any single play that is not free may use"
    with pytest.raises(InvalidInput, match=expected):
        read(tmp_path, text.replace("[[parity]]", f"{budget}0.02\n\n[[parity]]"))
    assert read(tmp_path, text.replace("[[parity]]", f"{budget}0.03\n\n[[parity]]")).horizon == 300


def test_a_file_needs_no_column_of_actions_where_no_log_is_read(tmp_path):
    text = shop.PROBLEM.replace('column = "letter"\n', "").replace(shop.VALUES, 'values = ["none", "a", "b"]')
    spec = read(tmp_path, text)
    assert (spec.action, dict(spec.actions)) == (None, {"none": "none", "a": "a", "b": "b"})
    stated = text.replace(
        "[action]", "[features.ranges]\nage = [20, 80]\n[features.levels]\ntown = ['north', 'south']\n[action]"
    )
    file = tmp_path / "stated.toml"
    file.write_text(stated.replace("[policy]", "[groups.town]\nshares = 'estimated'\n[policy]"))
    with open_campaign("memory://", "post", file) as campaign:
        assert campaign.decide({"age": 33, "town": "north"}, key="one").id == 2


@pytest.mark.parametrize("command", ["replay", "value", "curve", "serve"])
def test_what_reads_a_log_says_that_the_column_of_actions_is_missing(tmp_path, capsys, command):
    text = shop.PROBLEM.replace('column = "letter"\n', "").replace(shop.VALUES, 'values = ["none", "A", "B"]')
    log, problem = shop.write(tmp_path, shop.rows(40), text.replace("{ a = 1, b = 1 }", "{ A = 1, B = 1 }"))
    more = ["--problem", str(problem)]
    options = {
        "serve": [str(problem), "--store", f"sqlite:///{tmp_path}/a.db", "--learn-from", str(log)],
        "replay": [str(log), *more],
        "value": [str(log), *more],
        "curve": [str(log), *more],
    }
    assert main([command, *options[command]]) == 2
    told = capsys.readouterr().err
    assert "action.column: expected the column of the logged action, as a log is read" in told
    assert 'of the export of a campaign it is propensity.column = "probability"' in told


def test_logged_values_may_be_the_names(tmp_path):
    text = shop.PROBLEM.replace(shop.VALUES, 'values = ["none", "A", "B"]').replace(
        "{ a = 1, b = 1 }", "{ A = 1, B = 1 }"
    )
    rows = [[z or "none" for z in row] for row in shop.rows(40)]
    found = read_log(*shop.write(tmp_path, rows, text))
    assert found.problem.actions == ("none", "A", "B")
    assert len(found) == 40
