"""Backups: the logs of a store in one file of SQLite, and their restore."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.files import replacement
from evenhand.core.validate import on_disk
from evenhand.live.fold.changes import check_line
from evenhand.live.fold.first_event import refuse_pool
from evenhand.live.fold.training import copy_training
from evenhand.live.log.events import Busy, Conflict, Damaged, Event, Unknown, read
from evenhand.live.log.ids import Ids, restore_event
from evenhand.live.log.life import LIFE, Life
from evenhand.live.log.proof import Head, prove, refuse
from evenhand.live.log.segments import refuse_segment
from evenhand.live.log.store import (
    CloseableStore,
    CopyableStore,
    DigestImporter,
    DigestStore,
    LogImporter,
    Readable,
    Store,
)
from evenhand.live.stores._clock import clock
from evenhand.live.stores.opening import as_store, connect_to_read, make_folder, readable, refuse_own
from evenhand.live.stores.sqlite import SqliteStore

_TIMES = 5  # copies that are made, where erasures come meanwhile


def backup(store: str | Store, path: str | Path) -> Mapping[str, Head]:
    """Write the logs of a store, as of one moment, to a new file, while campaigns run.

    The file is a store of SQLite itself: audits, exports and reports read it, and `restore` makes a store of it.

    Args:
        store: the store, or its URL.
        path: the file, which must not be there yet.

    Returns:
        The head of every campaign in the file.

    Raises:
        InvalidInput: the file already exists, cannot be written or is one that the store takes for its own; or the
            store has no campaign, or is a segment.
        Damaged: the store is damaged; no file is left.
        Busy: the store cannot be read.

    >>> import tempfile
    >>> import evenhand as eh
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store, again = MemoryStore(), MemoryStore()
    >>> _ = eh.Campaign.open(store, "coins", eh.uniform(coin, 1)).decide({}, key="first")
    >>> file = f"{tempfile.mkdtemp()}/coins.backup"
    >>> [(name, head.seq) for name, head in backup(store, file).items()]
    [('coins', 2)]
    >>> restore(file, again, by="ada", why="disk lost")["coins"].seq
    3
    >>> list(again.scan("coins"))[:2] == list(store.scan("coins"))
    True
    """
    _refuse_own(path, store)
    found = _readable(store)
    try:
        if not found.campaigns():
            raise InvalidInput("store", "one that has a campaign", "an empty one")
        refuse_segment("store", found)
        with _new(path) as part:
            if isinstance(found, CopyableStore):
                found.copy_to(part)
            else:
                _copy(found, found.campaigns(), part)
            return _read_back(part)
    finally:
        _close(store, found)


def archive(store: str | Store, path: str | Path, campaign: str) -> Head:
    """Write the log of a campaign that has ended to a new, read-only file.

    Every decision has to have an outcome, or to be cancelled or expired. The file is as one of `backup`, and
    has no snapshots but what was learned from a log; the campaign stays in the store.

    Args:
        store: the store, or its URL.
        path: the file, which must not be there yet.
        campaign: its name.

    Returns:
        Its head, to be kept elsewhere.

    Raises:
        Unknown: no such campaign.
        Conflict: it has not ended, or decisions wait for their outcome.
        InvalidInput, Damaged, Busy: as for `backup`; or the name is that of a pool.
    """
    _refuse_own(path, store)
    found = _readable(store)
    try:
        if campaign not in found.campaigns():
            raise Unknown(f"no campaign {campaign!r}; the store has {list(found.campaigns())}")
        refuse_segment("store", found)
        refuse_pool(found, campaign)
        life = Life.of(found.scan(campaign, kinds=("opened", *LIFE)))
        if life.state != "ended":
            raise Conflict(f"campaign {campaign!r} is {life.summary}: only one that has ended is archived")
        with _new(path) as part:
            _copy(found, [campaign], part)
            with closing(connect_to_read(f"sqlite:///{part}")) as copy:  # no outcome comes in between
                waiting = _open_decisions(copy.scan(campaign))
                first = Ids.in_log(copy, campaign).of(min(waiting, default=0))
            if waiting:
                text = f"{texts.count(len(waiting), 'decision')}, the first of them {first}"
                message = "observe or cancel them, or let a server expire them"
                raise Conflict(f"campaign {campaign!r} waits for outcomes of {text}: {message}")
            part.chmod(0o400)
            return _read_back(part)[campaign]
    finally:
        _close(store, found)


def _open_decisions(events: Iterable[Event]) -> set[int]:
    """Return the decisions that have no outcome, and were neither cancelled nor expired."""
    found = set[int]()
    for event in events:
        if event.kind == "decided" and read(event)["n"]:
            found.add(event.seq)
        elif event.ref is not None:
            found.discard(event.ref)
    return found


def _refuse_own(path: str | Path, store: str | Store) -> None:
    if isinstance(store, str):
        refuse_own("file", Path(path), store)


def _readable(store: str | Store) -> Readable:
    return readable(store) if isinstance(store, str) else store


def _close(store: str | Store, found: Readable) -> None:
    """Close a store that was opened by its URL."""
    if isinstance(store, str) and isinstance(found, CloseableStore):
        found.close()


@contextmanager
def _new(path: str | Path) -> Iterator[Path]:
    """Yield the file to write, which appears once it is complete."""
    out = Path(path)
    if out.exists():
        raise InvalidInput("file", "one that does not exist yet", str(out))
    with on_disk("file", "a file that can be written"), replacement(out, 0o600) as part:
        yield part


def _copy(store: Readable, campaigns: Iterable[str], part: Path) -> None:
    """Copy logs event by event, and what was learned from other logs before them; again if a log is changed meanwhile.

    A log is read page by page: of an event that was read before an erasure, the copy would have what was erased; of
    those that a seal moves, it would have some.

    Raises:
        Busy: an erasure or a seal came while each of some copies was made.
    """
    names = list(campaigns)
    for _ in range(_TIMES):
        before = _erasures(store, names)
        _copy_once(store, names, part)
        if _erasures(store, names) == before:
            return
        os.truncate(part, 0)  # in place, as its lock says that this process lives
    raise Busy("decisions were erased or moved while the logs were copied: run the command again")


def _erasures(store: Readable, names: Sequence[str]) -> list[tuple[str, int]]:
    return [(name, event.seq) for name in names for event in store.scan(name, kinds=("erased", "sealed"))]


def _copy_once(store: Readable, names: Sequence[str], part: Path) -> None:
    with closing(SqliteStore(part)) as copy:
        copy.adopt((name, store.scan(name)) for name in names)
        _copy_digests(store, copy)
        for name in names:
            copy_training(store, copy, name)
    for end in (".gate", ".lock"):
        part.with_name(part.name + end).unlink()


def _copy_digests(source: Readable, store: Store) -> None:
    """Copy the digests of keys that a seal moved to segments, if there are any."""
    if isinstance(source, DigestStore) and isinstance(store, DigestImporter):
        found = list(source.digests())
        if found:
            store.keep_digests(found)


def _read_back(part: Path) -> Mapping[str, Head]:
    with closing(connect_to_read(f"sqlite:///{part}")) as copy:
        return _heads(copy)


def restore(path: str | Path, store: str | Store, *, by: str, why: str) -> Mapping[str, Head]:
    """Write the logs of a backup to a store that has no campaign, note that in each of them, and check them there.

    Later decisions have ids that no copy of the log gave out, so those of decisions after the backup stay refused.

    Args:
        path: a file of `backup`.
        store: a store without campaigns, or its URL; a file is created, and its folder.
        by, why: who restores it and why, for the log; texts of at most 200 printable characters.

    Returns:
        The head of every campaign, which is the event that notes the restore.

    Raises:
        InvalidInput: the file is not a backup, or is a segment; the store has a campaign, or `by` or `why` is invalid.
        Damaged: the file is damaged; nothing is written.
        Busy: the store cannot be written.
    """
    for field, text in (("by", by), ("why", why)):
        check_line(field, text)
    with closing(connect_to_read(f"sqlite:///{path}")) as copy:
        refuse_segment("file", copy)
        notes = dict[str, Event]()
        for name, head in _heads(copy).items():
            notes[name] = restore_event(next(copy.scan(name, head.seq - 1)), by, why, clock())
        heads = {name: Head(note.seq, note.hash) for name, note in notes.items()}
        if isinstance(store, str):
            make_folder(store)
        place = as_store(store)
        try:
            if place.campaigns():
                raise InvalidInput("store", "one without a campaign", f"one that has {list(place.campaigns())}")
            if not isinstance(place, LogImporter):
                raise InvalidInput("store", "one that takes in logs as they are", type(place).__name__)
            for name in heads:  # before the logs, which say that all is there: what fails can be said again
                copy_training(copy, place, name)
            _copy_digests(copy, place)
            place.adopt((name, chain(copy.scan(name), [note])) for name, note in notes.items())
            if _heads(place) != heads:
                raise Damaged("the store has other events than the backup")
        finally:
            if isinstance(store, str) and isinstance(place, CloseableStore):
                place.close()
    return heads


def _heads(store: Readable) -> dict[str, Head]:
    """Return the heads of all campaigns.

    Raises:
        Damaged: a log is damaged.
    """
    found = {}
    for name in store.campaigns():
        proof = prove(store, name)
        refuse(name, proof)
        assert proof.head is not None  # as it has an event
        found[name] = proof.head
    return found
