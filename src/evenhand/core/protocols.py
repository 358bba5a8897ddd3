"""What a protocol asks of a part, looked up once per protocol.

Python 3.11 gathers the members of a protocol anew in every `isinstance`, so that a policy, which asks some twenty
times per goal what it can do, took 0.6 ms to make, and takes a ninth of it since this is kept.
"""

from __future__ import annotations

import functools
from typing import Any, TypeGuard, TypeVar

T = TypeVar("T")


def has(part: object, ability: type[T]) -> TypeGuard[T]:
    """Return whether a part has all public members of a protocol, as `isinstance(part, ability)` tells.

    A method that is None counts as absent.

    >>> from evenhand.choices import TopK
    >>> from evenhand.choices.base import Choice, Hears
    >>> has(TopK(), Choice), has(TopK(), Hears)
    (True, False)
    """
    protocol: Any = ability  # which mypy does not take for hashable
    for name, is_method in _asked(protocol):
        if not hasattr(part, name) or (is_method and getattr(part, name) is None):
            return False
    return True


@functools.cache
def members(protocol: Any) -> list[str]:
    """Return the names of the public members of a protocol.

    >>> from evenhand.models.base import Model
    >>> members(Model)
    ['draws', 'n_features', 'n_outcomes', 'start', 'update', 'value']
    """
    parts = [c for c in protocol.__mro__ if getattr(c, "_is_protocol", False)]
    names = {n for c in parts for n in (*vars(c), *vars(c).get("__annotations__", {}))}
    return sorted(n for n in names if not n.startswith("_"))


@functools.cache
def _asked(protocol: Any) -> list[tuple[str, bool]]:
    """The public members of a protocol, and whether each is a method."""
    return [(name, callable(getattr(protocol, name, None))) for name in members(protocol)]
