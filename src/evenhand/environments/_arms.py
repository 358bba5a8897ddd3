"""Worlds without contexts: outcomes are coins with a fixed probability per arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, uniform
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments._cases import no_groups
from evenhand.environments.base import Arrival
from evenhand.problem.problem import Problem


@kernel
def _means(mean: Floats, plays: Ints) -> Floats:
    """Look up the means of plays, 0 for empty places, `(A,M),(P)->(P,M)`."""
    out = np.zeros((*plays.shape, mean.shape[1]))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                out[r, p] = mean[plays[r, p]]
    return out


@kernel
def _toss(mean: Floats, plays: Ints, u: Floats) -> Floats:
    """Toss a coin per outcome with its mean, `(A,M),(P),(1|M)->(P,M)`; a single number of luck serves all outcomes."""
    y = np.zeros((*plays.shape, mean.shape[1]))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                for m in range(mean.shape[1]):
                    y[r, p, m] = 1.0 if u[r, m if u.shape[1] > 1 else 0] < mean[plays[r, p], m] else 0.0
    return y


class ArmsWorld:
    """A world with the same candidates in every round; the first does nothing, and the others have one-hot features.

    Args:
        problem: the problem; its actions are the candidates.
        mean: the probabilities of the learned outcomes under every action, `(A,M)`; those of the first action are 0.
        one_coin: whether one toss decides all outcomes of a round, which makes them comonotone.
        seed, replicas: the seed and the replicas of the tosses.
    """

    counts_idle_steps = True

    def __init__(self, problem: Problem, mean: Floats, one_coin: bool, seed: int, replicas: Ints) -> None:
        arms = len(mean) - 1
        self._luck, self._mean, self._size = Luck(seed=seed, replicas=replicas), mean, 1 if one_coin else mean.shape[1]
        x, offered = one_hot(arms, len(replicas)), np.ones((1, arms + 1), bool)
        self._context = Context(x, problem.declared[None], no_groups(replicas), offered)
        self.steps = problem.horizon

    def context(self, step: int) -> Context:
        return self._context

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), self._size)
        return decision, [Arrival(step, decision, _toss(self._mean, decision.plays, u))]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return _means(self._mean, plays)


def one_hot(arms: int, replicas: int) -> Floats:
    """Encode arms as one-hot features after a null action without features, one array for all replicas, `->(A+1,A)`."""
    x = np.concatenate([np.zeros((1, arms)), np.eye(arms)])
    return as_strided(x, (replicas, *x.shape), (0, *x.strides))


def instance_luck(instance: int, part: int, size: int) -> Floats:
    """Draw the uniform numbers that define an instance, the same for all seeds and replicas, `->(size)`."""
    one: Floats = uniform(instance, Stream.TRUTH, np.array([part]), np.zeros(1, np.int64), size)[0]
    return one


def draw_links(luck: Floats, chance: float) -> Bools:
    """Draw a bipartite graph: each pair is linked with a probability, and each node has at least one link.

    `(k,m)->(k,m)`; a node without a link gets the pair of the smallest number.
    """
    links = luck < chance
    links[np.arange(len(luck)), luck.argmin(1)] = True
    links[luck.argmin(0), np.arange(luck.shape[1])] = True
    return links
