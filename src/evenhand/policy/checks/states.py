"""Whether a state is of this policy, and which replica is asked for."""

from __future__ import annotations

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import whole
from evenhand.policy.state import PolicyState


def replica(place: int, count: int) -> None:
    """Refuse what is no place in a batch.

    >>> replica(0, 1)
    """
    whole("replica", place, 0)
    if place >= count:
        raise InvalidInput("replica", f"a place in the batch, from 0 to {count - 1}", place)


def state(s: object, owner: str) -> None:
    """Refuse what is no state, or one of another policy: kernels would read beyond its arrays.

    Raises:
        InvalidInput: saying which.
    """
    if not isinstance(s, PolicyState):
        raise InvalidInput("state", "a PolicyState, as `start` and `load` return them", shown(s))
    if s.owner != owner:
        raise InvalidInput(
            "state", "one of this policy, as its `start` and `load` return them", "one of another policy"
        )
