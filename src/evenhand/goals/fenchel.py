"""Concave functions of average outcomes, priced by dual vectors that learn from losses; and conjugates over ranges.

Equation of a conjugate: f*(theta) = max_y theta.(y / unit) + f(y) over low <= y <= high.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.norms import Norm
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import one_of
from evenhand.goals._shared import row_prices
from evenhand.goals.mirrors import Mirror, mirror
from evenhand.objectives.base import Conjugable, Conjugate, Objective, able, flat, total
from evenhand.objectives.steepness import steepness
from evenhand.problem.feasible import reach
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units, select
from evenhand.sets.base import ConvexSet

_ROUNDING = 1e-13  # of the radius of vectors


class Conjugated(Protocol):
    """A concave function, by its conjugate."""

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        """f*(theta) and the y / unit that reaches it, a subgradient of f*, `(m)->(),(m)`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Box:
    """The range of the outcomes that can be reached, and the unit of each.

    >>> Box(low=np.zeros(2), high=np.array([1.0, 100.0])).unit
    array([  1., 100.])
    """

    low: Floats  # (m)
    high: Floats  # (m)

    @classmethod
    def of(cls, names: tuple[str, ...], low: Floats, high: Floats) -> Box:
        """Return the box of some ranges; refuse one that is not finite."""
        for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
            if not (np.isfinite(a) and np.isfinite(b)):
                raise InvalidInput(f"the range of {name!r}", "finite ends, as dual updates need them", (a, b))
        return cls(low=low, high=high)

    @property
    def unit(self) -> Floats:
        """The width of each range, 1 where it has none, `->(m)`."""
        width = self.high - self.low
        return np.where(width > 0.0, width, 1.0)


@dataclass(frozen=True, eq=False)
class OfObjective:
    """The conjugate of an objective.

    >>> from evenhand.objectives import Linear
    >>> of = OfObjective(Linear({"cents": 0.01}), Box(low=np.zeros(1), high=np.array([100.0])))
    >>> of.best(np.array([[-0.5], [-1.5]]))  # a unit of 100 cents is worth 1
    (array([0.5, 0. ]), array([[1.],
           [0.]]))
    """

    objective: Conjugable
    box: Box

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        y = self.objective.maximizer(theta / self.box.unit, self.box.low, self.box.high)
        at = y / self.box.unit
        return total(flat(theta) * flat(at)).reshape(theta.shape[:-1]) + self.objective.value(y), at


@dataclass(frozen=True, eq=False)
class OfSet:
    """The conjugate of minus the distance from a set: its support function, for |theta| of at most 1.

    The set counts as far as outcomes can be reached; the distance is that of outcomes in their units.
    """

    within: ConvexSet
    box: Box

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        h, x = self.within.support(theta / self.box.unit, self.box.low, self.box.high)
        return h, x / self.box.unit


@dataclass
class FenchelState:
    """The mirror's memory of the past, and the rounds that entered."""

    at: Floats  # (R, d)
    rounds: Floats  # (R,)


@kernel
def _gradient(y: Floats, which: Bools, counted: Floats, v: Floats) -> Floats:
    g = np.zeros(v.shape)
    for r in range(len(v)):
        for j in range(v.shape[1]):
            if which[j] and counted[r] > 0.0 and not np.isnan(v[r, j]):
                g[r, j] = counted[r] * y[r, j] - v[r, j]
    return g


