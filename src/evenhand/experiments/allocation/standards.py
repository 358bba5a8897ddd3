"""The standards of comparison: the paper's routine and ours at the true parameter, and an upper bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.types import Floats, Ints
from evenhand.experiments.allocation.systems import World
from evenhand.welfare import Curves, Oracle, Priced, Round, Sequential, satisfaction_of
from evenhand.welfare.linear_program import bound

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
