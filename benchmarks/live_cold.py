"""How fast the log of the shipped problem file is folded without a snapshot, and how long nobody answers at an upgrade.

Its default model learns outcomes, which come between decisions. The horizon is longer than that of the file.

python -m benchmarks.live_cold 40000
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

import evenhand as eh
from benchmarks.live_logs import repeat
from benchmarks.live_worlds import NAME
from evenhand.live import Conflict
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.requests import Verbs
from evenhand.report.summary import table

_SHIPPED = Path(__file__).parents[1] / "deploy" / "problem.toml"
_MADE, _BATCH, _WAIT, _SHARE = 2_000, 500, 20, 0.8  # four of five decisions have an outcome, some decisions later
_APART = multiprocessing.get_context("spawn")
_VERSIONS = "worker.worker", "log.versions", "fold.snapshots"  # modules that know the version


def opened(path: Path) -> eh.Campaign:
    """The campaign in a file, a new one or the one that is there."""
    text = _SHIPPED.read_text(encoding="utf-8").replace("horizon = 10_000", "horizon = 10_000_000")
    policy, encoder = of_file(Text(_SHIPPED.name, text))
    return eh.Campaign.open(f"sqlite:///{path}", NAME, policy, encoder=encoder, patience=1e6)


def cold_table(folder: Path, events: int) -> str:
    """Folds of a log without a snapshot, the second of them with all machine code loaded."""
    path = folder / "cold.db"
    _fill(path, events)
    seconds = []
    for _ in range(2):
        start = time.process_time()
        opened(path).close()
        seconds.append(time.process_time() - start)
    rows = [["first", *seconds[:1]], ["again", *seconds[1:]]]
    told = [[what, f"{each:.2f} s", f"{events / float(each):,.0f}"] for what, each in rows]
    return table([f"fold of {events:,} events", "of a core", "events a second"], told)


def upgrade_table(folder: Path, events: int) -> str:
    """An upgrade to a version that reads no snapshot of the one before, which decides in another process."""
    path = folder / "upgrade.db"
    own, end = _APART.Pipe()
    earlier = _APART.Process(target=_decide, args=(end, path, events))
    earlier.start()
    own.recv()
    start = time.monotonic()
    with opened(path) as campaign:
        campaign.decide({"age": 30, "town": "north"}, key="the first one")
        first = time.monotonic()
    last, answers, longest = own.recv()
    earlier.join()
    row = [f"{first - start:.1f} s", f"{answers:,}", f"{longest:.2f} s", f"{first - last:.2f} s"]
    head = [f"upgrade at {events:,} events", "decisions meanwhile", "the longest took", "nobody answered for"]
    return table(head, [row])


def _fill(path: Path, events: int) -> None:
    """Write decisions and outcomes, the same over and over."""
    with opened(path) as campaign:
        luck, waits = np.random.default_rng(0), list[tuple[int, int]]()

        def both(number: int, verbs: Verbs) -> None:
            age = int(luck.integers(20, 80))
            said = verbs.decide({"age": age, "town": ("north", "south")[number % 2]}, f"key {number}", None, None)
            if luck.random() < _SHARE:
                waits.append((said.id, age))
            while len(waits) > luck.integers(0, _WAIT):
                ref, old = waits.pop(int(luck.integers(len(waits))))
                verbs.observe(ref, {"visit": int(luck.random() < 0.1 + old / 200)})

        for start in range(0, _MADE, _BATCH):
            for found in campaign.many([partial(both, number) for number in range(start, start + _BATCH)]):
                if isinstance(found, Exception):
                    raise found
        pattern = [event for event in campaign.events() if event.kind != "opened"]
    repeat(SqliteStore(path), pattern, events - len(pattern) - 1)


def _decide(end: multiprocessing.connection.Connection, path: Path, events: int) -> None:
    """Be an earlier version: fill a log, then decide until a later one has taken over."""
    with ExitStack() as patched:
        for module in _VERSIONS:
            patched.enter_context(patch(f"evenhand.live.{module}.__version__", "0.0.1"))
        patched.enter_context(patch("evenhand.live.fold.snapshots.FOLD", 0))
        _fill(path, events)
        campaign, answers, longest = opened(path), 0, 0.0
        campaign.decide({"age": 30, "town": "north"}, key="ready")
        end.send(None)
        last = time.monotonic()
        with suppress(Conflict):
            while True:
                campaign.decide({"age": 30, "town": "north"}, key=f"meanwhile {answers}")
                now = time.monotonic()
                last, answers, longest = now, answers + 1, max(longest, now - last)
    end.send((last, answers, longest))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = int(sys.argv[1]) if sys.argv[1:] else 10_000
        print(cold_table(Path(folder), count))
        print(upgrade_table(Path(folder), count))
