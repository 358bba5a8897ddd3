"""A ranking world that costs next to nothing: users u and items v, clicks with chance u.v, exposure by rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival
from evenhand.models import Bilinear, SelfNormalised
from evenhand.objectives import GeneralizedGini, Linear, Moreau, WeightedSum
from evenhand.policy.policy import Policy
from evenhand.problem import Groups, Outcome, Problem
from evenhand.recipes import fw_linucb

SLOTS, USERS = 10, 50


@kernel
def features(users: Floats, items: Floats, luck: Floats) -> Floats:
    r, s = users.shape[1], items.shape[1]
    x = np.empty((len(luck), len(items), r + s))
    for b in range(len(luck)):
        user = users[int(luck[b, 0] * len(users))]
        for i in range(len(items)):
            row = x[b, i]
            for j in range(r):
                row[j] = user[j]
            for j in range(s):
                row[r + j] = items[i, j]
    return x


@kernel
def _likes(x: Floats, plays: Ints, r: int) -> Floats:
    """u.v of every play, `(A,r+s),(P)->(P,1)`."""
    out = np.zeros((*plays.shape, 1))
    for b in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[b, p] >= 0:
                for j in range(r):
                    out[b, p, 0] += x[b, plays[b, p], j] * x[b, plays[b, p], r + j]
    return out


@kernel
def answers(x: Floats, plays: Ints, r: int, looks: Floats, luck: Floats) -> tuple[Floats, Bools]:
    """Clicks if looked at, and what is looked at, `(A,r+s),(P),(P),(2P)->(P,1),(P)`."""
    y, exposed = _likes(x, plays, r), np.empty(plays.shape, np.bool_)
    for b in range(len(plays)):
        for p in range(plays.shape[1]):
            exposed[b, p] = plays[b, p] >= 0 and luck[b, 2 * p] < looks[p]
            y[b, p, 0] = 1.0 if luck[b, 2 * p + 1] < y[b, p, 0] else 0.0
    return y, exposed


@kernel
def true_means(x: Floats, plays: Ints, r: int, looks: Floats) -> Floats:
    y = _likes(x, plays, r)
    for b in range(len(plays)):
        for p in range(plays.shape[1]):
            y[b, p, 0] *= looks[p]
    return y


@dataclass(frozen=True, kw_only=True)
class Songs:
    """50 users and `n_items` items of `factors` factors; rank p is looked at with chance 1 / log2(1 + p)."""

    n_items: int = 50
    factors: int = 5
    horizon: int = 10_000

    @cached_property
    def blocks(self) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(0)
        users = rng.gamma(0.3, size=(USERS, self.factors))
        items = rng.gamma(0.3, size=(self.n_items, self.factors))
        scale = np.sqrt((users @ items.T).max())
        return users / scale, items / scale

    @cached_property
    def problem(self) -> Problem:
        items = tuple(f"item {i}" for i in range(self.n_items))
        exposures = tuple(f"exposure item={i}" for i in items)
        spread = GeneralizedGini.difference(exposures)
        return Problem(
            actions=items,
            outcomes=(Outcome("click"), Outcome("exposure", known=1.0, sure=False)),
            maximize=WeightedSum(((1.0, Linear({"click": 1.0})), (1.0, spread))),
            groups=(Groups("item", items, of={i: i for i in items}),),
            horizon=self.horizon,
            n_plays=SLOTS,
        )

    @property
    def n_features(self) -> int:
        return 2 * self.factors

    @property
    def width(self) -> SelfNormalised:
        return SelfNormalised(delta=0.1 / 3)

    @property
    def policy(self) -> Policy:
        model = Bilinear(who=self.factors, what=self.factors, ridge=0.1, width=self.width)
        return fw_linucb(self.problem, model, optimism="net", smoothing=Moreau(1.0))

    def start(self, seed: int, replicas: Ints) -> SongWorld:
        return SongWorld(self, Luck(seed=seed, replicas=replicas))


class SongWorld:
    """One stream of listeners per replica."""

    counts_idle_steps = True

    def __init__(self, songs: Songs, luck: Luck) -> None:
        self._luck, self.steps, self._r = luck, songs.horizon, songs.factors
        self._users, self._items = songs.blocks
        self._known, self._offered = songs.problem.declared[None], np.ones((1, songs.n_items), bool)
        self._groups = songs.problem.groups_of(np.zeros((len(luck.replicas), 0), np.int64))
        self.looks = 1.0 / np.log2(2.0 + np.arange(SLOTS))

    def context(self, step: int) -> Context:
        x = features(self._users, self._items, self._luck.uniform(Stream.CONTEXT, np.array([step]), 1))
        return Context(x, self._known, self._groups, self._offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, list[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 2 * SLOTS)
        y, exposed = answers(context.features, decision.plays, self._r, self.looks, u)
        return decision, [Arrival(step, decision, y, exposed)]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return true_means(context.features, plays, self._r, self.looks)
