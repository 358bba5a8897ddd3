"""Two oracles: one is taught in a first stage and answers at its end, the other one learns and answers from then on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole
from evenhand.models.base import ROUND, Lesson, Model, Worth, by_action


@dataclass
class TwoOraclesState:
    """The states of both oracles, and the number of rounds that taught them."""

    statistical: Any
    online: Any
    learned: Floats  # (R,) rounds in which something was seen


@named("S2", source="Han et al. 2022, Assumption 4.1: an estimate from the pulls of a first stage alone")
@dataclass(frozen=True, kw_only=True)
class TwoOracles:
    """A statistical oracle that learns from the first rounds only, beside an online oracle that learns from all.

    Equation: with n the rounds in which something was seen, an outcome teaches `statistical` while n < taught, and
    `online` always; `statistical` answers while n < answers, and `online` after that. Rounds are counted as their
    outcomes arrive. Where they are late, the first stage lasts until they are there.

    Args:
        statistical: a model without luck of its own. With `OnlineToBatch` it is the paper's conversion of an online
            oracle; on features with a block per arm, a linear one is a regression of its own for each arm.
        online: the model of the rest of the run.
        taught: the rounds that teach `statistical`, A T0 in the paper, at least 1.
        answers: the rounds in which it answers, (A + 1) T0 in the paper, at least `taught`.

    Raises:
        InvalidInput: models of different features or outcomes, luck in `statistical`, or numbers out of their range.

    >>> from evenhand.models import Ridge
    >>> model = TwoOracles(statistical=Ridge(n_features=1, ridge=1.0), online=Ridge(n_features=1), taught=1, answers=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for y in (1.0, 0.0):
    ...     model.update(state, one, y * one, one > 0, price)
    ...     print(round(model.value(state, one, price, luck).mean.item(), 3))
    0.5
    0.333
    """

    statistical: Model
    online: Model
    taught: int
    answers: int

    def __post_init__(self) -> None:
        if self.statistical.draws(1):
            raise InvalidInput("TwoOracles.statistical", "a model without luck of its own", self.statistical)
        here, there = ((m.n_features, m.n_outcomes) for m in (self.statistical, self.online))
        if here != there:
            expected = f"{there[0]} features and {there[1]} outcomes, as `online` has"
            raise InvalidInput("TwoOracles.statistical", expected, here)
        whole("TwoOracles.taught", self.taught, 1)
        whole("TwoOracles.answers", self.answers, self.taught)

    @property
    def n_features(self) -> int:
        return self.online.n_features

    @property
    def n_outcomes(self) -> int:
        return self.online.n_outcomes

    @property
    def by_action(self) -> int | None:
        return by_action(self.online)

    def draws(self, candidates: int) -> int:
        return self.online.draws(candidates)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> TwoOraclesState:
        first, then = (m.start(n_replicas, low, high, horizon) for m in (self.statistical, self.online))
        return TwoOraclesState(first, then, np.zeros(n_replicas))

    def value(self, state: TwoOraclesState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Ask the oracle of the present stage, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        early = state.learned < self.answers
        if not early.any():
            return self.online.value(state.online, x, w, u)
        first = self.statistical.value(state.statistical, x, w, u[:, :0])
        if early.all():
            return first
        then, here = self.online.value(state.online, x, w, u), early[:, None, None]
        return Worth(np.where(here, first.mean, then.mean), np.where(here, first.bonus, then.bonus), then.random)

    def update(
        self, state: TwoOraclesState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Teach the online oracle, and in the first rounds the statistical one, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        early = (state.learned < self.taught)[:, None, None]
        if early.any():
            told = np.ascontiguousarray(seen & early)
            self.statistical.update(state.statistical, x, np.where(told, y, 0.0), told, w, lesson)
        self.online.update(state.online, x, y, seen, w, lesson)
        state.learned += lesson.share * seen.any((1, 2))
