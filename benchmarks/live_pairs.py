"""Decisions with their outcomes over HTTP: how many a second, how long clients wait, what the server spends.

python -m benchmarks.live_pairs 8000
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from evenhand.report.summary import table

_FILE = Path(__file__).parents[1] / "deploy" / "problem.toml"
_TICK = os.sysconf("SC_CLK_TCK")


class Pairs(NamedTuple):
    """What some clients met, who ask one request after the other."""

    decide: list[float]  # seconds
    observe: list[float]
    core: float  # seconds of the server's cores
    clock: float


class _Client:
    """One connection, which decides a case and observes its outcome, again and again."""

    def __init__(self, address: tuple[str, int], name: str, pairs: int) -> None:
        self.line = socket.create_connection(address, 60)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._name, self._pairs, self._sent, self._begun = name, pairs, 0, 0.0
        self.waits: tuple[list[float], list[float]] = [], []

    def ask(self) -> bool:
        """Send the next request; returns whether there is one."""
        i, answers = divmod(self._sent, 2)
        if i == self._pairs:
            return False
        key = f"{self._name} {i}"
        if answers:
            path, body = "/observe", {"key": key, "outcomes": {"visit": int(i % 5 == 0)}}
        else:
            path, body = "/decide", {"key": key, "case": {"age": 20 + i % 61, "town": ("north", "south")[i % 2]}}
        text = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        self._sent, self._begun = self._sent + 1, time.perf_counter()
        self.line.sendall(head.encode() + b"%d\r\n\r\n" % len(text) + text)
        return True

    def take(self) -> None:
        """Read the answer."""
        found = self.line.recv(65_536)
        while not _whole(found):
            found += self.line.recv(65_536)
        if not found.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the server answered {found!r}")
        self.waits[(self._sent - 1) % 2].append(time.perf_counter() - self._begun)


def _whole(found: bytes) -> bool:
    if not found:
        raise RuntimeError("the server closed the connection")
    head, end, body = found.partition(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", head)
    return bool(end) and size is not None and len(body) >= int(size[1])


def run(address: tuple[str, int], pid: int, name: str, clients: int, pairs: int) -> Pairs:
    """Let so many clients at once ask for so many pairs in all."""
    each = [_Client(address, f"{name} {i}", pairs // clients) for i in range(clients)]
    core, start = _core(pid), time.perf_counter()
    with selectors.DefaultSelector() as ready:
        for client in each:
            client.ask()
            ready.register(client.line, selectors.EVENT_READ, client)
        left = len(each)
        while left:
            for key, _ in ready.select():
                key.data.take()
                if not key.data.ask():
                    ready.unregister(key.fileobj)
                    left -= 1
    clock = time.perf_counter() - start
    decide, observe = ([x for client in each for x in client.waits[i]] for i in range(2))
    for client in each:
        client.line.close()
    return Pairs(decide, observe, _core(pid) - core, clock)


def _core(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


@contextmanager
def served(folder: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """The address of a server of the example's problem file, and its process."""
    problem, store = folder / "letters.toml", f"sqlite:///{folder / 'pairs.db'}"
    problem.write_text(_FILE.read_text().replace("horizon = 10_000", "horizon = 10_000_000"))
    command = [
        sys.executable,
        "-m",
        os.environ.get("PAIRS_MODULE", "evenhand"),
        "serve",
        str(problem),
        "--store",
        store,
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        (url,) = next(filter(None, (re.findall(r"http://\S+", line) for line in server.stdout)))
        address = urlsplit(url)
        yield (address.hostname or "", address.port or 0), server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()


def pairs_table(folder: Path, pairs: int) -> str:
    rows = []
    with served(folder) as (address, pid):
        run(address, pid, "first", 8, 2_000)
        for clients in (1, 8, 64):
            found = run(address, pid, f"of {clients}", clients, pairs if clients > 1 else pairs // 4)
            rows.append(
                [
                    f"{clients}",
                    f"{len(found.observe) / found.clock:,.0f}",
                    f"{1e3 * found.core / len(found.observe):.2f}",
                ]
            )
            rows[-1] += [
                f"{1e3 * x:.1f}" for w in (found.decide, found.observe) for x in np.percentile(w, [50, 99, 99.9, 100])
            ]
    return table(
        [
            "clients",
            "pairs a second",
            "ms of a core",
            *(f"{w} {q}" for w in ("decide", "observe") for q in ("p50", "p99", "p99.9", "max")),
        ],
        rows,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(pairs_table(Path(name), int(sys.argv[1]) if sys.argv[1:] else 8_000))
