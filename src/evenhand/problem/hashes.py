"""Features of very many levels: texts and crosses, whose levels are hashed into a fixed number of columns."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable
from unicodedata import normalize

from evenhand.core.errors import InvalidInput
from evenhand.core.levels import level_of
from evenhand.core.signatures import checked, value_text

COLUMNS = 2**18  # of a feature, by default
MOST_COLUMNS = 2**30
_WORD = re.compile(r"\w+")
_BETWEEN = "\x1f"  # parts of a hashed text; no key types it
_SHORT = 300  # characters up to which a text is looked up: a cache of longer ones would take gigabytes


@runtime_checkable
class Hashing(Protocol):
    """A feature whose values are hashed: each sets some of its columns, to one number whose squares sum to 1."""

    @property
    def name(self) -> str:
        """The name by which errors and explanations state it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The names by which cases state its values."""

    @property
    def hashed(self) -> int | None:
        """The number of columns; None where the levels are stated."""

    @property
    def at_most(self) -> int:
        """The most columns that one case sets."""

    def buckets(self, *values: object) -> tuple[int, ...]:
        """Return the columns that a value sets, counted from 0, each once.

        Raises:
            InvalidInput: a value that the feature cannot have.
        """


def is_hashed(feature: object) -> bool:
    """Return whether the levels of a feature are hashed."""
    return isinstance(feature, Hashing) and feature.hashed is not None


def check_columns(field: str, value: object) -> None:
    """Refuse a number of columns that is not whole, below 2 or too large."""
    good = isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= MOST_COLUMNS
    if not good:
        raise InvalidInput(field, f"a whole number of columns from 2 to {MOST_COLUMNS:,}", value_text(value))


def bucket(name: str, text: str, columns: int) -> int:
    """Return the column of a text among those of a feature, the same on every machine.

    Equation: BLAKE2b of the name of the feature and the text, its first 64 bits, modulo the number of columns.

    >>> bucket("site", "abc.com", 2**18)
    68391
    """
    return (_look_up if len(text) <= _SHORT else _hash)(name, text, columns)


def _hash(name: str, text: str, columns: int) -> int:
    data = f"{name}{_BETWEEN}{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") % columns


_look_up = lru_cache(maxsize=2**16)(_hash)


def _tokens(text: str, most: int) -> tuple[str, ...]:
    """Return the different words of a text, then its runs of two words and more, up to the most."""
    words = _WORD.findall(normalize("NFC", text.casefold()))
    found = dict.fromkeys(words)
    for n in range(2, most + 1):
        found |= dict.fromkeys(map(" ".join, zip(*(words[i:] for i in range(n)), strict=False)))
    return tuple(found)


_look_up_tokens = lru_cache(maxsize=2**12)(_tokens)


def level_text(name: str, value: object) -> str:
    """Return a level as a text, by `level_of`.

    Raises:
        InvalidInput: neither a text nor a whole number.
    """
    found = level_of(value)
    if found is None or not (isinstance(value, str) or found.lstrip("-").isdigit()):
        raise InvalidInput(name, "a text or a whole number", value_text(value))
    return found


@checked
@dataclass(frozen=True)
class Hashed:
    """A text, such as a query or a title: its words, and pairs of words that follow each other.

    Equation: 1 / sqrt(m) in each of the m columns that its words have, so that a long text weighs as much as a short
    one. A word counts once, however often it is there; capitals do not matter.

    Args:
        name: by which cases state it.
        hashed: the number of columns that all words share, from 2 on; see `docs/wide.md`.
        words: the most words that are read as one: 1 for single words, 2 for pairs of neighbours as well.
        at_most: the most columns that a text sets; words that come later are left out, pairs before single words.

    Raises:
        InvalidInput: a name that is empty, or a number out of its range.

    >>> query = Hashed("query", hashed=2**18, words=2)
    >>> query.tokens("Red running shoes, red")
    ('red', 'running', 'shoes', 'red running', 'running shoes', 'shoes red')
    """

    name: str
    _: KW_ONLY
    hashed: int = COLUMNS
    words: int = 1
    at_most: int = 32

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInput("Hashed.name", "the name of a feature", repr(self.name))
        check_columns(f"Hashed({self.name!r}).hashed", self.hashed)
        for field, most in (("words", 5), ("at_most", 1000)):
            value = getattr(self, field)
            if not 1 <= value <= most:
                raise InvalidInput(f"Hashed({self.name!r}).{field}", f"a whole number from 1 to {most}", value)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def units(self) -> tuple[str, ...]:
        return ()

    def encode(self, value: object) -> tuple[float, ...]:
        self._text(value)
        return ()

    def tokens(self, text: str) -> tuple[str, ...]:
        """Return the different words of a text in their order, then the pairs and longer runs of words."""
        return (_look_up_tokens if len(text) <= _SHORT else _tokens)(text, self.words)

    def buckets(self, *values: object) -> tuple[int, ...]:
        (value,) = values
        tokens = self.tokens(self._text(value))[: self.at_most]
        return tuple(dict.fromkeys([bucket(self.name, token, self.hashed) for token in tokens]))

    def outside(self, value: object) -> bool:
        """Return whether words of an accepted text are left out."""
        return isinstance(value, str) and len(self.tokens(value)) > self.at_most

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            raise InvalidInput(self.name, "a text", value_text(value))
        return value


@checked
@dataclass(frozen=True)
class Cross:
    """Two levels together, such as a publisher and a device, whose effects on outcomes do not just add up.

    Equation: 1 in one of the columns, by a hash of both levels.

    Args:
        first, second: the names by which cases state the levels; they may be those of other features.
        hashed: the number of columns that all pairs of levels share.

    Raises:
        InvalidInput: a name that is empty, one name twice, or a number of columns out of its range.

    >>> Cross("publisher", "device", hashed=2**18).name
    'publisher x device'
    """

    first: str
    second: str
    _: KW_ONLY
    hashed: int = COLUMNS

    def __post_init__(self) -> None:
        if not self.first or not self.second or self.first == self.second:
            raise InvalidInput("Cross", "the names of two features", f"{self.first!r} and {self.second!r}")
        check_columns(f"Cross({self.first!r}, {self.second!r}).hashed", self.hashed)

    @property
    def name(self) -> str:
        return f"{self.first} x {self.second}"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.first, self.second)

    @property
    def units(self) -> tuple[str, ...]:
        return ()

    @property
    def at_most(self) -> int:
        return 1

    def encode(self, value: object) -> tuple[float, ...]:
        """Return no numbers, as both levels are needed; see `buckets`."""
        return ()

    def buckets(self, *values: object) -> tuple[int, ...]:
        both = (level_text(name, value) for name, value in zip(self.reads, values, strict=True))
        return (bucket(self.name, _BETWEEN.join(both), self.hashed),)


def reads(features: Sequence[object]) -> tuple[str, ...]:
    """Return the names by which cases state the values of features, each once."""
    each = (f.reads if isinstance(f, Hashing) else (f.name,) for f in features)  # type: ignore[attr-defined]
    return tuple(dict.fromkeys(name for names in each for name in names))
