"""The state after some events, as bytes: a cache, which may be deleted at any time."""

from __future__ import annotations

import io
import json

import numpy as np

from evenhand.core.errors import CannotSave, EvenhandError
from evenhand.core.records import Decision
from evenhand.live.fold import Fold, Pending
from evenhand.policy.saving import fill, flatten, refusals

_META = "meta"


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
    for ref, p in fold.pending.items():
        arrays |= {f"{ref}.{name}": z for name, z in p.decision._asdict().items() if name != "names"}
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
        for ref, due, expired in meta["pending"]:
            own = {name: arrays[f"{ref}.{name}"] for name in Decision._fields if name != "names"}
            fold.wait(ref, Pending(Decision(**own, names=fold.policy.problem.actions), due, expired))
        fill(fold.state, arrays)
    except Exception as error:  # readers of archives and arrays raise whatever damaged bytes bring them to
        raise BrokenSnapshot(f"a snapshot that cannot be read: {error}") from error
