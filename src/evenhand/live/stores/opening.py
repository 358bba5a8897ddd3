"""Opens stores by their URLs, and names the files that are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import NamedTuple

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.validate import on_disk
from evenhand.live.log.events import AGAIN, Busy
from evenhand.live.log.store import CloseableStore, Readable, Store, unknown_url
from evenhand.live.stores._segments import Archive, Segments

_HERE = __name__.rpartition(".")[0]
_OTHER_NAMES = {"postgres": "postgresql"}


def kinds() -> list[str]:
    """List the schemes of all kinds of stores.

    >>> {"memory", "postgresql", "sqlite"} <= set(kinds())
    True
    """
    found = (info.name for info in iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in found if name not in ("base", "opening") and not name.startswith("_"))


def as_store(store: str | Store) -> Store:
    """Return a store as it is, or open that of a URL."""
    return connect(store) if isinstance(store, str) or not hasattr(store, "scan") else store


@contextmanager
def open_or_use(store: str | Store) -> Iterator[Store]:
    """Open a store as `as_store` does, and close it if the block fails and it was opened by its URL.

    >>> with open_or_use("memory://") as place:
    ...     list(place.campaigns())
    []
    """
    place = as_store(store)
    try:
        yield place
    except BaseException:
        if place is not store and isinstance(place, CloseableStore):
            place.close()
        raise


def connect(url: object) -> Store:
    """Open the store of a URL.

    Args:
        url: "sqlite:///FILE", "postgresql://USER:PASSWORD@HOST/DATABASE", or "memory://" for a store that ends with the
            process.

    Raises:
        InvalidInput: the kind of store is unknown, or the URL is invalid for its kind; or its folder does not exist.
        MissingExtra: the database's driver is not installed, such as psycopg for PostgreSQL.
        Busy: the store cannot be opened.

    >>> type(connect("memory://")).__name__
    'MemoryStore'
    """
    module = _module(url)
    with _first():
        store: Store = module.connect(url)
    return store


def readable(url: object) -> Readable:
    """Open the store of a URL without writing to it, and without creating it.

    The module of its kind may have a function `reading` for this; `connect` is called where there is none.

    Raises:
        InvalidInput, MissingExtra, Busy: as for `connect`; or there is no such store.
        Damaged: the store is damaged.
    """
    module = _module(url)
    with _first():
        store: Readable = getattr(module, "reading", module.connect)(url)
    return store


@contextmanager
def _first() -> Iterator[None]:
    """Name a wrong URL as a possible cause in the error of a store that cannot be opened."""
    try:
        yield
    except Busy as error:
        raise Busy(f"{str(error).removesuffix(AGAIN)}; check the URL of the store, or try later") from error


def connect_to_read(url: object, segments: Path | None = None) -> Archive:
    """Open the store of a URL as `readable` does, as a store in which campaigns can be opened.

    Events that were moved to segments are read if their folder is given.
    """
    found = readable(url)
    return Archive(found if segments is None else Segments(found, segments))


class Place(NamedTuple):
    """The place of the whole log of a campaign: its store, or its URL, and the folder of its segments.

    >>> Place("sqlite:///shop.db", "segments").segments
    'segments'
    """

    store: str | Store
    segments: str | Path

    def open(self) -> Store:
        """Open the store to read the whole log; nothing is written."""
        return whole(connect_to_read(self.store) if isinstance(self.store, str) else self.store, self.segments)


def whole(store: Store, segments: str | Path | None) -> Store:
    """Return a store that also reads the events which were moved to segments in a folder, if one is given."""
    return store if segments is None else Archive(Segments(store, Path(segments)))


def _module(url: object) -> ModuleType:
    """Import the module of a kind of store."""
    scheme, mark, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    kind = _OTHER_NAMES.get(scheme, scheme)
    if not mark or kind not in kinds():
        raise unknown_url(url)
    try:
        return import_module(f"{_HERE}.{kind}")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"stores at {kind}://", kind) from error


_ENDS = ("", "-wal", "-shm", "-journal", ".lock", ".gate")


def refuse_own(field: str, out: Path, url: str) -> None:
    """Refuse to write over a store of SQLite, or to make a file that it would take for its own, and may delete.

    Raises:
        InvalidInput: `out`, which the caller states as `field`, is such a file.
    """
    store = Path(url.removeprefix("sqlite:///"))
    for own in (store.with_name(f"{store.name}{end}") for end in _ENDS if url.startswith("sqlite:///")):
        if out.resolve() == own.resolve() or (own.exists() and out.exists() and out.samefile(own)):
            raise InvalidInput(field, "a file other than the store and those beside it", out)


def make_folder(url: str) -> None:
    """Make the folder of a store of SQLite that is to be begun.

    Raises:
        InvalidInput: it cannot be made.
    """
    if url.startswith("sqlite:///"):
        with on_disk("store", "a folder that can be written"):
            Path(url.removeprefix("sqlite:///")).absolute().parent.mkdir(parents=True, exist_ok=True)
