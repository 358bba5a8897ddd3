"""Gradient ascent on the chances of the candidates, for an objective of the lottery's expected outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import draw, go_on
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import counts, positive
from evenhand.objectives.base import Objective


@dataclass
class GradientLotteryState:
    """The lottery that was last played."""

    chances: Floats  # (R, A)


@kernel
def _onto_simplex(p: Floats, playable: Bools) -> None:
    """Replace p by the nearest lottery over the playable candidates, `(A),(A)`, in place; all 0 if there are none.

    It subtracts a common amount from all entries, drops those that would fall below 0, and repeats (Michelot 1986).
    """
    left, last, excess = playable.copy(), -1, 0.0
    count = int(np.count_nonzero(left))
    while count > 0 and count != last:
        total = 0.0
        for a in range(len(p)):
            if left[a]:
                total += p[a]
        excess, last = (total - 1.0) / count, count
        for a in range(len(p)):
            if left[a] and p[a] <= excess and count > 1:
                left[a] = False
                count -= 1
    for a in range(len(p)):
        p[a] = max(p[a] - excess, 0.0) if left[a] else 0.0


@kernel
def _mixture(worth: Floats, p: Floats) -> Floats:
    """Expected outcomes of a lottery, `(K,A),(A)->(K)`."""
    z = np.zeros(worth.shape[:2])
    for r in range(len(p)):
        for k in range(worth.shape[1]):
            for a in range(p.shape[1]):
                z[r, k] += worth[r, k, a] * p[r, a]
    return z


@kernel
def _ascend(worth: Floats, p: Floats, slope: Floats, step: Floats, playable: Bools) -> None:
    """Take one gradient step with every lottery and project it onto the simplex, `(K,A),(A),(K),(),(A)`, in place."""
    for r in range(len(p)):
        for a in range(p.shape[1]):
            for k in range(worth.shape[1]):
                p[r, a] += step[r] * slope[r, k] * worth[r, k, a]
        _onto_simplex(p[r], playable[r])


@kernel
def _restrict(p: Floats, playable: Bools) -> Floats:
    """The nearest lotteries over the playable candidates, `(A),(A)->(A)`."""
    q = p.copy()
    for r in range(len(q)):
        _onto_simplex(q[r], playable[r])
    return q


@checked
@dataclass(frozen=True, eq=False)
class GradientLottery:
    """Draw from a lottery that takes gradient steps each round, from the last one, to increase f of its outcomes.

    Equation: p <- the lottery nearest to p + eta_t Y' grad f(Y p), `steps` times; eta_t = scale / sqrt(t + 1), Y the
    optimistic readings of the candidates, K of them, one for each outcome of f.
    Source: Mehrotra et al. 2020 (MO-LinCB), after Busa-Fekete et al. 2017, Algorithm 1 (MO-OGDE), which takes one step
    a round and keeps every chance above eta_t / A. Candidates whose features change from round to round need many
    steps, because a single step only undoes that of the last round. It plays one candidate, because the lottery is
    over single candidates.

    Args:
        objective: f, whose outcomes are the readings, in order.
        candidates: A.
        scale: of the step sizes, above 0.
        steps: how many are taken each round.

    Raises:
        InvalidInput: sizes below 1, a scale that is not positive; later, other numbers of candidates or of readings, or
            an expected outcome at which f has no slope.

    >>> from evenhand.objectives import GeneralizedGini
    >>> choice = GradientLottery(GeneralizedGini(("a", "b")), candidates=3, scale=0.5, steps=100)
    >>> worth = Worth(np.array([[[1.0, 0.0, 0.3], [0.0, 1.0, 0.3]]]), np.zeros((1, 2, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> pick = choice.pick(choice.start(1), worth, offer, np.zeros(1), np.array([[0.7]]))
    >>> pick.lottery.round(1)  # half of each is worth more than either, or than a little of both
    array([[0.5, 0.5, 0. ]])
    """

    objective: Objective
    candidates: int
    scale: float
    steps: int = 1
    goes_on: ClassVar[bool] = True
    n_plays: ClassVar[int] = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        counts(self, {"candidates": 1, "steps": 1})
        if not isinstance(self.objective, Objective):
            raise InvalidInput("GradientLottery.objective", "an objective", repr(self.objective))
        positive("GradientLottery.scale", self.scale)

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> GradientLotteryState:
        return GradientLotteryState(np.full((n_replicas, self.candidates), 1.0 / self.candidates))

    def pick(self, state: GradientLotteryState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        meant = (len(self.objective.outcomes), self.candidates)
        if worth.mean.shape[1:] != meant:
            expected = f"as many readings and candidates as the round has, {worth.mean.shape[1:]}"
            raise InvalidInput("GradientLottery.objective, candidates", expected, meant)
        readings, p = worth.mean + worth.bonus, _restrict(state.chances, offer.playable)
        some = offer.playable.any(1)
        if some.any():
            step = self.scale / np.sqrt(t + 1.0)
            for _ in range(self.steps):
                z = _mixture(readings, p)
                z[~some] = z[some][0]  # any point with a slope will do if nothing can be played
                _ascend(readings, p, self._slope(z, t), step, offer.playable)
        made = draw(p, offer.playable, offer.worst, offer.left, u, self.n_plays)
        return Pick(*made, forced=np.zeros(len(p)), carried=made[2])

    def on_decision(self, state: GradientLotteryState, decision: Decision) -> None:
        go_on(decision, state.chances)

    def _slope(self, z: Floats, t: Floats) -> Floats:
        try:
            return self.objective.supergradient(z)
        except InvalidInput:
            for r in range(len(z)):  # the error of one replica, with its round
                self.objective.check(z[r], f"what the lottery of round {int(t[r]) + 1} is expected to bring")
            raise
