"""Models that get more actions: their configuration for fewer of them, and states that take over smaller ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.models.base import Begins, Grows, Widens

T = TypeVar("T")


def sized(part: T, actions: int) -> T:
    """Return a model, or a part of one, for another number of actions; itself if it has nothing of single actions.

    >>> from evenhand.models.per_action import PerAction
    >>> from evenhand.models.ridge import Ridge
    >>> sized(PerAction(inner=Ridge(n_features=2), actions=4), 3).actions
    3
    """
    return _rebuilt(part, lambda z: z.of_actions(actions) if isinstance(z, Grows) else None)


def narrowed(part: T, features: int) -> T:
    """Return a model, or a part of one, for the first so many features; itself if a part cannot grow by features.

    >>> from evenhand.models.ridge import Ridge
    >>> narrowed(Ridge(n_features=6), 4).n_features
    4
    """
    try:
        return _rebuilt(part, lambda z: z.of_features(features) if isinstance(z, Widens) else None)
    except InvalidInput:  # one of its parts cannot
        return part


def _rebuilt(part: T, change: Callable[[Any], Any]) -> T:
    """Return a part in which every part is replaced that a function makes another one of."""
    if (made := change(part)) is not None:
        return cast(T, made)
    if isinstance(part, tuple) and type(part) is tuple:
        found = tuple(_rebuilt(z, change) for z in part)
        return part if all(a is b for a, b in zip(found, part, strict=True)) else cast(T, found)
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    old = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.init}
    new = {name: _rebuilt(z, change) for name, z in old.items()}
    changed = {name: z for name, z in new.items() if z is not old[name]}
    return dataclasses.replace(part, **changed) if changed else part


def take_over(state: Any, old: Any, replicas: int, features: int | None = None) -> None:
    """Copy the state of a model of fewer actions into a state before any data, in which appended actions stay fresh.

    An array that has more rows has rows by action; what has a longer axis behind the first one has an entry per action.
    Arrays that have grown with the data are as long as they were. `features` is how many the old state has, if it has
    fewer: those that follow were 0 in all data.
    """
    begun = None
    for f in dataclasses.fields(state):
        if f.metadata.get("setting"):
            continue
        here, there = getattr(state, f.name), getattr(old, f.name)
        if isinstance(here, list):
            for one, other in zip(here, there, strict=True):
                take_over(one, other, replicas, features)
        elif dataclasses.is_dataclass(here):
            take_over(here, there, replicas, features)
        elif isinstance(here, np.ndarray) and here.ndim:
            if len(here) != len(there):
                rows = np.arange(len(here)).reshape(replicas, -1)
                begun = rows[:, len(there) // replicas :].ravel()
            setattr(state, f.name, _with(here, there, replicas))
        else:
            setattr(state, f.name, there)
    if begun is not None and isinstance(state, Begins):
        state.begin(begun)
    if features is not None and isinstance(state, Begins):
        state.widen(features)


def _with(fresh: np.ndarray[Any, Any], old: np.ndarray[Any, Any], replicas: int) -> np.ndarray[Any, Any]:
    """Return a fresh array with the entries of an old one, whose axes may be shorter."""
    if len(fresh) != len(old):
        by_action, before = (z.reshape(replicas, len(z) // replicas, *z.shape[1:]) for z in (fresh, old))
        rows = _with(by_action, before, replicas)
        return rows.reshape(len(fresh), *rows.shape[2:])
    found = np.zeros(np.maximum(fresh.shape, old.shape), fresh.dtype)
    for z in (fresh, old):
        found[tuple(slice(0, n) for n in z.shape)] = z
    return found
