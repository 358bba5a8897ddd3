"""Visitors of three ages are shown one of several ads, or none: clicks per age must lie in a convex set."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments._cases import Cases, blocks, means
from evenhand.objectives import Objective
from evenhand.problem import Budget, Constraint, Groups, Outcome, Problem

AGES = ("young", "middle", "old")
SHARES = (0.5, 0.3, 0.2)
ADS = 5
PRICE = (0.2, 0.5, 0.9, 0.4, 0.6)
CLICKS = tuple(f"click age={age}" for age in AGES)
PER_AGE = tuple(f"{age} clicks" for age in AGES)


@dataclass(frozen=True, kw_only=True)
class Ads:
    """An ad is clicked with a chance that is linear in the visitor; the price is charged for showing it.

    With `apart` clicks of each age are outcomes of their own, and otherwise sums over the groups of one outcome.
    """

    horizon: int = 20_000
    rate: float = 0.3
    extra: tuple[Constraint, ...] = ()
    maximize: str | Objective = "click"
    apart: bool = False

    n_features = ADS * 5

    @cached_property
    def problem(self) -> Problem:
        actions = ("none", *(f"ad {a}" for a in range(ADS)))
        names = ("click", *PER_AGE) if self.apart else ("click",)
        price = dict(zip(actions[1:], PRICE, strict=True))
        return Problem(
            actions=actions,
            outcomes=(*(Outcome(n, free=("none",)) for n in names), Outcome("spend", known=price)),
            maximize=self.maximize,
            subject_to=(Budget("spend", rate=self.rate), *self.extra),
            groups=(Groups("age", dict(zip(AGES, SHARES, strict=True))),),
            horizon=self.horizon,
        )

    @cached_property
    def theta(self):
        """Chances of clicks per ad, of (1, z, young, old)."""
        rng = np.random.default_rng(7)
        base = rng.uniform(0.05, 0.2, (ADS, 1)) + 0.15 * np.array(PRICE)[:, None]
        return np.column_stack([base, rng.uniform(0.0, 0.3, (ADS, 2)), rng.uniform(0.0, 0.2, (ADS, 2))])

    def start(self, seed, replicas):
        luck = Luck(seed=seed, replicas=replicas)

        def case(step):
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 3)
            age = np.searchsorted(np.cumsum(SHARES)[:2], u[:, 2], side="right")
            x = blocks(np.column_stack([u[:, :2], age == 0, age == 2]), ADS)
            return Context(x, self.problem.declared[None], age[:, None, None], np.ones((1, ADS + 1), bool))

        def mean(x, plays):
            click = means(x, self.theta.reshape(1, -1), plays)
            if not self.apart:
                return click
            young, old = x[:, 1, 3], x[:, 1, 4]
            return np.concatenate([click, click * np.column_stack([young, 1.0 - young - old, old])[:, None]], 2)

        def outcomes(step, decision, mean):
            return (luck.uniform(Stream.OUTCOME, np.array([step]), 1)[:, None] < mean).astype(float)

        return Cases(self.horizon, luck, case, mean, outcomes)
