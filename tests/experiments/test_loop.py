"""A user's own experiment goes through the same loop as evenhand's."""

import json
import os
import signal
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court
from evenhand.experiments import Case, discover, find, loop, option
from evenhand.experiments.court import CourtExperiment
from evenhand.experiments.loop import run
from evenhand.experiments.options import options, settings
from evenhand.recipes import uniform
from evenhand.report.plots import over_rounds, save
from evenhand.report.results import Measurement
from evenhand.run import simulate, simulation


@dataclass(frozen=True, kw_only=True)
class Section:
    """Blind sharing at two budgets, and a policy that the smaller one refuses."""

    rounds: int
    title: str = "my own"
    points: tuple[dict[str, float], ...] = ({"ride": 0.05}, {"ride": 0.1})

    def cases(self, point):
        court = Court(horizon=self.rounds, ride=point["ride"])
        yield Case(point, "blind", court, uniform(court.problem, n_features=5))
        small = point["ride"] < 0.1
        twin = None if small else replace(uniform(court.problem, n_features=5), name="twin")
        yield Case(point, "twin", court, twin, "a budget of 0.05 is too small" if small else "")

    def measure(self, runs):
        return [
            Measurement.of(r.case.system, r.case.at, "ride", r.trace.total("ride"), worst="high")
            for r in runs
            if r.trace
        ]

    def report(self, runs, results):
        refused = [f"{r.case.system}: {r.case.refused}" for r in runs if r.trace is None]
        return "\n".join([*(results.table(p, ("ride",)) for p in self.points), *refused])

    def draw(self, runs, out):
        return [save(over_rounds([r.trace for r in runs if r.trace]), out / "own.png")]


@dataclass(frozen=True, kw_only=True)
class Own:
    name: ClassVar[str] = "own"
    title: ClassVar[str] = "an experiment of a user's own"
    about: ClassVar[str] = "It shares blindly."
    replicas: int = option(2, "R")
    rounds: int = option(40, "T")
    seed: int = option(0, "S", least=None)
    jobs: int = 1

    def sections(self, session):
        yield Section(rounds=self.rounds)


def test_a_users_experiment_is_run_reported_written_and_drawn(tmp_path):
    said: list[str] = []
    results = run(Own(), out=tmp_path, progress=False, log=said.append)
    assert not results.interrupted
    assert [(m.system, m.at["ride"]) for m in results.rows] == [("blind", 0.05), ("blind", 0.1), ("twin", 0.1)]
    assert all(m.worst <= 40 * m.at["ride"] for m in results.rows)
    assert said[0] == "my own"
    assert said[1].endswith("twin: a budget of 0.05 is too small")
    assert said[-1] == f"written: {tmp_path / 'results.json'} and plots"
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["experiment"] == "own"
    assert written["settings"] == {"replicas": 2, "rounds": 40, "seed": 0}  # how many processes changes nothing
    assert (tmp_path / "own.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_the_same_numbers_in_two_processes():
    rows = [run(Own(jobs=jobs), progress=False, log=lambda _: None).rows for jobs in (1, 2)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_interrupt_keeps_what_is_complete(done, tmp_path, monkeypatch):
    """Ctrl-C while the run after `done` others is under way."""
    begun = 0

    def interrupted(policy, environment, **rest):
        nonlocal begun
        begun += 1
        if begun == done + 1:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(simulate(policy, environment, **rest), finished=begun <= done)

    monkeypatch.setattr(loop, "simulate", interrupted)
    said: list[str] = []
    results = run(Own(), out=tmp_path, progress=False, log=said.append)
    assert results.interrupted
    assert begun == done + 1
    assert len(results.rows) == done
    assert said[1] == loop.INTERRUPTED  # before the tables
    assert json.loads((tmp_path / "results.json").read_text())["settings"]["interrupted"] is True
    assert (tmp_path / "own.png").exists() is (done > 0)


def test_a_folder_that_cannot_be_made_is_named_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "simulate", None)  # nothing is run
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="out: expected a folder"):
        run(Own(), out=tmp_path / "file", log=lambda _: None)


def test_experiments_are_found_in_their_folder():
    found = discover()
    names = {"allocation", "concave-rewards", "court", "demo", "fair-ranking", "lessons", "small-budgets"}
    assert set(found) == names | {"concave-convex", "square-cbwk"}
    for name, experiment in found.items():
        assert experiment.name == name
        assert experiment.title
        assert experiment.about
        declared = {o.field: o for o in options(experiment)}
        assert {"replicas", "seed"} <= set(declared)
        assert declared["seed"].least is None
        assert "jobs" not in settings(experiment())


