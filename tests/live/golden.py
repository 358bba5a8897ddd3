"""Folds of fixed logs, whose states are stored with the number of the fold, `evenhand.live.fold.snapshots.FOLD`.

Snapshots outlive a version as long as the number stays, so it has to be raised whenever a log folds to other bits.

python -m tests.live.golden
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.fold import Fold
from evenhand.live.fold.snapshots import FOLD
from evenhand.live.log.events import Event, encode
from evenhand.live.log.packing import pack
from evenhand.live.log.versions import here
from evenhand.live.stores.memory import MemoryStore
from evenhand.policy.saving import flatten

STORED = Path(__file__).with_name("golden.json")
_SHIPPED = Path(__file__).parents[2] / "deploy" / "problem.toml"
_START, _SECOND, _ROUNDS = 1_900_000_000 * 10**6, 10**6, 60


def _shop() -> eh.Policy:
    """A plan, hard limits that wait for outcomes, and a model of real numbers."""
    problem = eh.Problem(
        actions=("none", "a", "b"),
        features=(eh.Numeric("age", 20, 80), eh.Categorical("town", ("north", "south"))),
        outcomes=(eh.Outcome("visit"), eh.Outcome("cents", high=3.0), eh.Outcome("post", known={"a": 1, "b": 1})),
        maximize="visit",
        subject_to=(eh.Budget("cents", total=90.0, hard=True), eh.Budget("post", total=60.0)),
        horizon=200,
    )
    return eh.resolving(problem, eh.PerAction.of(problem))


@cache
def folds() -> dict[str, Fold]:
    """The folds of decisions that nobody draws, with outcomes, a cancellation, an expiry and a correction."""
    shipped = of_file(Text("problem.toml", _SHIPPED.read_text(encoding="utf-8")))
    return {"shipped": _fold(shipped.policy, shipped.coded), "shop": _fold(_shop(), None)}


def _fold(policy: eh.Policy, encoder: Any) -> Fold:
    store = MemoryStore(now=lambda: _START)
    campaign = eh.Campaign.open(store, "golden", policy, encoder=encoder, seed=7, patience=1e6, on_expiry="release")
    fold = campaign._worker.folding.fresh()
    fold.fold(campaign.events())
    waits, about = list[Event](), dict[int, list[Event]]()
    fold.about = about.__getitem__

    def enter(kind: Any, body: dict[str, Any], ref: int | None = None) -> Event:
        event = Event(fold.seq + 1, kind, ref, None, _START + _SECOND * fold.seq, encode(body))
        about.setdefault(event.seq if ref is None else ref, []).append(event)
        fold.apply(event)
        return event

    for i in range(_ROUNDS):
        case = {"age": 15 + i * 7 % 70, "town": ("north", "south")[i * 5 % 3 % 2]}
        made = pack(fold.decide(fold.encoder.context(case, None, None)))
        a = i * 7 % 3
        made |= {"a": [a], "p": [0.25 + i / 256], "n": 1, "f": 0, "r": 0}
        made |= {"w": (np.ones(np.shape(made["w"])) + i / 64).tolist(), "q": (0.0 * np.array(made["q"]) + 0.5).tolist()}
        waits.append(enter("decided", {**made, "by": fold.mark, "case": case, "due": _START + 10**12}))
        for _ in range(i * 11 % 3):
            if len(waits) < 4:
                break
            ref = waits.pop(i * 13 % len(waits)).seq
            if i % 17 == 16:
                enter("cancelled", {}, ref)
                continue
            y = {name: i * (3 + j) % 4 / 4 if j else i % 5 % 2 for j, name in enumerate(policy.problem.observed)}
            enter("observed", {"y": y}, ref)
            if i % 23 == 22:
                enter("revised", {"y": {**y, "visit": 1 - y["visit"]}}, ref)
    enter("expired", {}, waits[0].seq)
    return fold


def machine() -> str:
    """On what the last bits depend beside the version of evenhand."""
    return encode({name: version for name, version in here().items() if name not in ("evenhand", "python")})


def digests() -> dict[str, str]:
    """A hash of the bits of each array."""
    return {name: hashlib.sha256(z.tobytes()).hexdigest()[:16] for name, z in _arrays()}


def sums() -> dict[str, float]:
    """By name, type and shape of each array a sum that depends on the order of its numbers."""
    named = {f"{name} {z.dtype.str} {z.shape}": z.ravel() for name, z in _arrays()}
    return {name: float(z @ (1.0 + np.arange(z.size) % 7)) for name, z in named.items()}


def _arrays() -> list[tuple[str, np.ndarray[Any, Any]]]:
    found = []
    for policy, fold in folds().items():
        for path, z in flatten(fold.state):
            if "receipts" not in path:  # their tokens are drawn by chance
                found.append((f"{policy}{path}", z))
    return found


def stored() -> dict[str, Any]:
    """What was written last."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Store the folds of this version, beside the bits on other machines if the number is the same."""
    bits = stored()["bits"] if stored()["fold"] == FOLD else {}
    if bits.get(machine(), digests()) != digests():
        raise SystemExit("the bits are others: raise FOLD in src/evenhand/live/fold/snapshots.py first")
    told = {"fold": FOLD, "sums": sums(), "bits": {**bits, machine(): digests()}}
    STORED.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
