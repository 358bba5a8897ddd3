"""What a log proves of itself: each event carries the hash of the one before, and the store checks its own files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.live.events import Damaged, digest
from evenhand.live.stores.base import Readable, SelfChecking

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
    """The last event of a log, and what contradicts its hashes, its files, or a head that was kept elsewhere."""

    head: Head | None  # None where the log is empty, or its events have no hashes
    faults: tuple[str, ...]
    last: int  # the last event that can be read, 0 if there is none
    sealed: bool  # whether events have hashes; logs of earlier versions have them once a worker opens the store


def prove(store: Readable, campaign: str, head: Head | None = None) -> Proof:
    r"""Check the hashes of a log, its numbers and times, and what the store finds in its own files.

    Every hash is SHA-256 of the hash before it, followed by "NUMBER TIME KIND REF KEY\nBODY"; see `events.digest`.

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
    faults = list(store.damage()) if isinstance(store, SelfChecking) else []
    found, last, before, at, changed = 0, 0, b"", 0, 0
    sealed, matches = True, head is None
    try:
        for event in store.scan(campaign):
            found += 1
            if event.seq != last + 1:
                faults.append(f"event {last + 1} is missing: event {event.seq} follows event {last}")
                break
            sealed &= event.hash != b""
            if sealed and event.hash != digest(event, before):
                changed += 1
                if changed <= _MOST:
                    faults.append(f"event {event.seq} is not what was written: its hash differs")
            if event.at < at and event.kind != "clock":
                faults.append(f"event {event.seq} is earlier than the one before")
            last, before, at = event.seq, event.hash, event.at
            matches |= head is not None and last == head.seq and before == head.hash
    except Damaged as error:
        faults.append(f"the events after {last} cannot be read: {error}")
    if changed > _MOST:
        faults.append(f"{changed - _MOST:,} more events are not what was written")
    if head is not None and not matches:
        told = "that event has another hash" if last >= head.seq else f"the log ends at event {last}: its tail was cut"
        faults.append(f"the head {str(head)[:20]}... is not in the log: {told}")
    return Proof(Head(last, before) if sealed and last else None, tuple(faults), last, sealed)


def refuse(campaign: str, proof: Proof) -> None:
    """Refuse a log that is damaged.

    Raises:
        Damaged: there are faults; the error names the first one.
    """
    if proof.faults:
        more = f", and {len(proof.faults) - 1} more" if len(proof.faults) > 1 else ""
        told = f"{proof.faults[0]}{more}; see `evenhand audit`, and restore a backup"
        raise Damaged(f"campaign {campaign!r} is damaged: {told}")
