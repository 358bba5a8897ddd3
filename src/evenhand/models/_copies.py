"""Copies of some replicas of a state, for models that keep several states of one model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from evenhand.core.types import Bools


def copy_where(source: Any, target: Any, where: Bools) -> None:
    """Copy the replicas `where` from one state of a model to another, by action too.

    Settings, such as ranges, never change, so copying parts of them does no harm.
    """
    for f in dataclasses.fields(source):
        old, new = getattr(target, f.name), getattr(source, f.name)
        if isinstance(new, list):
            for a, b in zip(new, old, strict=True):
                copy_where(a, b, where)
        elif dataclasses.is_dataclass(new):
            copy_where(new, old, where)
        elif isinstance(new, np.ndarray) and new.ndim and len(new) % len(where) == 0:
            rows = np.repeat(where, len(new) // len(where))
            shape = tuple(np.maximum(old.shape, new.shape))
            if old.shape != shape:  # a history that has grown since
                grown = np.zeros(shape, new.dtype)
                grown[tuple(slice(0, n) for n in old.shape)] = old
                setattr(target, f.name, grown)
                old = grown
            old[(rows, *(slice(0, n) for n in new.shape[1:]))] = new[rows]
