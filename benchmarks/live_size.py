"""What a server needs: memory by decisions that wait for outcomes, and bytes on disk by decision and by snapshot.

python -m benchmarks.live_size 20000
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
_LIST = 500  # decisions of a request
_SIZES = "SELECT length(blob) FROM snapshots WHERE mark NOT LIKE 'tally%' ORDER BY seq"


def size_table(folder: Path, count: int) -> str:
    """Of a server with the example's problem file, after so many decisions with outcomes, and as many that wait."""
    path = folder / "size.db"
    problem = folder / "letters.toml"
    problem.write_text(_FILE.read_text().replace("horizon = 10_000", f"horizon = {10 * count}"))
    stages = [
        (f"{_LIST} decisions with outcomes", range(_LIST), True),
        (f"{count:,} with outcomes", range(_LIST, count), True),
        (f"{count:,} more that wait", range(count, 2 * count), False),
        ("a restart", range(1), True),
    ]
    rows = [[f"after {name}", *_row(problem, path, numbers, answered)] for name, numbers, answered in stages]
    return table(["of deploy/problem.toml", "MB of memory", "MB of the file", "of snapshots", "of the latest"], rows)


def _row(problem: Path, path: Path, numbers: range, answered: bool) -> list[str]:
    with _served(problem, path) as client:
        _ask(client, numbers, answered)
        found = re.search(r"^process_resident_memory_bytes (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    with closing(sqlite3.connect(path)) as db:  # which is complete after SIGTERM
        sizes = [z for (z,) in db.execute(_SIZES)]
    megabytes = (float(found[1]), path.stat().st_size, sum(sizes), sizes[-1] if sizes else 0)
    return [f"{z / 1e6:.2f}" for z in megabytes]


def _ask(client: httpx.Client, numbers: range, answered: bool) -> None:
    for first in range(numbers.start, numbers.stop, _LIST):
        keys = [f"order-{i}" for i in range(first, min(first + _LIST, numbers.stop))]
        cases = [{"age": 20 + i % 61, "town": ("north", "south")[i % 2]} for i in range(len(keys))]
        client.post(
            "/decide", json=[{"key": k, "case": c} for k, c in zip(keys, cases, strict=True)]
        ).raise_for_status()
        if answered:
            told = [{"key": k, "outcomes": {"visit": int(i % 5 == 0)}} for i, k in enumerate(keys)]
            client.post("/observe", json=told).raise_for_status()


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
        print(size_table(Path(folder), int(sys.argv[1]) if sys.argv[1:] else 2_000))
