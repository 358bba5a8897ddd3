"""How large the store of a campaign stays whose old decisions are sealed now and then, and what a seal takes.

Decisions of the shipped problem file, each with its outcome, the same over and over under other keys.

python -m benchmarks.live_seals 1000000 100000
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import evenhand as eh
from benchmarks.live_cold import opened
from benchmarks.live_logs import repeat
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.requests import Verbs
from evenhand.report.summary import table

_MADE, _BATCH, _STAY = 2_000, 500, 5_000  # decisions that the policy makes, those of a transaction, events that stay
_MB = 1e6


def seal_table(folder: Path, decisions: int, each: int) -> str:
    """Sizes before and after every seal, and how long the lock of the store was held by it."""
    path, rows = folder / "seals.db", list[list[str]]()
    with opened(path) as campaign:
        for start in range(0, _MADE, _BATCH):
            campaign.many([partial(_both, number) for number in range(start, start + _BATCH)])
        pattern = [event for event in campaign.events() if event.kind != "opened"]
    made = _MADE
    while made < decisions:
        some = each - made % each
        repeat(SqliteStore(path), pattern, 2 * some)
        made += some
        rows.append([f"{made:,}", *_sealed(path, folder)])
    head = ["decisions", "MB before", "MB after", "MB of the segment", "s of a core", "s of a core to open"]
    return table(head, rows)


def _both(number: int, verbs: Verbs) -> bool:
    case = {"age": 20 + number % 61, "town": ("north", "south")[number % 2]}
    return verbs.observe(verbs.decide(case, f"key {number}").id, {"visit": int(number % 5 == 0)})


def _sealed(path: Path, folder: Path) -> list[str]:
    with opened(path) as campaign:
        campaign.snapshot()
        before = _size(campaign)
        start = time.process_time()
        found = campaign.seal(folder, by="a benchmark", why="size", before=campaign.head().seq - _STAY)
        took = time.process_time() - start
        after = _size(campaign)
    assert found.segment is not None
    start = time.process_time()
    opened(path).close()
    again = time.process_time() - start
    segment = (folder / found.segment.file).stat().st_size
    return [*(f"{z / _MB:.1f}" for z in (before, after, segment)), f"{took:.1f}", f"{again:.2f}"]


def _size(campaign: eh.Campaign) -> int:
    store = campaign.store
    assert isinstance(store, SqliteStore)
    return store.size()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(seal_table(Path(folder), *map(int, sys.argv[1:])))
