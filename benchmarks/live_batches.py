"""What a fold of a long log and decisions in batches cost, in seconds of a core: with compiled runs, and without.

python -m benchmarks.live_batches 100000 sqlite:////tmp/batches.db
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import evenhand as eh
from benchmarks.live_logs import made, repeat
from benchmarks.live_worlds import NAME, POLICY, case, opened
from evenhand.live.deciding import Deciding
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.policy import entering
from evenhand.report.summary import table

_BATCH, _BATCHES = 1_000, 4


def fold_table(folder: Path, events: int) -> str:
    """Folds of one log by compiled runs and event by event, by turns; kernels are compiled or loaded before."""
    path = folder / "long.db"
    pattern = made(opened(path))
    repeat(SqliteStore(path), pattern, events - len(pattern) - 1)
    with patch.object(entering, "_PAYS", 0):
        opened(path)
        runs, single = [], []
        for _ in range(2):
            runs.append(_core(lambda: opened(path)))
            with patch.object(entering.Entering, "may_pay", lambda _: False):
                single.append(_core(lambda: opened(path)))
    rows = [
        [what, f"{min(each):.2f} s", f"{events / min(each):,.0f}"]
        for what, each in (("runs", runs), ("single events", single))
    ]
    return table([f"fold of {events:,} events by", "seconds of a core", "events a second"], rows)


def batch_table(urls: Sequence[str]) -> str:
    """Decisions in batches of 1,000 that share a transaction, with keys that are known beforehand or not."""
    rows = []
    for url in urls:
        for name in ("known", "unknown"):
            campaign = eh.Campaign.open(url, f"{NAME}, {name}", POLICY)
            best = min(_batch(campaign, number, known=name == "known") for number in range(_BATCHES))
            rows.append([url.partition(":")[0], name, f"{_BATCH / best:,.0f}"])
    return table(["store", "keys", "decisions a second of a core"], rows)


def _batch(campaign: eh.Campaign, number: int, *, known: bool) -> float:
    first = number * _BATCH
    calls = [Deciding(case(i), f"key {i}") for i in range(first, first + _BATCH)]
    return _core(lambda: campaign.many(calls if known else [call.__call__ for call in calls]))


def _core(work: Callable[[], object]) -> float:
    """Seconds of a core that something takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(fold_table(Path(name), int(sys.argv[1]) if sys.argv[1:] else 20_000))
        print()
        print(batch_table(sys.argv[2:] or [f"sqlite:///{name}/batches.db"]))
