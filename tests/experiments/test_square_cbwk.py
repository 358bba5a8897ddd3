import json
import math
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import evenhand.experiments.square_cbwk.study as module
from evenhand.core.errors import InvalidInput
from evenhand.experiments import loop
from evenhand.experiments.loop import run
from evenhand.experiments.square_cbwk import SquareCBwKExperiment
from evenhand.experiments.square_cbwk.study import (
    LOOKS,
    NEWTON,
    POINTS,
    PUBLISHED,
    SWEEPS,
    Point,
    Sweep,
    against,
    systems,
)
from evenhand.run import simulate

SMALL, SMALLER = Point(5, 3, 120), Point(5, 3, 80)


@pytest.fixture
def small(monkeypatch):
    """Two small points, and short sweeps of them."""
    monkeypatch.setattr(module, "POINTS", (SMALL, SMALLER))
    panel = {"m = 5, K = 3": (SMALLER, SMALL)}
    short = {
        "m": Sweep("dimension m", {"K = 3, T = 80": (SMALLER, Point(6, 3, 80))}, "mean"),
        "T": Sweep("rounds T", {**panel, "m = 6, K = 3": (Point(6, 3, 80), Point(6, 3, 120))}, "median"),
    }
    monkeypatch.setattr(module, "SWEEPS", short)


def test_results_follow_the_schema(tmp_path, small):
    said: list[str] = []
    run(SquareCBwKExperiment(replicas=2, seed=3), out=tmp_path, progress=False, log=said.append)
    found = json.loads((tmp_path / "results.json").read_text())
    assert set(found) == {"experiment", "version", "se", "settings", "notes", "rows"}
    assert found["experiment"] == "square-cbwk"
    assert found["settings"] == {"replicas": 2, "sweeps": [], "orders": 10, "seed": 3}
    for row in found["rows"]:
        assert set(row) == {"system", "at", "metric", "mean", "se", "worst", "published"}
        assert row["published"] is None  # no published point
    for point in (SMALL, SMALLER):
        for metric in ("regret", "median regret"):
            there = [r["system"] for r in found["rows"] if r["at"] == point._asdict() and r["metric"] == metric]
            assert there == [p.name for _, p in systems(point, 10)]
    assert sorted([*LOOKS, "uniform"]) == sorted(there)
    assert "m = 5, K = 3, T = 120: 2 replicas, 10 random orders of the arms, seed 3" in said
    assert list(tmp_path.iterdir()) == [tmp_path / "results.json"]  # pictures are of sweeps


def test_regret_is_the_optimum_minus_expected_rewards(small):
    results = run(SquareCBwKExperiment(replicas=3), progress=False, log=lambda _: None)
    world, policy = systems(SMALL, 10)[0]
    expected = simulate(policy, world, replicas=3, progress=False).expected
    assert expected is not None
    regret = 0.5 * SMALL.T - expected[-1, :, 0]
    row = results.find(NEWTON, "regret", SMALL._asdict())
    assert row is not None
    assert row.mean == pytest.approx(regret.mean())
    assert row.worst == pytest.approx(regret.max())
    middle = results.find(NEWTON, "median regret", SMALL._asdict())
    assert middle is not None
    assert middle.mean == pytest.approx(np.median(regret))


@pytest.mark.slow
def test_sweeps_are_tabled_and_drawn(tmp_path, small, monkeypatch):
    monkeypatch.setattr(module, "PUBLISHED", {SMALL: {NEWTON: (10.0, 5.0)}})
    said: list[str] = []
    results = run(
        SquareCBwKExperiment(replicas=2, sweeps=("T", "m", "T")), out=tmp_path, progress=False, log=said.append
    )
    assert results.settings["sweeps"] == ["T", "m"]
    assert {p.name for p in tmp_path.iterdir()} == {"results.json", "square-cbwk-T.png", "square-cbwk-m.png"}
    assert (tmp_path / "square-cbwk-T.png").read_bytes()[:4] == b"\x89PNG"
    text = "\n".join(said)
    assert text.count("regret, median") == 2
    assert text.count("regret, mean") == 1
    assert text.count("difference") == 1  # the one point of which anything is published
    row = results.find(NEWTON, "regret", SMALL._asdict())
    assert row is not None
    assert row.published == 10.0


