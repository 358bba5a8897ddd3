"""What the header of a request says about its end, within limits that are stricter than those of the parser."""

from __future__ import annotations

import re
from collections.abc import Sequence

BYTES = 16_384  # of a header, with its first line
# A path of this server in a version whose lengths are unambiguous: no other site, no fragment, one space each.
_FIRST = re.compile(rb"(?!CONNECT )[A-Z]+ /[!\"$-~]* HTTP/1\.[01]\r\n")
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


class Ambiguous(Exception):
    """A header that others may read in another way."""


def end(data: bytes, at: int) -> int:
    """Return where the header ends that begins at a position, 0 if it does not end yet.

    Raises:
        Ambiguous: it is too long, or its beginning can never become a header.

    >>> end(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n", 0), end(b"GET / HT", 0)
    (35, 0)
    """
    found = data.find(b"\r\n\r\n", at) + 4
    whole = found > 3
    if (found if whole else len(data)) - at > BYTES:
        raise Ambiguous("it is too long")
    if whole or b"\r\n" in data[at:]:
        if _FIRST.match(data, at) is None:
            raise Ambiguous("its first line is not a request line")
    elif not b"A" <= data[at : at + 1] <= b"Z":
        raise Ambiguous("it does not begin with a method")
    if not whole and b"\n" in data[at:].replace(b"\r\n", b""):
        raise Ambiguous("a line does not end in CR LF")
    return found if whole else 0


def length(version: str, headers: Sequence[tuple[bytes, bytes]]) -> int | None:
    """Return the bytes of the body after a header that the parser took, None if it comes in chunks.

    Args:
        version: of HTTP.
        headers: with their names in lower case.

    Raises:
        Ambiguous: the body has another encoding, or the header has no host or several.

    >>> length("1.1", [(b"host", b"localhost"), (b"content-length", b"7")])
    7
    """
    size: int | None = 0
    hosts = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"content-length":
            size = int(value)
        elif name == b"transfer-encoding":
            if value.lower() != b"chunked" or version != "1.1":
                raise Ambiguous("a transfer encoding that is not chunked, or in a version that has none")
            size = None
    if hosts > 1 or (hosts == 0 and version == "1.1"):
        raise Ambiguous("not one host")
    return size


def without_upgrade(head: bytes) -> bytes:
    """Return a header that asks for no other protocol, which the server may ignore, and the parser would not.

    >>> without_upgrade(b"POST /decide HTTP/1.1\\r\\nUpgrade: h2c\\r\\nHost: localhost\\r\\n\\r\\n")
    b'POST /decide HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'
    """
    return _UPGRADE.sub(b"", head) if b"upgrade" in head.lower() else head
