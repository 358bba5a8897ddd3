"""The contract of stores of live campaigns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise

from evenhand.live.log.events import Conflict, Event, Kind, digest
from evenhand.live.log.store import ClockTransaction, Store, Transaction
from evenhand.testing.promises import complete, require

_NAMES = ("one", "two 'quoted' \"twice\"; --", "名前 é 😀", "two\nlines\tand a tab", "%_", " one ", "ONE")
_THREADS, _TURNS = 4, 10


class _Struck(Exception):
    """An error raised in a transaction to roll it back."""


def check_store(make: Callable[[], Store]) -> None:
    """Check that logs are ordered, append-only and chained by hashes, and transactions atomic and isolated.

    Keys are unique, and snapshots are stored.

    Four threads write at the same time. Concurrent processes are not checked.

    Args:
        make: returns a new store without campaigns at each call.

    >>> from evenhand.live.stores.memory import MemoryStore
    >>> check_store(MemoryStore)
    """
    complete(make(), Store)
    for check in (_order, _clock, _check_reading, _refusals, _rollback, _names, _snapshots, _threads):
        check(make())


def _order(store: Store) -> None:
    require(list(store.campaigns()) == [], "a new store has no campaigns")
    written: list[Event] = []
    with store.write("one") as log:
        require(log.last == 0, "a new log has no events")
        written.append(log.append("opened", '{"a":0.1}'))
        written += [log.append("decided", f'{{"n":{i}}}', key=f"key {i}") for i in range(3)]
        require(log.last == 4 and list(log.tail(0)) == written, "a transaction sees what is appended in it")
        require(all(event.at == log.now for event in written), "an event has the time of its transaction")
    for _ in range(5):
        with store.write("one") as log:
            require(log.now >= written[-1].at, "time never goes back")
            require(log.last == len(written), "a transaction sees all that was committed")
            written.append(log.append("revised", "{}", ref=2))
    require([e.seq for e in written] == list(range(1, len(written) + 1)), "events are numbered 1, 2, ...")
    before = b""
    for event in store.scan("one"):
        require(event.hash == digest(event, before), "an event has the hash of itself and of the one before (`linked`)")
        before = event.hash
    require(list(store.scan("one")) == written, "events are read as they were appended, in order")
    require(list(store.scan("one")) == list(store.scan("one", 0)), "a log is the same whenever it is read")


def _clock(store: Store) -> None:
    _fill(store, "one")
    with store.write("one") as log:
        if isinstance(log, ClockTransaction):
            log.distrust()
            require(log.clock <= log.now, "the time of a transaction is at least that of the clock")


def _check_reading(store: Store) -> None:
    _fill(store, "one")
    _fill(store, "other")
    everything = list(store.scan("one"))
    with store.write("one") as log:
        fresh = log.append("decided", "{}", key="fresh")
        more = log.append("expired", "{}", ref=fresh.seq)
        whole = [*everything, fresh, more]
        for after in range(len(whole) + 2):
            require(list(log.tail(after)) == whole[after:], "`tail` has the events after a number")
        for seq in range(1, len(whole) + 1):
            require(log.get(seq) == whole[seq - 1], "`get` has the event of a number")
        for seq in (-1, 0, len(whole) + 1, 2**40):
            require(log.get(seq) is None, "`get` has nothing where there is no event")
        for event in whole:
            if event.key is not None:
                require(log.find(event.key) == event, "`find` has the decision of a key")
            about = [e for e in whole if e.ref == event.seq]
            require(list(log.about(event.seq)) == about, "`about` has the events about a decision, in order")
        for key in ("", "KEY 0", "key 0 ", "%", "key"):
            require(log.find(key) is None, "`find` has nothing for a key that was not used, however similar")
    for after in range(len(whole) + 2):
        require(list(store.scan("one", after)) == whole[after:], "`scan` has the events after a number")
    for event in whole:
        about = [e for e in whole if event.seq in (e.seq, e.ref)]
        require(list(store.about("one", event.seq)) == about, "`about` has a decision and all about it, in order")
    require(list(store.about("one", 999)) == [], "`about` has nothing of an event that is not there")
    some: tuple[Sequence[Kind], ...] = (("opened",), ("decided", "expired"), ("switched",), ("observed", "revised"))
    for kinds in some:
        found = [e for e in whole if e.seq > 1 and e.kind in kinds]
        require(list(store.scan("one", 1, kinds)) == found, "`scan` has the events of some kinds")
    require(list(store.scan("none")) == [], "a campaign that is not there has no events")
    require(list(store.campaigns()) == ["one", "other"], "`campaigns` has all names, in order, and no others")
    reading = store.scan("one")
    next(reading)
    with store.write("one") as log:
        last = log.append("decided", "{}", key="while it is read")
    with store.write("one") as log:
        require(log.get(last.seq) == last, "a log can be written while it is read")


def _refusals(store: Store) -> None:
    _fill(store, "one")  # 2, 3, 4 are decisions; 2 is observed and revised, 3 is cancelled, 4 has expired
    before = list(store.scan("one"))
    _check_refusal(store, "a key is used once", "decided", key="key 0")
    _check_refusal(store, "only decisions have keys", "switched", key="new")
    _check_refusal(store, "a decision has one first outcome", "observed", ref=2)
    _check_refusal(store, "a decision that was observed is not cancelled", "cancelled", ref=2)
    _check_refusal(store, "a decision that was cancelled is not observed", "observed", ref=3)
    _check_refusal(store, "a decision expires once", "expired", ref=4)
    _check_refusal(store, "an outcome is about an event that is there", "observed", ref=99)
    _check_refusal(store, "an outcome is about a decision", "observed")
    _check_refusal(store, "a decision is about no other event", "decided", ref=2, key="new")
    require(list(store.scan("one")) == before, "what is refused is in no log")
    with store.write("one") as log:
        first = log.append("decided", "{}", key="new")
        with suppress(Conflict):
            log.append("decided", "{}", key="new")
        require(log.append("switched", "{}").seq == first.seq + 1, "what is refused takes no number")
    require([e.seq for e in store.scan("one")] == list(range(1, len(before) + 3)), "what is refused takes no number")


def _check_refusal(store: Store, promise: str, kind: Kind, ref: int | None = None, key: str | None = None) -> None:
    try:
        with store.write("one") as log:
            log.append("decided", "{}", key="goes with what is refused")
            log.append(kind, "{}", ref=ref, key=key)
    except Conflict:
        return
    raise AssertionError(f"{promise}: Conflict is raised otherwise")


def _rollback(store: Store) -> None:
    with suppress(_Struck), store.write("never") as log:
        log.append("opened", "{}")
        raise _Struck
    require(list(store.campaigns()) == [], "a campaign whose first transaction failed is not there")
    _fill(store, "one")
    before = list(store.scan("one"))
    for _ in range(2):
        with suppress(_Struck), store.write("one") as log:
            log.append("decided", "{}", key="lost")
            log.append("observed", "{}", ref=4)
            raise _Struck
        require(list(store.scan("one")) == before, "what is raised in a transaction leaves nothing of it")
    with store.write("one") as log:
        require(log.last == len(before) and log.find("lost") is None, "what is raised leaves nothing of a transaction")
        require(not [e for e in log.about(4) if e.kind == "observed"], "what is raised leaves nothing of a transaction")
        log.append("decided", "{}", key="lost")
        log.append("observed", "{}", ref=4)
    require(len(list(store.scan("one"))) == len(before) + 2, "after a failure one can go on")
    with store.write("one"):
        pass
    require(len(list(store.scan("one"))) == len(before) + 2, "a transaction without events changes nothing")


def _names(store: Store) -> None:
    for i, name in enumerate(_NAMES):
        with store.write(name) as log:
            require(log.last == 0, f"campaigns do not mix: {name!r} is a new one")
            log.append("opened", f'{{"i":{i}}}')
            for key in _NAMES:
                log.append("decided", f'"{name.encode().hex()}"', key=key)
    require(list(store.campaigns()) == sorted(_NAMES), "`campaigns` has the names as they were given, in order")
    for i, name in enumerate(_NAMES):
        with store.write(name) as log:
            for n, key in enumerate(_NAMES):
                found = log.find(key)
                require(found is not None and found.seq == n + 2, f"keys are kept apart as they were given: {key!r}")
        events = list(store.scan(name))
        require(events[0].body == f'{{"i":{i}}}' and len(events) == 1 + len(_NAMES), "campaigns do not mix")
        store.keep(name, "mark", 1, name.encode())
    for name in _NAMES:
        require(store.snapshot(name, "mark") == (1, name.encode()), "snapshots of campaigns do not mix")


def _snapshots(store: Store) -> None:
    _fill(store, "one")
    require(store.snapshot("one", "mark") is None, "a campaign has no snapshots at first")
    blobs = {seq: bytes([seq, 0, 255]) * 1000 for seq in (3, 5, 4)}
    for seq, blob in blobs.items():
        store.keep("one", "mark", seq, blob)
    store.keep("one", "other", 6, b"other")
    require(store.snapshot("one", "mark") == (5, blobs[5]), "`snapshot` has the one of most events, not the latest")
    require(store.snapshot("one", "other") == (6, b"other"), "snapshots of marks do not mix")
    for before, seq in ((6, 5), (5, 4), (4, 3)):
        found = store.snapshot("one", "mark", before)
        require(found == (seq, blobs[seq]), "`before` asks for the last snapshot with fewer events")
    require(store.snapshot("one", "mark", 3) is None, "`before` the first snapshot there is none")
    store.keep("one", "mark", 5, b"again")
    require(store.snapshot("one", "mark") == (5, b"again"), "a snapshot takes the place of the one of its number")
    require(list(store.snapshots("one", "mark")) == sorted(blobs), "`snapshots` has the numbers, in order")
    store.keep("one", "mark", 9, b"last", drop=[5, 77])
    require(store.snapshot("one", "mark", 9) != (5, b"again"), "snapshots are dropped by their numbers")
    require(list(store.snapshots("one", "other")) == [6], "snapshots of other marks are not dropped")


def _threads(store: Store) -> None:
    with store.write("one") as log:
        log.append("opened", "{}")
    inside, failed = [0], []

    def write(name: str) -> None:
        try:
            for turn in range(_TURNS):
                with store.write("one") as log:
                    _turn(log, inside, f"{name} {turn}")
        except BaseException as error:  # told by the thread that checks
            failed.append(error)

    threads = [threading.Thread(target=write, args=(f"thread {i}",)) for i in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in failed:
        raise error
    events = list(store.scan("one"))
    require(len(events) == 1 + 2 * _THREADS * _TURNS, "transactions of several threads are all kept")
    require(all(a.at <= b.at for a, b in pairwise(events)), "time never goes back")
    for a, b in zip(events[1::2], events[2::2], strict=True):
        require(b.ref == a.seq == b.seq - 1, "two threads never interleave")


def _turn(log: Transaction, inside: list[int], key: str) -> None:
    inside[0] += 1
    require(inside[0] == 1, "two threads never interleave")
    event = log.append("decided", "{}", key=key)
    require(log.last == event.seq, "two threads never interleave")
    log.append("expired", "{}", ref=event.seq)
    inside[0] -= 1


def _fill(store: Store, campaign: str) -> None:
    """Open a campaign; of its decisions 2, 3 and 4 the first is observed, the next cancelled, the last expired."""
    with store.write(campaign) as log:
        log.append("opened", "{}")
        for i in range(3):
            log.append("decided", f'{{"i":{i}}}', key=f"key {i}")
    with store.write(campaign) as log:
        log.append("observed", "{}", ref=2)
        log.append("revised", "{}", ref=2)
        log.append("cancelled", "{}", ref=3)
        log.append("expired", "{}", ref=4)
