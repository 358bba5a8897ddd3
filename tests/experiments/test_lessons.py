import json
import os
import signal

import pytest

import evenhand.experiments.lessons.study as module
from evenhand.cli import main
from evenhand.experiments import loop
from evenhand.experiments.lessons import LessonsExperiment
from evenhand.experiments.loop import run


@pytest.mark.slow
def test_everything_at_once_and_its_halves(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PUPILS", 300)
    said: list[str] = []
    results = run(LessonsExperiment(replicas=3, rounds=1500), out=tmp_path, progress=False, log=said.append)
    found = json.loads((tmp_path / "results.json").read_text())
    assert [r["system"] for r in found["rows"] if r["metric"] == "objective"] == [
        "optimum", "optimum, no contexts", "resolving", "fw_dual", "resolving, goal only", "resolving, plain sum",
        "bwcr, no contexts", "uniform",
    ]  # fmt: skip
    assert (tmp_path / "lessons.png").read_bytes()[:4] == b"\x89PNG"
    assert "parity gap" in "\n".join(said)
    mean = {(r.system, r.metric): r.mean for r in results.rows}
    assert mean["resolving, goal only", "objective"] > mean["optimum", "objective"] > mean["resolving", "objective"]
    assert mean["resolving", "objective"] > mean["bwcr, no contexts", "objective"] > mean["uniform", "objective"]
    assert mean["resolving, goal only", "hours used"] > 1.5
    for row in results.rows:
        if row.metric in ("hours used", "money used") and row.system != "resolving, goal only":
            assert row.worst is not None
            assert row.worst <= 1 + 1e-9


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_is_finished(monkeypatch, capsys):
    real = loop.simulate

    def interrupted(policy, world, **options):
        if policy.name == "fw_dual":
            os.kill(os.getpid(), signal.SIGINT)
        return real(policy, world, **options)

    monkeypatch.setattr(loop, "simulate", interrupted)
    monkeypatch.setattr(module, "PUPILS", 50)
    assert main(["reproduce", "lessons", "--replicas", "1", "--rounds", "60"]) == 130
    shown = capsys.readouterr().out
    assert "resolving" in shown
    assert "INTERRUPTED" in shown
    assert "bwcr" not in shown
