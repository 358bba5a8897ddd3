"""The algorithms of the paper with its settings, ours, and the standards that they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.types import Floats, Ints
from evenhand.environments import AudienceMatching, Matching
from evenhand.models import Fixed, Logistic, OnePass, OptimisticDraw, Perturbed, Sampled
from evenhand.policy.policy import Policy
from evenhand.recipes import cab_ofu, cab_ts, cab_ts_parameter, cab_ucb, fairx, max_match, random_allocation
from evenhand.welfare import Curves, Oracle, Priced, Round, Sequential, satisfaction_of
from evenhand.welfare.linear_program import bound

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


ROUNDS = 50  # per replica, for comparing the bound and our oracle with the routine


class Standards(NamedTuple):
    """The standards' satisfaction per round at the true means."""

    reference: Floats  # (R,) of the paper's routine with the true parameter, over all rounds
    ours: Floats  # (R,) of our oracle with the true parameter
    bound: Floats  # (R,) of a linear program, an upper bound for every allocation


def standards(world: World, replicas: int, seed: int) -> Standards:
    """Compute the standards on the rounds that systems meet in a world.

    The routine runs in all rounds. Our oracle and the bound run in `ROUNDS` of them, evenly spaced, and are scaled by
    their ratio to the routine there, which varies far less than a round's satisfaction.
    """
    ids, problem = np.arange(replicas), world.problem
    satisfaction = satisfaction_of(problem)
    curves, reading = satisfaction.curve.curves(world.arms), satisfaction.on(problem)
    run, luck = world.start(seed, ids), Luck(seed=seed, replicas=ids)
    capacity, routine, oracle = np.full(world.arms, world.users), Sequential(), Priced()
    sampled = set(np.linspace(0, world.horizon - 1, min(ROUNDS, world.horizon)).astype(int).tolist())
    total, some, ours, most = np.zeros((4, replicas))
    for step in range(world.horizon):
        context = run.context(step)
        means = run.means(context)
        # A copy, as kernels would be compiled anew for arrays that are read only.
        eligible = np.broadcast_to(context.offered.reshape(-1, *means.shape[1:]), means.shape).copy()
        case = Round(means, np.zeros(means.shape), eligible, capacity)
        u = luck.uniform(Stream.CHOICE, np.array([step]), world.users)
        reached = reading(*_allocate(case, routine, curves, u))
        total += reached
        if step in sampled:
            some += reached
            ours += reading(*_allocate(case, oracle, curves, u))
            most += bound(case, curves)
    reference = total / world.horizon
    return Standards(reference, reference * ours / some, reference * most / some)


def _allocate(case: Round, oracle: Oracle, curves: Curves, u: Floats) -> tuple[Ints, Floats]:
    """Allocate a round; returns plays, one per user, and their means, `->(N),(N,1)`."""
    count, users, arms = case.value.shape
    chosen = oracle.allocate(case, curves, np.full((count, arms), np.nan), u).arms
    plays = np.where(chosen >= 0, np.arange(users) * arms + chosen, -1)
    means = np.take_along_axis(case.value, np.maximum(chosen, 0)[:, :, None], 2)
    return plays, np.where(chosen[:, :, None] >= 0, means, 0.0)