def test_a_single_replica_meets_nothing_and_misses_nothing(small, monkeypatch):
    monkeypatch.setattr(module, "PUBLISHED", {SMALL: {NEWTON: (10.0, None)}})
    said: list[str] = []
    run(SquareCBwKExperiment(replicas=1), progress=False, log=said.append)
    line = next(x for x in "\n".join(said).splitlines() if x.startswith(NEWTON))
    assert line.split()[-2:] == ["-", "-"]


def test_two_standard_errors_of_the_difference(monkeypatch):
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # standard deviation sqrt 2.5
    point = Point(5, 3, 100)
    monkeypatch.setattr(module, "PUBLISHED", {point: {"known": (2.0, 4.0), "unknown": (2.0, None)}})
    assert against(point, "known", values) == pytest.approx((2.0, 1.0, 2 * math.sqrt(2.5 / 5 + 16.0 / 10)))
    assert against(point, "unknown", values) == pytest.approx((2.0, 1.0, 2 * math.sqrt(2.5 / 5 + 2.5 / 10)))


def test_the_sweeps_are_the_notebooks():
    dimensions = [Point(m, 3, 2000) for m in np.linspace(10, 100, 19).round().astype(int)]
    assert list(SWEEPS["m"].panels.values()) == [tuple(dimensions)]
    arms = [Point(52, k, 2000) for k in np.linspace(5, 51, 10).astype(int)]
    assert list(SWEEPS["K"].panels.values()) == [tuple(arms)]
    rounds = [p.T for p in SWEEPS["T"].panels["m = 52, K = 3"]]
    assert rounds == list(range(1000, 13000, 1000))
    assert set(PUBLISHED) <= {*POINTS}


def test_an_unknown_sweep_is_refused():
    with pytest.raises(InvalidInput, match=r"sweeps: expected some of \('m', 'K', 'T'\)"):
        run(SquareCBwKExperiment(sweeps=("n",)))


@pytest.mark.parametrize("enough", [0, 4, 9])
def test_an_interrupt_keeps_what_is_done(enough, tmp_path, small, monkeypatch):
    done = 0

    def interrupted(policy, environment, **options):
        nonlocal done
        done += 1
        return replace(simulate(policy, environment, **options), finished=done <= enough)

    monkeypatch.setattr(loop, "simulate", interrupted)
    said: list[str] = []
    results = run(SquareCBwKExperiment(replicas=2, sweeps=("m",)), out=tmp_path, progress=False, log=said.append)
    assert results.interrupted
    assert len([r for r in results.rows if r.metric == "regret"]) == enough
    assert json.loads((tmp_path / "results.json").read_text())["settings"]["interrupted"] is True
    assert (tmp_path / "square-cbwk-m.png").exists() is (enough > 0)
    assert said[1] == loop.INTERRUPTED
    assert said[-1].startswith("written: ")
    assert done == enough + 1


def test_an_interrupt_between_two_runs(small, monkeypatch):
    def interrupting(policy, environment, **options):
        trace = simulate(policy, environment, **options)
        os.kill(os.getpid(), signal.SIGINT)
        return trace

    monkeypatch.setattr(loop, "simulate", interrupting)
    results = run(SquareCBwKExperiment(replicas=2), progress=False, log=lambda _: None)
    assert results.interrupted
    assert len(results.rows) == 2  # one system's


@pytest.mark.slow
def test_the_published_numbers_are_met_at_fifty_two_features(monkeypatch):
    point = Point(52, 3, 2000)
    monkeypatch.setattr(module, "POINTS", (point,))
    said: list[str] = []
    results = run(SquareCBwKExperiment(), progress=False, log=said.append)
    for system, (published, spread) in PUBLISHED[point].items():
        row = results.find(system, "regret", point._asdict())
        assert row is not None
        assert row.se is not None
        assert spread is not None
        assert row.published == published
        assert abs(row.mean - published) <= 2 * math.hypot(row.se, spread / math.sqrt(10)), (system, row.mean)
    lines = "\n".join(said).splitlines()
    assert [sum(line.endswith(f" {met}") for line in lines) for met in ("yes", "no")] == [3, 0]
