"""A run that was interrupted and goes on is the run that was not, bit for bit."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.environments import Court, Delayed, WithoutContexts
from evenhand.experiments import Session
from evenhand.experiments.fair_ranking import AIMS, FairRankingExperiment
from evenhand.experiments.fair_ranking.study import sections
from evenhand.models import Logistic, Sklearn
from evenhand.recipes import pgd, uniform
from evenhand.run import Checkpoints, Trace, checkpoint, simulate, simulation
from tests.examples.recipes import RECIPES
from tests.resume import CASES

RANKINGS = [
    (case.system, case.policy, case.world)
    for section in sections(
        FairRankingExperiment(rounds=200, factors=3, aims=AIMS), Session(False, asked_to_stop=lambda: True)
    )
    for case in section.cases(section.points[0])
]


def same(a: Trace, b: Trace):
    for f in fields(Trace):
        mine, other = getattr(a, f.name), getattr(b, f.name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, other, err_msg=f.name)
            assert mine.dtype == other.dtype
        elif f.name != "problem":
            assert mine == other, f.name


def interrupt(monkeypatch, after):
    """Let runs look at Ctrl-C after every step, and press it once so many steps were done, in all chunks together."""
    left = after

    def chunks(run, tasks, bar, jobs):
        def watch(steps):
            nonlocal left
            left -= steps
            return left > 0

        return [run(task, watch) for task in tasks]

    monkeypatch.setattr(simulation, "_EVERY", 1)
    monkeypatch.setattr(simulation, "run_chunks", chunks)


def cut_short(monkeypatch, policy, world, after, settings, **options):
    with monkeypatch.context() as patch:
        interrupt(patch, after)
        trace = simulate(policy, world, progress=False, checkpoints=settings, **options)
    assert not trace.finished
    return trace


@pytest.mark.parametrize(
    ("policy", "world", "replicas"),
    [(*r[1:], (1, 3)[i % 2]) for i, r in enumerate(RANKINGS)],
    ids=[r[0] for r in RANKINGS],
)
def test_every_system_of_fair_rankings_goes_on_as_if_nothing_had_been(policy, world, replicas, tmp_path, monkeypatch):
    settings, options = Checkpoints(folder=tmp_path), {"replicas": replicas, "seed": 4}
    whole = simulate(policy, world, progress=False, **options)
    at = np.sort(np.random.default_rng(replicas).integers(1, 200, 2))  # interrupted twice
    first = cut_short(monkeypatch, policy, world, at[0], settings, **options)
    assert first.times[-1] == at[0]
    assert len(list(tmp_path.iterdir())) == 1
    second = cut_short(monkeypatch, policy, world, at[1] - at[0] + 1, settings, **options)
    assert second.times[-1] == at[1] + 1
    same(simulate(policy, world, progress=False, checkpoints=settings, **options), whole)
    assert not list(tmp_path.iterdir())


OTHERS = CASES | {
    f"{name} {i}": (policy, world)
    for name, recipe in RECIPES.items()
    for i, (policy, world) in enumerate(recipe)
    if not isinstance(world, Delayed)
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_systems_go_on_alike(name, tmp_path, monkeypatch):
    policy, world = OTHERS[name]
    settings, options = Checkpoints(folder=tmp_path), {"replicas": [7, 0], "seed": 1}
    whole = simulate(policy, world, progress=False, **options)
    after = min(40, int(whole.times[-1]) // 2)  # some end early, as budgets do
    cut_short(monkeypatch, policy, world, after, settings, **options)
    same(simulate(policy, world, progress=False, checkpoints=settings, **options), whole)


def test_chunks_that_had_finished_are_not_run_again(tmp_path, monkeypatch):
    """The second of two chunks is interrupted; budgets end both before the last step."""
    court = Court(horizon=3000, ride=0.002, voucher=0.002)
    policy = pgd(court.problem, Logistic(n_features=5), step=0.1, hard=True)
    options = {"replicas": 4, "seed": 2, "jobs": 2}
    whole = simulate(policy, court, replicas=4, seed=2, progress=False)
    settings = Checkpoints(folder=tmp_path)
    cut_short(monkeypatch, policy, court, 3000 + 500, settings, **options)
    assert len(list(tmp_path.iterdir())) == 2
    steps = []
    with monkeypatch.context() as patch:
        patch.setattr(simulation, "run_chunks", lambda run, tasks, bar, jobs: [run(t, count(steps)) for t in tasks])
        again = simulate(policy, court, progress=False, checkpoints=settings, **options)
    same(again, whole)
    assert sum(steps) <= 2500
    assert not list(tmp_path.iterdir())


def count(steps):
    def watch(done):
        steps.append(done)
        return True

    return watch


COURT = Court(horizon=500)
BLIND = uniform(COURT.problem, n_features=5)


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_from_its_last_checkpoint(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from evenhand.run import Checkpoints, simulate\n"
        "from tests.run.test_checkpoints import KILLED\n"
        f"kept = Checkpoints(folder=Path({str(tmp_path)!r}), every=0)\n"
        "simulate(*KILLED, replicas=2, progress=False, checkpoints=kept)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("*.half.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (file,) = tmp_path.glob("*.half.npz")
    with np.load(file) as arrays:
        assert 0 < arrays[".record.steps"] < KILLED[1].horizon
    file.with_name(f"{file.name}.0.part").touch()  # what is left where it was killed while writing
    again = simulate(*KILLED, replicas=2, progress=False, checkpoints=Checkpoints(folder=tmp_path))
    same(again, simulate(*KILLED, replicas=2, progress=False))
    assert not list(tmp_path.iterdir())


LONG = Court(horizon=20_000)
KILLED = uniform(LONG.problem, n_features=5), LONG


@pytest.mark.parametrize("kept", [0, 100, -1])
def test_a_checkpoint_that_was_cut_off_is_ignored_with_a_warning(kept, tmp_path, monkeypatch):
    settings = Checkpoints(folder=tmp_path)
    cut_short(monkeypatch, BLIND, COURT, 200, settings, replicas=2)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.warns(
        UserWarning, match=r"not a saved state of evenhand, or one that was cut off; the run starts from the beginning"
    ):
        again = simulate(BLIND, COURT, replicas=2, progress=False, checkpoints=settings)
    same(again, simulate(BLIND, COURT, replicas=2, progress=False))


def test_checkpoints_are_written_when_they_are_due_and_leave_nothing_half_written(tmp_path, monkeypatch):
    seen = []
    write = checkpoint.Checkpoint.write

    def watched(self, halfway):
        write(self, halfway)
        seen.append(halfway.record.steps)
        assert [f.name for f in tmp_path.iterdir()] == [self.path.name]

    monkeypatch.setattr(checkpoint.Checkpoint, "write", watched)
    for every, expected in ((0.0, [64, 128, 192, 256, 320, 384, 448, 500]), (60.0, [500])):
        seen.clear()
        simulate(BLIND, COURT, replicas=2, progress=False, checkpoints=Checkpoints(folder=tmp_path, every=every))
        assert seen == expected
    assert not list(tmp_path.iterdir())


def test_what_is_shown_begins_where_the_run_was(tmp_path, monkeypatch):
    settings, shown = Checkpoints(folder=tmp_path), []
    cut_short(monkeypatch, BLIND, COURT, 200, settings, replicas=2)
    monkeypatch.setattr(
        simulation, "Work", lambda *given, **more: shown.append((given[2], more["done"])) or Work(*given, **more)
    )
    simulate(BLIND, COURT, replicas=2, progress=False, checkpoints=settings)
    assert shown == [(500, 200)]


def test_another_run_has_another_checkpoint(tmp_path, monkeypatch):
    settings = Checkpoints(folder=tmp_path)
    for change in ({"seed": 1}, {"seed": 2}, {"seed": 1, "replicas": [0, 2]}):
        cut_short(monkeypatch, BLIND, COURT, 100, settings, **({"replicas": 2} | change))
    cut_short(monkeypatch, replace(BLIND, name="twin"), COURT, 9, settings, seed=1)
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("world", [Delayed(COURT, 3), WithoutContexts(Delayed(COURT, 3))])
def test_a_world_that_remembers_says_so_at_once(world, tmp_path, monkeypatch):
    policy = uniform(world.problem, world.n_features)
    settings = Checkpoints(folder=tmp_path, every=0)
    with pytest.warns(UserWarning, match="will start from the beginning: outcomes that are under way in Delayed"):
        trace = simulate(policy, world, replicas=2, progress=False, checkpoints=settings)
    assert trace.finished
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_library_says_so_once(tmp_path):
    linear = pytest.importorskip("sklearn.linear_model")
    court = Court(horizon=200)
    model = Sklearn(estimator=linear.SGDRegressor(), n_features=5, mode="partial_fit")
    policy, kept = pgd(court.problem, model, step=0.1), Checkpoints(folder=tmp_path, every=0)
    with pytest.warns(UserWarning, match=r"will start from the beginning: .*SGDRegressor.* cannot be saved") as warned:
        trace = simulate(policy, court, replicas=1, progress=False, checkpoints=kept)
    assert sum("cannot be saved" in str(w.message) for w in warned) == 1  # beside one that the policy never explores
    assert trace.finished


def test_what_checkpoints_cannot_do_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="record: expected 'grid'"):
        simulate(BLIND, COURT, record="all", progress=False, checkpoints=Checkpoints(folder=tmp_path))
    with pytest.raises(InvalidInput, match=r"Checkpoints\.every: expected seconds"):
        Checkpoints(folder=tmp_path, every=-1)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=r"Checkpoints\.folder: expected a folder"):
        simulate(BLIND, COURT, progress=False, checkpoints=Checkpoints(folder=tmp_path / "file"))


def test_seeds_and_replicas_that_are_the_same_as_floats_are_told_apart(tmp_path, monkeypatch):
    settings = Checkpoints(folder=tmp_path)
    for change in ({"seed": 2**60}, {"seed": 2**60 + 1}, {"replicas": [2**60]}, {"replicas": [2**60 + 1]}):
        cut_short(monkeypatch, BLIND, COURT, 9, settings, **({"seed": 1, "replicas": 1} | change))
    assert len(list(tmp_path.iterdir())) == 4


def test_a_disk_that_is_full_costs_the_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("evenhand.run.checkpoint.save", full)
    with pytest.warns(UserWarning, match="no checkpoint was written: no space left"):
        trace = simulate(BLIND, COURT, replicas=1, progress=False, checkpoints=Checkpoints(folder=tmp_path, every=0))
    assert trace.finished


def test_names_of_files_are_made_of_any_name(tmp_path):
    policy = replace(BLIND, name="a/b\0" + 300 * "c")
    folder = str(tmp_path)  # a name will do
    assert simulate(policy, COURT, replicas=1, progress=False, checkpoints=Checkpoints(folder=folder)).finished


def test_an_environment_without_a_hash_runs_without_checkpoints(tmp_path):
    class Plain:
        problem, n_features = COURT.problem, COURT.n_features

        def start(self, seed, replicas):
            return COURT.start(seed, replicas)

    with pytest.warns(UserWarning, match="will start from the beginning: configuration: expected dataclasses"):
        trace = simulate(BLIND, Plain(), replicas=1, progress=False, checkpoints=Checkpoints(folder=tmp_path))
    assert trace.finished


@pytest.mark.parametrize("field", [".replicas", ".state.books", ".record.expected", ".record.clock", ".record.reached"])
def test_a_file_that_was_altered_is_ignored(field, tmp_path, monkeypatch):
    settings = Checkpoints(folder=tmp_path)
    cut_short(monkeypatch, BLIND, COURT, 100, settings, seed=1, replicas=2)
    (path,) = tmp_path.iterdir()
    with np.load(path) as file:
        arrays = dict(file)
    change = {
        ".replicas": lambda z: z[::-1],
        ".state.books": lambda z: z[:, :1],
        ".record.expected": lambda z: z[:, :1],
        ".record.clock": lambda z: np.zeros(2),
        ".record.reached": lambda z: z + 10**6,
    }
    np.savez(path, **arrays | {field: change[field](arrays[field])})
    with pytest.warns(UserWarning, match="the run starts from the beginning"):
        trace = simulate(BLIND, COURT, replicas=2, seed=1, progress=False, checkpoints=settings)
    np.testing.assert_array_equal(trace.totals, simulate(BLIND, COURT, replicas=2, seed=1, progress=False).totals)


@pytest.mark.parametrize("given", [str, Path, Checkpoints], ids=lambda kind: kind.__name__)
def test_a_folder_is_enough(tmp_path, monkeypatch, given):
    court = Court(horizon=60)
    policy = uniform(court.problem, n_features=5)
    options = {"replicas": 2, "seed": 3, "progress": False, "checkpoints": given(tmp_path / "kept")}
    with monkeypatch.context() as patched:
        interrupt(patched, after=20)
        assert not simulate(policy, court, **options).finished
    assert len(list((tmp_path / "kept").iterdir())) == 1
    same(simulate(policy, court, **options), simulate(policy, court, replicas=2, seed=3, progress=False))
    with pytest.raises(InvalidInput, match=r"^checkpoints: expected "):
        simulate(policy, court, replicas=2, progress=False, checkpoints=3)


def test_a_run_that_is_interrupted_at_its_end_says_that_all_rounds_are_there():
    court = Court(horizon=60)
    trace = simulate(uniform(court.problem, n_features=5), court, replicas=2, progress=False)
    assert replace(trace, finished=False).interrupted == "INTERRUPTED at its end, with all 60 rounds"