@named("B3", source="Agrawal & Devanur 2014, Algorithm 3 (after Abernethy, Bartlett & Hazan 2011)")
@dataclass(frozen=True, kw_only=True, eq=False)
class Fenchel:
    """Maximise a concave function of average outcomes, or approach a convex set, with a dual vector as prices.

    Equation: f(z) = min over |theta| <= radius of f*(theta) - theta.z, so q_t = -theta_t and o_t = f*(theta_t), and
    theta_{t+1} is the next vector of `mirror` on the losses g_t(theta) = f*(theta) - theta.x_t, whose subgradient is
    argmax_y {theta.y + f(y)} - x_t. For a set S, f is minus the distance and f* the support function.
    If the plays x_t maximise -theta_t.x_t optimistically, then f(best average) - f(average of x_t) is at most the
    regret of the vectors per round, for any sequence of outcomes. Unlike under `FrankWolfe`, f needs a maximizer and no
    smoothing. Every play counts, warm-up included, as the averages include them.

    Args:
        rows: what is averaged, d of them, in units of their ranges.
        conjugate: f*.
        mirror: how vectors learn.
        on: "optimistic" steps at commit on optimistic estimates of the plays, "observed" on outcomes when they arrive.
        optimism: "row" gives every row a bonus of its own, "net" one to the priced sum.

    >>> from evenhand.goals.mirrors import Descent
    >>> from evenhand.goals.steps import Steady
    >>> from evenhand.objectives import GeneralizedGini
    >>> gini = OfObjective(GeneralizedGini(("a", "b")), Box(low=np.zeros(2), high=np.ones(2)))
    >>> rows = Rows.plain(["a", "b"], np.eye(2), np.zeros((2, 0)))
    >>> goal = Fenchel(rows=rows, conjugate=gini, mirror=Descent(1.5, Steady(0.5)))
    >>> state = goal.start(1)
    >>> goal.enter(state, np.ones(1), np.array([[1.0, 0.0]]))
    >>> goal.price(state)[0].sum(1)  # the outcome that lags behind is worth more
    array([[0. , 0.5]])
    """

    rows: Rows
    conjugate: Conjugated
    mirror: Mirror
    on: Literal["observed", "optimistic"] = "optimistic"
    optimism: Literal["row", "net"] = "row"

    def __post_init__(self) -> None:
        one_of("Fenchel.on", self.on, ("observed", "optimistic"))
        one_of("Fenchel.optimism", self.optimism, ("row", "net"))

    def start(self, n_replicas: int) -> FenchelState:
        return FenchelState(np.zeros((n_replicas, len(self.rows))), np.zeros(n_replicas))

    def theta(self, state: FenchelState) -> Floats:
        """The dual vector, per unit of the rows; 0 where it is rounding error, which depends on units, `->(d)`."""
        theta = self.mirror.theta(state.at, state.rounds)
        return np.where(np.abs(theta) > _ROUNDING * self.mirror.radius, theta, 0.0)

    def price(self, state: FenchelState) -> tuple[Floats, Floats]:
        """-theta and f*(theta), `->(k,d),()`, with k = d readings where optimism differs by row."""
        theta = self.theta(state)
        reading = self.rows.readings(by_row=self.optimism == "row")
        return row_prices(theta, 1.0, np.zeros(len(reading)), reading)[0], self.conjugate.best(theta)[0]

    @property
    def on_estimates(self) -> bool:
        return self.on == "optimistic"

    def ends(self, state: FenchelState) -> Floats:
        return np.where(self.theta(state) > 0.0, -1.0, 1.0)

    def on_decision(self, state: FenchelState, decision: Decision, estimate: Floats | None) -> None:
        """Step on the optimistic estimate of the plays if there is one, else on their known rows, `(d)`."""
        state.rounds += decision.counted
        if estimate is not None:
            self._step(state, self._is_entered_at_decision, decision.counted, estimate)
        elif self.rows.any_known:
            self._step(state, self._is_entered_at_decision, decision.counted, self.rows.post_known(decision))

    def on_outcome(self, state: FenchelState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Step on the observed rows that did not step at commit, `(),(d)`."""
        if self._any_waits:
            self._step(state, ~self._is_entered_at_decision, counted, v)

    def enter(self, state: FenchelState, counted: Floats, v: Floats) -> None:
        state.rounds += counted
        self._step(state, np.ones(len(self.rows), bool), counted, v)

    def _step(self, state: FenchelState, which: Bools, counted: Floats, v: Floats) -> None:
        y = self.conjugate.best(self.theta(state))[1]
        self.mirror.move(state.at, _gradient(y, which, counted, v), state.rounds)

    @cached_property
    def _is_entered_at_decision(self) -> Bools:
        return ~self.rows.is_unsure if self.on == "optimistic" else self.rows.is_known

    @cached_property
    def _any_waits(self) -> bool:
        return not self._is_entered_at_decision.all()


def fenchel(
    problem: Problem,
    objective: Objective,
    *,
    norm: Norm = "euclidean",
    by: Mirror | None = None,
    on: Literal["observed", "optimistic"] = "optimistic",
) -> Fenchel:
    """Return the goal of a concave objective, with outcomes in units of their declared ranges.

    Args:
        problem: declares ranges and the horizon, which the step depends on.
        objective: f.
        norm: "euclidean" for gradient descent, "sup" for exponential weights, another for `PowerBall`.
        by: another way to learn vectors.
        on: as for `Fenchel`.

    Raises:
        InvalidInput: an objective without a maximizer, or whose slope has no bound, or ranges that are not finite.
    """
    if not (isinstance(objective, Conjugate) and able(objective, Conjugate)):
        expected = "an objective with a maximizer (`objectives.Conjugate`), or primal updates"
        raise InvalidInput("problem.maximize", expected, type(objective).__name__)
    names = tuple(objective.outcomes)
    box = Box.of(names, *problem.ranges(names))
    steep = steepness(objective, box.unit, norm)
    if not np.isfinite(steep):
        expected = "an objective of bounded slope, such as AlphaFair with an offset, or primal updates"
        raise InvalidInput("problem.maximize", expected, objective)
    learns = mirror(norm, steep, len(names), problem.horizon) if by is None else by
    return Fenchel(
        rows=_in_units(select(problem, names), box), conjugate=OfObjective(objective, box), mirror=learns, on=on
    )


def fenchel_within(
    problem: Problem,
    rows: Rows,
    within: ConvexSet,
    *,
    norm: Norm = "euclidean",
    by: Mirror | None = None,
    on: Literal["observed", "optimistic"] = "optimistic",
) -> Fenchel:
    """Return the goal of the distance of average rows from a set, with rows in units of a play's largest addition.

    Args:
        problem, norm, by, on: as for `fenchel`.
        rows: the coordinates of the set; one reading serves all of them, which is the same as one reading each if
            widths are per outcome.
        within: the set.

    Raises:
        InvalidInput: ranges that are not finite, or no point of the set in the ranges.
    """
    box = Box.of(rows.names, *_ends(problem, rows))
    learns = mirror(norm, 1.0, len(rows), problem.horizon) if by is None else by
    goal = Fenchel(rows=_in_units(rows, box), conjugate=OfSet(within, box), mirror=learns, on=on, optimism="net")
    goal.conjugate.best(np.zeros((1, len(rows))))  # raises if nothing of the set can be reached
    return goal


def _ends(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """The least and the most that a round can add to each row, `->(d),(d)`; plays outside of a row's group add 0."""
    inside = rows.column >= 0
    least, most = reach(problem, replace(rows, always=np.where(inside, rows.inside, rows.always)))
    low, high = problem.n_plays * least.min(0), problem.n_plays * most.max(0)
    return np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)


def _in_units(rows: Rows, box: Box) -> Rows:
    return in_units(rows, np.zeros(len(rows)), box.unit)[0]
