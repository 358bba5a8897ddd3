"""Synthetic contexts and decisions for checks, as pure functions of fixed seeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.problem.problem import Problem


class Draw(NamedTuple):
    """Draws numbers in [0, 1) that depend only on the replica, the round and their purpose."""

    ids: Ints
    t: int

    def __call__(self, what: int, *shape: int) -> Floats:
        """Draw uniform numbers for a purpose, for every replica."""
        numbers = Luck(seed=what, replicas=self.ids).uniform(Stream.SAMPLE, np.array([self.t]), math.prod(shape))
        return numbers.reshape(len(self.ids), *shape)


def context_of(problem: Problem, draw: Draw, candidates: int, *, each: bool = False) -> Context:
    """Make a context whose candidates are random actions; each has its own groups, or all have the same.

    If an outcome has another range under an action, such as 0 to 0, the candidates are all actions in order.
    """
    which = (draw(11, candidates) * len(problem.actions)).astype(np.int64)
    if problem.free.any() or problem.span_by_action.shape[1] > 1:
        which = np.tile(np.arange(len(problem.actions)), (len(which), 1))
        candidates = which.shape[1]
    sizes = np.array([len(g.names) for g in problem.groups], np.int64)
    groups = np.cumsum(sizes) - sizes + (draw(12, candidates if each else 1, len(sizes)) * sizes).astype(np.int64)
    features = np.zeros((len(which), candidates, 1))
    return Context(features, problem.declared[which], groups, np.ones((1, candidates), bool))


def shares_of(problem: Problem, draw: Draw) -> Floats:
    """Return the shares as declared; random ones if the problem leaves them to be estimated."""
    believed = 0.1 + 0.8 * draw(13, len(problem.shares))
    return np.asarray(np.where(np.isnan(problem.shares), believed, problem.shares))


def decision_of(context: Context, shares: Floats, n_plays: int, counted: Floats) -> Decision:
    """Make a decision in which each replica plays the first candidates."""
    count = len(context.known)
    return Decision(
        id=np.full(2, -1),
        plays=np.tile(np.arange(n_plays), (count, 1)),
        propensities=np.ones((count, n_plays)),
        counted=counted,
        forced=np.zeros(count),
        restricted=np.zeros(count),
        time=np.zeros(count),
        features=context.features[:, :n_plays],
        known=np.ascontiguousarray(context.known[:, :n_plays]),
        groups=np.ascontiguousarray(context.groups[:, :n_plays]) if context.groups.shape[1] > 1 else context.groups,
        shares=shares,
        prices=np.zeros((count, 0, 1, 0)),
        row_prices=np.zeros((count, 0)),
        carried=np.zeros((count, 0)),
    )
