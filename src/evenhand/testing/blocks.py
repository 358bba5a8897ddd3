"""The contract of views: rounds in compiled blocks are those of the ordinary loop, and their arrays stay in place."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from evenhand.core.views import addresses
from evenhand.environments.base import Environment
from evenhand.policy.kernels.views import views
from evenhand.policy.policy import Policy
from evenhand.policy.saving import flatten
from evenhand.policy.state import PolicyState
from evenhand.run.blocks import Blocks
from evenhand.run.recorder import Recorder, empty
from evenhand.run.simulation import advance
from evenhand.run.trace import Trace
from evenhand.testing.promises import IDS, require, same

_BLOCK = 64
_TOKENS = ".receipts.tokens"  # above 0 while a decision waits


def check_compiled(policy: Policy, environment: Environment, *, rounds: int = 200, replicas: int = 3) -> int:
    """Check that compiled blocks of rounds give the same trace and state as the ordinary loop, bit for bit.

    After a block, every array of the state that a view had must still be the state's own, by its address: a part that
    puts another array into its state must say that it `pauses` before. Returns the number of rounds in blocks, which is
    0 where a part has no view: that is not a fault.

    Raises:
        AssertionError: a promise that is broken.

    >>> from evenhand.environments import BernoulliKnapsacks
    >>> from evenhand.recipes import uniform
    >>> world = BernoulliKnapsacks()  # which has no view
    >>> check_compiled(uniform(world.problem, world.n_features), world)
    0
    """
    plain, state, _ = _run(policy, environment, rounds, replicas, by_hand=True)
    other, after, played = _run(policy, environment, rounds, replicas, by_hand=False)
    lasting, left = _stored_arrays(state), _stored_arrays(after)
    require(lasting.keys() == left.keys(), "compiled rounds leave the state that Python leaves")
    for path, z in lasting.items():
        same(z, left[path], f"compiled rounds leave the state that Python leaves: {path}")
    for field in dataclasses.fields(plain):
        a, b = getattr(plain, field.name), getattr(other, field.name)
        require((a is None) == (b is None), f"compiled rounds leave the trace that Python leaves: {field.name}")
        if isinstance(a, np.ndarray):
            same(a, b, f"compiled rounds leave the trace that Python leaves: {field.name}")
    return played


def _run(
    policy: Policy, environment: Environment, rounds: int, replicas: int, *, by_hand: bool
) -> tuple[Trace, PolicyState, int]:
    """Run some rounds, and count those that were played in blocks."""
    ids = IDS[:replicas]
    state, world = policy.start(seed=5, replicas=ids.tolist()), environment.start(5, ids)
    steps = min(rounds, world.steps)
    recorder = Recorder(policy, state, world, empty(policy.problem, len(ids), world.steps), False)
    blocks = None if by_hand else Blocks(policy, state, world, recorder)
    for first in range(0, steps, _BLOCK):
        advance(policy, state, world, recorder, blocks, range(first, min(first + _BLOCK, steps)))
        if blocks is not None and blocks.next_views is not None:
            mine = _own(state) & addresses(views(policy, state))
            require(mine <= addresses(blocks.next_views), "after a block the arrays of views are still the state's own")
    return recorder.trace(5, True), state, 0 if blocks is None else blocks.played


def _stored_arrays(state: PolicyState) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a state; of receipts, which carry a random token, that they wait."""
    found = dict(flatten(state))
    found[_TOKENS] = found[_TOKENS] > 0
    return found


def _own(state: PolicyState) -> set[tuple[int, tuple[int, ...]]]:
    """Return the addresses and shapes of the arrays of a state."""
    return set().union(*(addresses(z) for _, z in flatten(state) if z.ndim))
