"""Snapshots of a fold as bytes: a cache, which may be deleted at any time."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.core.errors import CannotSave, EvenhandError
from evenhand.core.records import Decision
from evenhand.live.fold import Fold, Pending
from evenhand.live.ids import Ids, Restored
from evenhand.live.life import Life
from evenhand.policy.saving import fill, flatten, refusals
from evenhand.version import __version__

_META, _TOKENS, _IDS = "meta", ".receipts.tokens", "pending.id"
_NUMBERS = ("seq", "began", "runs", "known", "marked", "erased", "reach", "first", "version")
_FIELDS = Decision._fields[:-1]  # the last field is the names, which the problem has


class BrokenSnapshot(EvenhandError):
    """The bytes are not a snapshot of this policy's state."""


def dump(fold: Fold, *, ahead: bool = False) -> bytes:
    """Serialise the state and the waiting decisions of a fold; `ahead` if its mark is still to be written.

    Raises:
        CannotSave: a part of the state cannot be written as arrays.
    """
    for reason in refusals(fold.state):
        raise CannotSave(reason)
    file, arrays = io.BytesIO(), dict(flatten(fold.state))
    meta: dict[str, Any] = {name: getattr(fold, name) for name in _NUMBERS}
    meta |= {"ahead": ahead, "pending": [[ref, p.due, p.expired] for ref, p in fold.pending.items()]}
    meta |= {"by": __version__, "life": fold.life.to_dict(), "restores": fold.ids.restores, "used": fold.ids.used}
    arrays |= _join([p.decision for p in fold.pending.values()])
    np.savez(file, allow_pickle=False, **{_META: np.array(json.dumps(meta))}, **arrays)
    return file.getvalue()


def began(blob: bytes) -> int:
    """Return the event with which the policy of a snapshot began.

    Raises:
        BrokenSnapshot: the bytes are damaged or foreign.
    """
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            return int(json.loads(str(file[_META]))["began"])
    except Exception as error:
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error


def apart(blob: bytes, other: bytes) -> float:
    """Return the largest difference of the real numbers of two snapshots, relative to 1 + their size.

    It is infinite where anything else differs, but for the tokens of receipts, which are random.
    """
    with np.load(io.BytesIO(blob), allow_pickle=False) as one, np.load(io.BytesIO(other), allow_pickle=False) as two:
        if one.files != two.files or str(one[_META]) != str(two[_META]):
            return math.inf
        each = ((name, one[name], two[name]) for name in one.files if name != _META)
        return max((_gap(_told(name, a), _told(name, b)) for name, a, b in each), default=0.0)


def _told(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array, without the values of tokens."""
    if name == _TOKENS:
        return array > 0  # whether a decision waits
    return array[[i % 3 != 1 for i in range(len(array))]] if name == _IDS else array  # number, token, checksum


def _gap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    if a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if a.tobytes() == b.tobytes():
        return 0.0
    same = (a == b) | ((a != a) & (b != b))  # a missing number is none
    a, b = a[~same], b[~same]
    if a.dtype.kind != "f" or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return math.inf
    return float((np.abs(a - b) / (1.0 + np.abs(a))).max(initial=0.0))


def restore(fold: Fold, blob: bytes, *, any_version: bool = False) -> bool:
    """Restore a snapshot into a new fold; returns whether it was `ahead`.

    Args:
        fold: the new fold.
        blob: the bytes.
        any_version: whether another version of evenhand may have written it.

    Raises:
        BrokenSnapshot: the bytes are damaged or foreign; the fold is then unusable.
    """
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop(_META)))
        if not any_version and meta["by"] != __version__:
            raise ValueError(f"version {meta['by']} of evenhand wrote it")
        for name in _NUMBERS:
            setattr(fold, name, meta[name])
        restores = tuple(Restored(*z) for z in meta.get("restores", ()))  # earlier versions wrote less
        fold.ids = Ids(restores, tuple(meta.get("used", ({},) * len(restores))))
        fold.life, ahead = Life(**meta["life"]), bool(meta["ahead"])
        decisions = _split(arrays, fold.policy.problem.actions) if meta["pending"] else ()
        for (ref, due, expired), decision in zip(meta["pending"], decisions, strict=True):
            fold.wait(ref, Pending(decision, due, expired))
        fill(fold.state, arrays)
    except Exception as error:  # damaged bytes can raise any error in readers of archives and arrays
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error
    return ahead


def _join(decisions: Sequence[Decision]) -> dict[str, np.ndarray[Any, Any]]:
    """Concatenate the arrays of decisions and record their shapes: thousands of separate arrays take seconds."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    for field in _FIELDS if decisions else ():
        each = [getattr(decision, field) for decision in decisions]
        found[f"pending.{field}"] = np.concatenate([z.ravel() for z in each])
        found[f"pending.{field}.shape"] = np.array([z.shape for z in each])
    return found


def _split(arrays: Mapping[str, np.ndarray[Any, Any]], names: tuple[str, ...]) -> Iterator[Decision]:
    """Split concatenated arrays into decisions."""
    fields = []
    for field in _FIELDS:
        shapes = arrays[f"pending.{field}.shape"]
        parts = np.split(arrays[f"pending.{field}"], np.cumsum(shapes.prod(1))[:-1])
        fields.append([part.reshape(shape).copy() for part, shape in zip(parts, shapes.tolist(), strict=True)])
    return (Decision(**dict(zip(_FIELDS, own, strict=True)), names=names) for own in zip(*fields, strict=True))
