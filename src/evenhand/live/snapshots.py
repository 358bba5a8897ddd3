"""The state after some events, as bytes: a cache, which may be deleted at any time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.core.errors import CannotSave, EvenhandError
from evenhand.core.records import Decision
from evenhand.live.fold import Fold, Pending
from evenhand.policy.saving import fill, flatten, refusals

_META = "meta"
_FIELDS = Decision._fields[:-1]  # the last one is names, which the problem has


class BrokenSnapshot(EvenhandError):
    """Bytes that are no snapshot of this policy's state."""


def dump(fold: Fold) -> bytes:
    """State and waiting decisions of a fold.

    Raises:
        CannotSave: a part of the state says that it cannot be written as arrays.
    """
    for reason in refusals(fold.state):
        raise CannotSave(reason)
    file, arrays = io.BytesIO(), dict(flatten(fold.state))
    meta = {"seq": fold.seq, "runs": fold.runs, "pending": [[ref, p.due, p.expired] for ref, p in fold.pending.items()]}
    arrays |= _joined([p.decision for p in fold.pending.values()])
    np.savez(file, allow_pickle=False, **{_META: np.array(json.dumps(meta))}, **arrays)
    return file.getvalue()


def restore(fold: Fold, blob: bytes) -> None:
    """Fill a fresh fold with what was dumped.

    Raises:
        BrokenSnapshot: damaged or foreign bytes; the fold is then of no use.
    """
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop(_META)))
        fold.seq, fold.runs = meta["seq"], meta["runs"]
        decisions = _divided(arrays, fold.policy.problem.actions) if meta["pending"] else ()
        for (ref, due, expired), decision in zip(meta["pending"], decisions, strict=True):
            fold.wait(ref, Pending(decision, due, expired))
        fill(fold.state, arrays)
    except Exception as error:  # readers of archives and arrays raise whatever damaged bytes bring them to
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error


def _joined(decisions: Sequence[Decision]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of decisions end to end, and their shapes: thousands of arrays by themselves take seconds."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    for field in _FIELDS if decisions else ():
        each = [getattr(decision, field) for decision in decisions]
        found[f"pending.{field}"] = np.concatenate([z.ravel() for z in each])
        found[f"pending.{field}.shape"] = np.array([z.shape for z in each])
    return found


def _divided(arrays: Mapping[str, np.ndarray[Any, Any]], names: tuple[str, ...]) -> Iterator[Decision]:
    """The decisions whose arrays were joined."""
    fields = []
    for field in _FIELDS:
        shapes = arrays[f"pending.{field}.shape"]
        parts = np.split(arrays[f"pending.{field}"], np.cumsum(shapes.prod(1))[:-1])
        fields.append([part.reshape(shape).copy() for part, shape in zip(parts, shapes.tolist(), strict=True)])
    return (Decision(**dict(zip(_FIELDS, own, strict=True)), names=names) for own in zip(*fields, strict=True))