def test_options_are_typed_by_their_fields():
    taus = next(o for o in options(find("court")) if o.field == "taus")
    assert (taus.flag, taus.kind, taus.repeatable) == ("--tau", float, True)
    assert {name for name in discover() if "jobs" not in {o.field for o in options(find(name))}} <= {"concave-rewards"}
    sweeps = next(o for o in options(find("square-cbwk")) if o.field == "sweeps")
    assert (sweeps.flag, sweeps.kind, sweeps.choices) == ("--sweep", str, ("m", "K", "T"))
    arms = next(o for o in options(find("concave-rewards")) if o.field == "arms")
    assert (arms.kind, arms.repeatable, arms.least) == (int, True, 1)
    assert find("court")(taus=(0.1, 0.025, 0.1)).taus == (0.1, 0.025)
    with pytest.raises(InvalidInput, match="taus: expected at least one"):
        find("court")(taus=())


def test_a_run_says_after_which_rounds_budgets_ended():
    """Both points of the section together, for every system; blind sharing ends with rides masked."""
    said: list[str] = []
    run(Own(rounds=400), progress=False, log=said.append)
    worlds = [Court(horizon=400, ride=ride) for ride in (0.05, 0.1)]
    traces = [simulate(uniform(w.problem, n_features=5), w, replicas=2, progress=False) for w in worlds]
    ends = [t for trace in traces for t in trace.restricted_after if t == t]
    assert ends
    when = f"round {min(ends):.0f}" if min(ends) == max(ends) else f"rounds {min(ends):.0f} to {max(ends):.0f}"
    ended = f"{len(ends)} ended with actions masked that no longer fitted (after {when})"
    assert f"blind: of 4 replicas, {ended}" in said


def test_results_say_of_what_their_errors_are(tmp_path):
    run(Own(), out=tmp_path, progress=False, log=lambda _: None)
    assert json.loads((tmp_path / "results.json").read_text())["se"] == "of the mean over replicas"


@pytest.mark.slow
def test_an_experiment_goes_on_from_the_systems_that_were_finished(tmp_path, monkeypatch):
    whole = run(Own(), progress=False, log=lambda _: None)
    asked: list[str] = []

    def counted(policy, world, **options):
        asked.append(policy.name)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return simulate(policy, world, **options)

    monkeypatch.setattr(loop, "simulate", counted)
    with pytest.raises(KeyboardInterrupt):
        run(Own(), out=tmp_path, resume=True, progress=False, log=lambda _: None)
    again = run(Own(), out=tmp_path, resume=True, progress=False, log=lambda _: None)
    assert len(asked) == 4  # the first two were kept
    assert again.rows == whole.rows
    broken = sorted((tmp_path / "traces").iterdir())[0]
    broken.write_bytes(broken.read_bytes()[:100])
    assert run(Own(), out=tmp_path, resume=True, progress=False, log=lambda _: None).rows == whole.rows
    assert len(asked) == 5  # only what was cut off is run again
    run(Own(seed=1), out=tmp_path, resume=True, progress=False, log=lambda _: None)
    assert len(asked) == 8  # another seed


def test_an_experiment_goes_on_in_the_middle_of_a_run(tmp_path, monkeypatch):
    whole = run(Own(rounds=300), progress=False, log=lambda _: None)
    real = simulation.run_chunks

    def pressed_in_the_middle(task, tasks, shown, jobs):
        return [task(tasks[0], lambda steps: steps == 0)]  # Ctrl-C is seen after 64 steps

    with monkeypatch.context() as patch:
        patch.setattr(simulation, "run_chunks", pressed_in_the_middle)
        cut = run(Own(rounds=300), out=tmp_path, resume=True, progress=False, log=lambda _: None)
    assert cut.interrupted
    assert [f.name.split("-")[0] for f in (tmp_path / "traces").glob("*.half.npz")] == ["uniform"]
    played = []

    def counted(task, tasks, shown, jobs):
        played.append(shown.total - shown.done)
        return real(task, tasks, shown, jobs)

    monkeypatch.setattr(simulation, "run_chunks", counted)
    again = run(Own(rounds=300), out=tmp_path, resume=True, progress=False, log=lambda _: None)
    assert played == [300 - 64, 300, 300]
    assert again.rows == whole.rows
    assert not list((tmp_path / "traces").glob("*.half.npz"))


@pytest.mark.parametrize("wrong", [{"jobs": 10**6}, {"seed": -1}, {"replicas": 10**12}])
def test_numbers_that_no_run_can_have_are_refused_before_sections_are_made(wrong, monkeypatch):
    def too_late(*_):
        raise AssertionError("a section was made")

    monkeypatch.setattr(CourtExperiment, "sections", too_late)
    with pytest.raises(InvalidInput, match=f"^{next(iter(wrong))}: expected"):
        run(CourtExperiment(**wrong), progress=False)


def test_an_unknown_experiment_is_named_with_a_guess():
    with pytest.raises(InvalidInput, match=r"experiment: expected one of .*, got cuort \(did you mean court\?\)"):
        find("cuort")
