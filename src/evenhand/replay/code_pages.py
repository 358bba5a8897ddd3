"""Code pages: texts of one byte per letter do not say which letters their bytes are."""

from __future__ import annotations

import re
from collections.abc import Collection

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
    word, pages = found[0], (WINDOWS, *_LIKELY)
    read, *others = (word.decode(page, "replace") for page in pages)
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
