"""Checks of states and of places in a batch."""

from __future__ import annotations

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import whole
from evenhand.policy.state import PolicyState


def replica(place: int, count: int) -> None:
    """Require a position in a batch.

    >>> replica(0, 1)
    """
    whole("replica", place, 0)
    if place >= count:
        raise InvalidInput("replica", f"a place in the batch, from 0 to {count - 1}", place)


def state(s: object, owner: str) -> None:
    """Refuse anything but a state of this policy: kernels would read beyond its arrays."""
    if not isinstance(s, PolicyState):
        raise InvalidInput("state", "a PolicyState, as `start` and `load` return them", shown(s))
    if s.owner != owner:
        expected = "one of this policy, as its `start` and `load` return them"
        raise InvalidInput("state", expected, "one of another policy")
