"""Opens text files, also with a byte-order mark or compressed by gzip; errors name other kinds of files."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import on_disk

_GZIP = b"\x1f\x8b"
_NAMED = {  # files of other kinds by their first bytes
    b"PK\x03\x04": "an Excel workbook, or another zip archive: export the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of the old kind: export the sheet as CSV",
    b"PAR1": "a Parquet file: write it as CSV",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8",
    b"BZh": "a bzip2 file: unpack it, or use gzip",
    b"\xfd7zXZ": "an xz file: unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "a zstd file: unpack it, or use gzip",
    b"%PDF": "a PDF file",
}


@contextmanager
def text_file(path: Path, expected: str) -> Iterator[TextIO]:
    """Open a text file in UTF-8 for reading, with its line ends unchanged.

    Args:
        path: the file.
        expected: the expected kind of file, for messages.

    Raises:
        InvalidInput: the file cannot be read, is of another kind, was cut off, or is not in UTF-8; with the line.
    """
    with on_disk(path.name, "a file that can be read"):
        with path.open("rb") as raw:
            first = raw.read(8)
        for start, kind in _NAMED.items():
            if first.startswith(start):
                raise InvalidInput(path.name, expected, kind)
        try:
            with _bytes(path, first) as data, io.TextIOWrapper(data, encoding="utf-8-sig", newline="") as file:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidInput(path.name, "a gzip file that is whole", error) from error
        except UnicodeDecodeError:
            raise _undecodable(path, first, expected) from None


def read_text(path: Path, expected: str) -> str:
    """Read the whole text of a file; see `text_file`."""
    with text_file(path, expected) as file:
        return file.read()


def _bytes(path: Path, first: bytes) -> io.BufferedReader | gzip.GzipFile:
    return gzip.GzipFile(path) if first.startswith(_GZIP) else path.open("rb")


def _undecodable(path: Path, first: bytes, expected: str) -> InvalidInput:
    """Make the error for the first byte that is not in UTF-8, with its line."""
    with _bytes(path, first) as raw:
        data = raw.read()
    place = 0
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = error.start
    line = data.count(b"\n", 0, place) + 1
    got = f"byte 0x{data[place]:02x}, which is not UTF-8: save the file as UTF-8"
    return InvalidInput(f"{path.name}, line {line}", expected, got)
