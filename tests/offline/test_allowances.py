"""What a total means: it is for the cases of the log, whichever command reads it."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.logs.log import read_log
from evenhand.offline import assign
from evenhand.replay import replay_log
from evenhand.replay.execution import Runs
from evenhand.replay.run import replay_several

ROWS, LISTED, TOTAL = 1200, 300, 240
PROBLEM = """
maximize = "sale"
horizon = "log"
features = { numeric = ["age"] }
action = { column = "arm", values = { none = "none", letter = "letter", call = "call" } }
propensity = { constant = { none = 0.5, letter = 0.25, call = 0.25 } }
outcomes = { sale = { range = [0, 1] }, cents = { known = { letter = 1, call = 2 } } }
"""
TOTALS = f'budget = [{{ outcome = "cents", total = {TOTAL} }}]\n'


@pytest.fixture
def files(tmp_path):
    """A log of unequal propensities, which a replay accepts a quarter of, and a list."""
    rng = np.random.default_rng(3)
    age, arm = rng.integers(20, 70, ROWS), rng.choice(["none", "letter", "call"], ROWS, p=[0.5, 0.25, 0.25])
    sale = (rng.random(ROWS) < 0.2 + 0.2 * (arm != "none") * (age > 40)).astype(int)
    lines = [f"{x},{a},{y}" for x, a, y in zip(age, arm, sale, strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(["age,arm,sale", *lines, ""]))
    (tmp_path / "list.csv").write_text("\n".join(["age", *map(str, age[:LISTED]), ""]))
    return tmp_path


def problem(folder, text):
    path = folder / "problem.toml"
    path.write_text(PROBLEM + text)
    return path


def settings(found):
    (budget,) = found.to_dict()["settings"]["budgets"]
    return budget


def test_rows_that_are_dropped_take_nothing_from_what_others_get(files):
    """240 for 1,200 cases are .2 per case, also where 200 of them have no outcome that can be used."""
    log = files / "log.csv"
    lines = log.read_text().split("\n")
    lines[1:201] = [line.rpartition(",")[0] + ",99" for line in lines[1:201]]
    log.write_text("\n".join(lines))
    stated = problem(files, TOTALS + 'outside = { sale = "drop" }\n')
    found = eh.value(log, stated)
    assert found.rows == 1000
    assert found.limits == {"cents": pytest.approx(0.2)}
    assert "200 cents for the 1,000 cases of the log, 0.2 per case" in str(found)
    assert any("240 cents is for the 1,200 rows of the log" in note for note in found.notes)
    assert assign(files / "list.csv", stated, learn_from=log).budgets[0].total == pytest.approx(60)


def test_a_total_is_for_the_cases_of_the_log_in_all_commands(files):
    """240 for 1,200 cases are .2 per case: 60 for a list of 300, and 60 for the 300 rounds that a replay accepts."""
    log, stated = files / "log.csv", problem(files, TOTALS)
    value, curve = eh.value(log, stated), eh.curve(log, stated, budgets=(0.2,))
    listed = assign(files / "list.csv", stated, learn_from=log, holdout=0.1)
    played = replay_log(log, stated, replicas=2, bootstrap=0, progress=False)
    assert value.limits == {"cents": pytest.approx(0.2)}
    assert curve.stated == pytest.approx(0.2)
    assert listed.budgets[0].total == pytest.approx(60)
    assert listed.budgets[0].spent <= 60 + 1e-9
    assert played.problem.horizon == 300
    assert played.problem.stated[0].total == pytest.approx(60)
    assert played.measured["pgd, budget"]["cents used"][1].worst <= 60
    in_log = "240 cents for the 1,200 cases of the log, 0.2 per case"
    in_list = "60 cents for the 300 cases of the list, 0.2 per case"
    in_rounds = "60 cents for the 300 accepted rounds, 0.2 per round"
    for found, said in ((value, in_log), (curve, in_log), (listed, in_list), (played, in_rounds)):
        assert str(found).split("\n")[1] == f"budget: {said}"
        assert f"The budget is {said}." in found.page().sentences
        assert f"The budget is {said}." in found.summary()
        assert found.page().settings["budgets"][0]["in all"] == pytest.approx(240 if found in (value, curve) else 60)
    for found in (value.results(), curve.results()):
        assert settings(found) == {"outcome": "cents", "per case": 0.2, "in all": 240.0, "cases of the log": ROWS}
    assert settings(played)["in all"] == pytest.approx(60)
    note = "the total of 240 cents is for the 1,200 rows of the log, 0.2 per row"
    assert all(note in found.notes for found in (value, curve, played))
    assert value.headline().startswith("Within 240 cents in all (0.2 per case), ")


def test_a_rate_means_the_same_as_its_total(files):
    log = files / "log.csv"
    by_total = [eh.value(log, problem(files, TOTALS)), replay_log(log, problem(files, TOTALS), replicas=2, bootstrap=0)]
    rate = problem(files, TOTALS.replace(f"total = {TOTAL}", "rate = 0.2"))
    by_rate = [eh.value(log, rate), replay_log(log, rate, replicas=2, bootstrap=0)]
    note = "note: the total of 240 cents is for the 1,200 rows of the log, 0.2 per row\n"
    for one, other in zip(by_total, by_rate, strict=True):
        assert str(one).replace(note, "") == str(other)


def test_totals_of_floors_are_for_the_log_and_those_of_a_stated_horizon_for_its_rounds(files):
    floor = 'floor = [{ outcome = "sale", total = 240 }]\n'
    read = read_log(files / "log.csv", problem(files, floor))
    assert read.problem.horizon == 300
    assert read.problem.stated[0].limit == pytest.approx(0.2)
    assert "note: the total of 240 sale is for the 1,200 rows of the log, 0.2 per row" in str(read)
    path = problem(files, TOTALS)
    path.write_text(path.read_text().replace('horizon = "log"', "horizon = 600"))
    assert eh.value(files / "log.csv", path).limits == {"cents": 0.4}


def test_several_budgets_are_stated_in_all(files):
    few = Runs(replicas=1, bootstrap=0)
    found = replay_several(files / "log.csv", problem(files, TOTALS), rates=[0.1, 0.3], runs=few)
    head = ["budget: 30 cents for the 300 accepted rounds, 0.1 per round"]
    assert str(found).split("\n")[1:3] == [*head, "budget: 90 cents for the 300 accepted rounds, 0.3 per round"]
    assert [b["in all"] for b in found.results().to_dict()["settings"]["budgets"]] == pytest.approx([30, 90])
