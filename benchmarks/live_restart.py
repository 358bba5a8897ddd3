"""How long the first page and metrics take after a restart, with and without a tally in the store, and others wait.

python -m benchmarks.live_restart 100000
"""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.connection
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np

from benchmarks.live_logs import repeat
from benchmarks.live_worlds import case, opened
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.http.app import app
from evenhand.live.http.server import server
from evenhand.live.log.events import Event
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.report.summary import table

_MADE, _MISSING = 2_000, 10  # decisions that the policy makes, at most; every tenth never gets its outcome
_APART = multiprocessing.get_context("spawn")  # a process of its own, as after a restart


def restart_table(folder: Path, decisions: int) -> str:
    """First answers of three processes: without a tally, with one, and with one that is 3,900 events old."""
    path, made = folder / "restart.db", min(_MADE, decisions)
    pattern = _pattern(opened(path), made)
    repeat(SqliteStore(path), pattern, round((decisions - made) * len(pattern) / made))
    opened(path).snapshot()
    rows = [["without a tally in the store", *_restarted(path)], ["with one", *_restarted(path)]]
    repeat(SqliteStore(path), pattern, 3_900)
    opened(path).snapshot()
    rows.append(["with one that is 3,900 events old", *_restarted(path)])
    head = [
        f"{decisions:,} decisions",
        "first /metrics",
        "first page",
        "second page",
        "core",
        "decisions beside: 99 %, longest",
    ]
    return table(head, rows)


def _pattern(campaign: Campaign, made: int) -> list[Event]:
    for number in range(made):
        said = campaign.decide(case(number), key=f"key {number}")
        if number % _MISSING:
            campaign.observe(said.id, {"answer": number % 5 == 0})
    return [event for event in campaign.events() if event.kind != "opened"]


def _restarted(path: Path) -> list[str]:
    own, end = _APART.Pipe()
    worker = _APART.Process(target=_serve, args=(end, path))
    worker.start()
    try:
        return _measure(own.recv(), own)
    finally:
        own.send(None)
        worker.join()


def _measure(url: str, worker: multiprocessing.connection.Connection) -> list[str]:
    """Ask for metrics and pages while another client decides; clients are not in the process of the server."""
    with httpx.Client(base_url=url, trust_env=False, timeout=600) as client:
        waits, over = list[float](), threading.Event()

        def decide(number: int) -> None:
            body = {"key": f"{time.time_ns()}", "case": case(number)}
            start = time.perf_counter()
            client.post("/decide", json=body).raise_for_status()
            waits.append(time.perf_counter() - start)

        def beside() -> None:
            number = 0
            while not over.is_set():
                decide(number := number + 1)

        for number in range(200):  # which load every kernel that was compiled
            decide(number)
        waits.clear()
        other = threading.Thread(target=beside)
        other.start()
        begun, seconds = _core(worker), []
        for route in ("/metrics", "/", "/"):
            start = time.perf_counter()
            client.get(route).raise_for_status()
            seconds.append(f"{time.perf_counter() - start:.2f} s")
        core = _core(worker) - begun
        over.set()
        other.join()
        late = f"{1e3 * float(np.quantile(waits, 0.99)):.0f} ms, {1e3 * max(waits):.0f} ms of {len(waits)}"
        return [*seconds, f"{core:.2f} s", late]


def _core(worker: multiprocessing.connection.Connection) -> float:
    worker.send("core")
    found: float = worker.recv()
    return found


def _serve(end: multiprocessing.connection.Connection, path: Path) -> None:
    """Serve a campaign until told to end; tell the address first, and the seconds of a core when asked."""
    made = server(app(opened(path)), None, port=0, log_level="critical")
    gc.collect()
    gc.freeze()  # as `serve` does
    thread = threading.Thread(target=made.run)
    thread.start()
    while not made.started:
        time.sleep(0.01)
    end.send(f"http://127.0.0.1:{made.servers[0].sockets[0].getsockname()[1]}")
    while end.recv() is not None:
        end.send(time.process_time())
    made.should_exit = True
    thread.join()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(restart_table(Path(folder), int(sys.argv[1]) if sys.argv[1:] else 10_000))
