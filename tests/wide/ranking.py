"""A ranking world for tests: items of several providers, shown to users of a few types, exposed by position."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.problem import Groups, Outcome, Problem

TYPES, FACTORS = 3, 3


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Users of a type u like item i with probability u.v_i; place p is looked at with probability 1 / log2(1 + p)."""

    items: int = 20
    slots: int = 5
    labels: int = 4
    horizon: int = 4000
    subject_to: tuple = ()
    paid: float = 1.0  # fee of every third item, per impression

    @cached_property
    def values(self):
        """(TYPES, items) in [0.05, 0.85]."""
        return self._users @ self._items.T

    @cached_property
    def _users(self):
        return np.eye(TYPES) * 0.7 + 0.15

    @cached_property
    def _items(self):
        rng = np.random.default_rng(3)
        popular = np.sort(rng.random(self.items))[::-1]  # providers come in order: the first ones are the popular ones
        return np.clip(rng.dirichlet(np.ones(FACTORS), self.items) * (0.15 + 0.85 * popular)[:, None], 0.0, 1.0)

    @cached_property
    def looked(self):
        return 1.0 / np.log2(1.0 + np.arange(1, self.slots + 1))

    @cached_property
    def fees(self):
        return np.where(np.arange(self.items) % 3 == 0, self.paid, 0.0)

    @cached_property
    def problem(self):
        items = tuple(f"item {i}" for i in range(self.items))
        label = {name: f"label {i * self.labels // self.items}" for i, name in enumerate(items)}
        return Problem(
            actions=items,
            outcomes=(
                Outcome("click"),
                Outcome("exposure", known=1.0, sure=False),
                Outcome("fee", known=dict(zip(items, self.fees, strict=True)), sure=False),
            ),
            maximize="click",
            subject_to=self.subject_to,
            groups=(
                Groups("item", items, of={i: i for i in items}),
                Groups("label", tuple(dict.fromkeys(label.values())), of=label),
            ),
            horizon=self.horizon,
            n_plays=self.slots,
        )

    @property
    def n_features(self):
        return TYPES * FACTORS

    @cached_property
    def features(self):
        """(TYPES, items, n): what is linear in them is bilinear in users and items."""
        return np.einsum("tu,if->tiuf", np.eye(TYPES), self._items).reshape(TYPES, self.items, -1)

    def start(self, seed, replicas):
        return _World(self, Luck(seed=seed, replicas=replicas))

    def optimum(self, floor=None, fee=None, parity=None):
        """The best static policy by linear programming over the chances of item i at place p for users of type t."""
        t, m, k = TYPES, self.items, self.slots
        weight = np.broadcast_to(self.looked, (t, m, k)) / t
        gain = (weight * self.values[:, :, None]).ravel()
        index = np.arange(t * m * k).reshape(t, m, k)
        one_item = np.zeros((t * k, t * m * k))
        for i, (u, p) in enumerate(np.ndindex(t, k)):
            one_item[i, index[u, :, p]] = 1.0
        rows, bound = [], []
        for u, i in np.ndindex(t, m):
            row = np.zeros(t * m * k)
            row[index[u, i]] = 1.0
            rows.append(row)
            bound.append(1.0)
        of = np.array([i * self.labels // m for i in range(m)])
        for g in range(self.labels):
            member, share = (of == g)[None, :, None], (of == g).mean()
            if floor is not None:
                rows.append(-(weight * member / share).ravel())
                bound.append(-floor)
            if parity is not None:
                gap = gain.reshape(t, m, k) * (member / share - 1.0)
                rows += [gap.ravel(), -gap.ravel()]
                bound += [parity, parity]
        if fee is not None:
            rows.append((weight * self.fees[None, :, None]).ravel())
            bound.append(fee)
        found = linprog(-gain, np.array(rows), bound, one_item, np.ones(t * k), bounds=(0, 1))
        assert found.status == 0
        return -found.fun


class _World:
    counts_idle_steps = True

    def __init__(self, ranking, luck):
        self._r, self._luck, self.steps = ranking, luck, ranking.horizon
        problem, count = ranking.problem, len(luck.replicas)
        self._known, self._offered = problem.declared[None], np.ones((1, ranking.items), bool)
        self._groups = problem.groups_of(np.zeros((count, 0), np.int64))

    def _type(self, step):
        return (self._luck.uniform(Stream.CONTEXT, np.array([step]), 1)[:, 0] * TYPES).astype(np.int64)

    def context(self, step):
        x = self._r.features[self._type(step)]
        return Context(x, self._known, self._groups, self._offered)

    def respond(self, step, context, decision):
        k = self._r.slots
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 2 * k)
        exposed = (u[:, :k] < self._r.looked) & (decision.plays >= 0)
        liked = self._r.values[self._type(step)[:, None], np.maximum(decision.plays, 0)]
        y = (exposed & (u[:, k:] < liked)).astype(float)[:, :, None]
        return decision, [Arrival(step, decision, y, exposed)]

    def expected(self, context, plays):
        user = context.features.reshape(len(plays), -1, TYPES, FACTORS).any((1, 3)).argmax(1)
        liked = self._r.values[user[:, None], np.maximum(plays, 0)] * self._r.looked
        return np.where(plays >= 0, liked, 0.0)[:, :, None]
