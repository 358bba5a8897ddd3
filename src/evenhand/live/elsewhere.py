"""Where the file of a store is: its folder, and the files beside it that are its own."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import on_disk

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
