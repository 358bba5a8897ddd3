"""Opens text files, also with a byte-order mark or compressed; names other kinds of files and code pages."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import on_disk

WINDOWS = "cp1252"  # what a file that is not in UTF-8 is written in, mostly
_LIKELY = ("cp1250", "iso8859-2")  # what it may be written in as well, and looks alike in much of Europe
_PAGES = (*_LIKELY, "iso8859-15", "cp1251", "cp1253", "cp1254", "cp1257", "mac_roman", "cp852", "cp850")
_TELLING = bytes(z for z in range(128, 256) if len({bytes([z]).decode(p, "replace") for p in (WINDOWS, *_LIKELY)}) > 1)
_WORD = re.compile(rb'[^\s,;|"]{0,40}[' + re.escape(_TELLING) + rb'][^\s,;|"]{0,40}')


def doubt(data: bytes) -> str:
    """Say which word of a text in Windows-1252 is another one in other code pages; nothing if none is.

    >>> doubt("name\\nPlzeň".encode("cp1250"))
    ': \\'Plzeò\\', which would be \\'Plzeň\\' by log.encoding = "cp1250"'
    >>> doubt("Köln".encode("cp1250"))
    ''
    """
    found = _WORD.search(data)
    if found is None:
        return ""
    read, *others = (found[0].decode(page, "replace") for page in (WINDOWS, *_LIKELY))
    other = dict(zip(reversed(others), reversed(_LIKELY), strict=True))  # the first page of each reading
    told = " or ".join(f'{z!r} by log.encoding = "{page}"' for z, page in other.items() if z != read)
    return f": {read!r}, which would be {told}"


def misread(name: str, found: Collection[str]) -> str:
    """Say in which code page a name is among texts that were read in Windows-1252; nothing if it is in none.

    >>> misread("Plzeň", ["Praha", "Plzeò"]), misread("Brno", ["Praha"])
    (' (there is \\'Plzeò\\', which log.encoding = "cp1250" reads as \\'Plzeň\\')', '')
    """
    for page in () if name.isascii() else _PAGES:
        try:
            other = name.encode(page).decode(WINDOWS)
        except UnicodeError:
            continue
        if other != name and other in found:
            return f' (there is {other!r}, which log.encoding = "{page}" reads as {name!r})'
    return ""


UTF8 = "utf-8-sig"  # with or without a byte-order mark
UTF16 = "utf-16"
_FIRST = 1000  # bytes that tell the kind of a file
READABLE = "a file that can be read"
_PACKED: Mapping[bytes, tuple[str, Callable[[Path], Any]]] = {  # by how files begin
    b"\x1f\x8b": ("gzip", gzip.GzipFile),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ": ("xz", lzma.LZMAFile),
}
_MARKS = {b"\xef\xbb\xbf": UTF8, b"\xff\xfe": UTF16, b"\xfe\xff": UTF16}
_TABLE = "write a CSV file, or pass a data frame"
_NUMBER = r"[-+]?[\d.]+(e[-+]?\d+)?"
_NAMED = (  # files of other kinds by how they begin
    (rb"PK\x03\x04", "an Excel workbook, or another zip archive: export the sheet as CSV"),
    (rb"\xd0\xcf\x11\xe0", "an Excel workbook of the old kind: export the sheet as CSV"),
    (rb"PAR1", "a Parquet file: write it as CSV"),
    (rb"ARROW1|\xff\xff\xff\xff", "a feather file of Arrow: write it as Parquet, or pass a data frame"),
    (rb"%PDF", "a PDF file"),
    (rb'\s*(\[\s*)?\{\s*"', f"JSON: {_TABLE}, such as of pandas.read_json, or an object in each line"),
    (
        f"((ccb |slates )?(shared|{_NUMBER})(:{_NUMBER}){{0,2}}( {_NUMBER})*)( ?'\\S*)? *\\|[^|,;\\s]* \\S".encode(),
        f"a text of Vowpal Wabbit that is no log of a bandit, such as of lines 2:-1:0.5 | age:33: {_TABLE}",
    ),
    (rb"\0?[\x09\x0a\x0d\x20-\x7e]\0[\x09\x0a\x0d\x20-\x7e]\0", "text in UTF-16 without its mark: save it as UTF-8"),
)
_WRITTEN = {UTF8: "UTF-8"}  # encodings by their usual names
UNPLACED = ("bzip2", "xz")  # of which nothing says how many bytes were read of the file


class Undecodable(InvalidInput):
    """A file that does not have the encoding in which it was read.

    Args:
        begins_so: whether its text before the first byte that does not fit has letters other than a to z, so that the
            file is in this encoding, and broken.
        doubt: which word would be another one in other code pages.
    """

    begins_so: bool = False
    doubt: str = ""


@contextmanager
def text_file(path: Path, expected: str, encoding: str = UTF8) -> Iterator[TextIO]:
    """Open a text file for reading, with its line ends unchanged.

    Args:
        path: the file.
        expected: the expected kind of file, for messages.
        encoding: of its text.

    Raises:
        InvalidInput: the file cannot be read, is of another kind, or was cut off.
        Undecodable: the file is in another encoding; with the line.
    """
    with unpacked(path) as data:
        first = data.peek(_FIRST)
        for start, kind in _NAMED if encoding in (UTF8, WINDOWS) else ():
            if re.match(start, first):
                raise InvalidInput(path.name, expected, kind)
        if encoding == UTF8 and first[:2] in _MARKS:
            raise InvalidInput(path.name, expected, "text in UTF-16: save it as UTF-8")
        try:
            with io.TextIOWrapper(data, encoding=encoding, newline="") as file:
                yield file
        except UnicodeError:
            raise _undecodable(path, expected, encoding) from None


def read_text(path: Path, expected: str) -> str:
    """Read the whole text of a file in UTF-8; see `text_file`."""
    with text_file(path, expected) as file:
        return file.read()


def position(file: TextIO) -> int:
    """Return how many bytes of a file on disk were read, of `text_file`."""
    data = file.buffer
    return data.fileobj.tell() if isinstance(data, gzip.GzipFile) else data.tell()


def packing(path: Path) -> str | None:
    """Return by what a file is compressed, None if it is not.

    Raises:
        InvalidInput: the file cannot be read.
    """
    with on_disk(path.name, READABLE), path.open("rb") as raw:
        first = raw.read(6)
    return next((name for mark, (name, _) in _PACKED.items() if first.startswith(mark)), None)


def start(path: Path, size: int = _FIRST) -> bytes:
    """Return the first bytes of a file, unpacked.

    Raises:
        InvalidInput: the file cannot be read, or was cut off.
    """
    with unpacked(path) as data:
        return bytes(data.read(size))


def marked(path: Path) -> str | None:
    """Return the encoding that the byte-order mark of a file states, if it has one.

    Raises:
        InvalidInput: the file cannot be read, or was cut off.
    """
    first = start(path, 3)
    return next((encoding for mark, encoding in _MARKS.items() if first.startswith(mark)), None)


@contextmanager
def unpacked(path: Path) -> Iterator[Any]:
    """Open a file for reading its bytes, unpacked.

    Raises:
        InvalidInput: the file cannot be read, or was cut off.
    """
    found = packing(path)
    unpack = next((each for name, each in _PACKED.values() if name == found), None)
    with on_disk(path.name, READABLE if found is None else f"a complete {found} file"):
        try:
            with path.open("rb") if unpack is None else unpack(path) as data:
                yield data
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise InvalidInput(path.name, f"a complete {found} file", error) from error


def _undecodable(path: Path, expected: str, encoding: str) -> Undecodable:
    """Make the error for the first byte that is not in an encoding, with its line."""
    with unpacked(path) as raw:
        data = raw.read()
    place = 0
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        place = error.start
    line = data.count(b"\n", 0, place) + 1
    advice = "save the file as UTF-8" if encoding == UTF8 else "state another one"
    got = f"byte 0x{data[place]:02x}, which is not {_WRITTEN.get(encoding, encoding)}: {advice}"
    found = Undecodable(f"{path.name}, line {line}", expected, got)
    found.begins_so = not data[:place].removeprefix(b"\xef\xbb\xbf").isascii()
    found.doubt = doubt(data)
    return found
