"""Tasks in one process or several, by joblib, and how far they have come; Ctrl-C keeps the work so far."""

from __future__ import annotations

import mmap
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.progress import SCREEN, Work
from evenhand.core.types import Ints
from evenhand.core.validate import whole

Task = TypeVar("Task")
Result = TypeVar("Result")
Watch = Callable[[int], bool]  # told how many steps were done since it was last called; says whether to go on

_MOST_JOBS = 1024
_PAUSE = 0.1  # seconds between two looks at the board


def check_jobs(jobs: int) -> None:
    """Refuse more processes than any machine has cores.

    Raises:
        InvalidInput: anything but a whole number in [1, 1024].
    """
    whole("jobs", jobs, 1)
    if jobs > _MOST_JOBS:
        raise InvalidInput("jobs", f"at most {_MOST_JOBS} processes", jobs)


_deferring: list[Callable[[], bool]] = []  # what blocks of the main thread yield, the innermost last


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed, as an exception could break off a step half-way.

    It may have been pressed before this block, in one around it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked, outer = False, _deferring.copy()

    def answer() -> bool:
        return asked or any(z() for z in outer)

    def note(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, note)
    _deferring.append(answer)
    try:
        yield answer
    finally:
        signal.signal(signal.SIGINT, before)
        _deferring.pop()


def run_chunks(run: Callable[[Task, Watch], Result], tasks: list[Task], shown: Work, jobs: int) -> list[Result]:
    """Run each task, in several processes if there are several tasks and jobs; results have the order of the tasks.

    Processes are those of joblib, so `joblib.parallel_config` chooses where tasks run. It gives each process its part
    of the threads of BLAS, whose products of about a hundred rows and more are rounded differently with other numbers
    of threads, unless `OPENBLAS_NUM_THREADS` says how many. What is shown may begin where an earlier run of the same
    tasks came to. After Ctrl-C every task that has not ended is told to stop at its next watch, those that begin later
    included.

    Raises:
        EvenhandError: a worker process was killed.
    """
    with deferred_interrupt() as asked:
        return run_until(asked, run, tasks, shown, jobs)


def run_until(
    asked: Callable[[], bool], run: Callable[[Task, Watch], Result], tasks: list[Task], shown: Work, jobs: int
) -> list[Result]:
    """Run tasks as `run_chunks` does, for a caller that defers Ctrl-C itself and says whether it was pressed."""
    jobs = min(jobs, len(tasks))
    if jobs > 1:
        return _in_processes(run, tasks, shown, jobs, asked)

    def watch(steps: int) -> bool:
        shown.update(steps)
        return not asked()

    return [run(task, watch) for task in tasks]


def _in_processes(
    run: Callable[[Task, Watch], Result], tasks: list[Task], shown: Work, jobs: int, asked: Callable[[], bool]
) -> list[Result]:
    from concurrent.futures.process import BrokenProcessPool  # here, as few runs have something to share
    from multiprocessing import resource_tracker

    from joblib import Parallel, delayed

    with tempfile.TemporaryDirectory(prefix="evenhand-", ignore_cleanup_errors=True) as place:
        path = Path(place) / "board"
        path.write_bytes(bytes(8 * (len(tasks) + 2)))
        board, before, over, left_out = _board(path), shown.done, threading.Event(), 0

        def look() -> None:
            nonlocal left_out
            told, left_out = left_out, int(board[-2])
            SCREEN.leave_out((left_out - told) / 1e6)
            shown.update(before + int(board[:-2].sum()) - shown.done)

        def follow() -> None:
            while not over.wait(_PAUSE):
                look()
                board[-1] = asked()

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            share = Parallel(n_jobs=jobs, batch_size=1, max_nbytes=None, return_as="generator")
            resource_tracker.ensure_running()  # which joblib would start below, and whose start lets Ctrl-C through
            with _interrupt_waits():  # in processes that start within, too
                results = share(delayed(_work)(run, task, path, i, asked()) for i, task in enumerate(tasks))
            return list(results)
        except pickle.PicklingError:
            pickle.dumps(tasks)  # ends with the error of the part that refuses
            raise
        except BrokenProcessPool as error:
            expected = "a worker process was killed, perhaps because memory ran out"
            raise EvenhandError(f"{expected}; fewer jobs need less memory at a time") from error
        finally:
            over.set()
            follower.join()
            look()


def _board(path: Path) -> Ints:
    """Open the numbers that processes share.

    These are the steps that each task has done; the most microseconds that a task has spent on what is left out of
    rates; and whether to stop.
    """
    with path.open("r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0), np.int64)


def _work(run: Callable[[Task, Watch], Result], task: Task, path: Path, number: int, over: bool) -> Result:
    """Run one task in a worker, which stops at its first watch if it was handed out after Ctrl-C.

    One on a machine that cannot see the board shows nothing, and goes on to its end if it was handed out before.
    """
    board: Ints | None = None
    before = SCREEN.left_out
    with suppress(OSError):
        board = _board(path)

    def watch(steps: int) -> bool:
        if board is None:
            return not over
        board[number] += steps
        board[-2] = max(int(board[-2]), int(1e6 * (SCREEN.left_out - before)))
        return not (over or board[-1])

    with _interrupt_waits():
        return run(task, watch)


@contextmanager
def _interrupt_waits() -> Iterator[None]:
    """Let Ctrl-C, which a terminal sends to all processes, wait until this block ends.

    Processes that start within inherit it: they let it wait for ever, and are told to stop by the board.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
