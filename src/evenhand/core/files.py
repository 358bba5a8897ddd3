"""Files that appear whole or not at all, and texts that spreadsheets do not run as formulas."""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_END = ".evenhand.part"
RUN = ("=", "+", "-", "@", "\t", "\r")  # how texts begin that a spreadsheet runs
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?( ?%)?")


@contextmanager
def replacement(out: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new, empty file in the folder of `out`, which replaces `out` once it is written.

    If the block fails, `out` is as it was. A process that is killed leaves a file `.NAME.TOKEN.evenhand.part`, which
    the next one that writes to the folder removes. Of those that write the same file at once, each writes its own, and
    the last one to finish replaces the others. A symbolic link is replaced; the file it points to is left unchanged, as
    it may belong to another user. A device or a pipe is written to as it is.

    Raises:
        OSError: the file cannot be written, or another program removed or replaced it before it was whole.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacement(folder / "a.txt") as part:
    ...     _ = part.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    if out.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(out))
    if out.exists() and not out.is_file():
        yield out
        return
    remove_parts(out.parent)
    with _create_and_lock(out, mode) as (part, lock):
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            if lock is not None and not os.path.samestat(os.stat(part), os.fstat(lock)):
                raise OSError(errno.ESTALE, "Replaced by another program while it was written", str(part))
            part.replace(out)
        finally:
            _remove(part)


def remove_parts(folder: Path) -> None:
    """Remove the leftovers of killed processes from a folder: parts whose locks are free, and files beside parts.

    Names say nothing of who lives: processes of other containers have the same numbers.
    """
    for part in folder.glob(f".*{_END}") if fcntl is not None else ():
        with suppress(OSError), part.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(part)
    for left in folder.glob(f".*{_END}[-.]*") if fcntl is not None else ():
        if not left.with_name(left.name[: left.name.rindex(_END) + len(_END)]).exists():
            with suppress(OSError):
                left.unlink()


def _remove(part: Path) -> None:
    """Remove a part, and before it the files beside it, such as the journal of a database."""
    for left in (*part.parent.glob(f"{glob.escape(part.name)}[-.]*"), part):
        left.unlink(missing_ok=True)


@contextmanager
def _create_and_lock(out: Path, mode: int) -> Iterator[tuple[Path, int | None]]:
    """Make a file of a name that no other ever had, and hold its lock as long as it is written; None without locks."""
    while True:
        part = out.with_name(f".{out.name}.{secrets.token_hex(4)}{_END}")
        file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if fcntl is None:  # an open file cannot be renamed there
            os.close(file)
            yield part, None
            return
        with suppress(OSError):  # of a file system without locks, where parts stay
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            break
        os.close(file)  # another process had the lock first, and removed it
    try:
        yield part, file
    finally:
        os.close(file)


def quote(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run.

    >>> quote("=1+1"), quote("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text.startswith(RUN) else text


def quote_cell(text: str) -> str:
    """Quote a text as `quote` does, but leave one that is a plain number, which a spreadsheet reads and does not run.

    >>> quote_cell("-5.2"), quote_cell("-5,2 %"), quote_cell("-5.2+B"), quote_cell("-inf")
    ('-5.2', '-5,2 %', "'-5.2+B", "'-inf")
    """
    return text if _NUMBER.fullmatch(text) else quote(text)
