"""An allocation world for tests: in every round N users get one of A arms each; worth is additive."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from evenhand.choices.base import Pick
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.problem import Groups, Outcome, Problem

LEVELS = np.array([[0.25, 0.10], [0.10, 0.55], [0.45, 0.15], [0.30, 0.35]])  # constant and slope, by arm
COSTS = np.array([0.0, 0.5, 1.0, 0.25])
HANDICAP = 0.6  # users of group 1 match less


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """Pairs (user, arm) in the order of users; a pair matches with a chance that is linear in its features."""

    users: int = 6
    horizon: int = 2000
    subject_to: tuple = ()

    @cached_property
    def problem(self):
        return Problem(
            actions=tuple(f"user {i} arm {a}" for i in range(self.users) for a in range(len(COSTS))),
            outcomes=(Outcome("match"), Outcome("hours", known=self._hours)),
            maximize="match",
            subject_to=self.subject_to,
            groups=(Groups("side", {"left": 0.5, "right": 0.5}),),
            horizon=self.horizon,
            n_plays=self.users,
        )

    @property
    def _hours(self):
        return {f"user {i} arm {a}": cost for i in range(self.users) for a, cost in enumerate(COSTS.tolist())}

    @property
    def n_features(self):
        return 2 * LEVELS.size

    def start(self, seed, replicas):
        return _World(self, Luck(seed=seed, replicas=replicas))

    def optimum(self, hours, tolerance, contexts=1500):
        """The best static policy on sampled rounds, by linear programming over the chances of every pair."""
        world = self.start(10**6, np.array([0]))
        rounds = [world.context(s) for s in range(contexts)]
        chance = np.stack([world.chances(c.features)[0] for c in rounds])  # (S, N A)
        side = np.stack([c.groups[0, :, 0] for c in rounds])
        cost = np.tile(np.tile(COSTS, self.users), (contexts, 1))
        count = chance.size
        users = np.arange(count) // len(COSTS)
        one = csr_array((np.ones(count), (users, np.arange(count))))
        rows, bound = [cost.ravel() / contexts], [hours]
        for g in (0, 1):
            gap = chance * ((side == g) / 0.5 - 1.0) / contexts
            rows += [gap.ravel(), -gap.ravel()]
            bound += [tolerance, tolerance]
        found = linprog(
            -chance.ravel() / contexts, csr_array(np.array(rows)), bound, one, np.ones(one.shape[0]), bounds=(0, 1)
        )
        assert found.status == 0
        return -found.fun


class _World:
    counts_idle_steps = True

    def __init__(self, allocation, luck):
        self._n, self._luck, self.steps = allocation.users, luck, allocation.horizon
        self._known = np.tile(COSTS, self._n)[None, :, None]
        self._offered = np.ones((1, self._n * len(COSTS)), bool)

    def context(self, step):
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), 2 * self._n)
        side = (u[:, : self._n] < 0.5).astype(np.int64)
        need = u[:, self._n :]
        block = np.stack([np.ones_like(need), need], 2)  # (R, N, 2)
        x = np.zeros((len(u), self._n, len(COSTS), 2, *LEVELS.shape))  # pair, side, arm, (1, need)
        for a in range(len(COSTS)):
            for g in (0, 1):
                x[:, :, a, g, a] = block * (side == g)[:, :, None]
        groups = np.repeat(side, len(COSTS), 1)[:, :, None]
        return Context(x.reshape(len(u), self._n * len(COSTS), -1), self._known, groups, self._offered)

    def chances(self, features):
        theta = np.stack([LEVELS, HANDICAP * LEVELS]).ravel()
        return features @ theta

    def respond(self, step, context, decision):
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), self._n)
        y = (u < self.expected(context, decision.plays)[:, :, 0]).astype(float)
        return decision, [Arrival(step, decision, y[:, :, None])]

    def expected(self, context, plays):
        chance = np.take_along_axis(self.chances(context.features), np.maximum(plays, 0), 1)
        return np.where(plays >= 0, chance, 0.0)[:, :, None]


@dataclass(frozen=True)
class OneEach:
    """Each of N users, in their order, gets the arm that is worth most among those that still fit."""

    n_plays: int
    arms: int
    reads_bonus: ClassVar[bool] = True

    def draws(self, candidates):
        return 0

    def start(self, n_replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        value, rows = (worth.mean + worth.bonus).sum(1), np.arange(len(offer.left))
        plays, left, made = np.full((len(rows), self.n_plays), -1), offer.left.copy(), np.zeros(len(rows), int)
        worst = np.broadcast_to(offer.worst, (len(rows), *offer.worst.shape[1:]))
        for i in range(self.n_plays):
            pairs = slice(i * self.arms, (i + 1) * self.arms)
            fits = offer.playable[:, pairs] & (worst[:, pairs] <= left[:, None]).all(2)
            best = i * self.arms + np.where(fits, value[:, pairs], -np.inf).argmax(1)
            some = rows[fits.any(1)]
            plays[some, made[some]] = best[some]
            left[some] -= worst[some, best[some]]
            made[some] += 1
        lottery = np.zeros(value.shape)
        return Pick(plays, np.where(plays >= 0, 1.0, 0.0), lottery, np.zeros(len(rows)))
