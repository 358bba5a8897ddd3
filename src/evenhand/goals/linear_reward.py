"""The reward of a linear objective: constant prices; and ends of the intervals of rows, each a reading of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import one_of
from evenhand.objectives import Linear as LinearObjective
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select


@dataclass
class LinearRewardState:
    """The constant prices, once per replica."""

    q: Floats  # (R, k, d)
    o: Floats  # (R,)


class _LinearRewardView(NamedTuple):
    q: Floats
    o: Floats

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        return self.q, self.o


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class LinearReward:
    """Maximise a weighted sum of rows.

    Equation: q = weights, o = 0.

    Args:
        rows: d of them.
        weights: one per row.
        optimism: "net" gives one bonus to the sum, "row" one to each row, which is then a reading of its own.

    Raises:
        InvalidInput: not one finite weight per row.

    >>> goal = LinearReward(rows=Rows.plain(["visit"], np.ones((1, 1)), np.zeros((1, 0))), weights=(2.0,))
    >>> goal.price(goal.start(1))[0]
    array([[[2.]]])
    """

    rows: Rows
    weights: tuple[float, ...]
    optimism: Literal["row", "net"] = "net"
    passes: ClassVar[int] = 1  # slopes per solve of a plan, because the slope is constant

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.rows) or not np.isfinite(np.array(self.weights, float)).all():
            raise InvalidInput("LinearReward.weights", f"{len(self.rows)} finite numbers", self.weights)
        one_of("LinearReward.optimism", self.optimism, ("row", "net"))

    def start(self, n_replicas: int) -> LinearRewardState:
        weights = np.tile(np.array(self.weights, float), (n_replicas, 1))
        return LinearRewardState(self.read(weights), np.zeros(n_replicas))

    @property
    def start_at(self) -> tuple[float, ...]:
        return (0.0,) * len(self.weights)

    def slope(self, z: Floats, t: Floats) -> Floats:
        return np.tile(np.array(self.weights, float), (len(z), 1))

    def read(self, slope: Floats) -> Floats:
        """Read all rows at once, or each separately, `(d)->(k,d)`."""
        return slope[:, :, None] * np.eye(slope.shape[1]) if self.optimism == "row" else slope[:, None]

    def price(self, state: LinearRewardState) -> tuple[Floats, Floats]:
        return state.q, state.o

    def view(self, state: LinearRewardState) -> _LinearRewardView:
        return _LinearRewardView(np.ascontiguousarray(state.q), state.o)


def reward(problem: Problem) -> LinearReward:
    """Return the goal of a problem's linear objective.

    Raises:
        InvalidInput: the objective is not linear.
    """
    objective = problem.objective
    if not isinstance(objective, LinearObjective):
        expected = "an outcome or a Linear objective; `fw` makes any recipe maximise a concave one"
        raise InvalidInput("problem.maximize", expected, type(objective).__name__)
    return LinearReward(rows=select(problem, objective.outcomes), weights=tuple(objective.weights.values()))


def indifferent(problem: Problem) -> LinearReward:
    """Return a goal whose prices are 0, for policies that ignore rewards; it accepts any objective."""
    names = tuple(problem.objective.outcomes)
    return LinearReward(rows=select(problem, names), weights=(0.0,) * len(names))


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals:
    """Read every row separately at price 1, at price -1, or at both.

    Equation: q_j = e_j for the upper ends, then q_{d+j} = -e_j for the lower ends; o = 0. The mean and the bonus of a
    reading at price 1 add up to the upper end of the row's interval, those of one at price -1 to minus its lower end.
    These prices value nothing: `policy.worth` and `explain` show what a choice is told, not what it makes of it.
    Source: Agrawal & Devanur 2014, eq. 26: UCB and LCB of every arm and outcome.

    Args:
        rows: d of them.
        ends: which ends are read.

    Raises:
        InvalidInput: other ends.

    >>> goal = Intervals(rows=Rows.plain(["cost"], np.ones((1, 1)), np.zeros((1, 0))))
    >>> goal.price(goal.start(1))[0].tolist()
    [[[1.0], [-1.0]]]
    """

    rows: Rows
    ends: Literal["both", "lower", "upper"] = "both"

    def __post_init__(self) -> None:
        one_of("Intervals.ends", self.ends, ("both", "lower", "upper"))

    def start(self, n_replicas: int) -> LinearRewardState:
        one = np.eye(len(self.rows))
        q = {"both": np.concatenate([one, -one]), "upper": one, "lower": -one}[self.ends]
        return LinearRewardState(np.tile(q, (n_replicas, 1, 1)), np.zeros(n_replicas))

    def price(self, state: LinearRewardState) -> tuple[Floats, Floats]:
        """Return 1 or -1 for one row per reading, `->(k,d),()`, with k = 2d or d readings."""
        return state.q, state.o
