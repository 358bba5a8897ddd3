"""Sweeps over values and grids: cells in several processes, kept one by one, the same numbers whoever runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.run import sweeps
from evenhand.run.sweeps import Sweep
from evenhand.run.trace import Trace
from tests import polling
from tests.pictures import no_overlaps

ROUNDS = 200


def court(ride: float = 0.05, tolerance: float = 0.1, horizon: int = ROUNDS) -> eh.environments.Court:
    return eh.environments.Court(horizon=horizon, ride=ride, tolerance=tolerance)


def some(problem: eh.Problem) -> list[eh.Policy]:
    return [eh.resolving(problem, eh.BayesianLogistic(n_features=5)), eh.uniform(problem, n_features=5)]


def blind(problem: eh.Problem) -> list[eh.Policy]:
    return [eh.uniform(problem, n_features=5, name=name) for name in ("one", "two")]


GRID = {(ride, tolerance): court(ride, tolerance) for ride in (0.05, 0.1) for tolerance in (0.01, 0.1)}
LONG = {ride: court(ride, horizon=5_000) for ride in (0.05, 0.1, 0.15, 0.2)}


def same(one: Sweep, other: Sweep) -> None:
    assert list(one.comparisons) == list(other.comparisons)
    for at in one.comparisons:
        assert one[at].names == other[at].names
        for mine, read in zip(one[at].traces, other[at].traces, strict=True):
            assert mine.finished == read.finished
            np.testing.assert_array_equal(mine.totals, read.totals)
            np.testing.assert_array_equal(mine.elapsed, read.elapsed)


@pytest.fixture(scope="module")
def alone() -> Sweep:
    return eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, seed=4, progress=False)


def test_a_grid_has_a_comparison_per_point_with_the_parameters_as_columns(alone):
    assert list(alone.comparisons) == list(GRID)
    one = eh.compare(some(GRID[0.1, 0.01].problem), GRID[0.1, 0.01], replicas=3, seed=4, progress=False)
    assert np.array_equal(alone[0.1, 0.01]["resolving"].totals, one["resolving"].totals)
    frame = alone.to_frame()
    assert list(frame.columns[:4]) == ["rides", "tolerance", "interrupted", "policy"]
    assert frame[["rides", "tolerance"]].drop_duplicates().to_numpy().tolist() == [list(at) for at in GRID]
    assert str(alone).startswith("rides = 0.05, tolerance = 0.01\npolicy")
    with pytest.raises(InvalidInput, match=r"^rides and tolerance: expected one of .* got \(0\.2, 0\.1\)"):
        _ = alone[0.2, 0.1]


def test_a_picture_of_a_grid_has_a_curve_per_policy_and_other_parameter(alone):
    figure = alone.plot()
    no_overlaps(figure)
    panels = alone._panels()
    curves = next(iter(panels.values()))
    assert {c.name for c in curves} - {"limit"} == {
        f"{policy}, tolerance = {x}" for policy in ("resolving", "uniform") for x in ("0.01", "0.1")
    }
    assert all(list(c.at) == [0.05, 0.1] for c in curves)
    assert {c.name: c.look for c in curves if c.name != "limit"} == {
        "resolving, tolerance = 0.01": "C0-",
        "resolving, tolerance = 0.1": "C0--",
        "uniform, tolerance = 0.01": "C1-",
        "uniform, tolerance = 0.1": "C1--",
    }
    gap = {c.name: c.look for c in panels["ride gap by group"] if c.name.startswith("limit")}
    assert gap == {"limit, tolerance = 0.01": "k-", "limit, tolerance = 0.1": "k--"}
    limits = {quantity: [c.name for c in some if c.name.startswith("limit")] for quantity, some in panels.items()}
    assert limits["ride per round"] == ["limit"]
    assert limits["ride gap by group"] == ["limit, tolerance = 0.01", "limit, tolerance = 0.1"]


@pytest.mark.parametrize(
    ("parameter", "environments", "message"),
    [
        ((), {(): court()}, r"^parameter: expected at least one name"),
        (("a", "b"), {0.1: court()}, r"^environments: expected a tuple of 2 values by a, b, got 0\.1"),
        (("a", "b"), {(0.1,): court()}, r"^environments: expected a tuple of 2 values by a, b"),
        (("a", "b"), {(1, float("inf")): court()}, r"^environments: b: expected a finite number"),
        (("a", "b"), {(1, 2): court(), (1, "x"): court(0.1)}, r"^environments: b: expected all numbers or all names"),
        ("a", {(1, 2): court()}, r"^environments: a: expected a finite number"),
    ],
)
def test_bad_grids_are_refused(parameter, environments, message):
    with pytest.raises(InvalidInput, match=message):
        eh.sweep(blind, parameter, environments, progress=False)


def test_what_has_finished_is_read_and_not_run_again(alone, tmp_path, monkeypatch):
    half = {at: GRID[at] for at in list(GRID)[:2]}
    eh.sweep(some, ("rides", "tolerance"), half, replicas=3, seed=4, out=tmp_path, progress=False)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    run, whole = [], sweeps.simulate_here
    monkeypatch.setattr(
        sweeps, "simulate_here", lambda policy, *a, **k: run.append(policy.name) or whole(policy, *a, **k)
    )
    same(eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, seed=4, out=tmp_path, progress=False), alone)
    assert run == ["resolving", "uniform"] * 2
    same(eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, seed=4, out=tmp_path, progress=False), alone)
    assert len(run) == 4
    eh.sweep(some, ("rides", "tolerance"), half, replicas=3, seed=5, out=tmp_path, progress=False)
    assert len(run) == 8  # another seed is another cell


def test_a_sweep_that_was_cut_off_before_its_first_cell_has_an_empty_frame(alone, monkeypatch):
    monkeypatch.setattr(sweeps, "_run", lambda cell, watch: None)
    found = eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, progress=False)
    assert not found.finished
    assert found.to_frame().empty
    assert list(found.to_frame().columns) == list(alone.to_frame().columns)
    head, _ = found.table().splitlines()
    assert head.split() == ["rides", "tolerance", "policy", "objective", "se", "worst", "missed"]


def test_a_table_over_different_objectives_names_none_of_them(alone):
    apart = [court(), eh.environments.BernoulliKnapsacks(horizon=50)]
    each = [eh.compare([eh.uniform(z.problem, n_features=z.n_features)], z, replicas=2, progress=False) for z in apart]
    found = Sweep("rides", dict(enumerate(each)))
    assert len({comparison.summaries()[0].lines[0].name for comparison in each}) == 2
    assert found.table().split()[:3] == ["rides", "policy", "objective"]
    assert alone.table().split()[:4] == ["rides", "tolerance", "policy", "appears"]


def test_a_trace_that_cannot_be_written_leaves_nothing_in_the_folder(tmp_path, monkeypatch):
    def full(trace, path):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Trace, "save", full)
    with pytest.raises(OSError, match="No space left"):
        eh.sweep(blind, "rides", {0.05: court()}, replicas=2, out=tmp_path, progress=False)
    assert not [path.name for path in tmp_path.iterdir() if b"half" in path.read_bytes()]


def test_a_sweep_ends_with_the_cell_that_was_cut_off(monkeypatch):
    whole = sweeps.simulate_here

    def cut(policy, environment, **kept):
        trace = whole(policy, environment, **kept)
        if environment == court(0.1):
            object.__setattr__(trace, "finished", False)
        return trace

    monkeypatch.setattr(sweeps, "simulate_here", cut)
    courts = {x: court(x) for x in (0.05, 0.1, 0.2)}
    found = eh.sweep(blind, "rides", courts, replicas=2, progress=False)
    assert list(found.comparisons) == [0.05, 0.1]
    assert found[0.1].names == ("one",)
    assert not found.finished


def test_a_cell_that_is_stored_removes_what_killed_processes_left_of_it(tmp_path):
    short = {0.05: court(horizon=20)}
    eh.sweep(blind, "rides", short, replicas=2, out=tmp_path, progress=False)
    one, other = finished(tmp_path)
    left = tmp_path / f".{one.name}.1.evenhand.part"
    left.write_bytes(one.read_bytes()[:100])
    one.unlink()
    eh.sweep(blind, "rides", short, replicas=2, out=tmp_path, progress=False)
    assert sorted(tmp_path.iterdir()) == sorted([one, other])


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_number_of_processes(alone, tmp_path):
    same(eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, seed=4, jobs=2, progress=False), alone)
    same(eh.sweep(some, ("rides", "tolerance"), GRID, replicas=3, seed=4, jobs=3, out=tmp_path, progress=False), alone)


def finished(place: Path) -> list[Path]:
    """The files of finished cells; others are still being written."""
    return [path for path in place.glob("*.npz") if "half" not in path.name]


def kill_when_a_cell_is_there(place: Path, pids) -> threading.Thread:
    """Kill one of the workers, found by `pids`, as soon as a cell has finished."""

    def work() -> None:
        while not finished(place):
            time.sleep(0.01)
        os.kill(pids()[0], signal.SIGKILL)

    killer = threading.Thread(target=work, daemon=True)
    killer.start()
    return killer


def workers() -> list[int]:
    """The processes of joblib that run tasks for this one."""
    from joblib.externals.loky import reusable_executor

    return list(reusable_executor._executor._processes)


@pytest.mark.slow
def test_a_killed_worker_loses_no_finished_cell_and_changes_no_number(tmp_path):
    expected = eh.sweep(blind, "rides", LONG, replicas=2, seed=1, progress=False)
    killer = kill_when_a_cell_is_there(tmp_path, workers)
    with pytest.raises(EvenhandError, match=r"^a worker process was killed"):
        eh.sweep(blind, "rides", LONG, replicas=2, seed=1, jobs=2, out=tmp_path, progress=False)
    killer.join()
    kept = {path: path.stat().st_mtime_ns for path in finished(tmp_path)}
    assert 1 <= len(kept) < 8
    same(eh.sweep(blind, "rides", LONG, replicas=2, seed=1, jobs=2, out=tmp_path, progress=False), expected)
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    # The worker that was not killed may still write its cell; nothing half-written stays, whoever was killed when.
    polling.until(lambda: len(list(tmp_path.iterdir())) == 8)


@pytest.mark.slow
def test_a_sweep_on_a_cluster_survives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
    import joblib

    expected = eh.sweep(blind, "rides", LONG, replicas=2, seed=1, progress=False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask", wait_for_workers_timeout=polling.LONG),
    ):
        killer = kill_when_a_cell_is_there(tmp_path, lambda: list(client.run(os.getpid).values()))
        same(eh.sweep(blind, "rides", LONG, replicas=2, seed=1, jobs=2, out=tmp_path, progress=False), expected)
        killer.join(polling.LONG)
        assert not killer.is_alive()


INTERRUPTED = """
import sys
from contextlib import contextmanager
import evenhand as eh
from evenhand.run import parallel
from tests.run.test_sweeps import blind, court
waits = parallel._interrupt_waits
@contextmanager
def until_workers_start():
    with waits():
        yield
    print("ready", flush=True)
parallel._interrupt_waits = until_workers_start
courts = {ride: court(ride, horizon=1_000_000) for ride in (0.05, 0.1)}
found = eh.sweep(blind, "rides", courts, replicas=2, jobs=2, out=sys.argv[1], progress=True)
some = [list(found.comparisons), found[0.05].names, found[0.05]["one"].times[-1] > 1] if found.comparisons else []
print(found.finished, *some)
"""


@pytest.mark.slow
@pytest.mark.parametrize("starting", [True, False])
def test_ctrl_c_leaves_what_was_done_readable(tmp_path, starting):
    """As a terminal sends it: to all processes, also to those that are still starting."""
    command, pipe = [sys.executable, "-c", INTERRUPTED, str(tmp_path)], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    if not starting:
        polling.until_steps(process.stderr, 20_000)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=polling.LONG)
    assert "Traceback" not in err
    if starting:
        assert out.startswith("False"), err
    else:
        assert out.strip() == "False [0.05] ('one',) True"
        assert list(tmp_path.glob("*.half.npz"))
