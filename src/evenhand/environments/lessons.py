"""Lessons: a concave objective of four outcomes, two budgets and a parity, with contexts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.environments._cases import Cases, blocks, means
from evenhand.objectives import GeneralizedGini, Objective
from evenhand.problem.constraints import Budget, Parity
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

SUBJECTS = ("reading", "writing", "maths", "music")
ACTIONS = ("tutor", "group", "club", "camp")
# constant and slopes in two features, for the chance of progress in each subject under each action
SLOPES: Floats = np.array(
    [
        [[0.37, 0.37, 0.27], [0.08, 0.01, 0.09], [0.11, 0.01, 0.01], [0.27, 0.17, 0.05]],
        [[0.12, 0.26, 0.20], [0.38, 0.26, 0.26], [0.18, 0.02, 0.13], [0.07, 0.23, 0.01]],
        [[0.18, 0.23, 0.05], [0.24, 0.23, 0.00], [0.34, 0.15, 0.27], [0.12, 0.05, 0.07]],
        [[0.21, 0.08, 0.03], [0.19, 0.12, 0.18], [0.06, 0.08, 0.18], [0.29, 0.29, 0.21]],
    ]
)
HOURS = {"tutor": 1.0, "group": 2.0, "club": 1.0, "camp": 3.0}
MONEY = {"tutor": 2.0, "group": 1.0, "club": 0.5, "camp": 1.0}
NEAR = 0.3  # share of pupils who live near


@named("X2", source="evenhand's own instance: a concave goal, two budgets and a parity, with contexts")
@dataclass(frozen=True, kw_only=True)
class Lessons:
    """Assigns at most one lesson to each pupil, for progress in four subjects; hours and money are limited.

    Progress in a subject is 0 or 1; its probability is linear in two features of the pupil. Hours and money are known.
    Both budgets and the parity of hours between pupils who live near and far bind.

    Args:
        horizon: T; budgets are 0.8 T hours and 0.6 T of money.
        objective: of the subjects' averages; by default the generalised Gini with weights 1, 1/2, 1/4, 1/8.
        constrained: False drops the budgets and the parity, to show what they cost.
        parity: False drops only the parity, for policies that ignore groups.

    >>> Lessons(horizon=1000).problem.spending[0].limit(1000)
    0.8
    """

    horizon: int = 20_000
    objective: Objective = field(default_factory=lambda: GeneralizedGini(SUBJECTS))
    constrained: bool = True
    parity: bool = True

    @cached_property
    def problem(self) -> Problem:
        hours, money = Outcome("hours", known=HOURS), Outcome("money", known=MONEY)
        budgets = (Budget("hours", rate=0.8), Budget("money", rate=0.6))
        parities = (Parity("hours", by="home", tolerance=0.02),) if self.parity else ()
        return Problem(
            actions=("nothing", *ACTIONS),
            outcomes=(*(Outcome(s, free=("nothing",)) for s in SUBJECTS), hours, money),
            maximize=self.objective,
            subject_to=(*budgets, *parities) if self.constrained else (),
            groups=(Groups("home", {"near": NEAR, "far": 1.0 - NEAR}),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return int(SLOPES[:, 0].size)

    def start(self, seed: int, replicas: Ints) -> Cases:
        problem, luck = self.problem, Luck(seed=seed, replicas=replicas)
        theta = np.swapaxes(SLOPES, 0, 1).reshape(len(SUBJECTS), -1).copy()
        known, offered = problem.declared[None], np.ones((1, len(problem.actions)), bool)

        def case(step: int) -> Context:
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 3)
            groups = (u[:, :1] >= NEAR).astype(np.int64)
            z = np.stack([0.5 * (groups[:, 0] + u[:, 1]), u[:, 2]], 1)  # the first is larger for those who live far
            return Context(blocks(z, len(ACTIONS)), known, groups[:, None], offered)

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays))
