"""Tallies as bytes, kept beside the snapshots of a store: a cache, which may be deleted at any time."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.live.log.events import Event

_PLAIN = (type(None), bool, int, float, str)
_DIGEST = hashlib.sha256().digest_size
_DTYPES = ("<f8", "<i8")
_MAPPINGS = ("dict", "Counter")
_MOST = 500  # entries of a mapping in one line of JSON: some 5 milliseconds


# Raised by hand whenever a tally has other fields, or a log adds up to other numbers: tallies of another number are not
# read, and those of other versions with this one are. `tests/live/dashboard/test_tally_snapshots.py` says when.
TALLY = 1


class BrokenTally(EvenhandError):
    """The bytes are not a tally of this number and of this log."""


def dump(state: Mapping[str, Any], last: Event) -> bytes:
    """Write a tally after its last event; numbers survive bit for bit.

    Raises:
        TypeError: a value is of a class that is not kept.
    """
    file, head = io.BytesIO(), {"tally": TALLY, "seq": last.seq, "hash": last.hash.hex()}
    parts = [part for name, value in state.items() for part in _parts(name, _to_json(value, file))]
    text = b"\n".join(json.dumps(z, separators=(",", ":")).encode() for z in (head, *parts))
    packed = zlib.compress(len(text).to_bytes(8, "little") + text + file.getvalue(), 1)
    return hashlib.sha256(packed).digest() + packed


def restore(blob: bytes, seq: int, hashed: bytes, classes: Mapping[str, type]) -> dict[str, Any]:
    """Read a tally.

    Args:
        blob: that `dump` wrote.
        seq, hashed: the number and the hash of its last event in the log.
        classes: of the objects that a tally has, by name.

    Raises:
        BrokenTally: the bytes are damaged, or of another number or another log.
    """
    try:
        if hashlib.sha256(blob[_DIGEST:]).digest() != blob[:_DIGEST]:
            raise ValueError("its hash differs")
        packed = zlib.decompress(blob[_DIGEST:])
        end = 8 + int.from_bytes(packed[:8], "little")
        first, *lines = packed[8:end].split(b"\n")
        head = json.loads(first)
        if head.get("tally") != TALLY:
            raise ValueError("another version of evenhand wrote it, which adds up in another way")
        if not hashed or (seq, hashed.hex()) != (head["seq"], head["hash"]):
            raise ValueError("it is of another log")
        data = memoryview(packed)[end:]
        found = {name: _read(value, data, classes) for name, value in _join(lines).items()}
    except Exception as error:  # bytes of another version can raise any error
        raise BrokenTally(f"a tally that cannot be read: {error}") from error
    return found


def _parts(name: str, written: Any) -> Iterator[tuple[str, Any]]:
    """Split a long mapping, as no other thread runs while a text of JSON is read or written."""
    kind = next(iter(written)) if type(written) is dict else ""
    if kind not in _MAPPINGS or len(written[kind]) <= _MOST:
        yield name, written
        return
    for i in range(0, len(written[kind]), _MOST):
        yield name, {kind: written[kind][i : i + _MOST]}


def _join(lines: Sequence[bytes]) -> dict[str, Any]:
    """Put the parts of mappings together again."""
    found = dict[str, Any]()
    for line in lines:
        name, written = json.loads(line)
        if name in found:
            (kind,) = written
            found[name][kind] += written[kind]
        else:
            found[name] = written
    return found


def _to_json(value: Any, file: io.BytesIO) -> Any:
    """Convert a value to what JSON has: lists and plain values stay, all else becomes a mapping from its kind."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is list:
        return [_to_json(z, file) for z in value]
    if kind is tuple:
        return {"tuple": [_to_json(z, file) for z in value]}
    if kind in (dict, Counter):
        return {kind.__name__: [[_to_json(k, file), _to_json(z, file)] for k, z in value.items()]}
    if kind is deque:
        return {"deque": [value.maxlen, [_to_json(z, file) for z in value]]}
    if kind is np.ndarray and value.dtype.str in _DTYPES:
        at = file.tell()
        file.write(value.tobytes())
        return {"array": [_DTYPES.index(value.dtype.str), list(value.shape), at]}
    if kind.__module__.startswith("evenhand.live."):
        attributes = value._asdict() if hasattr(kind, "_asdict") else vars(value)
        return {"object": [kind.__name__, {name: _to_json(z, file) for name, z in attributes.items()}]}
    raise TypeError(f"a tally has a {kind.__name__}, which cannot be kept")


def _read(value: Any, data: memoryview, classes: Mapping[str, type]) -> Any:
    if type(value) is list:
        return [_read(z, data, classes) for z in value]
    if type(value) is not dict:
        return value
    ((kind, inner),) = value.items()
    if kind == "bytes":
        return bytes.fromhex(inner)
    if kind == "array":
        dtype, shape, at = inner
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data, _DTYPES[dtype], count, at).reshape(shape).copy()
    if kind == "object":
        name, attributes = inner
        made = classes[name]
        if attributes.keys() != _names(made):
            raise ValueError(f"another {name}")
        values = {attribute: _read(z, data, classes) for attribute, z in attributes.items()}
        if hasattr(made, "_fields"):
            return made(**values)
        found: Any = object.__new__(made)
        vars(found).update(values)
        return found
    if kind == "deque":
        return deque(_read(inner[1], data, classes), inner[0])
    if kind == "tuple":
        return tuple(_read(inner, data, classes))
    pairs = {_read(k, data, classes): _read(z, data, classes) for k, z in inner}
    return Counter(pairs) if kind == "Counter" else pairs


def _names(made: type) -> set[str]:
    """The attributes of an object of a class: a tuple with names, a dataclass, or one that is made of nothing."""
    if hasattr(made, "_fields"):
        return set(made._fields)
    return {field.name for field in fields(made)} if is_dataclass(made) else set(vars(made()))
