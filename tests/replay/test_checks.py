"""Checks of logs: what is planted is found, chance is not, and each says it in one sentence."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.checks import (
    balance,
    budget,
    foreseen,
    groupings,
    horizon,
    lasts,
    most_of,
    of_log,
    overlap,
    propensities,
    quantile,
    reach,
)
from evenhand.logs.checks.propensities import misfit
from evenhand.offline import Evidence, assign, curve, value
from evenhand.problem import Budget, Outcome, Problem
from evenhand.replay import Execution, Runs, replay_log, replay_several
from evenhand.report.results import warnings
from tests.replay import shop
from tests.replay.alarms import AREAS, TOWNS, drawn

INSISTS = shop.PROBLEM.replace("[propensity]", "[propensity]\nunchecked = true")


def test_features_are_read_back_as_the_log_has_them():
    log, _ = drawn(0, rows=500)
    found = {feature.name: feature.values for feature in log.features()}
    assert list(found) == ["age", "spent", "town = Bonn", "town = Köln", "town = Ulm"]
    assert len(found) == log.count
    assert 20.0 <= found["age"].min() < 22.0
    assert 68.0 < found["age"].max() <= 70.0
    assert np.array_equal(sum(found[f"town = {town}"] for town in TOWNS), np.ones(500))


def test_indicators_beside_numbers_are_features_of_their_own():
    log, rng = drawn(0, rows=500)
    places = {"age": [1, 2], "spent": [3]}
    coding = SimpleNamespace(numeric=log.coding.numeric, levels={}, of_column=places)
    gone = (rng.random(500) < 0.2).astype(float)
    odd = replace(log, coding=coding, units=np.column_stack([log.units[:, :2], gone, log.units[:, 2]]))
    found = {feature.name: feature.values for feature in odd.features()}
    assert list(found) == ["age", "age = missing", "spent"]
    assert odd.count == 3
    assert np.array_equal(found["age = missing"], gone)


def test_reaches_are_those_of_normal_averages_and_of_a_few_large_weights():
    """Of averages of Poisson counts, as few are beyond as are meant to be, where normal errors have more."""
    z = quantile(1, 0.01)
    means = np.random.default_rng(1).poisson(2.0, 200_000) / 2.0  # of 1,000 terms, one of 500 of which is 500
    variance, third = np.array(1.0 / 0.002), np.array(1.0 / 0.002**2)
    beyond = (means - 1.0 > reach(z, 1000, variance, third)).mean()
    plain = (means - 1.0 > z * np.sqrt(variance / 1000)).mean()
    assert beyond <= 0.005 < plain
    assert float(reach(z, 100, np.array(4.0), np.array(0.0))) == pytest.approx(z * 0.2)


@pytest.mark.parametrize("least", [0.1, 0.01])
def test_right_logs_pass(least):
    """40 logs; 1,000 of each kind are measured by `python -m tests.replay.alarms`."""
    for seed in range(40):
        log, _ = drawn(seed, least=least)
        assert not any(of_log(log).values()), seed


def test_propensities_that_do_not_fit():
    log, _ = drawn(3)
    wrong = replace(log, propensities=np.where(log.actions == 1, 0.9, 1.0) * log.propensities)
    said = propensities(wrong)
    assert said.startswith(
        "the propensities do not fit the log: rows with 'small', each divided by its propensity, make"
    )
    assert said.endswith("; the results below may be biased")
    for seed in range(20):
        log, _ = drawn(seed, chances=np.array([0.4, 0.3, 0.3]))
        assert "do not fit" in propensities(replace(log, propensities=np.full(4000, 1 / 3))), seed


def test_the_weights_of_a_frequent_action_vary_little():
    """9,300 of 10,000 rows at a stated .9 are far off, as a weight varies by 1 / .9 - 1; the other action is right."""
    log, _ = drawn(0, rows=10_000)
    actions = (np.arange(10_000) >= 9_300).astype(np.int64)
    stated = np.array([0.9, 0.07])[actions]
    said = propensities(
        replace(log, names=("none", "small"), actions=actions, propensities=stated, groups={}, group_names={})
    )
    far = float(reach(quantile(2), 10_000, np.array(1 / 0.9 - 1), np.array(1 / 0.9**2)))
    assert "rows with 'none', each divided by its propensity, make up 1.033 of all such rows" in said
    assert f"within {far:.3f};" in said


def test_propensities_that_do_not_fit_in_one_group():
    """Right on average, but not in either area."""
    rows = 6000
    south = np.random.default_rng(9).random(rows) < 0.5
    chances = np.where(south[:, None], [0.45, 0.1, 0.45], [0.15, 0.7, 0.15])
    log, _ = drawn(0, rows=rows, chances=chances)
    log = replace(log, groups={"area": south.astype(np.int64)})
    assert propensities(log) is None
    average = np.array([0.3, 0.4, 0.3])[log.actions]
    said = propensities(replace(log, propensities=average))
    assert "rows with 'small' of area = " in said
    assert "; so do " in said
    assert propensities(replace(log, propensities=average, groups={}, group_names={})) is None


def test_columns_that_came_after_the_action():
    found = 0
    for seed in range(20):
        log, rng = drawn(seed)
        clicked = np.where(log.actions == 2, rng.random(4000) < 0.3, rng.random(4000) < 0.1).astype(float)
        coding = replace(log.coding, numeric={**log.coding.numeric, "clicked": log.coding.numeric["age"]})
        units = np.insert(log.units, 3, clicked, axis=1)
        said = balance(replace(log, units=units, coding=coding))
        found += said is not None and said.startswith(
            "'clicked' differs between actions given the propensities: under "
        )
    assert found == 20


def test_known_columns_that_came_after_the_action():
    """What was paid is the price in the rows of one action, and 0 in the others; prices that are known pass."""
    log, rng = drawn(0)
    price = rng.choice([1.0, 1.5, 4.0], 4000)
    paid = np.where(log.actions == 2, price, 0.0)
    assert balance(replace(log, foreseen={"price": price})) is None
    said = balance(replace(log, foreseen={"price": price, "paid": paid}))
    assert said.startswith("'paid' differs between actions given the propensities: under ")
    assert said.endswith("recorded after the action is not known before acting, and wrong propensities look the same")


def test_groups_that_came_after_the_action():
    log, rng = drawn(0)
    late = np.where((log.actions == 2) & (rng.random(4000) < 0.3), 1, log.groups["area"])
    assert " of area = " in of_log(replace(log, groups={"area": late}))["propensities"]


def test_what_is_foreseen_is_named_by_its_column():
    problem = Problem(
        actions=("none", "letter", "call"),
        outcomes=(Outcome("sale"), Outcome("cost", known={"letter": 1.0, "call": 2.0})),
        maximize="sale",
        horizon=10,
    )
    known = np.zeros((4, 3, 1))
    known[:, 1, 0], known[:, 2, 0] = [1.0, 2.0, 1.0, 2.0], [3.0, 2.0, 3.0, 2.0]
    assert foreseen(problem, known[:1]) == {}
    found = foreseen(problem, known, {"cost": {"letter": "price"}})
    assert {name: z.tolist() for name, z in found.items()} == {
        "price": [1.0, 2.0, 1.0, 2.0],
        "cost of call": [3.0, 2.0, 3.0, 2.0],
    }


@pytest.mark.parametrize(("column", "fails"), [("paid", True), ("price", False)])
def test_nothing_is_recommended_by_the_costs_of_a_ledger(tmp_path, column, fails):
    rng, lines = np.random.default_rng(0), ["age,arm,sale,paid,price"]
    for _ in range(2000):
        sent, price = rng.random() < 0.5, rng.choice([1, 2])
        sale = int(rng.random() < 0.2 + 0.2 * sent)
        lines.append(f"{rng.integers(20, 70)},{('none', 'letter')[sent]},{sale},{price * sent},{price}")
    (tmp_path / "log.csv").write_text("\n".join([*lines, ""]))
    (tmp_path / "problem.toml").write_text(f"""
