"""Commands say what they do while they do it, and Ctrl-C ends them in one line."""

import io
import itertools
import re
import sys
from functools import partial

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.progress import SCREEN
from evenhand.live.campaigns.audits import audit
from evenhand.live.stores.memory import MemoryStore
from evenhand.offline import plan
from evenhand.offline.evidence import Evidence
from evenhand.offline.plans import fold_plans
from tests.core.test_progress import Terminal

PROBLEM = """
maximize = "sale"
horizon = 60
features = { numeric = ["age"] }
action = { column = "sent", values = { no = "none", letter = "letter" } }
propensity = { constant = 0.5 }
outcomes = { sale = { range = [0, 1] }, post = { known = { letter = 1 } } }
budget = [{ outcome = "post", rate = 0.25 }]
"""
SWEEP = """
environment = "court"
replicas = 2
settings.horizon = 128
grid.ride = [0.02, 0.05]
[[policy]]
name = "uniform"
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    rows = [f"{20 + i % 31},{('no', 'letter')[i // 2 % 2]},{int(i % 5 == 0)}" for i in range(240)]
    (tmp_path / "log.csv").write_text("\n".join(["age,sent,sale", *rows]) + "\n")
    (tmp_path / "list.csv").write_text("age\n" + "30\n40\n" * 20)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def slow(monkeypatch):
    """Let a minute pass from one look at the clock to the next, so that every line is due."""
    monkeypatch.setattr(SCREEN, "_clock", partial(next, itertools.count(0.0, 60.0)))


def told(capsys):
    """What was said, without times."""
    return [re.sub(", some [0-9.]+ (s|min|h) left", "", line) for line in capsys.readouterr().err.splitlines()]


def test_a_value_says_what_it_does(files, slow, capsys):
    assert main(["value", "log.csv", "--problem", "problem.toml", "--for-whom"]) == 0
    lines = told(capsys)
    assert "value: reading log.csv, MB 0 of 1" in lines
    folds = [line for line in lines if line.startswith("value: fitting the models, fold")]
    assert folds[:5] == [f"value: fitting the models, fold {k} of 5" for k in range(1, 6)]
    assert "value: planning, pair of folds 20 of 20" in lines
    assert "value: weighing, policy 4 of 4" in lines
    assert "value: leaving out, feature 1 of 1: fitting the models, fold 5 of 5" in lines


def test_a_curve_says_what_it_does(files, slow, capsys):
    assert main(["curve", "log.csv", "--problem", "problem.toml", "--at", "0.2", "--at", "0.4"]) == 0
    lines = told(capsys)
    assert "curve: reading log.csv, MB 0 of 1" in lines
    assert "curve: fitting the models, fold 3 of 5" in lines
    assert "curve: weighing, budget 0 of 2: planning, pair of folds 7 of 20" in lines
    assert "curve: weighing, budget 2 of 2" in lines


def test_a_list_says_what_it_does(files, slow, capsys):
    assert main(["assign", "list.csv", "--problem", "problem.toml", "--learn-from", "log.csv", "--out", "o.csv"]) == 0
    lines = told(capsys)
    assert "assign: reading log.csv, MB 0 of 1" in lines
    assert "assign: reading list.csv, MB 0 of 1" in lines
    assert "assign: fitting the models of sale, action 2 of 2" in lines


def test_a_replay_says_which_system_runs(files, slow, capsys):
    asked = ["--replicas", "2", "--bootstrap", "0"]
    assert main(["replay", "log.csv", "--problem", "problem.toml", "--policy", "uniform", *asked]) == 0
    lines = told(capsys)
    assert "reading log.csv, MB 0 of 1" in lines
    assert "replay, system 1 of 1: uniform, step 64 of 240" in lines


def test_an_audit_says_what_it_does(slow, capsys):
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    store, policy = MemoryStore(), eh.uniform(coin, 1)
    campaign = eh.Campaign.open(store, "coins", policy)
    for i in range(3):
        campaign.observe(campaign.decide({}, key=f"coin {i}").id, {"gain": i % 2})
    assert audit(store, "coins", [policy]).clean
    lines = told(capsys)
    assert {"checking coins, event 7", "reading coins, event 7", "recomputing coins, event 7 of 7"} <= set(lines)


def test_a_plan_over_contexts_counts_its_passes(slow, capsys):
    problem = eh.Problem(
        actions=("none", "letter"),
        outcomes=(eh.Outcome("sale"), eh.Outcome("post", known={"letter": 1})),
        maximize="sale",
        subject_to=(eh.Budget("post", rate=0.5),),
        horizon=4,
    )
    plan(problem, {"sale": np.array([[0.0, 0.3], [0.0, 0.2], [0.0, 0.1], [0.0, 0.05]])})
    assert "planning over contexts, pass 1" in told(capsys)


@pytest.mark.parametrize("command", ["value", "curve", "assign"])
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_ctrl_c_ends_a_command_in_one_line(files, monkeypatch, command, stream):
    asked = {
        "value": ["log.csv", "--problem", "problem.toml"],
        "curve": ["log.csv", "--problem", "problem.toml"],
        "assign": ["list.csv", "--problem", "problem.toml", "--learn-from", "log.csv", "--out", "o.csv"],
    }

    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stderr", stream())
    monkeypatch.setattr(Evidence, "predict", pressed)
    monkeypatch.setattr(fold_plans.Crossed, "plans", pressed)
    assert main([command, *asked[command]]) == 130
    assert sys.stderr.getvalue().endswith("\r" * (stream is Terminal) + "evenhand: interrupted\n")
    assert sys.stderr.getvalue().count("\n") == 1
    assert SCREEN._works == []


def test_a_sweep_is_one_work(tmp_path, slow, capsys):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert main(["sweep", str(tmp_path / "sweep.toml")]) == 0
    assert "sweep, step 128 of 256" in told(capsys)
