"""How fast a long log is folded and opened, what a late outcome costs, and what a worker keeps in memory."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.live_worlds import NAME, case, opened, timed
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.dashboard.tally import Tally
from evenhand.live.log.events import Event
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.requests import Verbs
from evenhand.report.summary import table

_MADE, _BATCH = 2_000, 500  # decisions that the policy makes for a long log, and those in one transaction
_STAGES = 10  # snapshots in a log with late outcomes
_APART = multiprocessing.get_context("spawn")  # so that its memory is its own


def logs_table(folder: Path, events: int) -> str:
    """What it takes to open a long log, and to take in a late outcome."""
    path = folder / "long.db"
    pattern = made(opened(path))
    repeat(SqliteStore(path), pattern, events - len(pattern) - 1)
    whole = timed(lambda: opened(path))
    kept = opened(path).snapshot()
    again = timed(lambda: opened(path))
    recent, old, late = late_outcomes(folder / "late.db", min(events, 100_000))
    rows = [
        [
            f"open a log of {events:,} events without a snapshot",
            f"{whole:.2f} s, {events / whole:,.0f} events a second",
        ],
        [f"open it from a snapshot of {kept / 1024:,.0f} KiB", f"{again:.3f} s"],
        [f"a late outcome that was released, {late // _STAGES:,} events ago", f"{1e3 * recent:,.0f} ms"],
        [f"one from the start of {late:,} events", f"{1e3 * old:,.0f} ms"],
    ]
    return table(["long logs", ""], rows)


def made(campaign: Campaign) -> list[Event]:
    """Decisions of a policy, each with its outcome."""
    with_outcomes(campaign, range(_MADE))
    return [event for event in campaign.events() if event.kind != "opened"]


def with_outcomes(campaign: Campaign, numbers: Sequence[int]) -> None:
    """Decide cases and observe what comes of them, many in one transaction."""

    def both(number: int, verbs: Verbs) -> bool:
        said = verbs.decide(case(number % _MADE), f"key {number}", None, None)
        return verbs.observe(said.id, {"answer": number % 5 == 0}, revise=False)

    for start in range(0, len(numbers), _BATCH):
        for found in campaign.many([partial(both, number) for number in numbers[start : start + _BATCH]]):
            if isinstance(found, Exception):
                raise found


def repeat(store: SqliteStore, pattern: Sequence[Event], events: int) -> None:
    """Write so many more events, the same decisions and outcomes over and over, under other keys."""
    for start in range(0, events, len(pattern)):
        with store.write(NAME) as log:
            for event in pattern[: events - start]:
                ahead = log.last + 1 - event.seq
                ref = None if event.ref is None else event.ref + ahead
                log.append(event.kind, event.body, ref=ref, key=event.key and f"{ahead}: {event.key}", own=event.own)


def late_outcomes(path: Path, events: int) -> tuple[float, float, int]:
    """Seconds to take in an outcome after its expiry, of a recent decision and of the first, with snapshots."""
    campaign = opened(path, patience=0.2, on_expiry="release")
    store, pattern = campaign._worker.store, made(campaign)
    assert isinstance(store, SqliteStore)
    waiting = []
    for stage in range(_STAGES):
        waiting.append(campaign.decide(case(stage), key=f"waits {stage}").id)
        time.sleep(0.3)
        campaign.refresh()  # lets it expire
        repeat(store, pattern, events // _STAGES)
        campaign.snapshot()
    seconds = [timed(partial(campaign.observe, waiting[i], {"answer": 1})) for i in (-1, 0)]
    return seconds[0], seconds[1], events


def memory_table(folder: Path, counts: Sequence[int]) -> str:
    """The peak memory of a worker, and of the numbers of its page, after so many decisions with their outcomes."""
    own, end = _APART.Pipe()
    worker = _APART.Process(target=_live, args=(end, folder / "memory.db", counts))
    worker.start()
    rows = [[f"{count:,}", f"{own.recv():.0f}"] for count in counts]
    worker.join()
    return table(["decisions with their outcomes", "peak MB of a worker"], rows)


def _live(end: Connection, path: Path, counts: Sequence[int]) -> None:
    campaign, start = opened(path), 0
    tally = Tally(campaign)
    for count in counts:
        for first in range(start, count, _MADE):
            with_outcomes(campaign, range(first, min(first + _MADE, count)))
            campaign.status()
            tally.update()
        start = count
        end.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
