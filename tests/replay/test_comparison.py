"""Several recipes within several budgets on one log, compared by pairs."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.replay import Execution, Runs, execution, replay_log, replay_several
from evenhand.replay.measures import Difference
from evenhand.replay.tables import most
from evenhand.report.picture import Picture
from evenhand.run import simulate
from tests.polling import LONG
from tests.replay import shop

FEW = Runs(replicas=3, bootstrap=4, seed=3)
QUIET = Execution(progress=False)
PLAIN = shop.PROBLEM.replace('[[parity]]\noutcome = "post"\nby = "town"\ntolerance = 0.1', "")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return shop.write(tmp_path_factory.mktemp("several"), shop.rows(1500))


@pytest.fixture(scope="module")
def found(files):
    return replay_several(*files, policies=["pgd", "lin_cbwk"], rates=[0.1, 0.3], runs=FEW, how=QUIET)


def test_a_cell_is_the_run_that_a_replay_of_one_makes(files, found):
    one = replay_log(*files, replicas=3, bootstrap=4, seed=3, progress=False)  # whose budget is 0.3
    for mine, theirs in (("pgd", one.runs[0]), ("uniform", one.runs[-1])):
        np.testing.assert_array_equal(found[mine, 0.3].run.trace.totals, theirs.trace.totals)
    assert [c.name for c in found.cells] == [
        f"{p} at {r:g}" for r in (0.1, 0.3) for p in ("pgd", "lin_cbwk", "uniform")
    ]
    for cell in found.cells:
        used = cell.run.trace.total("post")
        assert (used <= 300 * cell.rate + 1e-9).all()
        np.testing.assert_allclose(cell.measures["post of budget"].values, used / (300 * cell.rate))


def test_its_summary_compares_as_that_of_one_does(files, found):
    one = replay_log(*files, replicas=1, bootstrap=0, progress=False)
    assert one.averages.startswith("By the averages of the log, a round brings 0.")
    assert f" {one.averages}. " in f"{found.summary()} "
    said = f"Over {found.problem.horizon:,} accepted rounds that is visit in all: "
    assert said in found.summary()
    assert said in str(found)


def test_differences_by_hand(found):
    mine, other = found["lin_cbwk", 0.3], found["pgd", 0.3]
    values = mine.measures["visit"].values - other.measures["visit"].values
    d = found.beyond(mine, "pgd")
    assert d.mean == pytest.approx(values[:3].mean())
    resampled = values[3:].reshape(4, 3)
    order = (((resampled - resampled.mean(1, keepdims=True)) ** 2).sum() + ((values[:3] - d.mean) ** 2).sum()) / 10
    se = np.sqrt(max(resampled.mean(1).var(ddof=1) - order / 3, 0.0) + order / 3)
    assert d.se == pytest.approx(se)
    assert (d.low, d.high) == pytest.approx((d.mean - t.ppf(0.975, 3) * se, d.mean + t.ppf(0.975, 3) * se))
    assert found.beyond(other, "pgd") is None


def test_rounds_that_were_not_served_count_nothing(tmp_path):
    """Learned costs that any action may have end runs when the budget does, as `uniform` spends it too early."""
    lines = [[*line[:4], "0.333333", str(int(line[2] != ""))] for line in shop.rows(1500)]
    problem = PLAIN.replace("known = { a = 1, b = 1 }", 'column = "paid"\nrange = [0, 1]')
    files = shop.write(tmp_path, lines, problem, [*shop.HEADER, "paid"])
    found = replay_several(*files, policies=["pgd"], runs=Runs(replicas=2, bootstrap=0), how=QUIET)
    run = found["uniform"].run
    assert (run.rounds < 300).all()
    assert np.isfinite(run.trace.stopped).all()
    np.testing.assert_allclose(found["uniform"].measures["visit"].values, run.trace.total("visit") / 300)
    np.testing.assert_allclose(found["uniform"].measures["rounds served"].values, run.rounds / 300)
    assert found["uniform"].measures["visit"].values.mean() < run.trace.objective()[-1].mean()
    one = replay_log(*files, replicas=2, bootstrap=0, progress=False)
    blind = next(r for r in one.runs if r.name == "uniform")
    np.testing.assert_array_equal(blind.objective(), found["uniform"].measures["visit"].values)


def test_a_run_that_stops_where_the_log_ends_soon_is_not_measured_by_the_horizon(tmp_path):
    """The log lasts for some 500 of 2,000 rounds. A run that spent its budget in half of them missed the other half."""
    lines = [[*line[:4], "0.333333", str(int(line[2] != ""))] for line in shop.rows(1500)]
    problem = PLAIN.replace("known = { a = 1, b = 1 }", 'column = "paid"\nrange = [0, 1]').replace(
        "horizon = 300", "horizon = 2000"
    )
    problem = re.sub(r"rate = [0-9.]+", "total = 160", problem)
    files = shop.write(tmp_path, lines, problem, [*shop.HEADER, "paid"])
    found = replay_several(*files, policies=["pgd"], runs=Runs(replicas=4, bootstrap=0), how=QUIET)
    run = found["uniform"].run
    assert np.isfinite(run.trace.stopped).all()
    lasts = run.rounds * 1500 / run.trace.offered_steps
    assert (np.abs(lasts - 500) < 4 * np.sqrt(1500 * 2 / 9)).all()
    np.testing.assert_allclose(run.due, lasts)
    np.testing.assert_allclose(found["uniform"].measures["visit"].values, run.trace.total("visit") / lasts)


def test_a_recipe_that_overspends_is_named_first(tmp_path):
    lines = [[*line[:4], "0.333333", str(int(line[2] != ""))] for line in shop.rows(1500)]
    problem = PLAIN.replace("known = { a = 1, b = 1 }", 'column = "paid"\nrange = [0, 1]')
    files = shop.write(tmp_path, lines, problem, [*shop.HEADER, "paid"])
    found = replay_several(*files, policies=["pgd", "ucb"], runs=Runs(replicas=2, bootstrap=0), how=QUIET)
    used = found["ucb"].digest("post of budget").mean
    assert used > 1
    said = f"ucb does not keep to the budget: it used {used:.1%} of post"
    assert found.headline().startswith("of 2 recipes within the budget ")
    assert said in found.summary()
    assert said in str(found)


def test_without_resamples_nothing_is_said_of_chance(files):
    few = Runs(replicas=2, bootstrap=0)
    found = replay_several(*files, policies=["pgd"], rates=[0.1, 0.3], runs=few, how=QUIET)
    low, high = sorted(found.beyond(found["pgd", rate], "uniform").mean for rate in (0.1, 0.3))
    means = f"{low:+.4f} to {high:+.4f} (no errors known)"
    assert found.headline() == f"visit per round of pgd beyond uniform at 2 budgets: {means}"
    more = replay_several(*files, policies=["pgd", "lin_cbwk"], rates=[0.1, 0.3], runs=few, how=QUIET)
    assert "chance" not in more.headline()
    assert "(no errors known)" in more.headline()


@pytest.mark.parametrize("found", [[Difference(0.01, 0.02, -0.03, 0.05)], [Difference(0.01, 0.02, -0.03, 0.05)] * 12])
@pytest.mark.parametrize(
    "over", [[], ["ucb"], ["ucb", "uniform", "resolving"], ["ucb", "resolving", "two_stage", "uniform"]]
)
def test_the_title_of_many_recipes_has_two_lines(found, over):
    names = ["resolving", "ucb", "two_stage", "uniform"]
    said = most({name: [0.1] * len(found) for name in names}, over, "visit", lambda best, other: found)
    assert Picture(said, ()).svg().count('class="headline"') <= 2, said


def test_the_title_names_the_best_recipe_that_keeps_to_the_budget_and_the_next():
    means = {"pgd": [0.1, 0.3], "ucb": [0.9, 0.9], "resolving": [0.2, 0.4], "uniform": [0.0, 0.0]}
    pairs = {("resolving", "pgd"): [Difference(0.1, 0.02, 0.06, 0.14), Difference(0.1, 0.2, -0.3, 0.5)]}
    assert most(means, ["ucb"], "visit", lambda *names: pairs[names]) == (
        "of 3 recipes within the budget resolving brings most visit at 2 of 2 budgets; "
        "beyond pgd: more at 1, perhaps by chance at 1"
    )
    assert most({"pgd": [0.1], "ucb": [0.9]}, ["ucb"], "visit", lambda *names: []).startswith(
        "of 1 recipe within the budget pgd brings most"
    )


def test_a_log_that_ends_cuts_no_policy_short(tmp_path):
    files = shop.write(tmp_path, shop.rows(300), PLAIN)
    found = replay_several(*files, policies=["pgd"], runs=Runs(replicas=2, bootstrap=0), how=QUIET)
    run = found["pgd"].run
    assert (run.rounds < 300).all()
    np.testing.assert_allclose(found["pgd"].measures["visit"].values, run.trace.total("visit") / run.rounds)
    assert "pgd: 2 of 2 runs came to the end of the log, from round" in str(found)


def test_any_number_of_processes_gives_the_same(files, found):
    two = replay_several(*files, policies=["pgd"], rates=[0.3], runs=FEW, how=replace(QUIET, jobs=2))
    for name, m in found["pgd", 0.3].measures.items():
        np.testing.assert_array_equal(two["pgd", 0.3].measures[name].values, m.values)


def test_what_has_finished_is_not_run_again(files, found, tmp_path, monkeypatch):
    calls, lines = [], []

    def counted(policy, world, **options):
        calls.append(policy.name)
        trace = simulate(policy, world, **options)
        return replace(trace, finished=False) if len(calls) == 3 else trace

    monkeypatch.setattr(execution, "simulate", counted)
    how = Execution(keep=tmp_path / "kept", progress=False, tell=lines.append)
    ask = {"policies": ["pgd", "lin_cbwk"], "rates": [0.1, 0.3], "runs": FEW, "how": how}
    broken = replay_several(*files, **ask)
    assert broken.interrupted
    assert [c.name for c in broken.cells] == ["pgd at 0.1", "lin_cbwk at 0.1"]
    assert str(broken).startswith("INTERRUPTED: nothing is known about uniform at 0.1; pgd at 0.3")
    assert broken.beyond(broken.cells[1], "pgd") is not None
    whole = replay_several(*files, **ask)
    assert calls == ["pgd", "lin_cbwk", "uniform", "uniform", "pgd", "lin_cbwk", "uniform"]
    assert whole.lines() == found.lines()
    assert "lin_cbwk at 0.3: 15 runs in" in lines[-2]
    assert "5 of 6 done, some" in lines[-2]


def test_frames_files_and_pictures(found, tmp_path):
    frame = found.to_frame()
    row = frame[(frame.policy == "lin_cbwk") & (frame.budget == 0.3) & (frame.beyond == "uniform")].iloc[0]
    assert row["mean"] == found.beyond(found["lin_cbwk", 0.3], "uniform").mean
    written = {path.name: path for path in found.write(tmp_path / "out")}
    assert set(written) == {"results.json", "replay.parquet", "replay.svg", "report.html"}
    rows = pd.json_normalize(json.loads(written["results.json"].read_text())["rows"])
    here = rows[(rows.system == "lin_cbwk") & (rows["at.budget"] == 0.3) & (rows.metric == "visit beyond uniform")]
    assert here["mean"].item() == row["mean"]
    assert found.headline() in str(found)
    assert [part.title for part in found.plot().charts][:2] == [
        "Differences: visit per round beyond pgd",
        "Differences: visit per round beyond uniform",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"policies": ["best"]}, "policies: expected one of"),
        ({"policies": ["pgd", "pgd"]}, "policies: expected different recipes, got 2 of 'pgd'"),
        ({"rates": [0.0]}, "rate"),
    ],
)
def test_bad_arguments(files, given, words):
    with pytest.raises(InvalidInput, match=words):
        replay_several(*files, runs=FEW, how=QUIET, **given)


def test_rates_need_one_budget(tmp_path):
    files = shop.write(tmp_path, shop.rows(300), PLAIN.replace('[[budget]]\noutcome = "post"\nrate = 0.3', ""))
    with pytest.raises(InvalidInput, match="rates: expected a problem with one budget over the horizon"):
        replay_several(*files, policies=["ucb"], rates=[0.1], runs=FEW, how=QUIET)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--rates", "0.1,x"], "expected numbers above 0 separated by commas, or FROM:TO:COUNT, got '0.1,x'"),
        (["--rates", "0.1:0.2:1"], "or FROM:TO:COUNT, got '0.1:0.2:1'"),
        (["--jobs", "0"], "expected a whole number of at least 1"),
    ],
)
def test_bad_options(files, capsys, given, words):
    with pytest.raises(SystemExit):
        main(["replay", str(files[0]), "--problem", str(files[1]), *given])
    assert words in capsys.readouterr().err


def test_resume_needs_a_folder(files, capsys):
    assert main(["replay", str(files[0]), "--problem", str(files[1]), "--resume"]) == 2
    assert "resume: expected a folder --out" in capsys.readouterr().err


def test_the_command(files, tmp_path, capsys):
    command = ["replay", str(files[0]), "--problem", str(files[1]), "--replicas", "2", "--bootstrap", "2"]
    assert main([*command, "--policy", "pgd,lin_cbwk", "--rates", "0.1:0.3:2", "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert told.err.count("8 runs in") == 6
    assert "visit per round  budget" in told.out
    assert "replay.svg" in told.out
    assert main([*command, "--resume", "--out", str(tmp_path / "one")]) == 0
    assert main([*command, "--resume", "--out", str(tmp_path / "one")]) == 0
    first, second = capsys.readouterr().out.split("written:")[:2]
    assert first.strip() in second


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_loses_nothing_that_had_finished(files, tmp_path, number):
    command = [sys.executable, "-m", "evenhand", "replay", str(files[0]), "--problem", str(files[1]), "--resume"]
    command += ["--policy", "pgd,lin_cbwk", "--replicas", "40", "--bootstrap", "40", "--out", str(tmp_path / "out")]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
    said = iter(run.stderr.readline, "")
    assert any(line.startswith("pgd: 160 runs in") for line in said)  # after lines about its steps, if it is slow
    run.send_signal(number)
    out, _ = run.communicate(timeout=LONG)
    assert run.returncode == (-9 if number == signal.SIGKILL else 130)
    if number == signal.SIGINT:
        assert out.startswith("INTERRUPTED: nothing is known about lin_cbwk")
        assert json.loads((tmp_path / "out" / "results.json").read_text())["settings"]["interrupted"] is True
    again = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert again.stderr.startswith("pgd: 160 runs in 0 s")
    assert "of 3 done" in again.stderr
