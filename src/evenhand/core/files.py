"""Files that appear whole or not at all, and texts that spreadsheets do not run as formulas."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_END = ".part"
RUN = ("=", "+", "-", "@", "\t", "\r")  # how texts begin that a spreadsheet runs
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?( ?%)?")


@contextmanager
def beside(out: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new, empty file in the folder of `out`, which replaces `out` once it is written.

    If the block fails, `out` is as it was. A process that is killed leaves a file `.NAME.PROCESS.part`. A symbolic
    link is replaced; the file it points to is left unchanged, as it may belong to another user. A device or a pipe is
    written to as it is.

    Raises:
        OSError: the file cannot be written.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with beside(folder / "a.txt") as part:
    ...     _ = part.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    if out.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(out))
    if out.exists() and not out.is_file():
        yield out
        return
    part = out.with_name(f".{out.name}.{os.getpid()}{_END}")
    with suppress(FileNotFoundError):
        part.unlink()
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(out)
    except BaseException:
        with suppress(FileNotFoundError):
            part.unlink()
        raise


def parts(out: Path) -> list[Path]:
    """List the parts of a file that processes are writing, or have left when they were killed."""
    return list(out.parent.glob(f".{glob.escape(out.name)}.*{_END}"))


def quoted(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run.

    >>> quoted("=1+1"), quoted("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text.startswith(RUN) else text


def quoted_cell(text: str) -> str:
    """Quote a text as `quoted` does, but leave one that is a plain number, which a spreadsheet reads and does not run.

    >>> quoted_cell("-5.2"), quoted_cell("-5,2 %"), quoted_cell("-5.2+B"), quoted_cell("-inf")
    ('-5.2', '-5,2 %', "'-5.2+B", "'-inf")
    """
    return text if _NUMBER.fullmatch(text) else quoted(text)
