"""Reads the log of a store and its segments as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.core.errors import MissingFile
from evenhand.live.log.events import Damaged, Event, Kind
from evenhand.live.log.segments import KEEPERS, LINK, Segment, segments
from evenhand.live.log.store import MOVED, Closing, Readable, SelfChecking
from evenhand.live.stores._sqlite_reading import SqliteReader


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
        return [told for store in each if isinstance(store, SelfChecking) for told in store.damage()]

    def close(self) -> None:
        for store in (self._store, *self._opened.values()):
            if isinstance(store, Closing):
                store.close()

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
            told = f"{path} is not the {segment} of {campaign!r}, or was changed"
            raise Damaged(f"{told}: find its copy of the same name; `evenhand audit sqlite:///{path}` checks it")
        return file
