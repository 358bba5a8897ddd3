"""Holdouts: which rounds are held out, their lottery, and the share of rounds that known lotteries play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import checked
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number, numbers
from evenhand.problem.actions import present
from evenhand.problem.declarations import Declarations
from evenhand.problem.feasible import reach
from evenhand.problem.problem import Problem


@checked
@dataclass(frozen=True)
class Holdout:
    """A share of the rounds, drawn at random, that a known lottery plays, to measure what a policy is worth.

    Args:
        share: of the rounds, in (0, 1).
        lottery: weights by action, at least 0; None plays all actions that may be played with equal probability.
            `{"nothing": 1}` is a control group. Where none of its actions may be played, no round is held out.

    Raises:
        InvalidInput: a share out of range, weights that are negative or all 0, or an unknown action.

    >>> from evenhand.environments import Court
    >>> Holdout(0.05, lottery={"ride": 1}).weights(Court().problem)
    (0.0, 0.0, 1.0)
    """

    share: float
    _: KW_ONLY
    lottery: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        number("Holdout.share", self.share, "a number in (0, 1)", lambda x: 0 < x < 1)
        if self.lottery is not None:
            expected = "finite numbers of at least 0, not all 0, by action"
            values = tuple(self.lottery.values())
            found = numbers("Holdout.lottery", values, len(values), expected, _weights)
            if not found.sum() > 0:
                raise InvalidInput("Holdout.lottery", expected, dict(self.lottery))

    def weights(self, problem: Declarations) -> tuple[float, ...] | None:
        """The weights in the order of the actions, None for a uniform lottery."""
        if self.lottery is None:
            return None
        for name in self.lottery:
            if name not in problem.actions:
                raise InvalidInput("Holdout.lottery", "an action", f"{name!r}{suggestion(name, problem.actions)}")
        return tuple(float(self.lottery.get(action, 0.0)) for action in problem.actions)


def _weights(z: Floats) -> Bools:
    return np.asarray((z >= 0) & np.isfinite(z))


@dataclass(frozen=True, kw_only=True)
class KnownRounds:
    """Rounds that a lottery plays regardless of the values.

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
        """For each action, the probability that a round is such a round and plays it, `->(A)`."""
        weights = self._may_be_played * self._weights
        if not weights.any():
            raise InvalidInput("Holdout.lottery", "at least one action that is not withdrawn", self.problem.withdrawn)
        return np.asarray(self.share * weights / weights.sum() + self.floor * self._may_be_played)

    def payable(self, warmup: int) -> KnownRounds:
        """Return these rounds for a run that begins with a warm-up of some rounds.

        Raises:
            InvalidInput: a warm-up before rounds that are held out, as its rounds would be on neither side of the
                comparison; a lottery of withdrawn actions alone; or a budget below what these rounds use, learned uses
                being at the middle of their declared ranges.
        """
        if self.reserve == 0.0:
            return self
        if warmup and self.share > 0.0:
            raise InvalidInput("warmup", "0 if rounds are held out, as these explore as well", warmup)
        chances = self.chances
        for s in self.problem.stated:
            if s.spends:
                least, most = reach(self.problem, s.rows)
                use = self.problem.horizon * float(chances @ (least + most)[:, 0]) / 2.0
                if np.isfinite(use) and use > s.total:
                    expected = f"rounds that use at most {amount(s.total)}, the budget of {s.rows.names[0]!r}"
                    raise InvalidInput("holdout, explore", expected, f"rounds that would use {amount(use)}")
        return self

    def within(self, offered: Floats) -> Floats:
        """Return the probabilities in cases that offer the actions marked 1, `(A)->(A)`.

        Where the lottery has nothing that is offered, no round is held out.
        """
        weights = offered * self._weights
        total = weights.sum(-1, keepdims=True)
        held = np.where(total > 0.0, self.share, 0.0)
        floor = (1.0 - held) * self.floor / (1.0 - self.share)
        return np.asarray(held * weights / np.where(total > 0.0, total, 1.0) + floor * offered)

    @property
    def _weights(self) -> Floats:
        return np.ones(len(self.problem.actions)) if self.weights is None else np.array(self.weights)

    @property
    def _may_be_played(self) -> Floats:
        """1 for every action that is not withdrawn, `->(A)`."""
        found = present(self.problem)
        return np.ones(len(self.problem.actions)) if found is None else found.astype(float)


def known_rounds(problem: Problem, holdout: float | Holdout | None, explore: float) -> KnownRounds:
    """Return the rounds that a known lottery plays.

    Args:
        problem: names the actions.
        holdout: a share h, for a uniform lottery, or a `Holdout`; None for no round.
        explore: f, the least probability of every action that may be played; 0 for none.

    Raises:
        InvalidInput: a share or a floor out of range, several plays, or a lottery of withdrawn actions alone.
    """
    held = Holdout(holdout) if isinstance(holdout, int | float) else holdout
    floor = number("explore", explore, "a number in [0, 1)", lambda x: 0 <= x < 1)
    weights = None if held is None else held.weights(problem)
    found = KnownRounds(problem=problem, share=0.0 if held is None else held.share, weights=weights, floor=floor)
    if found.reserve == 0.0:
        return found
    if problem.n_plays > 1:
        expected = "one play per round, as no choice states the chances of all lists"
        raise InvalidInput("holdout, explore", expected, f"{problem.n_plays} plays")
    if found.reserve >= 1.0:
        expected = "a holdout + explore times the number of actions below 1, so that some rounds are left"
        raise InvalidInput("holdout, explore", expected, found.reserve)
    return found
