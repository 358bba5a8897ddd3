"""Contexts and decisions that checks make up, as a pure function of fixed seeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.problem.problem import Problem


class Draw(NamedTuple):
    """Numbers in [0, 1) that depend on the replica, the round and what they are for, and on nothing else."""

    ids: Ints
    t: int

    def __call__(self, what: int, *shape: int) -> Floats:
        """Uniform numbers for a purpose, of every replica."""
        numbers = Luck(seed=what, replicas=self.ids).uniform(Stream.SAMPLE, np.array([self.t]), math.prod(shape))
        return numbers.reshape(len(self.ids), *shape)


def context_of(problem: Problem, draw: Draw, candidates: int) -> Context:
    """A context of a problem, with some candidates of its actions."""
    which = (draw(11, candidates) * len(problem.actions)).astype(np.int64)
    sizes = np.array([len(g.names) for g in problem.groups], np.int64)
    groups = np.cumsum(sizes) - sizes + (draw(12, len(sizes)) * sizes).astype(np.int64)
    features = np.zeros((len(which), candidates, 1))
    return Context(features, problem.declared[which], groups, np.ones((1, candidates), bool))


def shares_of(problem: Problem, draw: Draw) -> Floats:
    """Shares as declared, or believed ones."""
    believed = 0.1 + 0.8 * draw(13, len(problem.shares))
    return np.asarray(np.where(np.isnan(problem.shares), believed, problem.shares))


def decision_of(context: Context, shares: Floats, plays: int, rounds: Floats) -> Decision:
    """A decision in which each replica plays the first candidates."""
    count, candidates = context.known.shape[:2]
    none = np.zeros((count, 0, 0))
    return Decision(
        plays=np.tile(np.arange(plays), (count, 1)),
        propensities=np.ones((count, plays)),
        rounds=rounds,
        steered=np.ones(count),
        features=context.features[:, :plays],
        known=np.ascontiguousarray(context.known[:, :plays]),
        groups=context.groups,
        shares=shares,
        prices=none,
        row_prices=(none,),
        mean=np.zeros((count, 1, candidates)),
        bonus=np.zeros((count, 1, candidates)),
        playable=np.ones((count, candidates), bool),
        lottery=np.tile((np.arange(candidates) < 1).astype(float), (count, 1)),
    )
