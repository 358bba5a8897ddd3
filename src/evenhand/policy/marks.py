"""The arrays of a model's state that its fields mark for a policy; see `models.base`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from evenhand.core.types import Floats


def marked(state: object, mark: str) -> Iterator[Floats]:
    """Yield the arrays of a state, and of the states in it, that have a mark, `->()`."""
    for owner, name in places(state, mark):
        yield getattr(owner, name)


def places(state: object, mark: str) -> Iterator[tuple[object, str]]:
    """Yield the states and the names of their fields that have a mark.

    A field says `{mark: True}` for such arrays, and `{mark: False}` for states that are left out.
    """
    if dataclasses.is_dataclass(state):
        for f in dataclasses.fields(state):
            has = f.metadata.get(mark)
            if has:
                yield state, f.name
            elif has is None:
                yield from places(getattr(state, f.name), mark)
    elif isinstance(state, list):
        for one in state:
            yield from places(one, mark)
