"""Decisions with their outcomes over HTTP: pairs a second, waits, what the server spends, and waits for `/metrics`.

python -m benchmarks.live_pairs 12000

The server is `evenhand serve deploy/problem.toml` with a file of SQLite, after `evenhand warm`. Clients are connections
of one process; each decides a case, observes its outcome, and goes on. On a machine with other work only times of a
core say something.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import cycle, groupby
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
import uvicorn

from benchmarks.live_bare import Bare
from benchmarks.live_worlds import timed
from evenhand.live.stores.opening import connect_to_read
from evenhand.report.summary import table

_FILE = Path(__file__).parents[1] / "deploy" / "problem.toml"
_TICK = os.sysconf("SC_CLK_TCK")
_EVENHAND = [sys.executable, "-m", "evenhand"]
_APART = multiprocessing.get_context("spawn")
_CLIENTS, _FIRST, _EVERY = (1, 8, 64), 3_000, 0.1
_ANSWER = json.dumps({"id": 1, "key": "of 64 1 1", "at": "", "actions": ["a"], "probabilities": [1.0]}).encode()

Address = tuple[str, int]


class Pairs(NamedTuple):
    """What some clients met."""

    decide: Sequence[float]  # seconds
    observe: Sequence[float]
    core: float  # seconds of the server's cores
    clock: float

    def cells(self) -> list[str]:
        """Pairs a second, milliseconds of a core, and milliseconds of waiting for either."""
        count = len(self.observe)
        waits = [f"{1e3 * x:.1f}" for z in (self.decide, self.observe) for x in np.percentile(z, [50, 99, 99.9])]
        return [f"{count / self.clock:,.0f}", f"{1e3 * self.core / count:.2f}", *waits]


class _Client:
    """One connection, which decides a case and observes its outcome, again and again."""

    def __init__(self, address: Address, name: str, pairs: int) -> None:
        self.line = socket.create_connection(address, 60)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._name, self._pairs, self._sent, self._begun = name, pairs, 0, 0.0
        self.waits: tuple[list[float], list[float]] = [], []

    def ask(self) -> bool:
        """Send the next request; returns whether there is one."""
        i, answers = divmod(self._sent, 2)
        if i == self._pairs:
            return False
        key, case = f"{self._name} {i}", {"age": 20 + i % 61, "town": ("north", "south")[i % 2]}
        body = {"key": key, "outcomes": {"visit": int(i % 5 == 0)}} if answers else {"key": key, "case": case}
        text = json.dumps(body).encode()
        head = f"POST /{'observe' if answers else 'decide'} HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        self._sent, self._begun = self._sent + 1, time.perf_counter()
        self.line.sendall(head.encode() + text)
        return True

    def take(self) -> None:
        """Read the answer."""
        found = self.line.recv(65_536)
        while found and not _is_whole(found):
            found += self.line.recv(65_536)
        if not found.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the server answered {found!r}")
        self.waits[(self._sent - 1) % 2].append(time.perf_counter() - self._begun)


def _is_whole(found: bytes) -> bool:
    head, end, body = found.partition(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", head)
    return bool(end) and size is not None and len(body) >= int(size[1])


def ask(address: Address, pid: int, name: str, clients: int, pairs: int) -> Pairs:
    """Let so many clients at once ask for so many pairs in all."""
    each = [_Client(address, f"{name} {i}", max(pairs // clients, 1)) for i in range(clients)]
    core, start, left = _core(pid), time.perf_counter(), clients
    with selectors.DefaultSelector() as ready:
        for client in each:
            client.ask()
            ready.register(client.line, selectors.EVENT_READ, client)
        while left:
            for key, _ in ready.select():
                key.data.take()
                if not key.data.ask():
                    ready.unregister(key.fileobj)
                    left -= 1
    clock = time.perf_counter() - start
    for client in each:
        client.line.close()
    decide, observe = ([x for client in each for x in client.waits[i]] for i in range(2))
    return Pairs(decide, observe, _core(pid) - core, clock)


def _core(pid: int) -> float:
    """Seconds of a core that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def pairs_table(folder: Path, pairs: int) -> str:
    """What clients meet at a server, at an app that answers constant bytes, and what bare inserts of the rows take."""
    rows, first = [], min(_FIRST, pairs)  # which load kernels
    with _serving(folder) as (address, pid):
        ask(address, pid, "first", 8, first)
        for clients in _CLIENTS:
            found = ask(address, pid, f"of {clients}", clients, pairs if clients > 1 else pairs // 4)
            rows.append([f"{clients} clients", *found.cells()])
    with _constant() as (address, pid):
        ask(address, pid, "first", 8, first)
        for clients in _CLIENTS:
            found = ask(address, pid, f"of {clients}", clients, pairs if clients > 1 else pairs // 4)
            rows.append([f"{clients}, constant bytes", *found.cells()])
    for clients, (rate, core) in zip(_CLIENTS, _bare(folder, first), strict=True):
        rows.append([f"{clients}, bare inserts", f"{rate:,.0f}", f"{core:.2f}", *["-"] * 6])
    waits = [f"{of} {q}" for of in ("decide", "observe") for q in ("p50", "p99", "p99.9")]
    return table(["milliseconds", "pairs a second", "of a core", *waits], rows)


def _bare(folder: Path, first: int) -> Iterator[tuple[float, float]]:
    """Pairs a second, and milliseconds of a core, as bare inserts in the commits of each number of clients."""
    with closing(connect_to_read(f"sqlite:///{folder / 'pairs.db'}")) as store:
        events = [e for e in store.scan("letters", first) if e.kind in ("decided", "observed")]
    for clients in _CLIENTS:
        mine = [e for e in events if e.key is None or e.key.startswith(f"of {clients} ")]
        numbers = {e.seq for e in mine if e.key is not None}
        own = [e for e in mine if e.key is not None or e.ref in numbers]
        commits = [list(some) for _, some in groupby(own, lambda e: e.at)]  # all events of one have its time
        bare, core = Bare(folder / f"bare {clients}.db"), time.process_time()
        spent = timed(lambda bare=bare, commits=commits: [bare.insert(some) for some in commits])
        yield len(own) / 2 / spent, 2e3 * (time.process_time() - core) / len(own)


def metrics_table(folder: Path, seconds: float) -> str:
    """Milliseconds that `/metrics` takes, ten times a second."""
    rows = []
    for name, clients, pages, cold in (
        ("nothing else", 0, False, False),
        ("64 clients", 64, False, False),
        ("64 clients and pages", 64, True, False),
        ("the same, no kernel kept", 64, True, True),
    ):
        place = folder / name
        place.mkdir()
        with _serving(place, cold=cold) as (address, pid):
            ask(address, pid, "first", 8, 300 if cold else min(_FIRST, round(1e3 * seconds)))
            waits = _scraped(address, pid, clients, pages, seconds)
        rows.append([name, f"{len(waits)}", *(f"{1e3 * x:.1f}" for x in np.percentile(waits, [50, 99, 100]))])
    return table(["/metrics beside", "scrapes", "p50", "p99", "longest"], rows)


def _scraped(address: Address, pid: int, clients: int, pages: bool, seconds: float) -> Sequence[float]:
    """Scrape for some seconds, beside others."""
    targets = [_scrape, *([_read] if pages else [])]
    pipes = [_APART.Pipe() for _ in targets]
    works = [_APART.Process(target=z, args=(end, address)) for z, (_, end) in zip(targets, pipes, strict=True)]
    for work, (own, _) in zip(works, pipes, strict=True):
        work.start()
        own.recv()
    end, i = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        if clients:
            ask(address, pid, f"part {i}", clients, 1_000)
            i += 1
        else:
            time.sleep(left)
    for own, _ in pipes:
        own.send(None)
    waits: Sequence[float] = pipes[0][0].recv()
    for work in works:
        work.join()
    return waits


def _scrape(end: Connection, address: Address) -> None:
    waits = list[float]()
    end.send(None)
    while not waits or not end.poll(_EVERY):
        begun = time.perf_counter()
        _get(address, "/metrics")
        waits.append(time.perf_counter() - begun)
    end.send(waits)


def _read(end: Connection, address: Address) -> None:
    found = re.search(rb'"id":(\d+)', _get(address, "/decisions?key=first%200%200"))
    assert found is not None
    end.send(None)
    for path in cycle(("/", "/report", f"/decisions/{int(found[1])}/page")):
        if end.poll(0.05):
            return
        _get(address, path)


def _get(address: Address, path: str) -> bytes:
    with closing(HTTPConnection(*address, timeout=120)) as line:
        line.request("GET", path, headers={"Host": "localhost"})
        said = line.getresponse()
        body = said.read()
    if said.status != 200:
        raise RuntimeError(f"{path} answered {said.status}")
    return body


@contextmanager
def _serving(folder: Path, *, cold: bool = False) -> Iterator[tuple[Address, int]]:
    """The address of a server of the example's problem file, and its process; `cold` if no kernel is kept."""
    problem, store = folder / "letters.toml", f"sqlite:///{folder / 'pairs.db'}"
    problem.write_text(_FILE.read_text().replace("horizon = 10_000", "horizon = 10_000_000"))
    kernels: Mapping[str, str] = {"NUMBA_CACHE_DIR": str(folder / "kernels")} if cold else {}
    environment = {**os.environ, **kernels}
    command = [*_EVENHAND, "serve", str(problem), "--store", store, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert server.stdout is not None
    try:
        (url,) = next(filter(None, (re.findall(r"http://\S+", line) for line in server.stdout)))
        address = urlsplit(url)
        yield (address.hostname or "", address.port or 0), server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()


@contextmanager
def _constant() -> Iterator[tuple[Address, int]]:
    """The address of a server whose app answers constant bytes, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        process = _APART.Process(target=_answer, args=(listening,), daemon=True)
        process.start()
        try:
            yield listening.getsockname(), process.pid or 0
        finally:
            process.terminate()
            process.join()


def _answer(listening: socket.socket) -> None:
    headers = [(b"content-length", b"%d" % len(_ANSWER)), (b"content-type", b"application/json")]

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": _ANSWER})

    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", loop="asyncio", http="httptools", access_log=False
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    count = int(sys.argv[1]) if sys.argv[1:] else 12_000
    subprocess.run([*_EVENHAND, "warm", str(_FILE)], check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as name:
        print(pairs_table(Path(name), count))
        print()
        print(metrics_table(Path(name), count / 1_000))
