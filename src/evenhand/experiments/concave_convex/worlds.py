"""The experiment's worlds by name, each built for a given horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, NamedTuple

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
        """The number of this instance, by the name of the world.

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
        """The random instance that is restated."""
        return BernoulliKnapsacks(horizon=self.horizon)

    @cached_property
    def problem(self) -> Problem:
        """The instance's problem with this objective and these constraints."""
        return replace(self.inner.problem, maximize=self.maximize, subject_to=self.subject_to)

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    def start(self, seed: int, replicas: Ints) -> World:
        """Start the instance; its random numbers are unchanged."""
        return self.inner.start(seed, replicas)


def settings(worlds: tuple[str, ...], instances: int) -> Iterator[Setting]:
    """Yield the settings of the requested worlds, in order."""
    for world in worlds:
        if world == "arms":
            yield Setting("arms", "four arms, two budgets", _arms)
        if world == "gini":
            yield Setting("gini", "ten arms, Gini welfare of three outcomes, a budget on a fourth", _gini)
        if world == "disc":
            yield Setting(
                "disc", "ten arms, a reward, and a disc in which the averages of two outcomes are to lie", _disc
            )
        if world == "knapsacks":
            for i in range(instances):
                yield Setting(f"knapsacks {i}", "ten arms, three budgets", partial(_knapsacks, i))
        if world in ("sensors", "points"):
            for i in range(instances):
                says = f"ten sensors, 100 points, outcomes by {world}"
                yield Setting(f"{world} {i}", says, partial(_sensors, world, i))
        if world in ("types", "edges"):
            for i in range(instances):
                says = f"eight types of requests, 100 edges, uses learned by {world}"
                yield Setting(f"{world} {i}", says, partial(_requests, world, i))
        if world == "routing":
            yield Setting("routing", "four types of requests, 16 routes, 20 edges", _routing, contexts=True)
        if world == "clicks":
            yield Setting("clicks", "six ads, three campaigns, a mix and a risk of clicks", _clicks, contexts=True)
        if world == "families":
            says = "eight ads, five campaigns, 20 overlapping families of them with budgets"
            yield Setting("families", says, _families, contexts=True)


def _arms(horizon: int) -> Environment:
    return MixedArms(horizon=horizon)


def _gini(horizon: int) -> Environment:
    objective = GeneralizedGini(("reward", "cost 1", "cost 2"))
    return Restated(horizon, objective, BernoulliKnapsacks(horizon=horizon).problem.subject_to[2:])


def _disc(horizon: int) -> Environment:
    return Restated(horizon, "reward", (Within(PLANE, DISC),))


def _knapsacks(instance: int, horizon: int) -> Environment:
    return BernoulliKnapsacks(instance=instance, horizon=horizon)


def _sensors(outcomes: str, instance: int, horizon: int) -> Environment:
    by: Literal["sensors", "points"] = "sensors" if outcomes == "sensors" else "points"
    return Sensors(outcomes=by, instance=instance, horizon=horizon)


def _requests(outcomes: str, instance: int, horizon: int) -> Environment:
    by: Literal["types", "edges"] = "types" if outcomes == "types" else "edges"
    return Requests(outcomes=by, instance=instance, horizon=horizon)


def _routing(horizon: int) -> Environment:
    return Routing(horizon=horizon)


def _clicks(horizon: int) -> Environment:
    return PayPerClick(horizon=horizon)


def _families(horizon: int) -> Environment:
    return PayPerClick(ads=8, campaigns=5, families=20, horizon=horizon)
