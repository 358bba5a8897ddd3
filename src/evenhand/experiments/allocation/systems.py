"""The algorithms of the paper with its settings, and ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from evenhand.environments import AudienceMatching, Matching
from evenhand.models import Fixed, Logistic, OnePass, OptimisticDraw, Perturbed, Sampled
from evenhand.policy.policy import Policy
from evenhand.recipes import cab_ofu, cab_ts, cab_ts_parameter, cab_ucb, fairx, max_match, random_allocation
from evenhand.welfare import Priced, Sequential

World = Matching | AudienceMatching
GAMMA = 0.1  # of FairX
TRIES = 50
OURS, GREEDY, GREEDY_ROUTINE = "cab_ucb, our oracle", "no exploration, our oracle", "no exploration"
PAPER = ("cab_ucb", "cab_ts", "cab_ts_parameter", "cab_ofu", "max_match", "fairx", "random_allocation")
ABLATIONS = (GREEDY, GREEDY_ROUTINE)  # are as good here, and pictures show what is to be told apart
SYSTEMS = (OURS, *PAPER, *ABLATIONS)
LOOKS = {name: f"C{i}--" if "exploration" in name else f"C{i}-" for i, name in enumerate(SYSTEMS)}


def model(world: World, width: float | None = None) -> Logistic:
    """Build the regularised likelihood with lambda_0 = n and c_1 = sqrt(n); the paper omits kappa, which is 1 here."""
    n = world.n_features
    return Logistic(n_features=n, ridge=float(n), width=Fixed(math.sqrt(n) if width is None else width), clipped=False)


def policy(name: str, world: World, gamma: float = GAMMA) -> Policy:
    """Build a system by its name for a world."""
    problem, n, users = world.problem, world.n_features, world.users
    learner, greedy, wide = model(world), model(world, 0.0), math.sqrt(n * users)
    recipes: Mapping[str, Callable[[], Policy]] = {
        "cab_ucb": lambda: cab_ucb(problem, learner, oracle=Sequential()),
        "cab_ts": lambda: cab_ts(problem, Perturbed(inner=learner, scale=wide, n_blocks=users), oracle=Sequential()),
        "cab_ts_parameter": lambda: cab_ts_parameter(
            problem, Sampled(inner=learner, scale=wide, n_blocks=users), oracle=Sequential()
        ),
        "cab_ofu": lambda: cab_ofu(problem, OnePass(n_features=n), oracle=Sequential()),
        "max_match": lambda: max_match(problem, learner),
        "fairx": lambda: fairx(
            problem, OptimisticDraw(inner=learner, radius=math.sqrt(gamma), tries=TRIES, n_blocks=users)
        ),
        "random_allocation": lambda: random_allocation(problem, n),
        OURS: lambda: cab_ucb(problem, learner, oracle=Priced()),
        GREEDY: lambda: cab_ucb(problem, greedy, oracle=Priced()),
        GREEDY_ROUTINE: lambda: cab_ucb(problem, greedy, oracle=Sequential()),
    }
    return replace(recipes[name](), name=name)
