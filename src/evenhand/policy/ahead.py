"""Machine code that decides and enters many cases at once, compiled before anybody waits for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.policy.deciding import Choices, Deciding
from evenhand.policy.entering import Entering, Steps
from evenhand.policy.frozen import frozen
from evenhand.policy.policy import Policy


def compile_ahead(policy: Policy) -> bool:
    """Compile, or load, what decides many cases at one state and enters them; returns whether kernels can do both.

    It takes some 30 seconds where nothing is kept on disk.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("a", "b", "c"), withdrawn=("c",), outcomes=(eh.Outcome("gain"),), maximize="gain",
    ...                   horizon=9)
    >>> compile_ahead(eh.uniform(shop, 1))  # kernels know no withdrawn actions
    False
    """
    state, none = policy.start(), _decision()
    contexts = Context(_zeros(4), _zeros(4), _zeros(4, int), _zeros(3, bool))
    deciding = Deciding(policy, frozen(policy, state), Context(_zeros(3), _zeros(3), _zeros(3, int), _zeros(2, bool)))
    if not deciding.works:
        return False
    deciding.run(Choices(none, _zeros(3)), 0, 0)
    steps = Steps(_zeros(1, int), _zeros(1, int), none, contexts, _zeros(4), _zeros(3, bool))
    return Entering(policy, state).load(steps)


def _decision() -> Decision:
    """Decisions of no cases: kernels are compiled by the number of axes."""
    axes = 2, 3, 3, 2, 2, 2, 2, 4, 4, 4, 3, 5, 3, 3  # in the order of the fields
    kinds = int, int, *[float] * 7, int, *[float] * 4
    each: Any = (_zeros(n, kind) for n, kind in zip(axes, kinds, strict=True))
    return Decision(*each)


def _zeros(axes: int, kind: type = float) -> Any:
    return np.zeros((0,) * axes, kind)
