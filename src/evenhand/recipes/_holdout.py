"""Rounds that a recipe leaves to a known lottery: what plays them, and what they use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices import Floored, HeldOut
from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.core.validate import number
from evenhand.goals.base import Goal
from evenhand.goals.compared import compared
from evenhand.models.base import Model
from evenhand.problem.feasible import reach
from evenhand.problem.holdout import Holdout
from evenhand.problem.problem import Problem
from evenhand.problem.withdrawn import present


@dataclass(frozen=True, kw_only=True)
class Known:
    """The part of all rounds that a known lottery plays: those held out, and those of a floor.

    Equation: p = h b + (1 - h) (g + (1 - n g) q) with g = f / (1 - h), so that p is at least f, and h is exact.
    """

    problem: Problem
    share: float  # h, 0 where no round is held out
    weights: tuple[float, ...] | None  # b; None for uniform
    floor: float  # f, 0 for none

    @property
    def reserve(self) -> float:
        return self.share + self.floor * float(self._may_be_played.sum())

    @property
    def chances(self) -> Floats:
        """The probability with which a round is one of them and plays each action, `->(A)`."""
        weights = self._may_be_played * (1.0 if self.weights is None else np.array(self.weights))
        if not weights.any():
            raise InvalidInput("Holdout.lottery", "at least one action that is not withdrawn", self.problem.withdrawn)
        return np.asarray(self.share * weights / weights.sum() + self.floor * self._may_be_played)

    @property
    def _may_be_played(self) -> Floats:
        """1 for every action that is not withdrawn, `->(A)`."""
        found = present(self.problem)
        return np.ones(len(self.problem.actions)) if found is None else found.astype(float)

    def around(self, choice: Choice) -> Choice:
        """The choice with these rounds; the choice itself if there are none."""
        if self.floor > 0.0:
            choice = Floored(self.floor / (1.0 - self.share), choice)
        return HeldOut(self.share, choice, self.weights) if self.share > 0.0 else choice

    def compared(self) -> tuple[Goal, ...]:
        """Books of the rounds held out, beside the others; () if there are none."""
        return (compared(self.problem),) if self.share > 0.0 else ()

    def evaluable(self, model: Model) -> Model:
        """Return the model; refuse one that draws what it says beside a floor, as no probability is known then."""
        if self.floor > 0.0 and model.draws(len(self.problem.actions)):
            expected = "0, or a model that does not explore by drawing its parameters: probabilities are unknown then"
            raise InvalidInput("explore", expected, type(model).__name__)
        return model


def known(problem: Problem, holdout: float | Holdout | None, explore: float, warmup: int) -> Known:
    """Return the rounds that a known lottery plays.

    Args:
        problem: names the actions.
        holdout: a share h, for a uniform lottery, or a `Holdout`; None for no round.
        explore: f, the least probability of every action that may be played; 0 for none.
        warmup: 0 where rounds are held out, as the first rounds would be on neither side of the comparison.

    Raises:
        InvalidInput: a share or a floor out of range, several plays, a warm-up before rounds that are held out, a
            lottery of withdrawn actions alone, or a budget below what these rounds use, learned uses being at the
            middle of their declared ranges.
    """
    held = Holdout(holdout) if isinstance(holdout, int | float) else holdout
    floor = number("explore", explore, "a number in [0, 1)", lambda x: 0 <= x < 1)
    weights = None if held is None else held.weights(problem)
    found = Known(problem=problem, share=0.0 if held is None else held.share, weights=weights, floor=floor)
    if found.reserve == 0.0:
        return found
    if problem.n_plays > 1:
        expected = "one play per round, as no choice states the chances of all lists"
        raise InvalidInput("holdout, explore", expected, f"{problem.n_plays} plays")
    if found.reserve >= 1.0:
        expected = "a holdout + explore times the number of actions below 1, so that some rounds are left"
        raise InvalidInput("holdout, explore", expected, found.reserve)
    if warmup and held is not None:
        raise InvalidInput("warmup", "0 where rounds are held out, which explore as well", warmup)
    _refuse_unpaid(problem, found.chances)
    return found


def _refuse_unpaid(problem: Problem, chances: Floats) -> None:
    for s in problem.stated:
        if s.spends:
            least, most = reach(problem, s.rows)
            use = problem.horizon * float(chances @ (least + most)[:, 0]) / 2.0
            if np.isfinite(use) and use > s.total:
                expected = f"rounds that use at most {amount(s.total)}, the budget of {s.rows.names[0]!r}"
                raise InvalidInput("holdout, explore", expected, f"rounds that would use {amount(use)}")
