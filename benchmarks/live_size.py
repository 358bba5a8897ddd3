"""What a server needs: memory by decisions that wait for outcomes, bytes on disk by decision, and time of a core.

python -m benchmarks.live_size 20000, or `20000 1` with a request for each decision
"""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from evenhand.report.summary import table

_FILE = Path(__file__).parents[1] / "deploy" / "problem.toml"
_FIRST = 500  # decisions, which load kernels
_SIZES = "SELECT length(blob) FROM snapshots WHERE mark NOT LIKE 'tally%' ORDER BY seq"


def size_table(folder: Path, count: int, together: int = 500) -> str:
    """Of a server with the example's problem file, after so many decisions with outcomes, and as many that wait.

    Args:
        folder: where the store is made.
        count: the decisions.
        together: those of a request.
    """
    path = folder / "size.db"
    problem = folder / "letters.toml"
    problem.write_text(_FILE.read_text().replace("horizon = 10_000", f"horizon = {10 * (_FIRST + count)}"))
    stages = [
        (f"{_FIRST} with outcomes", range(_FIRST), True),
        (f"{count:,} with outcomes", range(_FIRST, _FIRST + count), True),
        (f"{count:,} more that wait", range(_FIRST + count, _FIRST + 2 * count), False),
        ("a restart", range(_FIRST), False),
    ]
    rows = [[f"after {name}", *_row(problem, path, keys, answered, together)] for name, keys, answered in stages]
    return table(
        ["decisions", "MB of memory", "ms of a core each", "MB of the file", "of snapshots", "of the latest"], rows
    )


def _row(problem: Path, path: Path, numbers: range, answered: bool, together: int) -> list[str]:
    with _served(problem, path) as client:
        begun = _metric(client, "process_cpu_seconds_total")
        for first in range(numbers.start, numbers.stop, together):
            _ask(client, range(first, min(first + together, numbers.stop)), answered)
        core = 1e3 * (_metric(client, "process_cpu_seconds_total") - begun) / len(numbers)
        memory = _metric(client, "process_resident_memory_bytes")
    with closing(sqlite3.connect(path)) as db:  # which is complete after SIGTERM
        sizes = [z for (z,) in db.execute(_SIZES)]
    megabytes = (path.stat().st_size, sum(sizes), sizes[-1] if sizes else 0)
    return [f"{memory / 1e6:.0f}", f"{core:.2f}", *(f"{z / 1e6:.2f}" for z in megabytes)]


def _ask(client: httpx.Client, numbers: range, answered: bool) -> None:
    cases = [{"key": f"{i}", "case": {"age": 20 + i % 61, "town": ("north", "south")[i % 2]}} for i in numbers]
    client.post("/decide", json=cases).raise_for_status()
    if answered:
        told = [{"key": f"{i}", "outcomes": {"visit": int(i % 5 == 0)}} for i in numbers]
        client.post("/observe", json=told).raise_for_status()


def _metric(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])


@contextmanager
def _served(problem: Path, path: Path) -> Iterator[httpx.Client]:
    command = [sys.executable, "-m", "evenhand", "serve", str(problem), "--store", f"sqlite:///{path}", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        (url,) = next(filter(None, (re.findall(r"http://\S+", line) for line in server.stdout)))
        with httpx.Client(base_url=url, trust_env=False, timeout=600) as client:
            yield client
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(size_table(Path(folder), *map(int, sys.argv[1:])))
