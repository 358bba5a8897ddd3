"""Rounds that a recipe leaves to a known lottery: what plays them, and what they use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices import Floored, HeldOut
from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.goals.base import Goal
from evenhand.goals.compared import compared
from evenhand.models.base import Model
from evenhand.problem.feasible import reach
from evenhand.problem.holdout import Holdout
from evenhand.problem.known_rounds import KnownRounds, known_rounds
from evenhand.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Known:
    """The rounds that a known lottery plays, as parts of a policy."""

    rounds: KnownRounds

    @property
    def reserve(self) -> float:
        return self.rounds.reserve

    def around(self, choice: Choice) -> Choice:
        """The choice with these rounds; the choice itself if there are none."""
        share, floor = self.rounds.share, self.rounds.floor
        if floor > 0.0:
            choice = Floored(floor / (1.0 - share), choice)
        return HeldOut(share, choice, self.rounds.weights) if share > 0.0 else choice

    def compared(self) -> tuple[Goal, ...]:
        """Books of the rounds held out, beside the others; () if there are none."""
        return (compared(self.rounds.problem),) if self.rounds.share > 0.0 else ()

    def evaluable(self, model: Model) -> Model:
        """Return the model; refuse one that draws parameters beside a floor, as probabilities are unknown then."""
        if self.rounds.floor > 0.0 and model.draws(len(self.rounds.problem.actions)):
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
    found = known_rounds(problem, holdout, explore)
    if found.reserve == 0.0:
        return Known(rounds=found)
    if warmup and holdout is not None:
        raise InvalidInput("warmup", "0 if rounds are held out, as these explore as well", warmup)
    _refuse_unpaid(problem, found.chances)
    return Known(rounds=found)


def _refuse_unpaid(problem: Problem, chances: Floats) -> None:
    for s in problem.stated:
        if s.spends:
            least, most = reach(problem, s.rows)
            use = problem.horizon * float(chances @ (least + most)[:, 0]) / 2.0
            if np.isfinite(use) and use > s.total:
                expected = f"rounds that use at most {amount(s.total)}, the budget of {s.rows.names[0]!r}"
                raise InvalidInput("holdout, explore", expected, f"rounds that would use {amount(use)}")
