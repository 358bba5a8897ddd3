"""The proof that a log is undamaged, by its hashes, and a fence against an older copy of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.live.log.events import Damaged, Event, digest, is_erased, seal_of
from evenhand.live.log.segments import LINK, Segment, unread
from evenhand.live.log.store import CheckableStore, Readable, Transaction

_MOST = 10  # faults that are told one by one


@dataclass(frozen=True)
class Head:
    """The number and the hash of an event, which stand for it and for all events before it.

    >>> Head.of("12:" + 64 * "a").seq
    12
    """

    seq: int
    hash: bytes

    @staticmethod
    def of(text: str) -> Head:
        """Read a head as `str` writes it.

        Raises:
            InvalidInput: it is not NUMBER:HASH.
        """
        found = re.fullmatch(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", text.strip().lower())
        if found is None:
            raise InvalidInput("head", "NUMBER:HASH, as an audit prints it", repr(text))
        return Head(int(found[1]), bytes.fromhex(found[2]))

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


@dataclass(frozen=True)
class Proof:
    """The last event of a log, and contradictions to its hashes, its files, or a head that was kept elsewhere."""

    head: Head | None  # None where the log is empty
    faults: tuple[str, ...]
    last: int  # the last event that can be read, 0 if there is none
    unread: tuple[Segment, ...] = ()  # that have the events before the first that was checked


def prove(store: Readable, campaign: str, head: Head | None = None) -> Proof:
    r"""Check the hashes, numbers and times of a log, and let the store check its own files.

    Every hash is SHA-256 of the hash before it, followed by "NUMBER TIME KIND REF KEY\nBODY"; see `events.digest`. In
    an event with a personal part its seal stands in place of the key. What is missing has to be named by an erasure.
    Events in segments that are not given are not checked: the chain begins with the hash that the last seal states.

    Args:
        store: the store with the log.
        campaign: its name.
        head: a head of this log that was kept elsewhere; without one, a cut tail and a log all of whose hashes were
            made anew cannot be told from the log.

    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> with store.write("mail") as log:
    ...     first, last = log.append("opened", "{}"), log.append("decided", "{}", key="a")
    >>> prove(store, "mail", Head(2, last.hash)).faults
    ()
    >>> store._books["mail"].events[1] = last._replace(key="b")
    >>> prove(store, "mail").faults
    ('event 2 is not what was written: its hash differs',)
    """
    found, last, before, at, changed = 0, 0, b"", 0, 0
    matches, erasures, each = head is None, _Erasures(), list[Segment]()
    faults = list[str]()
    try:
        link, each = store.snapshot(campaign, LINK), unread(store, campaign)
        if link is not None:  # a segment, which begins after an event whose hash it has
            (last, before), erasures.first, erasures.missed = link, link[0] + 1, False
        elif each:
            last, before, erasures.first = each[-1].last, each[-1].hash, each[-1].last + 1
        with Work(f"checking {campaign}", "event") as work:
            for event in store.scan(campaign, last):
                found += 1
                work.update()
                if event.seq != last + 1:
                    faults.append(f"event {last + 1} is missing: event {event.seq} follows event {last}")
                    break
                erasures.add(event)
                if event.hash != digest(event, before) or erasures.is_false(event):
                    changed += 1
                    if changed <= _MOST:
                        faults.append(f"event {event.seq} is not what was written: its hash differs")
                if event.at < at and event.kind != "clock":
                    faults.append(f"event {event.seq} is earlier than the one before")
                last, before, at = event.seq, event.hash, event.at
                matches |= head is not None and last == head.seq and before == head.hash
    except Damaged as error:
        faults.append(f"the events after {last} cannot be read: {error}")
    faults = [*(store.damage() if isinstance(store, CheckableStore) else ()), *faults]
    if changed > _MOST:
        faults.append(f"{changed - _MOST:,} more events are not what was written")
    faults += erasures.faults()
    if head is not None and not matches:
        reason = (
            "that event has another hash" if last >= head.seq else f"the log ends at event {last}: its tail was cut"
        )
        faults.append(f"the head {str(head)[:20]}... is not in the log: {reason}")
    return Proof(Head(last, before) if last else None, tuple(faults), last, tuple(each))


class _Erasures:
    """The personal parts that a log lacks, and those that its erasures name."""

    def __init__(self) -> None:
        self._missing, self._named = set[int](), set[int]()
        self.first, self.missed = 1, True  # the first event that is read; whether all erasures of these events are

    def add(self, event: Event) -> None:
        """Process the next event."""
        if is_erased(event):
            self._missing.add(event.seq)
        if event.kind in ("erased", "sealed"):
            with suppress(ValueError, TypeError, KeyError):  # anything can be in a damaged log, whose hash differs
                body = json.loads(event.body)
                named = body["before"] if event.kind == "sealed" else [*body["decisions"], body["before"] or 0]
                self._named |= {seq for seq in named if seq >= self.first}

    def is_false(self, event: Event) -> bool:
        """Return whether the personal part of an event differs from the sealed one."""
        if event.seal == b"" or event.own is None:
            return (event.own, event.salt) != (None, None) or (event.seal != b"" and event.key is not None)
        return seal_of(event.salt or b"", event.key, event.own) != event.seal

    def faults(self) -> list[str]:
        """Return the personal parts that are missing but were not erased, and those that are present again."""
        missing, there = self._missing - self._named if self.missed else (), self._named - self._missing
        parts = [(seq, "is missing, and no erasure names it") for seq in sorted(missing)[:_MOST]]
        parts += [(seq, "was erased, and is there") for seq in sorted(there)[:_MOST]]
        return [f"the personal part of event {seq} {what}" for seq, what in parts]


def refuse(campaign: str, proof: Proof) -> None:
    """Refuse a log that is damaged.

    Raises:
        Damaged: there are faults; the error names the first one.
    """
    if proof.faults:
        more = f", and {len(proof.faults) - 1} more" if len(proof.faults) > 1 else ""
        message = f"{proof.faults[0]}{more}; see `evenhand audit`, and restore a backup"
        raise Damaged(f"campaign {campaign!r} is damaged: {message}")


class Fence:
    """Remembers the last event that a process knew to be committed, and refuses a log without it.

    Args:
        name: of the log.

    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store, fence = MemoryStore(), Fence("mail")
    >>> with store.write("mail") as log:
    ...     last = log.append("opened", "{}")
    >>> fence.known = Head(last.seq, last.hash)
    >>> with MemoryStore().write("mail") as log:
    ...     fence.check(log)
    Traceback (most recent call last):
    evenhand.live.log.events.Damaged: the store has another log of 'mail', or an earlier copy of it, without event 1 \
