"""Chunks of work in one process or several, with one progress bar; Ctrl-C keeps the work so far."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from tqdm import tqdm

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.validate import whole

Task = TypeVar("Task")
Result = TypeVar("Result")

_MOST_JOBS = 1024
_shared: dict[str, Any] = {}  # of a worker process: set once by its initializer


def check_jobs(jobs: int) -> None:
    """Refuse a number of processes that no machine has cores for.

    Raises:
        InvalidInput: anything but a whole number in [1, 1024].
    """
    whole("jobs", jobs, 1)
    if jobs > _MOST_JOBS:
        raise InvalidInput("jobs", f"at most {_MOST_JOBS} processes", jobs)


def bar_disabled(progress: bool | None) -> bool | None:
    """Return tqdm's `disable`, which is None for a bar only in a terminal."""
    return None if progress is None else not progress


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed, as an exception could break off a step half-way."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False

    def note(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def run_chunks(run: Callable[[Task, Callable[[int], bool]], Result], tasks: list[Task], bar: tqdm[Any]) -> list[Result]:
    """Run each task, in parallel if there are several; the results come in the order of the tasks.

    The bar may stand where an earlier run of the same tasks came to.
    """
    if len(tasks) == 1:
        with deferred_interrupt() as asked:

            def watch(steps: int) -> bool:
                bar.update(steps)
                return not asked()

            return [run(tasks[0], watch)]
    context = multiprocessing.get_context("spawn")
    done, stop = context.Value("q", bar.n), context.Event()
    with ProcessPoolExecutor(len(tasks), context, _prepare, (done, stop)) as pool:
        futures = [pool.submit(_work, run, task) for task in tasks]
        with deferred_interrupt() as asked:
            while not all(f.done() for f in futures):
                time.sleep(0.1)
                bar.update(done.value - bar.n)
                if asked():
                    stop.set()
        try:
            return [f.result() for f in futures]
        except BrokenProcessPool as error:
            raise EvenhandError(
                "a worker process died: in a script, call with jobs > 1 only below `if __name__ == '__main__':`"
            ) from error


def _prepare(done: Synchronized[int], stop: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes Ctrl-C on
    _shared.update(done=done, stop=stop)


def _work(run: Callable[[Task, Callable[[int], bool]], Result], task: Task) -> Result:
    def watch(steps: int) -> bool:
        with _shared["done"].get_lock():
            _shared["done"].value += steps
        return not _shared["stop"].is_set()

    return run(task, watch)
