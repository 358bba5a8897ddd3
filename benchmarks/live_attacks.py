"""What other clients notice of attacks: the time of their decisions, by turns with stretches in which all is quiet.

python -m benchmarks.live_attacks 100000 3 5
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import numpy as np

from benchmarks.live_attackers import ATTACKS, CLIENTS, FULL, STOPPED, Answer, Place, attacker, steady
from benchmarks.live_logs import made, repeat
from benchmarks.live_waits import served
from benchmarks.live_worlds import opened
from evenhand.live.dashboard.tally import Tally
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.report.summary import table

_CONTEXT = multiprocessing.get_context("spawn")  # server, clients and attacker have no lock and no file in common
_PACE = 80  # decisions a second of all steady clients together
_REST = 2.0  # seconds after an attack that count for nothing


def attacks_table(folder: Path, turns: int, seconds: float) -> str:
    """Milliseconds of decisions of steady clients while a server is attacked, and in between."""
    rows = []
    for name in ATTACKS:
        with _disk(folder / f"{len(rows)}", small=name == FULL) as own:
            quiet, attacked, told = _by_turns(name, own / "attacked.db", turns, seconds)
        alone = name == STOPPED  # nothing is decided meanwhile: how soon each one is told so
        codes = Counter(answer.status for answer in attacked)
        answers = ", ".join(f"{count:,} of {code}" for code, count in sorted(codes.items()))
        rows.append([name, _spread(quiet), _spread(attacked, alone), answers, told])
    head = [
        f"milliseconds of {_PACE} decisions a second, {CLIENTS} clients: median, 99 %, longest",
        "quiet",
        "attacked",
        "their answers",
        "the attack",
    ]
    return table(head, rows)


def restarts_table(folder: Path, decisions: int, times: int) -> str:
    """Seconds until the first page after a restart, and milliseconds of decisions beside it."""
    path = folder / "restarted.db"
    pattern = made(opened(path))
    repeat(SqliteStore(path), pattern, 2 * decisions - len(pattern))
    campaign = opened(path)
    campaign.snapshot()
    Tally(campaign).update()  # which a server keeps in the store now and then
    pages: dict[str, list[float]] = {"/": [], "/metrics": []}
    beside, after = list[Answer](), list[Answer]()
    for _ in range(times):
        with _serving(path) as place, _apart(steady, place.address, _PACE) as clients:
            clients.pipe.recv()  # it is ready
            time.sleep(1.0)
            begun = time.monotonic()
            for route, found in pages.items():
                start = time.monotonic()
                httpx.get(f"http://{place.address}{route}", timeout=600, trust_env=False).raise_for_status()
                found.append(time.monotonic() - start)
            end = time.monotonic()
            time.sleep(_REST + 3.0)
            answers = _ended(clients)
            beside += [answer for answer in answers if begun <= answer.due < end]
            after += [answer for answer in answers if end + _REST <= answer.due]
    rows = [
        [route, " ".join(f"{z:.2f}" for z in found), _spread(beside), _spread(after)] for route, found in pages.items()
    ]
    return table([f"{decisions:,} decisions, {times} restarts", "seconds", "decisions beside both", "later"], rows)


def _by_turns(name: str, path: Path, turns: int, seconds: float) -> tuple[list[Answer], list[Answer], str]:
    """The answers of steady clients in quiet and in attacked stretches, and what the attacker was answered."""
    stretches: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    told = ""
    with _serving(path) as place, _apart(steady, place.address, _PACE) as clients, _apart(attacker, name, place) as foe:
        clients.pipe.recv()  # it is ready
        for _ in range(turns):
            for attacked in (False, True):
                start = time.monotonic()
                if attacked:
                    foe.pipe.send(None)
                time.sleep(seconds)
                stretches[attacked].append((start, time.monotonic()))
                if attacked:
                    foe.pipe.send(None)
                    while not foe.pipe.poll(0.1):
                        os.kill(foe.process, signal.SIGCONT)  # who stopped itself goes on
                    told = foe.pipe.recv()
            time.sleep(_REST)
        answers = _ended(clients)
    quiet, attacked_ = (
        [answer for answer in answers if any(start <= answer.due < end for start, end in stretches[kind])]
        for kind in (False, True)
    )
    return quiet, attacked_, told


def _ended(clients: _Apart) -> list[Answer]:
    clients.pipe.send(None)
    found: list[Answer] = clients.pipe.recv()
    return found


def _spread(answers: Sequence[Answer], alone: bool = False) -> str:
    """The median, the 99 % quantile and the longest of waits, or of the answers by themselves, in milliseconds."""
    waits = [1e3 * (answer.alone if alone else answer.wait) for answer in answers]
    return " ".join(f"{z:,.0f}" for z in np.percentile(waits, [50, 99, 100])) if waits else "none"


class _Apart(NamedTuple):
    """A process, and the pipe to it."""

    pipe: Connection
    process: int


@contextmanager
def _apart(target: Callable[..., None], *given: object) -> Iterator[_Apart]:
    """A process that ends with the block; its function has the other end of the pipe as its first argument."""
    own, end = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=target, args=(end, *given), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        yield _Apart(own, process.pid)
    finally:
        process.kill()
        process.join()


@contextmanager
def _serving(path: Path) -> Iterator[Place]:
    """A server of the campaign in a file."""
    opened(path)
    with _apart(served, path) as server:
        yield Place(urlsplit(server.pipe.recv()).netloc, path, server.process)


@contextmanager
def _disk(folder: Path, small: bool) -> Iterator[Path]:
    """A new folder, on a small disk of its own if that is asked for and this user may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    mounted = small and shutil.which("mount") and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


if __name__ == "__main__":
    numbers = [int(z) for z in sys.argv[1:]] or [10_000, 1, 4]
    with tempfile.TemporaryDirectory() as name:
        print(attacks_table(Path(name), numbers[1], numbers[2]))
        print()
        print(restarts_table(Path(name), numbers[0], numbers[1]))
