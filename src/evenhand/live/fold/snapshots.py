"""Snapshots of a fold as bytes: a cache, which may be deleted at any time."""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np

from evenhand.core.errors import CannotSave, EvenhandError
from evenhand.live.fold.backlog import Backlog
from evenhand.live.fold.fold import Fold
from evenhand.live.log.ids import Ids, Restored
from evenhand.live.log.life import Life
from evenhand.policy.saving import fill, flatten, refusals
from evenhand.version import __version__

# Raised by hand whenever a log folds to other bits than before, or what is kept means something else: snapshots of
# another number are not read, and those of other versions with this one are. tests/live/fold/test_golden.py says when.
FOLD = 4
_META, _PLANES = "meta", ".planes"
_TOKENS, _BASE = ".receipts.tokens", ".receipts.base"
_NUMBERS = ("seq", "began", "runs", "known", "marked", "erased", "reach", "first", "version", "sealed")


class BrokenSnapshot(EvenhandError):
    """The bytes are not a snapshot of this policy's state."""


def dump(fold: Fold, *, ahead: bool = False) -> bytes:
    """Serialise the state and the waiting decisions of a fold; `ahead` if its mark is still to be written.

    The bytes are an `.npz`, compressed. Of records there are the first byte of each, then the second one of each, and
    so on: decisions that wait differ in few of their bytes. The state has the tokens of their receipts.

    Raises:
        CannotSave: a part of the state cannot be written as arrays.
    """
    for reason in refusals(fold.state):
        raise CannotSave(reason)
    file = io.BytesIO()
    meta: dict[str, Any] = {name: getattr(fold, name) for name in _NUMBERS}
    meta |= {"ahead": ahead, "by": __version__, **_schema(fold), "life": fold.life.to_dict()}
    meta |= {"restores": fold.ids.restores, "used": fold.ids.used}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        _write(out, _META, np.array(json.dumps(meta)))
        for name, array in (*flatten(fold.state), *fold.pending.arrays().items()):
            if array.dtype.names is not None:
                array["id"][:, 1] = 0
                _write(out, name + _PLANES, np.ascontiguousarray(array.view(np.uint8).reshape(len(array), -1).T))
                array = array[:0]
            _write(out, name, array)
    return file.getvalue()


def _write(out: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    with out.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _read(blob: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a snapshot, with their records whole."""
    with np.load(io.BytesIO(blob), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name in [name for name in arrays if name.endswith(_PLANES)]:
        form = arrays[whole := name.removesuffix(_PLANES)].dtype
        records = arrays[whole] = np.ascontiguousarray(arrays.pop(name).T).view(form)[:, 0]
        records["id"][:, 1] = arrays[_TOKENS][records["id"][:, 0] - int(arrays[_BASE])]
    return arrays


def _schema(fold: Fold) -> dict[str, Any]:
    """The number of the fold, and a hash of the names and shapes of the arrays of a new state."""
    return {"fold": FOLD, "shape": fold.policy._mark.shape}


def began(blob: bytes) -> int:
    """Return the event with which the policy of a snapshot began.

    Raises:
        BrokenSnapshot: the bytes are damaged or foreign.
    """
    return _number(blob, "began")


def last_correction(blob: bytes) -> int:
    """Return the event up to which corrections are in a snapshot.

    Raises:
        BrokenSnapshot: the bytes are damaged or foreign.
    """
    return _number(blob, "known")


def _number(blob: bytes, name: str) -> int:
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            return int(json.loads(str(file[_META]))[name])
    except Exception as error:
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error


def largest_difference(blob: bytes, other: bytes) -> float:
    """Return the largest difference of the real numbers of two snapshots, relative to 1 + their size.

    It is infinite where anything else differs, but for the version that wrote it, and the tokens of receipts, which are
    random.
    """
    one, two = _read(blob), _read(other)
    metas = [json.loads(str(z.pop(_META))) | {"by": ""} for z in (one, two)]
    if list(one) != list(two) or metas[0] != metas[1]:
        return math.inf
    pairs = (pair for name, a in one.items() for pair in zip(_fields(name, a), _fields(name, two[name]), strict=True))
    return max((_gap(a, b) for a, b in pairs), default=0.0)


def _fields(name: str, array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return an array, or the fields of records; without the values of tokens."""
    if name == _TOKENS:
        return [array > 0]  # whether a decision waits
    fields = array.dtype.names
    if fields is None:
        return [array]
    return [array[z][:, ::2] if z == "id" else array[z] for z in fields]  # an id is a number, a token and a checksum


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
        any_version: whether a version of evenhand that folds to other bits may have written it.

    Raises:
        BrokenSnapshot: the bytes are damaged or foreign; the fold is then unusable.
    """
    try:
        arrays = _read(blob)
        meta = json.loads(str(arrays.pop(_META)))
        if not any_version and not _schema(fold).items() <= meta.items():
            raise ValueError(f"version {meta['by']} of evenhand wrote it, whose states differ")
        for name in _NUMBERS:
            setattr(fold, name, meta[name])
        fold.ids = Ids(tuple(Restored(*z) for z in meta["restores"]), tuple(meta["used"]))
        fold.life, ahead = Life(**meta["life"]), bool(meta["ahead"])
        fold.pending = Backlog.of(arrays)
        fill(fold.state, arrays)
    except Exception as error:  # damaged bytes can raise any error in readers of archives and arrays
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error
    return ahead
