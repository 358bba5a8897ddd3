"""Sales and their cost, both learned: three offers, of which the best for a customer is not the cheapest."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.problem import Groups, Outcome, Problem
from evenhand.problem.constraints import Constraint

# By offer and outcome (sale, dollars): the mean for a customer, of a constant and two traits in [0, 1].
MEANS = np.array(
    [
        [[0.20, 0.60, 0.10], [0.30, 0.15, 0.00]],
        [[0.25, 0.10, 0.55], [0.05, 0.10, 0.00]],
        [[0.40, 0.05, 0.05], [0.15, 0.05, 0.05]],
    ]
)
AREA = Groups("area", {"south": 0.5, "north": 0.5})


@dataclass(frozen=True, kw_only=True)
class Sales:
    """A customer buys or does not; an offer costs a random amount. In the north the first trait is large."""

    subject_to: tuple[Constraint, ...]
    horizon: int = 3000

    n_features = 9

    @cached_property
    def problem(self):
        return Problem(
            actions=("nothing", "offer 1", "offer 2", "offer 3"),
            outcomes=(Outcome("sale", free=("nothing",)), Outcome("dollars", free=("nothing",))),
            maximize="sale",
            subject_to=self.subject_to,
            groups=(AREA,),
            horizon=self.horizon,
        )

    def start(self, seed, replicas):
        return _SalesWorld(self, Luck(seed=seed, replicas=replicas))


class _SalesWorld:
    counts_idle_steps = True

    def __init__(self, sales, luck):
        self._sales, self._luck, self.steps = sales, luck, sales.horizon

    def context(self, step):
        z = self._luck.uniform(Stream.CONTEXT, np.array([step]), 2)
        x = np.zeros((len(z), 4, 3, 3))
        x[:, np.arange(1, 4), np.arange(3)] = np.column_stack([np.ones(len(z)), z])[:, None]
        area = (z[:, 0] > 0.5).astype(np.int64)[:, None, None]
        return Context(x.reshape(len(z), 4, 9), self._sales.problem.declared[None], area, np.ones((1, 4), bool))

    def respond(self, step, context, decision):
        mean = self.expected(context, decision.plays)
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 2)[:, None]
        y = np.stack([u[..., 0] < mean[..., 0], 2.0 * mean[..., 1] * u[..., 1]], 2)
        return decision, [Arrival(step, decision, y)]

    def expected(self, context, plays):
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        mean = np.einsum("rpkn,kmn->rpm", x.reshape(*plays.shape, 3, 3), MEANS)
        return np.where(plays[:, :, None] >= 0, mean, 0.0)
