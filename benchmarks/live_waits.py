"""How long those wait who share a file, or who ask a server at a steady pace."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks.live_worlds import case, opened
from evenhand.live.http.server import serve
from evenhand.report.summary import table

_APART = multiprocessing.get_context("spawn")  # as a fork cannot share a file of SQLite
_WORKERS, _CLIENTS, _PACE = 4, 8, 150


def waits_table(folder: Path, count: int, seconds: float) -> str:
    """Milliseconds that decisions take."""
    waits, rate = contending(folder / "contended.db", count)
    paced = over_http(folder / "served.db", seconds)
    rows = []
    for name, found in (
        (f"{_WORKERS} processes on one file, {rate:,.0f} decisions a second in all", waits),
        (f"POST /decide, {_PACE} a second from {_CLIENTS} connections", paced),
    ):
        rows.append([name, *(f"{x:.1f}" for x in np.percentile(found, [50, 99, 100]))])
    return table(["milliseconds", "median", "99 %", "longest"], rows)


def contending(path: Path, count: int) -> tuple[list[float], float]:
    """Milliseconds of every decision of several processes on one file, and how many a second all of them make."""
    opened(path)
    pipes = [_APART.Pipe() for _ in range(_WORKERS)]
    workers = [_APART.Process(target=_decide, args=(end, path, i, count)) for i, (_, end) in enumerate(pipes)]
    for worker in workers:
        worker.start()
    for own, _ in pipes:
        own.recv()  # it is ready
    start = time.perf_counter()
    for own, _ in pipes:
        own.send(None)
    waits = [wait for own, _ in pipes for wait in own.recv()]
    spent = time.perf_counter() - start
    for worker in workers:
        worker.join()
    return waits, _WORKERS * count / spent


def _decide(end: Connection, path: Path, worker: int, count: int) -> None:
    campaign = opened(path)
    cases = [case(i) for i in range(count)]
    campaign.decide(cases[0], key=f"first of {worker}")  # compiles
    end.send(None)
    end.recv()
    waits = []
    for i, stated in enumerate(cases):
        start = time.perf_counter()
        campaign.decide(stated, key=f"{i} of {worker}")
        waits.append(1e3 * (time.perf_counter() - start))
    end.send(waits)


def over_http(path: Path, seconds: float) -> list[float]:
    """Milliseconds from when a request was due to its answer, as clients ask at a steady pace, come what may."""
    with _serving(path) as address:
        bodies = [json.dumps({"key": f"{i}", "case": case(i)}) for i in range(_PACE + round(seconds * _PACE))]
        _paced(address, bodies[:_PACE])  # compiles
        return _paced(address, bodies[_PACE:])


def _paced(address: str, bodies: Sequence[str]) -> list[float]:
    start = time.perf_counter() + 0.1

    def client(own: int) -> list[float]:
        connection = http.client.HTTPConnection(address)
        waits = []
        for i in range(own, len(bodies), _CLIENTS):
            due = start + i / _PACE
            time.sleep(max(due - time.perf_counter(), 0.0))
            connection.request("POST", "/decide", bodies[i])
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"the server answered {answer.status}: {text!r}")
            waits.append(1e3 * (time.perf_counter() - due))
        connection.close()
        return waits

    with ThreadPoolExecutor(_CLIENTS) as pool:
        return [wait for waits in pool.map(client, range(_CLIENTS)) for wait in waits]


@contextmanager
def _serving(path: Path) -> Iterator[str]:
    """The address of a server in a process of its own, on loopback, which ends with the block."""
    own, end = _APART.Pipe()
    server = _APART.Process(target=served, args=(end, path), daemon=True)
    server.start()
    try:
        yield urlsplit(own.recv()).netloc
    finally:
        server.terminate()
        server.join()


def served(end: Connection, path: Path) -> None:
    """Serve the campaign in a file, and send the address of its page."""
    serve(opened(path), port=0, ready=end.send)
