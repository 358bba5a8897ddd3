"""The reports of replays: their titles state the result, and what is written appears whole."""

import json
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from evenhand.cli import main
from evenhand.replay import Execution, Runs, replay_log, replay_several
from tests.pages import self_contained
from tests.replay import shop


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return shop.write(tmp_path_factory.mktemp("pages"), shop.rows(900))


@pytest.fixture(scope="module")
def found(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    return replay_log(*files, replicas=3, bootstrap=4, seed=3, progress=False, out=out), out


def test_the_page_of_a_replay_states_the_result(found):
    replay, out = found
    read = self_contained((out / "report.html").read_text())
    d = replay.measured["pgd, budget and parity"]["visit minus uniform"][1]
    assert read.of("h1") == [replay.headline()]
    assert replay.headline().startswith(f"pgd, budget and parity brings {d.mean:+.4f} (95 %: ")
    assert "visit per round beyond uniform" in replay.headline()
    used = replay.measured["pgd, budget and parity"]["post used"][1]
    assert f"post: {used.mean:,.6g} of 90 used on average, {used.worst:,.6g} at most." in replay.summary()
    assert "kept in every run." in replay.summary()
    mean = replay.measured["uniform"]["visit"][1].mean
    told = "Over 300 accepted rounds that is visit in all: "
    assert replay.summary().startswith(f"{replay.headline()}. {told}")
    assert f"{300 * mean:.4g} by uniform; pgd, budget and parity beyond uniform " in replay.summary()
    assert told in str(replay)
    for system, measures in replay.measured.items():
        assert system in read.of("th")
        assert f"{measures['visit'][1].mean:.4f}" in read.of("td")
    assert read.tags.count("svg") == 6  # differences, budgets used, and towns, each in two widths
    assert any("standard error of this mean" in text for text in read.of("pre"))


def test_what_a_replay_leaves(found):
    replay, out = found
    assert {path.name for path in out.iterdir()} == {"results.json", "replay.parquet", "replay.svg", "report.html"}
    assert any("standardised by the log" in note for note in replay.notes)
    assert list(replay.to_frame().columns) == list(replay.lines()[0]._fields)


def test_the_page_of_an_interrupted_replay(found):
    replay, _ = found
    part = replace(replay, runs=replay.runs[:1], missing=("uniform",))
    read = self_contained(part.page().html())
    mean = part.measured["pgd, budget and parity"]["visit"][1].mean
    assert part.headline() == f"pgd, budget and parity brings {mean:.4f} visit per round"
    assert "Interrupted: nothing is known about uniform." in read.of("p")
    none = replace(replay, runs=(), missing=("pgd", "uniform"))
    assert self_contained(none.page().html()).of("h1") == ["Nothing has finished"]
    assert none.summary().startswith(
        "Nothing has finished. Interrupted: nothing is known about pgd; uniform. The budget"
    )


def test_reports_of_logs_need_no_matplotlib(files, tmp_path):
    code = """
import sys
sys.modules["matplotlib"] = None
from evenhand.cli import main
log, toml, out = sys.argv[1:]
few = ["--replicas", "1", "--bootstrap", "0"]
assert main(["replay", log, "--problem", toml, *few, "--out", f"{out}/one"]) == 0
assert main(["replay", log, "--problem", toml, *few, "--policy", "pgd,ucb", "--out", f"{out}/several"]) == 0
assert main(["curve", log, "--problem", toml, "--budgets", "2", "--out", f"{out}/curve"]) == 0
"""
    words = [sys.executable, "-c", code, *map(str, (*files, tmp_path))]
    subprocess.run(words, check=True)
    for picture in ("one/replay.svg", "several/replay.svg", "curve/curve.svg"):
        assert (tmp_path / picture).exists()


def test_without_resamples_no_error_is_known(files):
    few = Runs(replicas=2, bootstrap=0)
    found = replay_several(*files, policies=["pgd"], rates=[0.1, 0.3], runs=few, how=Execution(progress=False))
    read = self_contained(found.page().html())
    assert any("no errors are known" in text for text in read.of("p"))
    one = replay_log(*files, replicas=2, bootstrap=0, progress=False)
    assert "(no error known)" in one.headline()
    assert "not told" not in one.headline()


def test_the_page_of_several_recipes_has_every_difference(files, tmp_path, capsys):
    args = ["replay", *map(str, (files[0], "--problem", files[1])), "--replicas", "2", "--bootstrap", "3"]
    args += ["--policy", "pgd,resolving", "--rates", "0.1,0.3", "--out", str(tmp_path / "out")]
    assert main(args) == 0
    assert str(tmp_path / "out" / "report.html") in capsys.readouterr().out
    read = self_contained((tmp_path / "out" / "report.html").read_text())
    frame = pd.read_parquet(tmp_path / "out" / "replay.parquet")
    shown = "".join(read.of("text"))
    for _, row in frame[frame.beyond != ""].iterrows():
        assert f"{round(row['mean'], 4) + 0.0:+.4f}" in shown
    assert read.of("h1") == [json.loads((tmp_path / "out" / "results.json").read_text())["settings"]["result"]]
    assert read.of("pre")[-1] == f"evenhand {' '.join(args)}"
