"""Erasure of single cases from a state; sums over cases, such as those of a linear model, stay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from evenhand.core.records import Context
from evenhand.core.types import Ints
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState


@runtime_checkable
class Remembers(Protocol):
    """A part of a state that stores single cases."""

    def forget(self, context: Context, plays: Ints) -> None:
        """Remove a case of one replica, and the observations of its plays, `(P)`.

        Raises:
            CannotErase: it cannot be taken out.
        """


def forget(policy: Policy, state: PolicyState, cases: Sequence[tuple[Context, Ints]]) -> None:
    """Remove single cases, with their plays, from a state of one replica.

    Raises:
        CannotErase: a part of the state cannot take them out; the state can then no longer be used.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> problem = eh.Problem(actions=("a", "b"), features=(eh.Numeric("age", 20, 60),), outcomes=(eh.Outcome("gain"),),
    ...                      maximize="gain", horizon=50)
    >>> policy = eh.resolving(problem, eh.PerAction.of(problem))
    >>> state = policy.start()
    >>> for age in (30, 40):
    ...     policy.observe(state, policy.act(state, policy.encode({"age": age})), {"gain": 1})
    >>> forget(policy, state, [(policy.encode({"age": 30}), np.array([0]))])
    """
    with policy._alone(state):
        for part in _parts(state):
            if isinstance(part, Remembers):
                for context, plays in cases:
                    part.forget(context, plays)


def _parts(z: Any) -> Iterator[Any]:
    """Yield the parts of a state, and theirs."""
    if dataclasses.is_dataclass(z):
        yield z
        for f in dataclasses.fields(z):
            yield from _parts(getattr(z, f.name))
    elif isinstance(z, list):
        for part in z:
            yield from _parts(part)
