"""The environments of the table, each with the one model that all recipes are given in it, and its optimum."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from evenhand.core.types import Floats
from evenhand.environments import (
    BernoulliKnapsacks,
    Court,
    Delayed,
    Environment,
    FixedContexts,
    Lessons,
    MixedArms,
    MixedContexts,
    MultiObjective,
    Routing,
    WithoutContexts,
)
from evenhand.models import Fixed, Logarithmic, Logistic, Model, Ridge, Tabular
from evenhand.run import opt, opt_without_contexts
from evenhand.run.optimum import Optimum, best, draw

SAMPLE = {
    "contexts": 1000,
    "replicas": 8,
    "seed": 10**6,
    "progress": False,
}  # of an optimum that is the same for all replicas


@dataclass(frozen=True, kw_only=True)
class World:
    """An environment, its model, and what the theory of the recipes asks for."""

    environment: Environment
    model: Model
    noise: float  # about the standard deviation of outcomes
    blind: bool = False  # the optimum is that of one lottery for everybody
    own_truth: bool = False  # every replica has a truth of its own, and its optimum in hindsight

    @cached_property
    def optimum(self) -> Optimum:
        """Of the best static policy; only where all replicas have the same truth."""
        return opt_without_contexts(self.seen, **SAMPLE) if self.blind else opt(self.seen, **SAMPLE)

    @cached_property
    def seen(self) -> Environment:
        """Without what hides features or delays outcomes, which the optimum does not depend on."""
        found = self.environment
        while isinstance(found, (WithoutContexts, Delayed)):
            found = found.environment
        return found

    def best(self, seed: int, replicas: int) -> tuple[Floats, float]:
        """The optimum of every replica and the standard error that all of them share, `->(R),()`."""
        if self.own_truth:
            return np.array([_hindsight(self.environment, seed, r) for r in range(replicas)]), 0.0
        return np.full(replicas, self.optimum.value), self.optimum.se

    @cached_property
    def nothing(self) -> float:
        """The objective of doing nothing; -inf where there is no such action."""
        problem = self.environment.problem
        if problem.actions[0] != "nothing":
            return -np.inf
        outcomes = draw(self.seen, 1000, seed=10**6).outcomes[:, 0].mean(0)
        return float(problem.objective.value(outcomes))


@cache
def _hindsight(environment: Environment, seed: int, replica: int) -> float:
    """The best that could have been made of the contexts that came, by somebody who knew the truth and all of them."""
    problem = environment.problem
    return best(problem, draw(environment, problem.horizon, seed, replica=replica), np.zeros(0))[0]


COINS = 0.5  # the standard deviation of a fair one
COSTS = 0.1  # of `MixedContexts`: uniform around means of about 0.2, and what wide intervals would overspend


def _linear(environment: Environment, noise: float) -> World:
    """A ridge whose widths are one standard deviation of the noise."""
    problem = environment.problem
    width = Fixed(noise / float((problem.high - problem.low).max()))
    model = Ridge(n_features=environment.n_features, n_outcomes=len(problem.learned), width=width)
    return World(environment=environment, model=model, noise=noise)


def _court() -> World:
    model = Logistic(n_features=5, ridge=1.0, width=Logarithmic(0.05))
    return World(environment=Court(tolerance=0.025, horizon=3000), model=model, noise=COINS)


def _multi_objective() -> World:
    world = MultiObjective(arms=10, n_outcomes=3, n_features=5, horizon=1000)
    model = Ridge(n_features=5, n_outcomes=3, ridge=0.1, width=Fixed(0.1))
    return World(environment=world, model=model, noise=0.05, own_truth=True)


def _blind_lessons() -> World:
    world = WithoutContexts(Lessons(horizon=2000, parity=False))
    model = Tabular(arms=world.n_features, n_outcomes=4, confidence=0.5)
    return World(environment=world, model=model, noise=COINS, blind=True)


def _blind_arms() -> World:
    world = WithoutContexts(MixedArms(horizon=2000))
    model = Tabular(arms=world.n_features, n_outcomes=3, confidence=0.1)
    return World(environment=world, model=model, noise=COINS, blind=True)


def _knapsacks() -> World:
    world = BernoulliKnapsacks(horizon=2000)
    model = Tabular(arms=world.n_features, n_outcomes=4, confidence=0.5)
    return World(environment=world, model=model, noise=COINS)


def _routing() -> World:
    world = Routing(horizon=2000)
    return World(environment=world, model=Tabular(arms=world.n_features, confidence=0.5), noise=COINS)


WORLDS: dict[str, Callable[[], World]] = {
    "Court": _court,
    "FixedContexts": lambda: _linear(FixedContexts(dimension=10, null_arm=True, horizon=2000), 0.2),
    "MixedArms": lambda: _linear(MixedArms(horizon=2000), COINS),
    "MixedContexts": lambda: _linear(MixedContexts(horizon=2000), COSTS),
    "Lessons": lambda: _linear(Lessons(horizon=2000), COINS),
    "Lessons, goal only": lambda: _linear(Lessons(horizon=2000, constrained=False), COINS),
    "MultiObjective": _multi_objective,
    "Delayed(MixedContexts, 50)": lambda: _linear(Delayed(MixedContexts(horizon=2000), 50), COSTS),
    "WithoutContexts(MixedArms)": _blind_arms,
    "WithoutContexts(Lessons)": _blind_lessons,
    "BernoulliKnapsacks": _knapsacks,
    "Routing": _routing,
}


@cache
def world(name: str) -> World:
    """One of the table's, made once."""
    return WORLDS[name]()
