"""What a fold of a long log and decisions in batches cost, in seconds of a core: with compiled runs, and without.

Batches are of 1,000 decisions, or of as many as the log has events. Fewer events are a trial of the program, for which
nothing is compiled before.

python -m benchmarks.live_batches 100000 sqlite:////tmp/batches.db
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import evenhand as eh
from benchmarks.live_logs import made, repeat
from benchmarks.live_worlds import NAME, POLICY, case, opened
from evenhand.live.log.replies import Reply
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.batches import Deciding
from evenhand.live.worker.requests import Verbs
from evenhand.policy.batch import compile_ahead
from evenhand.policy.kernels import events as entering
from evenhand.report.summary import table

_MOST, _BATCHES = 1_000, 4
_BEFORE = 20  # batches after which as many rounds are decided as allow the next one to be decided at one state


def fold_table(folder: Path, events: int) -> str:
    """Folds of one log by compiled runs and event by event, by turns; kernels are compiled or loaded before."""
    path, pays = folder / "long.db", 0 if events >= _MOST else entering._PAYS
    pattern = made(opened(path))
    events = max(events, len(pattern) + 1)
    repeat(SqliteStore(path), pattern, events - len(pattern) - 1)
    with patch.object(entering, "_PAYS", pays):
        opened(path)
        runs, single = [], []
        for _ in range(2):
            runs.append(_core(lambda: opened(path)))
            with patch.object(entering.StepEntry, "may_pay", lambda _: False):
                single.append(_core(lambda: opened(path)))
    rows = [
        [what, f"{min(each):.2f} s", f"{events / min(each):,.0f}"]
        for what, each in (("runs", runs), ("single events", single))
    ]
    return table([f"fold of {events:,} events by", "seconds of a core", "events a second"], rows)


def batch_table(urls: Sequence[str], batch: int) -> str:
    """Decisions in batches that share a transaction: one by one, and at the state before the batch."""
    if batch >= _MOST:
        compile_ahead(POLICY)
    rows = []
    for url in urls:
        for name, calls in (("keys known before", _known), ("keys unknown", _unknown), ("at one state", _frozen)):
            campaign, before = eh.Campaign.open(url, f"{NAME}, {name}", POLICY), 0
            if calls is _frozen:
                for before in range(1, _BEFORE + 1):
                    campaign.many(calls(_numbers(before - 1, batch)))
            asked = [calls(_numbers(before + number, batch)) for number in range(_BATCHES)]
            best = min(_core(partial(campaign.many, each)) for each in asked)
            rows.append([url.partition(":")[0], name, f"{batch / best:,.0f}"])
    return table(["store", "decided", "decisions a second of a core"], rows)


def _known(numbers: range) -> list[Callable[[Verbs], Reply]]:
    return [Deciding(case(i), f"key {i}") for i in numbers]


def _unknown(numbers: range) -> list[Callable[[Verbs], Reply]]:
    return [Deciding(case(i), f"key {i}").__call__ for i in numbers]


def _frozen(numbers: range) -> list[Callable[[Verbs], Reply]]:
    return [Deciding(case(i), f"key {i}", frozen=True) for i in numbers]


def _numbers(number: int, batch: int) -> range:
    return range(number * batch, (number + 1) * batch)


def _core(work: Callable[[], object]) -> float:
    """Seconds of a core that something takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        events = int(sys.argv[1]) if sys.argv[1:] else 20_000
        print(fold_table(Path(name), events))
        print()
        print(batch_table(sys.argv[2:] or [f"sqlite:///{name}/batches.db"], min(_MOST, events)))
