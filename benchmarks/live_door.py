"""What a decision over HTTP costs the server, beside one without HTTP and, in files, a bare insert of the same row.

python -m benchmarks.live_door 4000
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.live_bare import Bare
from benchmarks.live_worlds import NAME, case, opened
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.http.server import serve
from evenhand.live.log.events import Event
from evenhand.live.stores.memory import MemoryStore
from evenhand.report.summary import table

_APART = multiprocessing.get_context("spawn")  # so that the client is not counted
_CHUNK, _CONNECTIONS = 160, 16


class Spent(NamedTuple):
    """Seconds of a core, and seconds, that some decisions took."""

    core: float = 0.0
    clock: float = 0.0
    calls: int = 0

    def with_(self, work: Callable[[], object], core: Callable[[], float] = time.process_time) -> Spent:
        """Add what the decisions of a chunk take."""
        begun, start = core(), time.perf_counter()
        work()
        clock = time.perf_counter() - start
        return Spent(self.core + core() - begun, self.clock + clock, self.calls + _CHUNK)

    def cells(self, beside: Spent) -> list[str]:
        """Both for one decision, and how many times those of others they are."""
        core, clock, core_, clock_ = (1e3 * x / z.calls for z in (self, beside) for x in (z.core, z.clock))
        return [f"{core:.3f}", f"{core / core_:.2f}", f"{1e3 / clock:,.0f}", f"{clock_ / clock:.2f}"]


def door_table(folder: Path, count: int) -> str:
    """Milliseconds of a core of the server for a decision, and decisions a second."""
    rows = []
    for store, path in (("memory", None), ("SQLite", folder)):
        found = _found(path, count)
        rows += [[f"{store}, {name}", *spent.cells(found["no HTTP"])] for name, spent in found.items()]
    return table(["a decision", "ms of a core", "ratio", "a second", "ratio"], rows)


def _found(folder: Path | None, count: int) -> dict[str, Spent]:
    """What decisions take in a process with HTTP, in one without and, in files, as bare inserts, by turns."""
    own, served, plain = (None if folder is None else folder / f"{name} door.db" for name in ("own", "served", "bare"))
    campaign, bare = _campaign(own), None if plain is None else Bare(plain)
    found = {"one connection": Spent(), f"{_CONNECTIONS} connections": Spent(), "no HTTP": Spent()}

    def write(events: Sequence[Event]) -> None:
        assert bare is not None
        for event in events:
            bare.insert([event])

    few = {"one connection": 1, f"{_CONNECTIONS} connections": _CONNECTIONS}
    with _serving(served) as (address, core):
        campaign.decide(case(0), "first")  # compiles
        for first in range(0, count, _CHUNK):
            numbers = range(first, first + _CHUNK)
            for name, size in few.items():
                with _lines(address, size) as lines:  # anew, as the server closes those that wait for their turn
                    _ask(lines, [_request(f"{name} first {i}", i) for i in numbers[:size]])
                    requests = [_request(f"{name} {i}", i) for i in numbers]
                    found[name] = found[name].with_(partial(_ask, lines, requests), core)
            cases = [(case(i), f"key {i}") for i in numbers]
            found["no HTTP"] = found["no HTTP"].with_(lambda cases=cases: [campaign.decide(*z) for z in cases])
            if bare is not None:
                events = list(campaign.store.scan(NAME, 2 + first))
                found["bare insert"] = found.get("bare insert", Spent()).with_(partial(write, events))
    return found


def _campaign(path: Path | None) -> Campaign:
    return opened(MemoryStore() if path is None else path)


def _request(key: str, number: int) -> bytes:
    """A request to decide, as clients of HTTP write it."""
    body = json.dumps({"key": key, "case": case(number)}).encode()
    stated = {"Host": "localhost", "Accept": "*/*", "Content-Type": "application/json", "Content-Length": len(body)}
    head = "\r\n".join(["POST /decide HTTP/1.1", *(f"{name}: {value}" for name, value in stated.items())])
    return head.encode() + b"\r\n\r\n" + body


def _ask(lines: Sequence[socket.socket], requests: Sequence[bytes]) -> None:
    """Ask on all connections at once, again and again."""
    for first in range(0, len(requests), len(lines)):
        some = list(zip(lines, requests[first : first + len(lines)], strict=False))
        for line, request in some:
            line.sendall(request)
        for line, _ in some:
            _read(line)


def _read(line: socket.socket) -> None:
    """Read one response."""
    found = _more(line)
    while b"\r\n\r\n" not in found:
        found += _more(line)
    head, _, body = found.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server answered {found!r}")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < size:
        body += _more(line)


def _more(line: socket.socket) -> bytes:
    """Read some more of a response."""
    found = line.recv(65_536)
    if not found:
        raise RuntimeError("the server closed the connection")
    return found


@contextmanager
def _lines(address: tuple[str, int], size: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_connection(address, 60)) for _ in range(size)]
        for line in found:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield found


@contextmanager
def _serving(path: Path | None) -> Iterator[tuple[tuple[str, int], Callable[[], float]]]:
    """The address of a server in a process of its own, and its seconds of a core so far."""
    own, end = _APART.Pipe()
    server = _APART.Process(target=_serve, args=(end, path), daemon=True)
    server.start()

    def core() -> float:
        own.send(None)
        found: float = own.recv()
        return found

    try:
        address = urlsplit(own.recv())
        yield (address.hostname or "", address.port or 0), core
    finally:
        server.terminate()
        server.join()


def _serve(end: Connection, path: Path | None) -> None:
    def clock() -> None:
        while True:
            end.recv()
            end.send(time.process_time())

    def ready(address: str) -> None:
        end.send(address)
        threading.Thread(target=clock, daemon=True).start()

    serve(_campaign(path), port=0, ready=ready)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(door_table(Path(name), int(sys.argv[1]) if sys.argv[1:] else 1_600))
