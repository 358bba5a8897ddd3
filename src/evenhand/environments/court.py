"""Court assistance: rides and vouchers shared among people of two groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, uniform_within
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints, cached_property
from evenhand.environments._cases import Cases, coins
from evenhand.numerics.newton import sigmoid
from evenhand.numerics.precision import dot
from evenhand.problem.constraints import Budget, Parity
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

TRUTH = np.array([-1.0, 1.0, 1.0, 2.0, 2.0])
NOTHING, VOUCHER, RIDE = 0, 1, 2
_CONTEXT, _OUTCOME = np.uint64(Stream.CONTEXT), np.uint64(Stream.OUTCOME)


@kernel
def _features(u: Floats) -> tuple[Floats, Ints]:
    x = np.zeros((len(u), 3, 5))
    groups = np.empty((len(u), 1, 1), np.int64)
    for r in range(len(u)):
        age, proximity, poverty = u[r, 0], u[r, 1], u[r, 2]
        group = 0 if u[r, 3] < 0.5 else 1
        groups[r, 0, 0] = group
        for a in range(3):
            x[r, a, 0] = age
        x[r, VOUCHER, 1] = proximity
        x[r, RIDE, 3] = poverty
        if group == 0:
            x[r, VOUCHER, 2] = proximity
            x[r, RIDE, 4] = poverty
    return x, groups


@kernel
def _appear(x: Floats, plays: Ints, truth: Floats) -> Floats:
    """Compute the probabilities of appearing under the plays, `(A,5),(P),(5)->(P,1)`; 0 for empty places."""
    mean = np.zeros((*plays.shape, 1))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                mean[r, p, 0] = sigmoid(dot(x[r, plays[r, p]], truth))
    return mean


class _CourtView(NamedTuple):
    seed: Any
    replicas: Ints
    known: Floats
    offered: Bools
    truth: Floats
    every_play: Bools  # shown

    @kernel
    def context(self, step: int) -> tuple[Context, None]:
        x, groups = _features(uniform_within(self.seed, _CONTEXT, self.replicas, np.full(1, step), 4))
        return Context(x, self.known, groups, self.offered, None), None

    @kernel
    def respond(self, step: int, c: Context, hidden: None, d: Decision) -> tuple[Floats, Bools, Floats]:
        mean = _appear(c.features, d.plays, self.truth)
        u = uniform_within(self.seed, _OUTCOME, self.replicas, np.full(1, step), 1)
        return coins(mean, u), self.every_play, mean


@named("K8", source="Chzhen, Giraud, Li & Stoltz 2023, Appendix G.1, after Chohlas-Wood et al. 2021")
@dataclass(frozen=True, kw_only=True)
class Court:
    """Gives people summoned to a court nothing, a voucher or a ride; the two groups respond differently.

    Equation: P(appears) = sigmoid(phi.(-1, 1, 1, 2, 2)) with phi = (age, proximity 1{voucher},
    proximity 1{voucher, group 0}, poverty 1{ride}, poverty 1{ride, group 0}); all three uniform on [0, 1].
    Deviation: the paper prints the sigmoid as 1/(1 + e^u), a typo that its own numbers exclude.

    Args:
        tolerance: allowed difference of rides and of vouchers per round between groups (the paper's tau).
        horizon: T, the number of people.
        ride, voucher: budgets per round.

    >>> Court(tolerance=0.025).problem.actions
    ('nothing', 'voucher', 'ride')
    """

    tolerance: float = 1e-7
    horizon: int = 10_000
    ride: float = 0.05
    voucher: float = 0.20

    @cached_property
    def problem(self) -> Problem:
        return Problem(
            actions=("nothing", "voucher", "ride"),
            outcomes=(
                Outcome("appears"),
                Outcome("ride", known={"ride": 1}),
                Outcome("voucher", known={"voucher": 1}),
            ),
            maximize="appears",
            subject_to=(
                Budget("ride", rate=self.ride),
                Budget("voucher", rate=self.voucher),
                Parity("ride", by="group", tolerance=self.tolerance),
                Parity("voucher", by="group", tolerance=self.tolerance),
            ),
            groups=(Groups("group", {"0": 0.5, "1": 0.5}),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return 5

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, known, offered = Luck(seed=seed, replicas=replicas), self.problem.declared[None], np.ones((1, 3), bool)

        def case(step: int) -> Context:
            x, groups = _features(luck.uniform(Stream.CONTEXT, np.array([step]), 4))
            return Context(x, known, groups, offered)

        every_play = np.zeros((0, 0), bool)
        view = _CourtView(np.uint64(seed), replicas, np.ascontiguousarray(known), offered, TRUTH, every_play)
        return Cases(self.horizon, luck, case, lambda x, plays: _appear(x, plays, TRUTH), view=view)
