"""Tokens of clients: their names, roles, campaigns and quotas, in a file that has hashes of tokens and no token."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Literal, get_args

from evenhand.core.arguments import build
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import unknown_key
from evenhand.core.signatures import value_text
from evenhand.core.validate import number, on_disk, one_of
from evenhand.logs.toml import parse

Role = Literal["read", "decide", "observe", "change"]
ROLES: tuple[Role, ...] = get_args(Role)
SHORTEST = 16  # characters of a token: a shorter one can be guessed
_ANYONE, _SINGLE = _SHARED = ("anyone", "EVENHAND_TOKEN")  # names that no entry of a file may have
_EVERY = 1.0  # seconds between two looks at the file
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_HASH = re.compile(r"[0-9a-f]{64}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
LOG = logging.getLogger("evenhand.live.http")


@dataclass(frozen=True, kw_only=True)
class Token:
    """The rights of a token's holder.

    Args:
        name: who holds it, as logs and the events of changes say: letters, digits, `_` and `-`.
        sha256: the hash of the token, in hexadecimal digits.
        roles: "read" for reports, pages, metrics and decisions; "decide"; "observe" for outcomes and cancellations;
            "change" for what changes a campaign or its life.
        campaigns: the campaigns that it is for; None for all of the server.
        decisions_per_minute: the quota of each server, which may be used at once; None for no limit.

    Raises:
        InvalidInput: a field is out of its range.
    """

    name: str
    sha256: str
    roles: tuple[Role, ...]
    campaigns: tuple[str, ...] | None = None
    decisions_per_minute: float | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput("name", "1 to 60 letters, digits, _ or -", value_text(self.name))
        if not _HASH.fullmatch(self.sha256):
            raise InvalidInput("sha256", "64 hexadecimal digits, as `evenhand token` prints them", "others")
        if not self.roles:
            raise InvalidInput("roles", f"some of {', '.join(ROLES)}", "none")
        for role in self.roles:
            one_of("roles", role, ROLES)
        if self.campaigns is not None and not self.campaigns:
            raise InvalidInput("campaigns", "names, or nothing for all campaigns", "none")
        if self.decisions_per_minute is not None:
            number("decisions_per_minute", self.decisions_per_minute, "a number from 1", lambda x: 1 <= x < 1e9)

    @property
    def is_shared(self) -> bool:
        """Whether its name does not identify a client."""
        return self.name in _SHARED

    def is_for(self, campaign: str) -> bool:
        """Return whether the token gives access to a campaign."""
        return self.campaigns is None or campaign in self.campaigns

    def entry(self) -> str:
        """Return the lines of a token file.

        >>> print(Token(name="till", sha256="0" * 64, roles=("decide",), decisions_per_minute=600).entry())
        [tokens.till]
        sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
        roles = ["decide"]
        decisions_per_minute = 600
        """
        lines = [f"[tokens.{self.name}]", f'sha256 = "{self.sha256}"', f"roles = {_texts(self.roles)}"]
        lines += [] if self.campaigns is None else [f"campaigns = {_texts(self.campaigns)}"]
        quota = self.decisions_per_minute
        return "\n".join(lines + ([] if quota is None else [f"decisions_per_minute = {quota:g}"]))


ANYONE = Token(name=_ANYONE, sha256="0" * 64, roles=ROLES)  # where a server accepts all requests


def new_token() -> str:
    """Make a token of 256 random bits.

    >>> len(new_token()) > 40, new_token() == new_token()
    (True, False)
    """
    return f"evenhand_{secrets.token_urlsafe(32)}"


def hash_of(token: str | bytes) -> str:
    """Return the hash of a token; it needs no salt, as tokens are drawn at random.

    >>> hash_of("secret")[:8]
    '2bb80d53'
    """
    return hashlib.sha256(token.encode() if isinstance(token, str) else token).hexdigest()


def whole(token: str) -> Token:
    """Return the rights of the only token of a server: everything.

    Raises:
        InvalidInput: the token is too short, or cannot be in a header.
    """
    if not (isinstance(token, str) and token.strip() and token.isascii() and token.isprintable()):
        raise InvalidInput("token", "a text of visible ASCII characters", "another one")
    if len(token) < SHORTEST:
        raise InvalidInput(
            "token", f"at least {SHORTEST} characters, as it could be guessed otherwise", f"{len(token)}"
        )
    return Token(name=_SINGLE, sha256=hash_of(token), roles=ROLES)


def read_file(path: Path) -> list[Token]:
    """Read a token file: a TOML file with a table `[tokens.NAME]` for each.

    Raises:
        InvalidInput: the file cannot be read, others may read or write it, or an entry is wrong.
    """
    with on_disk("tokens", "a file that can be read"), path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and mode & _OTHERS:
            raise InvalidInput(
                "tokens", "a file that only its user can access, as after chmod 600", f"mode {mode & 0o777:o}"
            )
        text = file.read()
    try:
        tables = parse(text.decode(), "tokens")
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput("tokens", "a TOML file", str(error)) from None
    for key in tables:
        if key != "tokens":
            raise unknown_key(key, ["tokens"], key)
    entries = tables.get("tokens", {})
    if not (isinstance(entries, dict) and all(isinstance(z, dict) for z in entries.values())):
        raise InvalidInput("tokens", "tables [tokens.NAME]", "other values")
    found = [build(Token, f"tokens.{name}", values, {"name": name}) for name, values in entries.items()]
    by_hash: dict[str, str] = {}
    for token in found:
        if token.is_shared:
            raise InvalidInput(f"tokens.{token.name}", "another name, as logs use this one for other requests", "it")
        if (other := by_hash.setdefault(token.sha256, token.name)) != token.name:
            raise InvalidInput(f"tokens.{token.name}", "a token of its own", f"that of {other}")
    return found


class Tokens:
    """The tokens that a server accepts: those of a file, and one that may do everything.

    The file is looked at once a second while requests come. One that is missing or wrong leaves the tokens as they
    were, and the log says so once.

    Args:
        path: the file.
        single: the token that may do everything, if there is one.

    Raises:
        InvalidInput: as for `read_file` and `whole`.
    """

    def __init__(self, path: Path | None = None, single: str | None = None) -> None:
        self._path = path
        self._single = [] if single is None else [whole(single)]
        self._seen = self._stamp()
        self._all = [*self._single, *([] if path is None else read_file(path))]
        self._next = monotonic() + _EVERY

    @property
    def have_names(self) -> bool:
        """Whether there is a file, whose names say who asks."""
        return self._path is not None

    def find(self, given: bytes) -> Token | None:
        """Return the token that was given, None if it is none; the time does not depend on which one it is."""
        if self._path is not None and monotonic() >= self._next:
            self._look(self._path)
        hashed, found = hash_of(given), None
        for token in self._all:
            if hmac.compare_digest(token.sha256, hashed):
                found = token
        return found

    def _look(self, path: Path) -> None:
        """Read the file again if it changed."""
        self._next = monotonic() + _EVERY
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            fresh = read_file(path)
        except InvalidInput as error:
            LOG.error("the tokens stay as they were: %s", error)
            return
        self._all = [*self._single, *fresh]
        LOG.warning("the tokens were read again: %d of them", len(fresh))

    def _stamp(self) -> tuple[int, ...] | None:
        """Return a stamp that changes with the file; None if there is no file."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _texts(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(json.dumps(z, ensure_ascii=False) for z in names) + "]"
