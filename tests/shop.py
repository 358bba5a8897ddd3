"""Offers to customers: sales are learned, and their prices known in every case; so is the wage of the minutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.environments import Arrival
from evenhand.objectives import Objective
from evenhand.problem import Budget, Constraint, Groups, Outcome, Problem

OFFERS = ("none", "small", "large", "gift")
PRICE = np.array([0.0, 10.0, 40.0, -5.0])  # of a gift, each that is taken costs something
WAGE = np.array([0.0, 1.0, 2.0, 0.5])
CHANCE = np.array([[0.0, 0.0], [0.6, 0.2], [0.1, 0.4], [0.7, 0.2]])  # of a sale, by offer: constant and slope
TIME = np.array([[0.0, 0.0], [0.1, 0.3], [0.5, 0.4], [0.1, 0.1]])  # mean minutes
SIDES = {"left": 0.25, "right": 0.75}


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A customer buys with a chance that is linear in one feature, and takes random minutes.

    Args:
        prices: "case" where prices and wages differ from case to case, "offer" where each is as declared, or the same
            number for all.
        restated: outcomes are the products instead, in units of their own; for prices that are one number.
        apart: there is a sale of every offer, always 0 under others, in place of one sale with a price.
        free: whether it is declared that doing nothing brings and costs nothing.
    """

    horizon: int = 300
    n_plays: int = 1
    prices: str | float = "case"
    restated: bool = False
    apart: bool = False
    free: bool = True
    maximize: str | Objective = "sale"
    subject_to: tuple[Constraint, ...] = (Budget("minutes", rate=0.2),)

    n_features = 6

    @cached_property
    def problem(self) -> Problem:
        f, free = self.prices if isinstance(self.prices, float) else None, ("none",) if self.free else ()
        price, wage = (dict(zip(OFFERS[1:], z[1:].tolist(), strict=True)) if f is None else f for z in (PRICE, WAGE))
        if self.restated:
            learned = Outcome("sale", high=f, free=free), Outcome("minutes", high=f, free=free)
        else:
            learned = Outcome("sale", free=free, times="price"), Outcome("minutes", free=free, times="wage")
        if self.apart:
            others = {a: tuple(b for b in OFFERS if b != a) for a in OFFERS[1:]}
            learned = *(Outcome(f"sale of {a}", free=others[a]) for a in others), learned[1]
        return Problem(
            actions=OFFERS,
            outcomes=(*learned, Outcome("price", known=price), Outcome("wage", known=wage)),
            maximize=self.maximize,
            subject_to=self.subject_to,
            groups=(Groups("side", SIDES),),
            horizon=self.horizon,
            n_plays=self.n_plays,
        )

    def start(self, seed, replicas):
        return _ShopWorld(self, Luck(seed=seed, replicas=replicas))


class _ShopWorld:
    counts_idle_steps = True

    def __init__(self, shop: Shop, luck: Luck) -> None:
        self._shop, self._luck, self.steps = shop, luck, shop.horizon

    def context(self, step: int) -> Context:
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), 2 + 2 * len(OFFERS))
        x = np.zeros((len(u), len(OFFERS), self._shop.n_features))
        for a in range(1, len(OFFERS)):
            x[:, a, 2 * a - 2], x[:, a, 2 * a - 1] = 1.0, u[:, 0]
        known = np.tile(self._shop.problem.declared, (len(u), 1, 1))
        if self._shop.prices == "case":
            known *= 0.5 + u[:, 2:].reshape(len(u), len(OFFERS), 2)
        side = (u[:, 1] >= SIDES["left"]).astype(np.int64)
        return Context(x, known, side[:, None, None], np.ones((1, len(OFFERS)), bool))

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        plays = decision.plays
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 2 * plays.shape[1]).reshape(*plays.shape, 2)
        mean = self._means(context, plays)
        y = np.stack([u[..., 0] < mean[..., 0], 2.0 * mean[..., 1] * u[..., 1]], 2)
        return decision, [Arrival(step, decision, self._stated(np.minimum(y, 1.0), plays))]

    def expected(self, context: Context, plays):
        return self._stated(self._means(context, plays), plays)

    def _means(self, context, plays):
        """Chances of sales and mean minutes, 0 where nothing is played."""
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        theta = np.stack([CHANCE[1:].ravel(), TIME[1:].ravel()], 1)
        return np.where(plays[:, :, None] >= 0, x @ theta, 0.0)

    def _stated(self, y, plays):
        """Sales and minutes as the problem states them, `(P,2)->(P,M)`."""
        if self._shop.apart:
            of = plays[:, :, None] == np.arange(1, len(OFFERS))
            return np.concatenate([y[..., :1] * of, y[..., 1:]], 2)
        return y * self._shop.prices if self._shop.restated else y
