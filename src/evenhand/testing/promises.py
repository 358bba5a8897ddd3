"""What checks say and compare: every broken promise is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy.saving import flatten

IDS = np.array([0, 3, 8])  # replicas; their numbers are not their places in the batch


def snapshot(state: object) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays of a state, copied."""
    return {path: z.copy() for path, z in flatten(state)}


def unchanged(before: dict[str, np.ndarray[Any, Any]], state: object, promise: str) -> None:
    """A state is what it was."""
    after = dict(flatten(state))
    require(before.keys() == after.keys(), promise)
    for path, z in before.items():
        require(z.dtype != object, f"a state holds arrays and numbers, unlike {path}")
        same(z, after[path], f"{promise}: {path}")


def alone(record: Any, i: int) -> Any:
    """The part of a record that belongs to one replica; what leads with 1 belongs to all."""

    def cut(z: Any) -> Any:
        return tuple(cut(part) for part in z) if isinstance(z, tuple) else z[i : i + 1] if len(z) > 1 else z

    return type(record)(*(cut(z) for z in record))


def same_records(a: Any, b: Any, promise: str) -> None:
    """Two records are equal, field by field."""
    for name, left, right in zip(a._fields, a, b, strict=True):
        for z, other in zip(*((p if isinstance(p, tuple) else (p,)) for p in (left, right)), strict=True):
            same(z, other, f"{promise}: {name}")


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], promise: str) -> None:
    """Two arrays are equal, bit for bit, NaN included."""
    require(a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all()), promise)


def require(holds: bool, promise: str) -> None:
    """Raise the promise that is broken."""
    if not holds:
        raise AssertionError(promise)


def sound_pick(plays: Ints, probabilities: Floats, playable: Bools, count: int) -> None:
    """What was picked is playable, once each, with the probabilities that are stated, `(count),(A),(A)`."""
    require(plays.shape == (len(playable), count), f"plays have shape (R, {count}), not {plays.shape}")
    require(bool((probabilities >= 0.0).all()), "probabilities are never negative")
    require(bool((probabilities[~playable] == 0.0).all()), "what is not playable has probability 0")
    made = plays >= 0
    require(bool((made[:, 0] == playable.any(1)).all()), "the first play is made wherever anything is playable")
    missing = np.abs(probabilities.sum(1) - made.sum(1))
    require(bool((missing <= 1e-9 * count).all()), "probabilities sum to the number of plays that are made")
    for chosen, chance in zip(plays, probabilities, strict=True):
        real = chosen[chosen >= 0]
        require(bool((chance[real] > 0.0).all()), "what is played is playable, and of positive probability")
        require(len(set(real.tolist())) == len(real), "no candidate is played twice in a round")


def sound_plays(plays: Ints, propensities: Floats, count: int) -> None:
    """Each candidate is played once at most, places are filled in order, and propensities are chances, `(count),(count)`."""
    require(plays.shape == (len(plays), count), f"plays have shape (R, {count}), not {plays.shape}")
    require(propensities.shape == plays.shape, f"propensities have shape (R, {count}), not {propensities.shape}")
    made = plays >= 0
    require(bool((made[:, 1:] <= made[:, :-1]).all()), "places are filled in order")
    known = propensities[made & ~np.isnan(propensities)]
    require(bool(((known > 0.0) & (known <= 1.0 + 1e-9)).all()), "the propensity of a play is in (0, 1], or NaN")
    for chosen in plays:
        real = chosen[chosen >= 0]
        require(len(set(real.tolist())) == len(real), "no candidate is played twice in a round")
