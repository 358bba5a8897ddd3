"""Processes that serve the same campaigns at one port: workers of one log, which share the socket that listens."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Event
from pathlib import Path

from evenhand.core.progress import SCREEN

# Serves at the socket, and returns an exit status: `first` begins the campaigns, `ready` is called once it answers.
Work = Callable[[socket.socket, bool, Callable[[], None]], int]
_LONGEST = 10.0  # seconds until a worker that was told to stop is killed; its log has what it answered
_PAUSE = 2.0  # seconds until another one is started for a worker that ended before it was ready


def run_workers(count: int, listening: socket.socket, work: Work) -> int:
    """Run processes until this one is told to stop, and start another one where one dies.

    The first is ready before the others start, as it begins the campaigns. From then on, one that ends before it is
    ready, as while the store is locked, stops no others. They all end with this process, even if it is killed.

    Args:
        count: how many processes.
        listening: the socket that they share.
        work: of each process; it is pickled.

    Returns:
        The exit status of the first process if it ends before it is ready; else `KeyboardInterrupt` ends this.
    """
    context, each = multiprocessing.get_context("spawn"), dict[SpawnProcess, Event]()
    try:
        _start(context, each, listening, work, first=True)
        (process, ready), *_ = each.items()
        while not ready.wait(0.05):
            if not process.is_alive():
                return process.exitcode or 0
        for _ in range(count - 1):
            _start(context, each, listening, work, first=False)
        while True:
            wait([process.sentinel for process in each])
            for process, ready in list(each.items()):
                if process.is_alive():
                    continue
                del each[process]
                SCREEN.say(f"note: a worker ended (status {process.exitcode}); another one is started")
                if not ready.is_set():
                    time.sleep(_PAUSE)
                _start(context, each, listening, work, first=False)
    finally:
        for process in each:
            process.terminate()
        for process in each:
            process.join(_LONGEST)
            process.kill()


def _start(
    context: SpawnContext, each: dict[SpawnProcess, Event], listening: socket.socket, work: Work, *, first: bool
) -> None:
    ready = context.Event()
    process = context.Process(target=_run, args=(work, listening, first, ready))
    each[process] = ready
    process.start()


def _run(work: Work, listening: socket.socket, first: bool, ready: Event) -> None:
    """Work in a new process, which a Ctrl-C in the terminal of the first does not reach."""
    if hasattr(os, "setsid"):
        os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with Path(os.devnull).open("w", encoding="utf-8") as nothing:
        sys.stdout = sys.stdout if first else nothing  # what the first one says is said once
        sys.exit(work(listening, first, ready.set))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
