"""Goals that are asked and told one after the other, as one to the compiled loop; and a policy without limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.views import apart
from evenhand.policy import entries


class NoGoals(NamedTuple):
    """The empty list of goals, from which `in_turn` starts, and that of goals that are told about shares."""

    replicas: int

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        return np.zeros((self.replicas, 0, 0)), np.zeros((self.replicas, 0))

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        """Tell nobody."""


@apart("others", "goal")
class InTurn(NamedTuple):
    """A goal after others."""

    others: Any
    goal: Any

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        q, o = self.others.part.price()
        part, constant = self.goal.part.price()
        return entries.below(q, o, part, constant)

    @kernel
    def on_decision(self, d: Decision) -> None:
        self.others.part.on_decision(d)
        self.goal.part.on_decision(d)

    @kernel
    def plans(self, c: Context, d: Decision, t: Floats) -> bool:
        return bool(self.others.part.plans(c, d, t) or self.goal.part.plans(c, d, t))

    @kernel
    def on_context(self, c: Context, d: Decision, t: Floats) -> None:
        self.others.part.on_context(c, d, t)
        self.goal.part.on_context(c, d, t)

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        self.others.part.on_outcome(d, y, z)
        self.goal.part.on_outcome(d, y, z)

    @kernel
    def on_exposure(self, d: Decision, exposed: Bools) -> None:
        self.others.part.on_exposure(d, exposed)
        self.goal.part.on_exposure(d, exposed)

    @kernel
    def defers(self, c: Context, d: Decision, t: Floats) -> bool:
        return bool(self.others.part.defers(c, d, t) or self.goal.part.defers(c, d, t))

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return bool(self.others.part.pauses(t, candidates) or self.goal.part.pauses(t, candidates))


class Unlimited(NamedTuple):
    """No limits."""

    replicas: int

    @kernel
    def room(self, c: Context) -> tuple[Floats, Floats]:
        return np.zeros((1, c.features.shape[1], 0)), np.zeros((self.replicas, 0))

    @kernel
    def fits(self, d: Decision) -> bool:
        return True


def in_turn(goals: list[Any], replicas: int) -> Any:
    """The views of goals as that of one."""
    found: Any = NoGoals(replicas)
    for goal in goals:
        found = InTurn(found, goal)
    return found
