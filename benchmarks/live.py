"""What campaigns cost, beside durable inserts of the same texts in the same run, as disks differ from hour to hour."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path

from benchmarks import live_attacks, live_door, live_logs, live_waits
from benchmarks.live_bare import Bare
from benchmarks.live_worlds import NAME, case, opened, timed
from evenhand.live.http.bodies import decide
from evenhand.live.http.commits import Commits
from evenhand.live.log.events import Event
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.report.summary import table

_CHUNK = 100  # decisions of a client between two looks at the disk by itself
_THREADS = 16


def main(count: int = 1_000, seconds: float = 6.0, events: int = 20_000) -> None:
    """Print all tables.

    Args:
        count: decisions of a client.
        seconds: of requests over HTTP.
        events: of a long log.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(rates_table(folder, count))
        print()
        print(live_door.door_table(folder, count))
        print()
        print(live_waits.waits_table(folder, count, seconds))
        print()
        print(live_logs.logs_table(folder, events))
        print()
        print(live_logs.memory_table(folder, [events // 20, events // 5, events // 2]))
        print()
        print(live_attacks.attacks_table(folder, 1, seconds))
        print()
        print(live_attacks.restarts_table(folder, events // 2, 1))


def rates_table(folder: Path, count: int) -> str:
    """Decisions a second beside bare inserts of the same texts in commits of the same sizes."""
    found = {
        "one client, a commit for each": one_client(folder, count),
        f"{_THREADS} threads that share commits": sharing(folder, 8 * count),
    }
    rows = [[name, f"{a:,.0f}", f"{b:,.0f}", f"{a / b:.2f}"] for name, (a, b) in found.items()]
    return table(["SQLite", "decisions a second", "bare inserts a second", "ratio"], rows)


def one_client(folder: Path, count: int) -> tuple[float, float]:
    """Decisions and bare inserts a second, by turns."""
    campaign, bare = opened(folder / "one.db"), Bare(folder / "one bare.db")
    ours, plain, chunks = 0.0, 0.0, range(0, count, _CHUNK)

    def ask(cases: Sequence[tuple[str, dict[str, object]]]) -> list[int]:
        return [campaign.decide(stated, key).id for key, stated in cases]

    def write(events: Sequence[Event]) -> None:
        for event in events:
            bare.insert([event])

    for first in chunks:
        cases = [(f"key {i}", case(i)) for i in range(first, first + _CHUNK)]
        ours += timed(partial(ask, cases))
        events = [group[0] for group in _commits(campaign._worker.store, first + 1)]
        plain += timed(partial(write, events))
    whole = len(chunks) * _CHUNK
    return whole / ours, whole / plain


def sharing(folder: Path, count: int) -> tuple[float, float]:
    """Decisions a second of threads that share commits, and bare inserts, by turns."""
    campaign, bare = opened(folder / "shared.db"), Bare(folder / "shared bare.db")
    commits, size = Commits(campaign), _CHUNK * _THREADS
    ours, plain, chunks = 0.0, 0.0, range(0, count, size)

    def ask(cases: Sequence[tuple[str, dict[str, object]]]) -> None:
        for key, stated in cases:
            commits.submit([decide({"key": key, "case": stated})]).result()

    def write(groups: Sequence[Sequence[str]]) -> None:
        for events in groups:
            bare.insert(events)

    with ThreadPoolExecutor(_THREADS) as pool:
        for first in chunks:
            cases = [(f"key {i}", case(i)) for i in range(first, first + size)]
            work = [cases[i::_THREADS] for i in range(_THREADS)]
            ours += timed(lambda work=work: list(pool.map(ask, work)))
            plain += timed(partial(write, _commits(campaign._worker.store, first + 1)))
    commits.close()
    whole = len(chunks) * size
    return whole / ours, whole / plain


def _commits(store: object, after: int) -> list[list[Event]]:
    """The decisions after an event, by the commit that wrote them, as all of one have its time."""
    assert isinstance(store, SqliteStore)
    return [list(group) for _, group in groupby(store.scan(NAME, after), lambda event: event.at)]


if __name__ == "__main__":
    if "--full" in sys.argv:
        main(count=2_000, seconds=30.0, events=1_000_000)
    else:
        main()
