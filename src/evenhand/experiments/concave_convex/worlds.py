"""The experiment's worlds by name, each built for a given horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from evenhand.core.types import Ints
from evenhand.environments import (
    BernoulliKnapsacks,
    Environment,
    MixedArms,
    PayPerClick,
    Requests,
    Routing,
    Sensors,
    World,
)
from evenhand.objectives import GeneralizedGini, Objective
from evenhand.problem.constraints import Constraint, Within
from evenhand.problem.problem import Problem
from evenhand.sets import Ball

PLANE, DISC = ("cost 1", "cost 2"), Ball((0.2, 0.35), 0.1)


class Setting(NamedTuple):
    """A world for runs of any length."""

    name: str
    says: str
    at: Callable[[int], Environment]  # builds the world for a horizon
    contexts: bool = False

    @property
    def at_instance(self) -> dict[str, float]:
        """The number of this instance, taken from the name of the world.

        >>> next(settings(("knapsacks",), 1)).at_instance
        {'knapsacks': 0.0}
        """
        world, _, instance = self.name.partition(" ")
        return {world: float(instance or 0)}


@dataclass(frozen=True)
class Restated:
    """A random knapsack with another objective and other constraints on the same outcomes."""

    horizon: int
    maximize: str | Objective
    subject_to: tuple[Constraint, ...]

    @cached_property
    def inner(self) -> BernoulliKnapsacks:
        return BernoulliKnapsacks(horizon=self.horizon)

    @cached_property
    def problem(self) -> Problem:
        return replace(self.inner.problem, maximize=self.maximize, subject_to=self.subject_to)

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    def start(self, seed: int, replicas: Ints) -> World:
        return self.inner.start(seed, replicas)


def settings(worlds: tuple[str, ...], instances: int) -> Iterator[Setting]:
    """Yield the settings of the requested worlds, in order."""
    for world in worlds:
        if world in _FIXED:
            yield _FIXED[world]
        else:
            says, at = _RANDOM[world]
            yield from (Setting(f"{world} {i}", says, partial(at, i)) for i in range(instances))


def _gini(horizon: int) -> Environment:
    objective = GeneralizedGini(("reward", "cost 1", "cost 2"))
    return Restated(horizon, objective, BernoulliKnapsacks(horizon=horizon).problem.subject_to[2:])


_FIXED = {
    s.name: s
    for s in (
        Setting("arms", "four arms, two budgets", lambda horizon: MixedArms(horizon=horizon)),
        Setting("gini", "ten arms, Gini welfare of three outcomes, a budget on a fourth", _gini),
        Setting(
            "disc",
            "ten arms, a reward, and a disc in which the averages of two outcomes are to lie",
            lambda horizon: Restated(horizon, "reward", (Within(PLANE, DISC),)),
        ),
        Setting(
            "routing", "four types of requests, 16 routes, 20 edges", lambda horizon: Routing(horizon=horizon), True
        ),
        Setting(
            "clicks",
            "six ads, three campaigns, a mix and a risk of clicks",
            lambda horizon: PayPerClick(horizon=horizon),
            True,
        ),
        Setting(
            "families",
            "eight ads, five campaigns, 20 overlapping families of them with budgets",
            lambda horizon: PayPerClick(ads=8, campaigns=5, families=20, horizon=horizon),
            True,
        ),
    )
}
_SENSORS, _REQUESTS = "ten sensors, 100 points, outcomes by", "eight types of requests, 100 edges, uses learned by"
_RANDOM: Mapping[str, tuple[str, Callable[[int, int], Environment]]] = {  # built for an instance and a horizon
    "knapsacks": ("ten arms, three budgets", lambda i, t: BernoulliKnapsacks(instance=i, horizon=t)),
    "sensors": (f"{_SENSORS} sensors", lambda i, t: Sensors(outcomes="sensors", instance=i, horizon=t)),
    "points": (f"{_SENSORS} points", lambda i, t: Sensors(outcomes="points", instance=i, horizon=t)),
    "types": (f"{_REQUESTS} types", lambda i, t: Requests(outcomes="types", instance=i, horizon=t)),
    "edges": (f"{_REQUESTS} edges", lambda i, t: Requests(outcomes="edges", instance=i, horizon=t)),
}
