"""An estimate of time comes from a trial of every system, and knows what is kept."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.environments import Court
from evenhand.experiments import loop
from evenhand.experiments.loop import run
from evenhand.recipes import uniform
from evenhand.run import Checkpoints, simulate, simulation
from evenhand.run.simulation import TRIAL, pace, share_in_checkpoints
from tests.experiments.test_loop import Own

COURT = Court(horizon=2000)
BLIND = uniform(COURT.problem, n_features=5)


@pytest.fixture
def any_length(monkeypatch):
    """Experiments of any length are worth an estimate, and every step takes a millisecond."""
    monkeypatch.setattr(loop, "LEAST", 1)
    monkeypatch.setattr(loop, "pace", lambda policy, world, **rest: 1e-3)


def told(experiment, **options):
    said = []
    run(experiment, progress=False, log=said.append, **options)
    return [line for line in said if line.startswith("about ")]


@pytest.mark.slow
@pytest.mark.usefixtures("any_length")
def test_all_systems_of_all_points_are_estimated_once_at_the_start(tmp_path):
    (line,) = told(Own(rounds=400))
    hint = "; with --out and --resume it can be interrupted"
    expected = (
        f"about 1 s for 3 systems of 400 rounds, by {TRIAL} rounds of each on this machine, as busy as it is{hint}"
    )
    assert line == expected
    assert told(Own(rounds=400), out=tmp_path, resume=True) == [expected.removesuffix(hint)]
    (line,) = told(Own(rounds=400), out=tmp_path, resume=True)
    assert line.startswith("about 1 s for 3 systems of 400 rounds, of which 3 are finished, by")


def test_short_experiments_are_not_tried():
    assert told(Own(rounds=400)) == []


@pytest.mark.usefixtures("any_length")
def test_sections_know_that_they_are_only_looked_at(monkeypatch):
    """`cases` is asked for with `asked_to_stop` true, and again without."""
    seen = []
    sections = Own.sections

    def watched(self, session):
        for section in sections(self, session):
            cases = section.cases
            object.__setattr__(section, "cases", lambda p, c=cases: seen.append(session.asked_to_stop()) or c(p))
            yield section

    monkeypatch.setattr(Own, "sections", watched)
    run(Own(rounds=400), progress=False, log=lambda _: None)
    assert seen == [True, True, False, False]


def test_the_pace_is_that_of_steps_after_the_first_and_of_no_hiccup(monkeypatch):
    """The first 128 steps take a second each, as kernels are compiled, and later 64 steps; the others a hundredth."""
    clock = iter(np.cumsum([64.0, 64.0, 0.64, 0.64, 64.0] + [0.64] * 20))
    monkeypatch.setattr(simulation.time, "perf_counter", lambda: next(clock))
    assert pace(BLIND, COURT, replicas=1, seed=0, asked_to_stop=lambda: False) == pytest.approx(0.01)
    assert pace(BLIND, COURT, replicas=1, seed=0, asked_to_stop=lambda: True) == 0.0


def test_a_run_that_ends_within_the_trial_takes_no_time():
    short = Court(horizon=100)
    assert pace(uniform(short.problem, 5), short, replicas=1, seed=0, asked_to_stop=lambda: False) == 0.0


def test_what_is_kept_of_a_run_is_left_out(tmp_path, monkeypatch):
    kept = Checkpoints(folder=tmp_path)
    options = {"replicas": 4, "seed": 0, "jobs": 2, "checkpoints": kept}
    assert share_in_checkpoints(BLIND, COURT, **options) == 0.0
    stop = iter([True] * 9 + [False])  # the second chunk is interrupted after 640 steps

    def chunks(work, tasks, bar, jobs):
        return [work(tasks[0], lambda _: True), work(tasks[1], lambda steps: steps == 0 or next(stop))]

    monkeypatch.setattr(simulation, "run_chunks", chunks)
    simulate(BLIND, COURT, progress=False, **options)
    assert share_in_checkpoints(BLIND, COURT, **options) == (2000 + 640) / 4000
    assert share_in_checkpoints(replace(BLIND, name="twin"), COURT, **options) == 0.0
