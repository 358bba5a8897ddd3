"""Sales and their cost, both learned: three offers, of which the best for a customer is not the cheapest."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments._cases import Cases, blocks, means
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
THETA = MEANS.swapaxes(0, 1).reshape(2, 9).copy()
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
        luck = Luck(seed=seed, replicas=replicas)

        def case(step):
            z = luck.uniform(Stream.CONTEXT, np.array([step]), 2)
            area = (z[:, 0] > 0.5).astype(np.int64)[:, None, None]
            return Context(blocks(z, 3), self.problem.declared[None], area, np.ones((1, 4), bool))

        def outcomes(step, decision, mean):
            return bought(luck, step, mean)

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, THETA, plays), outcomes)


def bought(luck, step, mean):
    """A coin for a sale, and a cost that is uniform up to twice its mean, `(P,2)->(P,2)`."""
    u = luck.uniform(Stream.OUTCOME, np.array([step]), 2)[:, None]
    return np.stack([u[..., 0] < mean[..., 0], 2.0 * mean[..., 1] * u[..., 1]], 2)