maximize = "sale"
horizon = 500
features = {{ numeric = ["age"] }}
action = {{ column = "arm", values = {{ none = "none", letter = "letter" }} }}
propensity = {{ constant = 0.5 }}
outcomes = {{ sale = {{ range = [0, 1] }}, cost = {{ known = {{ letter = 1 }}, column = "{column}" }} }}
budget = [{{ outcome = "cost", rate = 0.5 }}]
""")
    found = value(tmp_path / "log.csv", tmp_path / "problem.toml")
    assert (found.checks["features"] is not None) == fails
    assert found.headline().startswith("No policy can be recommended") == fails
    played = replay_log(tmp_path / "log.csv", tmp_path / "problem.toml", replicas=1, bootstrap=0, progress=False)
    assert (played.checks["features"] is not None) == fails


def test_balance_says_how_far_and_how_many():
    log, _ = drawn(5, tilt=0.0)
    units = log.units.copy()
    units[:, 1] += (log.actions == 1) * units[:, 1].std()
    said = balance(replace(log, units=units))
    assert "'age' differs between actions given the propensities: under 'small' it is 0.6" in said
    assert " standard deviations above the average, of which chance explains 0.10" in said
    units[:, 2] -= (log.actions == 0) * 2 * units[:, 2].std()
    assert "(1 other columns differ, too)" in balance(replace(log, units=units))


def test_actions_that_were_never_drawn_for_some_cases():
    chances = np.array([0.5, 0.3, 0.2])
    log, _ = drawn(7, chances=chances)
    age = next(log.features()).values
    for name, hole in (
        ("town = Ulm", log.units[:, 4] == 1.0),
        ("area = south", log.groups["area"] == 1),
        ("age above ", age > 60.0),
    ):
        actions = np.where(hole & (log.actions == 2), 0, log.actions)
        p = np.where(hole, np.array([0.7, 0.3, 1.0])[actions], chances[actions])
        said = overlap(replace(log, actions=actions, propensities=p))
        assert said.startswith("'large' was never drawn in "), name
        assert f" rows with {name}" in said
        assert said.endswith(": what it would bring there is a guess by a model that has not seen it")


def test_rare_actions_may_be_absent_from_small_kinds_of_rows():
    """Of the 160 rows of a small town, none has an action of .005 in every other log; that tells nothing."""
    absent = 0
    for seed in range(20):
        log, _ = drawn(seed, chances=np.array([0.99, 0.005, 0.005]))
        towns = (log.units[:, 3:5] == 1.0).T
        absent += any((np.bincount(log.actions[town], minlength=3) == 0).any() for town in towns)
        assert overlap(log) is None, seed
    assert absent >= 5


def test_rows_whose_action_was_sure():
    log, _ = drawn(7)
    p = np.where(np.arange(4000) < 10, 1.0, log.propensities)
    assert overlap(replace(log, propensities=p)).startswith("in 10 of 4,000 rows the logged action was certain, so no")


def test_what_follows_from_sure_actions_is_not_told():
    """A policy that does not explore: who is young gets a letter. Nothing is wrong with ages or probabilities."""
    log, rng = drawn(7)
    age = next(log.features()).values
    actions, p = np.where(age < 40, 1, 0), np.ones(4000)
    p[:40] = 1 / 3
    actions[:40] = rng.integers(0, 3, 40)
    found = of_log(replace(log, actions=actions, propensities=p))
    assert {name for name, said in found.items() if said is not None} == {"overlap"}
    assert found["overlap"].startswith("in 3,960 of 4,000 rows the logged action was certain")
    assert next(warnings(found)).startswith("check: in 3,960")
    half = np.where(np.arange(4000) < 2000, 0.9, log.propensities)  # of a log with other faults, the cause is first
    half[:10] = 1.0
    assert [said[:12] for said in warnings(of_log(replace(log, propensities=half)))][:2] == [
        "check: in 10",
        "check: the p",
    ]
    assert of_log(replace(log, propensities=np.ones(4000)))["propensities"] is None


def test_groups_of_a_few_rows():
    log, _ = drawn(2)
    assert groupings(log) is None
    few = np.where(np.arange(4000) < 49, 1, 0)
    assert groupings(replace(log, groups={"area": few})) == (
        "49 of 4,000 rows have area = south: too few to compare groups by"
    )
    empty = replace(
        log, groups={"area": few, "side": np.zeros(4000, np.int64)}, group_names={"area": AREAS, "side": AREAS}
    )
    assert groupings(empty) == (
        "0 of 4,000 rows have side = south, and 1 other groups have less than 50: too few to compare groups by"
    )


def test_horizons_that_a_log_cannot_carry():
    log, _ = drawn(2, chances=np.array([0.5, 0.3, 0.2]))
    assert lasts(log) == pytest.approx(800.0)
    assert horizon(log, 880) is None
    assert horizon(log, 1000) == (
        "this log lasts for some 800 rounds of 1,000: its rows times 0.2, the least probability that it has"
    )


def test_budgets_that_never_bind():
    log, rng = drawn(2)
    outcomes = (Outcome("sale"), Outcome("minutes", low=0.0, high=60.0), Outcome("cents", known={"large": 2.0}))
    used = {"sale": rng.random(4000), "minutes": 30.0 * rng.random(4000)}

    def said(*limits, rounds=1000):
        p = Problem(actions=log.names, outcomes=outcomes, maximize="sale", subject_to=limits, horizon=1000)
        return budget(p, most_of(log, p, used, p.declared[None]), rounds)

    assert said(Budget("cents", total=1999)) is None
    assert said(Budget("cents", total=2000)) == (
        "the budget of 2,000 cents never binds: the dearest action uses 2,000 of it in some 1,000 rounds"
    )
    assert said(Budget("minutes", total=14_000)) is None  # 15 a round, and by chance a little more
    assert said(Budget("minutes", total=15_000)) is None
    assert "of 20,000 minutes never binds" in said(Budget("minutes", total=20_000))
    assert said(Budget("cents", total=600), rounds=200) is not None
    assert said(Budget("cents", total=600), rounds=400) is None


def test_replays_say_what_is_wrong_at_their_top(tmp_path):
    lines = [line for i, line in enumerate(shop.rows(900)) if line[2] != "B" or i % 4 == 0]
    quick = {"replicas": 1, "bootstrap": 0, "progress": False}
    found = replay_log(*shop.write(tmp_path, lines, INSISTS), **quick)
    assert "check: the propensities do not fit the log: rows with 'b'" in str(found).split("\n")[2]
    said = "No policy can be recommended, as the log fails the check of its propensities"
    assert found.headline() == value(*shop.write(tmp_path, lines, INSISTS)).headline() == said
    assert found.page().title == said
    several = replay_several(
        *shop.write(tmp_path, lines, INSISTS), policies=["pgd"], runs=Runs(replicas=1, bootstrap=0)
    )
    assert several.headline() == several.page().title == several.results().settings["result"] == said
    assert said in str(found)
    assert said in str(several)
    found = replay_log(*shop.write(tmp_path, shop.rows(900)), **quick)
    assert not any(found.checks.values())
    assert "check:" not in str(found)
    free = shop.PROBLEM.replace("rate = 0.3", "rate = 1.0")
    found = replay_log(*shop.write(tmp_path, shop.rows(900), free), **quick)
    assert found.checks["budget"].startswith("the budget of 300 post never binds")


def test_shares_far_from_stated_propensities():
    log, _ = drawn(0, chances=np.array([0.4, 0.3, 0.3]))
    assert misfit(log) is None
    assert misfit(replace(log, propensities=np.full(4000, 1 / 3))) is None  # a check tells it: off by a fifth
    said = misfit(replace(log, propensities=np.full(4000, 0.5)))
    shares = np.bincount(log.actions) / 4000
    assert sorted(said.split(", ")) == sorted(f"{n} {z:.1%}" for n, z in zip(log.names, shares, strict=True))
    few = drawn(0, rows=20, chances=np.array([0.4, 0.3, 0.3]))[0]
    assert misfit(replace(few, propensities=np.full(20, 0.5))) is None  # chance explains as much


def test_columns_of_propensities_are_refused_only_where_actions_are_too_frequent():
    """Rows that could not get an action make it rarer, as at the end of a campaign whose budget is spent."""
    log, rng = drawn(0, chances=np.array([0.4, 0.3, 0.3]))
    end = np.arange(4000) >= 2000
    actions = np.where(end, rng.integers(0, 2, 4000), log.actions)
    right = np.where(end, 0.5, log.propensities)
    assert misfit(replace(log, actions=actions, propensities=right)) is None
    said = misfit(replace(log, propensities=np.where(log.actions == 2, 0.15, log.propensities)))
    share = (log.actions == 2).mean()
    assert said.startswith(f"large {share:.1%} (stated: 15.0%)")


def test_values_and_replays_refuse_such_a_log(tmp_path, capsys):
    problem = shop.PROBLEM.replace("constant = 0.333333", "constant = 0.6")
    log, toml = shop.write(tmp_path, shop.rows(900), problem)
    cases = tmp_path / "cases.csv"
    cases.write_text("age,town\n30,north\n50,south\n")
    few, quiet = Runs(replicas=1, bootstrap=0), Execution(progress=False)
    for ask in (
        lambda: value(log, toml),
        lambda: curve(log, toml),
        lambda: assign(cases, toml, learn_from=log),
        lambda: replay_log(log, toml, replicas=1, bootstrap=0, progress=False),
        lambda: replay_several(log, toml, policies=["pgd", "ucb"], runs=few, how=quiet),
    ):
        with pytest.raises(InvalidInput, match=r"line 13: propensity: .*unchecked = true.* constant 0.6, while"):
            ask()
    assert main(["value", str(log), "--problem", str(toml)]) == 2
    assert "the shares in log.csv are " in capsys.readouterr().err
    toml.write_text(problem.replace("[propensity]", "[propensity]\nunchecked = true"))
    assert "do not fit" in Evidence.read(log, toml).checks["propensities"]
