"""Offers to customers: sales are learned, and their prices known in every case; so is the wage of the minutes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments._cases import Cases, blocks, means
from evenhand.objectives import Objective
from evenhand.problem import Budget, Constraint, Groups, Outcome, Problem

OFFERS = ("none", "small", "large", "gift")
PRICE = np.array([0.0, 10.0, 40.0, -5.0])  # of a gift, each that is taken costs something
WAGE = np.array([0.0, 1.0, 2.0, 0.5])
CHANCE = np.array([[0.0, 0.0], [0.6, 0.2], [0.1, 0.4], [0.7, 0.2]])  # of a sale, by offer: constant and slope
TIME = np.array([[0.0, 0.0], [0.1, 0.3], [0.5, 0.4], [0.1, 0.1]])  # mean minutes
THETA = np.stack([CHANCE[1:].ravel(), TIME[1:].ravel()])
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
        luck = Luck(seed=seed, replicas=replicas)

        def case(step):
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 2 + 2 * len(OFFERS))
            known = np.tile(self.problem.declared, (len(u), 1, 1))
            if self.prices == "case":
                known *= 0.5 + u[:, 2:].reshape(len(u), len(OFFERS), 2)
            side = (u[:, 1] >= SIDES["left"]).astype(np.int64)
            return Context(blocks(u[:, :1].copy(), 3), known, side[:, None, None], np.ones((1, len(OFFERS)), bool))

        def outcomes(step, decision, mean):
            u = luck.uniform(Stream.OUTCOME, np.array([step]), 2 * self.n_plays).reshape(*decision.plays.shape, 2)
            most = self.prices if self.restated else 1.0
            minutes = np.minimum(2.0 * mean[..., -1:] * u[..., 1:], most)
            return np.concatenate([most * (most * u[..., :1] < mean[..., :-1]), minutes], 2)

        def mean(x, plays):
            y = means(x, THETA, plays)
            if self.apart:
                of = plays[:, :, None] == np.arange(1, len(OFFERS))
                return np.concatenate([y[..., :1] * of, y[..., 1:]], 2)
            return y * self.prices if self.restated else y

        return Cases(self.horizon, luck, case, mean, outcomes)
