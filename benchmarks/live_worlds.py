"""A typical campaign: three actions, twenty features, a budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.live.log.life import OnExpiry
from evenhand.live.log.store import Store
from evenhand.live.stores.sqlite import SqliteStore

NAME = "campaign"
_HORIZON = 2_000_000
_NUMBERS = tuple(f"x{i}" for i in range(15))
_LEVELS = {"zone": ("town", "land", "sea"), "channel": ("web", "phone", "shop", "fax")}

PROBLEM = eh.Problem(
    actions=("none", "letter", "call"),
    features=(
        *(eh.Numeric(name, 0, 1) for name in _NUMBERS),
        *(eh.Categorical(name, levels) for name, levels in _LEVELS.items()),
    ),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 300})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=100.0 * _HORIZON),),
    horizon=_HORIZON,
)
POLICY = eh.resolving(PROBLEM, eh.PerAction.of(PROBLEM))


def opened(place: Path | Store, patience: float = 86_400.0, on_expiry: OnExpiry = "hold") -> eh.Campaign:
    """The campaign in a file or another store, a new one or the one that is there."""
    store = SqliteStore(place) if isinstance(place, Path) else place
    return eh.Campaign.open(store, NAME, POLICY, patience=patience, on_expiry=on_expiry)


def case(number: int) -> dict[str, Any]:
    """A case, the same for the same number."""
    rng = np.random.default_rng(number)
    found: dict[str, Any] = {name: round(x, 3) for name, x in zip(_NUMBERS, rng.random(15).tolist(), strict=True)}
    return found | {name: levels[number % len(levels)] for name, levels in _LEVELS.items()}


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
