"""A credit that is never overdrawn: rounds of a baseline earn it, and other actions use it up to their outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.problem.constraints import Credit
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Frame, Rows, select

_ROUNDING = 1e-9  # of the slack


@dataclass
class CreditState:
    """The remaining credit, if waiting outcomes turn out worst."""

    credit: Floats  # (R,)


@named("X13", source="after Kazerouni et al. 2017, Algorithm 1 (CLUCB), with outcomes in place of confidence bounds")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardCredit:
    """Allow actions other than the baseline only while the credit pays for their worst outcome.

    Equation: another action takes (1 - alpha) b - least off the credit when it is committed, and its outcome y gives
    back y - least. A round of the baseline gives alpha b when its outcome arrives, as it may be cancelled before. The
    credit starts at the slack, and a candidate fits if it takes no more than is left.
    What is not observed counts as the least outcome for good.

    Args:
        problem: of one play per round.
        credit: of its constraint, as `NeverWorse.credit` states it.

    Raises:
        InvalidInput: several plays per round, or a baseline that was withdrawn.

    >>> from evenhand.problem import NeverWorse, Outcome
    >>> baseline = Outcome("usual", known=0.4)
    >>> problem = Problem(actions=("old", "new"), outcomes=(Outcome("sale"), baseline), maximize="sale", horizon=9)
    >>> goal = HardCredit(problem=problem, credit=NeverWorse("sale", than="usual", alpha=0.1, slack=2).credit(problem))
    >>> goal.start(1).credit
    array([2.])
    """

    problem: Problem
    credit: Credit

    def __post_init__(self) -> None:
        name = self.problem.actions[self.credit.action]
        if name in self.problem.withdrawn:
            raise InvalidInput("withdrawn", f"not {name!r}, the baseline of NeverWorse", self.problem.withdrawn)
        if self.problem.n_plays != 1:
            expected = "one play per round, as a round is one of the baseline or of another action"
            raise InvalidInput(f"NeverWorse({self.credit.outcome!r})", expected, self.problem.n_plays)

    @property
    def rows(self) -> Rows:
        return select(self.problem, (self.credit.outcome,))

    def start(self, n_replicas: int) -> CreditState:
        return CreditState(np.full(n_replicas, float(self.credit.slack)))

    def room(self, state: CreditState, frame: Frame) -> tuple[Floats, Floats]:
        usual = self._usual(frame)
        if (usual < 0.0).any() or (usual != usual[:, :1]).any():
            expected = "one number of at least 0 for all candidates of a case, as it is what the baseline brings there"
            raise InvalidInput(f"known outcome {self.credit.than!r}", expected, usual)
        taken = self._largest_loss(frame)
        taken[:, self.credit.action] = 0.0
        return taken[:, :, None], np.maximum(state.credit, 0.0)[:, None] + _ROUNDING * self.credit.slack

    def fits(self, state: CreditState, decision: Decision) -> Bools:
        return self._reserve(decision) <= np.maximum(state.credit, 0.0) + _ROUNDING * self.credit.slack

    @property
    def label(self) -> str:
        return f"{self.credit.outcome} / {self.credit.than}"

    def left(self, state: CreditState) -> Floats:
        return state.credit

    def over(self, state: CreditState) -> Bools:
        """No replica: the baseline is always playable, and earns credit, `->()`."""
        return np.zeros(len(state.credit), bool)

    def on_decision(self, state: CreditState, decision: Decision, estimate: Floats | None) -> None:
        state.credit -= self._reserve(decision)

    def on_outcome(self, state: CreditState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Release what the worst case reserved in excess, or add what a round of the baseline earns, `(),(1)`."""
        back, earned = self._settlement(decision, counted, v)
        state.credit += back
        state.credit += earned

    def on_return(self, state: CreditState, decision: Decision) -> None:
        self.on_decision(state, decision, None)

    def on_reversal(self, state: CreditState, decision: Decision, counted: Floats, v: Floats) -> None:
        back, earned = self._settlement(decision, counted, v)
        state.credit -= earned
        state.credit -= back

    def on_cancel(self, state: CreditState, decision: Decision) -> None:
        state.credit += self._reserve(decision)

    def _settlement(self, decision: Decision, counted: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The amounts that an outcome releases and that a round of the baseline earns, `(),(1)->(),()`."""
        taken, usual = self._largest_loss(decision)[:, 0], self._usual(decision)[:, 0]
        back = counted * (taken + np.nan_to_num(v[:, 0]) - (1.0 - self.credit.alpha) * usual)
        earned = counted * self.credit.alpha * np.maximum(usual, 0.0)
        tried = self._is_trial(decision) & ~np.isnan(v[:, 0])
        return np.where(tried, back, 0.0), np.where(decision.plays[:, 0] == self.credit.action, earned, 0.0)

    def _reserve(self, decision: Decision) -> Floats:
        """The amount that a decision takes off the credit until its outcome is known, `->()`."""
        return np.where(self._is_trial(decision), decision.counted * self._largest_loss(decision)[:, 0], 0.0)

    def _is_trial(self, decision: Decision) -> Bools:
        """Whether another action than the baseline was played, `->()`."""
        return np.asarray((decision.plays[:, 0] >= 0) & (decision.plays[:, 0] != self.credit.action))

    def _largest_loss(self, frame: Frame) -> Floats:
        """The most that a candidate other than the baseline can lose, `->(A)`."""
        return np.maximum((1.0 - self.credit.alpha) * self._usual(frame) - self.credit.least, 0.0)

    def _usual(self, frame: Frame) -> Floats:
        """The outcome of the baseline in the case, as every candidate states it, `->(A)`."""
        return np.asarray(frame.known[:, :, self.problem.known.index(self.credit.than)])
