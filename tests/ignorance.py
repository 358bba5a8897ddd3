"""A world of letters and calls whose outcomes may come late, and one of floors on several learned outcomes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.environments._arms import ArmsWorld
from evenhand.objectives import Linear
from evenhand.problem import Budget, Floor, Outcome, Problem

CENTS = np.array([0.0, 80.0, 300.0])
CHANCES = np.array([0.05, 0.15, 0.4])
LEANING = np.array([[0.5, -0.5], [3.0, -1.0], [-1.0, 3.0]])  # of the log-odds, where cases differ


@dataclass(frozen=True, kw_only=True)
class Letters:
    """None, a letter at 80 or a call at 300 cents, a budget of 50 per case and play, and answers after `delay` rounds.

    A delay is that of every play, or has one for each action. The first `at_once` cases answer at once. Cases differ,
    and answer as often whatever they are, unless they `differ`: then letters are for one kind of case and calls for
    another. Without a `rate` there is no budget.
    """

    horizon: int
    delay: int | tuple[int, int, int]
    at_once: int = 0
    differ: bool = False
    plays: int = 1
    rate: float | None = 50.0  # of the budget, in cents
    learned: bool = False  # costs
    objective: object = "answer"
    more: tuple = ()
    n_features: int = 3

    @cached_property
    def problem(self):
        actions = ("none", "letter", "call")
        cents = Outcome("cents", known=dict(zip(actions, CENTS.tolist(), strict=True)))
        if self.learned:
            cents = Outcome("cents", high=300.0, free=("none",))
        budget = () if self.rate is None else (Budget("cents", rate=self.rate * self.plays),)
        return Problem(
            actions=actions,
            outcomes=(Outcome("answer"), Outcome("sale"), cents),
            maximize=self.objective,
            subject_to=(*budget, *self.more),
            horizon=self.horizon,
            n_plays=self.plays,
        )

    def start(self, seed, replicas):
        return _Letters(self, Luck(seed=seed, replicas=replicas))


class _Letters:
    counts_idle_steps, unsaveable = True, "outcomes on their way"

    def __init__(self, letters, luck):
        self._letters, self._luck, self.steps, self._waiting = letters, luck, letters.horizon, {}

    def context(self, step):
        """The action and what is known of the case, as `PerAction` reads them."""
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), 2)
        x = np.empty((len(u), 3, 3))
        x[:, :, 0], x[:, :, 1:] = np.arange(3), u[:, None]
        groups = np.zeros((len(u), 1, 0), np.int64)
        return Context(x, self._letters.problem.declared[None], groups, np.ones((1, 3), bool))

    def expected(self, context, plays):
        played, p = (plays >= 0)[:, :, None], np.maximum(plays, 0)
        chances = CHANCES[p]
        if self._letters.differ:
            x = np.take_along_axis(context.features, p[:, :, None], 1)[:, :, 1:] - 0.5
            odds = chances / (1.0 - chances) * np.exp((LEANING[p] * x).sum(2))
            chances = odds / (1.0 + odds)
        means = [chances, chances / 2] + [CENTS[p]] * self._letters.learned
        return played * np.stack(means, 2)

    def respond(self, step, context, decision):
        y = self.expected(context, decision.plays)
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 2 * y.shape[1]).reshape(*y.shape[:2], 2)
        y[:, :, :2] = u < y[:, :, :2]
        late = np.broadcast_to(self._letters.delay if step >= self._letters.at_once else 0, 3)
        due = step + np.where(decision.plays >= 0, late[decision.plays], late.min())
        for now in np.unique(due).tolist():
            here = (due == now)[:, :, None]
            part = Arrival(step, decision, np.where(here, y, np.nan), pending=None if here.all() else due > now)
            self._waiting.setdefault(now, []).append(part)
        return decision, self._waiting.pop(step, [])


@dataclass(frozen=True, kw_only=True)
class Targets:
    """n actions at cost 1 and an idle one; each succeeds in an outcome of its own, declared free under all others."""

    horizon: int
    n: int = 6
    rate: float = 0.08
    chance: float = 0.6

    @property
    def n_features(self):
        return self.n

    @cached_property
    def problem(self):
        actions = ("idle", *(f"act {i}" for i in range(self.n)))
        hits = [Outcome(f"hit {i}", free=tuple(a for a in actions if a != f"act {i}")) for i in range(self.n)]
        return Problem(
            actions=actions,
            outcomes=(*hits, Outcome("cost", known=dict.fromkeys(actions[1:], 1.0))),
            maximize=Linear({"cost": -1.0}),
            subject_to=tuple(Floor(o.name, rate=self.rate) for o in hits),
            horizon=self.horizon,
        )

    def start(self, seed, replicas):
        means = self.chance * np.vstack([np.zeros(self.n), np.eye(self.n)])
        return ArmsWorld(self.problem, means, True, seed, replicas)
