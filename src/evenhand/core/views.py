"""Views: the arrays and kernels of a part, by which compiled code calls it as Python calls the part itself.

A view is a NamedTuple of the arrays of a part's own state and of its settings, whose methods are kernels. Nothing is
copied: what a kernel changes, the part sees. `core/pointers.py` is how compiled code takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Kind = TypeVar("Kind", bound=type)


def view_of(part: object, *state: object) -> Any:
    """The view of a part in a state, None if the part has none and has to be asked in Python.

    A class that changes anything of the one that it inherits its view from has none, nor one that adds a public method,
    as the view does not know of it.
    """
    kinds = type(part).__mro__
    home: Any = next((kind for kind in kinds if "view" in vars(kind)), None)
    if home is None:
        return None
    own = {name for kind in kinds[: kinds.index(home)] for name in vars(kind) if not name.startswith("__")}
    added = {name for name in own if not name.startswith("_") and callable(getattr(type(part), name))}
    return None if added or any(hasattr(home, name) for name in own) else home.view(part, *state)


def addresses(view: object) -> set[tuple[int, tuple[int, ...]]]:
    """The address and shape of every array in a view; empty arrays are left out."""
    if isinstance(view, np.ndarray):
        return {(view.ctypes.data, view.shape)} if view.size else set()
    found: set[tuple[int, tuple[int, ...]]] = set()
    return found.union(*map(addresses, view)) if isinstance(view, tuple) else found


def alike(a: object, b: object) -> bool:
    """Whether two views are of the same arrays, by address and shape, and of equal settings."""
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        if not isinstance(b, np.ndarray) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.size == 0 or (a.strides == b.strides and a.ctypes.data == b.ctypes.data)
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


def pointers(*fields: str) -> Callable[[Kind], Kind]:
    """Mark a class of views that has views in some fields, which kernels read as `view.field.part`.

    What is passed on to a method is then a pointer, and not all arrays of all views behind it.
    """

    def mark(kind: Kind) -> Kind:
        marked: Any = kind
        marked.pointers = fields
        return kind

    return mark