that this process knows: find out which one is right, and start the process again
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.known: Head | None = None

    def check(self, log: Transaction, after: int = 0) -> None:
        """Refuse a log that does not go on from the event that is known.

        Args:
            log: the transaction.
            after: the event after which `passed` reads on, if it is to check the rest: a query less.

        Raises:
            Damaged: it does not.
        """
        known = self.known
        if known is None or known.seq == after < log.last:
            return
        if log.last < known.seq or hash_of(log, known.seq) not in (known.hash, b""):  # none where a seal moved it
            raise self._another(known)

    def follow(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events of the log in order; the one after the known event has to carry its hash.

        Raises:
            Damaged: it does not.
        """
        known = self.known
        for event in events:
            if known is not None and event.seq == known.seq + 1 and event.hash != digest(event, known.hash):
                raise self._another(known)
            yield event

    def _another(self, known: Head) -> Damaged:
        message = f"the store has another log of {self._name!r}, or an earlier copy of it, without event {known.seq}"
        return Damaged(f"{message} that this process knows: find out which one is right, and start the process again")


def end_of(log: Transaction) -> Head | None:
    """Return the last event of a transaction, which is to be known once that is committed."""
    return Head(log.last, hash_of(log, log.last)) if log.last else None


def hash_of(log: Transaction, seq: int) -> bytes:
    """Return the hash of an event; that of the last one is at hand in stores that gather events."""
    found: bytes | None = getattr(log, "hash", None) if seq == log.last else None
    if found is None:
        event = log.get(seq)
        found = b"" if event is None else event.hash
    return found
