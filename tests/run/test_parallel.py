"""Tasks in several processes: what Ctrl-C ends, also where workers cannot be told of it."""

from __future__ import annotations

import os
import signal

import joblib
import pytest

from evenhand.core.progress import SCREEN, Work
from evenhand.run import parallel, sweep, sweeps
from evenhand.run.parallel import deferred_interrupt
from tests import polling
from tests.run.test_sweeps import blind, court


def if_wanted(task: int, watch: parallel.Watch) -> int | None:
    return task if watch(0) else None


def compiling(task: int, watch: parallel.Watch) -> bool:
    SCREEN.leave_out(task)
    return watch(1)


def test_the_time_that_processes_leave_out_is_left_out_once(monkeypatch):
    """They compile beside each other: what the longest took is left out."""
    monkeypatch.setattr(SCREEN, "left_out", 0.0)
    with Work("sweep", "step", 3, progress=False) as work:
        assert parallel.run_chunks(compiling, [5, 60, 20], work, 2) == [True] * 3
    assert SCREEN.left_out == 60.0
    assert work.done == 3


class Stopping(list[int]):
    """Tasks of which a stop is asked for before the fifth is handed out; two processes are handed four at first.

    It asks without Ctrl-C: joblib's lock is held meanwhile, for which the thread that answers signals may wait.
    """

    asked = False

    def __iter__(self):
        for i, task in enumerate(super().__iter__()):
            self.asked = i >= 4
            yield task


def test_tasks_that_are_handed_out_after_a_stop_do_not_begin_where_nobody_sees_the_board(monkeypatch):
    seen, tasks = parallel._board, Stopping(range(12))

    def alone(path):
        board = seen(path)
        path.unlink()
        return board

    monkeypatch.setattr(parallel, "_board", alone)
    found = parallel.run_until(lambda: tasks.asked, if_wanted, tasks, Work("", progress=False), 2)
    assert found == [0, 1, 2, 3, *[None] * 8]


class Pressing(list[int]):
    """Tasks of which Ctrl-C is pressed before the first is handed out, by the thread that answers signals."""

    def __iter__(self):
        os.kill(os.getpid(), signal.SIGINT)
        polling.until(parallel._deferring[-1])
        yield from super().__iter__()


def test_ctrl_c_while_processes_start_is_not_lost():
    assert parallel.run_chunks(if_wanted, Pressing(range(4)), Work("", progress=False), 2) == [None] * 4


def test_ctrl_c_in_a_task_of_this_process_is_not_lost():
    """As joblib may be told to run tasks one after another."""

    def pressing(task: int, watch: parallel.Watch) -> int | None:
        if task == 1:
            os.kill(os.getpid(), signal.SIGINT)
            polling.until(lambda: not watch(0))
        return if_wanted(task, watch)

    with joblib.parallel_config(backend="sequential"):
        assert parallel.run_chunks(pressing, [0, 1, 2], Work("", progress=False), 2) == [0, None, None]


@pytest.mark.parametrize("last", [False, True])
def test_ctrl_c_while_kept_cells_are_read_ends_a_sweep(tmp_path, monkeypatch, last):
    """Also where it comes while the last of them is read."""
    courts = {ride: court(ride) for ride in (0.05, 0.1, 0.2)}
    sweep(blind, "rides", {0.05: courts[0.05]}, replicas=2, out=tmp_path, progress=False)
    ran, read, whole = [], [], sweeps.load_or_run

    def pressed(place, policy, *rest):
        read.append(policy.name)
        if len(read) == 1 + last:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(place, policy, *rest)

    monkeypatch.setattr(sweeps, "load_or_run", pressed)
    monkeypatch.setattr(sweeps, "simulate_here", lambda *a, **k: ran.append(a))
    found = sweep(blind, "rides", courts, replicas=2, out=tmp_path, progress=False)
    assert not ran
    assert not found.finished
    assert list(found.comparisons) == [0.05]
    assert found[0.05].names == (("one", "two") if last else ("one",))


def test_a_ctrl_c_is_known_to_a_block_that_begins_after_it():
    with deferred_interrupt() as outer:
        os.kill(os.getpid(), signal.SIGINT)
        with deferred_interrupt() as inner:
            assert inner()
        assert outer()
    with deferred_interrupt() as later:
        assert not later()
