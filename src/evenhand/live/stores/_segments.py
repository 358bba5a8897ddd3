"""Stores that are only read: archives, and logs together with the segments to which a seal moved events."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from evenhand.core.errors import MissingFile
from evenhand.core.files import replacement
from evenhand.live.log.events import Busy, Damaged, Event, Kind, is_erased
from evenhand.live.log.proof import Proof, prove, refuse
from evenhand.live.log.segments import KEEPERS, LINK, Segment, segments
from evenhand.live.log.store import MOVED, CheckableStore, CloseableStore, DigestStore, Readable, Transaction, Whole
from evenhand.live.stores._sqlite_reading import SqliteReader
from evenhand.live.stores.sqlite import SqliteStore


def write_segment(path: Path, campaign: str, after: int, before: bytes, events: Iterable[Event]) -> Proof:
    """Write a segment to an empty file, and check it.

    Args:
        path: the file, which is read-only afterwards.
        campaign: of the log.
        after, before: the number and the hash of the event before the first.
        events: to be written.

    Raises:
        Damaged: the events do not follow each other.
    """
    with closing(SqliteStore(path)) as copy:
        copy.keep(campaign, LINK, after, before)  # before an erasure is there, which refuses it
        copy.adopt([(campaign, events)])
    for end in (".gate", ".lock"):
        path.with_name(path.name + end).unlink()
    path.chmod(0o400)
    with closing(SqliteReader(path)) as copy:
        proof = prove(copy, campaign)
    refuse(campaign, proof)
    return proof


def clean_segments(store: Readable, campaign: str, folder: Path) -> None:
    """Take the personal parts out of the segments in a folder which erasures of the log name, and that are there yet.

    Each file is written anew beside the old one, which it replaces. A segment that is not in the folder is left out.
    """
    bodies = (json.loads(event.body) for event in store.scan(campaign, kinds=("erased",)))
    erased, before = {ref for body in bodies for ref in body["decisions"]}, b""
    for segment in segments(store, campaign):
        path = folder / segment.file
        if any(segment.first <= ref <= segment.last for ref in erased) and path.is_file():
            _clean(path, campaign, segment, before, erased)
        before = segment.hash


def _clean(path: Path, campaign: str, segment: Segment, before: bytes, erased: set[int]) -> None:
    with closing(SqliteReader(path)) as file:
        if all(is_erased(event) for event in file.scan(campaign, kinds=("decided",)) if event.seq in erased):
            return

        def events() -> Iterator[Event]:
            for event in file.scan(campaign):
                gone = event.kind == "decided" and event.seq in erased
                yield event._replace(key=None, own=None, salt=None) if gone else event

        with replacement(path, 0o600) as part:
            write_segment(part, campaign, segment.first - 1, before, events())


class Segments:
    """Reads the logs of a store and of the segments in a folder as if nothing had been moved.

    A segment is opened when it is needed. Then its campaign, its first event, the hash of the last one and that of the
    event before it have to be those that the store states.

    Args:
        store: the store.
        folder: with the segments of all logs that are read.
    """

    whole = True

    def __init__(self, store: Readable, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._opened = dict[str, SqliteReader]()

    def campaigns(self) -> Sequence[str]:
        return self._store.campaigns()

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        if kinds and not {*kinds} & {*MOVED}:  # all of them stay in the store
            yield from self._store.scan(campaign, after, kinds)
            return
        stay = {event.seq: event for event in self._store.scan(campaign, after, KEEPERS)}  # with their states
        for segment, file in self._files(campaign, after):
            for event in file.scan(campaign, after, kinds):
                if not kinds and event.seq != after + 1:
                    raise Damaged(f"event {after + 1} is missing in {segment}")
                after = event.seq
                yield stay.get(after, event)
            after = max(after, segment.last)
        yield from self._store.scan(campaign, after, kinds)

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        found, last = list[Event](), 0
        for segment, file in self._files(campaign, ref - 1):
            found += file.about(campaign, ref)
            last = segment.last
        return [*found, *(event for event in self._store.about(campaign, ref) if event.seq > last)]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        return self._store.snapshot(campaign, mark, before)

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return self._store.snapshots(campaign, mark)

    def damage(self) -> Sequence[str]:
        each = [self._store, *self._opened.values()]
        return [message for store in each if isinstance(store, CheckableStore) for message in store.damage()]

    def close(self) -> None:
        self.close_files()
        if isinstance(self._store, CloseableStore):
            self._store.close()

    def close_files(self) -> None:
        """Close the segments, and leave the store open."""
        while self._opened:
            self._opened.popitem()[1].close()

    def _files(self, campaign: str, after: int) -> Iterator[tuple[Segment, SqliteReader]]:
        """Yield the segments that have events after a number, opened."""
        before = b""
        for segment in segments(self._store, campaign):
            if segment.last > after:
                if segment.file not in self._opened:
                    self._opened[segment.file] = self._open(campaign, segment, before)
                yield segment, self._opened[segment.file]
            before = segment.hash

    def _open(self, campaign: str, segment: Segment, before: bytes) -> SqliteReader:
        path = self._folder / segment.file
        if not path.is_file():
            raise MissingFile("segments", f"a folder with the {segment} of {campaign!r}", str(self._folder))
        file = SqliteReader(path)
        first, last = (next(file.scan(campaign, seq - 1), None) for seq in (segment.first, segment.last))
        ends = (first and first.seq, last and (last.seq, last.hash), file.snapshot(campaign, LINK))
        if ends != (segment.first, (segment.last, segment.hash), (segment.first - 1, before)):
            file.close()
            message = f"{path} is not the {segment} of {campaign!r}, or was changed"
            raise Damaged(f"{message}: find its copy of the same name; `evenhand audit sqlite:///{path}` checks it")
        return file


class _Log:
    """The log of one campaign as of its first reading, in which no time passes, so that nothing expires."""

    now = 0

    def __init__(self, store: Readable, campaign: str, last: int) -> None:
        self._store, self._campaign, self.last = store, campaign, last

    def tail(self, after: int) -> Iterator[Event]:
        return (event for event in self._store.scan(self._campaign, after) if event.seq <= self.last)

    def find(self, key: str) -> Event | None:
        return next((event for event in self.tail(0) if event.key == key), None)

    def get(self, seq: int) -> Event | None:
        found = next(iter(self.tail(seq - 1)), None) if seq > 0 else None
        return found if found is not None and found.seq == seq else None

    def about(self, ref: int) -> Sequence[Event]:
        return [event for event in self.tail(ref) if event.ref == ref]

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        raise Busy("the store was opened read-only")


class Archive:
    """Reads the logs of another store; snapshots are read and not kept, and overdue decisions do not expire."""

    only_read = True

    def __init__(self, store: Readable) -> None:
        self._store, self.whole = store, isinstance(store, Whole) and store.whole
        self._last: dict[str, int] = {}

    def campaigns(self) -> Sequence[str]:
        return self._store.campaigns()

    @contextmanager
    def write(self, campaign: str) -> Iterator[Transaction]:
        if campaign not in self._last:
            end = deque(self._store.scan(campaign), 1)
            self._last[campaign] = end[0].seq if end else 0
        yield _Log(self._store, campaign, self._last[campaign])

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        last = self._last.get(campaign)
        found = self._store.scan(campaign, after, kinds)
        return found if last is None else (event for event in found if event.seq <= last)

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        last = self._last.get(campaign)
        return [event for event in self._store.about(campaign, ref) if last is None or event.seq <= last]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        return self._store.snapshot(campaign, mark, before)

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return self._store.snapshots(campaign, mark)

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        return None

    def digests(self) -> Iterable[tuple[bytes, int]]:
        return self._store.digests() if isinstance(self._store, DigestStore) else ()

    def damage(self) -> Sequence[str]:
        return self._store.damage() if isinstance(self._store, CheckableStore) else []

    def close(self) -> None:
        if isinstance(self._store, CloseableStore):
            self._store.close()
