"""Visitors of three ages are shown one of several ads, or none: clicks per age must lie in a convex set."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.environments import Arrival
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
        return _AdsWorld(self, Luck(seed=seed, replicas=replicas))


class _AdsWorld:
    counts_idle_steps = True

    def __init__(self, ads: Ads, luck: Luck) -> None:
        self._ads, self._luck, self.steps = ads, luck, ads.horizon

    def context(self, step: int) -> Context:
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), 3)
        age = np.searchsorted(np.cumsum(SHARES)[:2], u[:, 2], side="right")
        x = np.column_stack([np.ones(len(u)), u[:, :2], age == 0, age == 2])
        features = np.zeros((len(u), ADS + 1, 5 * ADS))
        for a in range(ADS):
            features[:, a + 1, 5 * a : 5 * a + 5] = x
        return Context(features, self._ads.problem.declared[None], age[:, None, None], np.ones((1, ADS + 1), bool))

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 1)[:, None]
        click = (u < self._chance(context, decision.plays)).astype(float)
        return decision, [Arrival(step, decision, self._apart(context, click))]

    def expected(self, context: Context, plays):
        return self._apart(context, self._chance(context, plays))

    def _chance(self, context, plays):
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        return (x @ self._ads.theta.ravel())[:, :, None]

    def _apart(self, context, click):
        if not self._ads.apart:
            return click
        return np.concatenate([click, click * (context.groups[:, :1] == np.arange(3))], 2)
