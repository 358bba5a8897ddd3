"""A concave objective of the average outcomes, priced by its slope at the current average; the goal of an objective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, normal
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import one_of
from evenhand.core.views import view_of
from evenhand.goals._shared import enter_known, row_prices
from evenhand.goals.base import Past
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.objectives import Linear as LinearObjective
from evenhand.objectives.base import Objective, Tangential, able, whole_space
from evenhand.objectives.smoothing import Smoothing, default_smoothing
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select

_NO_LUCK = np.zeros((1, 0))  # for all replicas


@dataclass
class FrankWolfeState:
    """Books of the outcomes that the objective reads."""

    total: Floats  # (R, d)
    rounds: Floats  # (R, d) in which each was observed


@kernel
def _average(total: Floats, rounds: Floats, start_at: Floats) -> tuple[Floats, Floats]:
    """Averages over the rounds in which each outcome was observed, and the most rounds, `(d),(d),(d)->(d),()`."""
    z, t = np.empty(total.shape), np.zeros(len(total))
    for r in range(len(total)):
        for j in range(total.shape[1]):
            z[r, j] = total[r, j] / rounds[r, j] if rounds[r, j] > 0.0 else start_at[j]
            t[r] = max(t[r], rounds[r, j])
    return z, t


@kernel
def _enter_observed(total: Floats, rounds: Floats, counted: Floats, waits: Bools, v: Floats) -> None:
    """Enter the rows that wait and were observed, `(d),(d),(),(d),(d)`, in place."""
    for r in range(len(v)):
        for j in range(len(waits)):
            if waits[j] and not np.isnan(v[r, j]):
                total[r, j] += v[r, j]
                rounds[r, j] += counted[r]


class _FrankWolfeView(NamedTuple):
    total: Floats
    rounds: Floats
    start_at: Floats
    rows: Any
    is_known: Bools
    any_known: bool
    waits: Bools
    net: bool
    readings: Ints
    objective: Any

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        z, t = _average(self.total, self.rounds, self.start_at)
        slope = self.objective.slope(z, t)
        if self.net:
            return slope.reshape(len(slope), 1, slope.shape[1]), np.zeros(len(slope))
        return row_prices(slope, -1.0, np.zeros(slope.shape[1]), self.readings)[0], np.zeros(len(slope))

    @kernel
    def on_decision(self, d: Decision) -> None:
        if self.any_known:
            enter_known(self.total, self.rounds, self.is_known, d.counted, self.rows.post_known(d))

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        v = self.rows.post(d, y, z)
        _enter_observed(self.total, self.rounds, d.counted, self.waits, v)


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class FrankWolfe:
    """Maximise a concave function of average outcomes, with its slope at the average as prices.

    Equation: q_t = grad f_{t-1}(z_{t-1}), z_t = z_{t-1} + (v_t - z_{t-1}) / t, with v the observed outcomes, or the
    optimistic estimate of the plays; z_0 is `start_at`, and the first round replaces it. f_t is f if f is smooth, else
    its smoothing of round t (`objectives.Moreau`, `objectives.Randomized`). o is 0, or the intercept of the tangent if
    the objective has one, as `objectives.DistancePenalty` does; the readings then add up to the value of the tangent.
    Source: Do et al. 2023 (concave rewards), Section 3, Algorithm 2; `on="optimistic"` as in Agrawal & Devanur
    2014, Algorithm 4. Warm-up rounds count towards the average. All replicas share the draws of random smoothing: they
    are a quadrature rule, not part of the simulated randomness.

    Args:
        rows: the outcomes of the objective, in its order, d of them.
        objective: f.
        smoothing: needed where f has kinks.
        start_at: z_0, in the domain of f.
        on: "observed" averages outcomes when they arrive, "optimistic" averages optimistic estimates at commit.
        optimism: "row" gives every outcome a bonus of |q_i| times its width; "net" gives one bonus to the priced sum.

    Raises:
        InvalidInput: rows that are not the objective's, a missing smoothing, or a start outside the domain; in a run
            an average that leaves the domain, with the round and the outcome.

    >>> from evenhand.objectives import GeneralizedGini, Moreau
    >>> rows = Rows.plain(["a", "b"], np.eye(2), np.zeros((2, 0)))
    >>> gini = GeneralizedGini(("a", "b"))
    >>> goal = FrankWolfe(rows=rows, objective=gini, smoothing=Moreau(0.01), start_at=(0.0, 0.0))
    >>> state = goal.start(1)
    >>> goal.enter(state, np.ones((1, 2)), np.array([[0.9, 0.1]]))
    >>> goal.price(state)[0].sum(1)  # the outcome that lags behind is worth more
    array([[0.5, 1. ]])
    """

    rows: Rows
    objective: Objective
    smoothing: Smoothing | None = None
    start_at: tuple[float, ...]
    on: Literal["observed", "optimistic"] = "observed"
    optimism: Literal["row", "net"] = "row"
    passes: ClassVar[int] = 3  # slopes per solve of a plan, because the planned end moves the slope

    def __post_init__(self) -> None:
        if self.rows.names != tuple(self.objective.outcomes):
            raise InvalidInput(
                "FrankWolfe.rows", f"the objective's outcomes {self.objective.outcomes}", self.rows.names
            )
        if len(self.start_at) != len(self.rows):
            raise InvalidInput("FrankWolfe.start_at", f"{len(self.rows)} numbers", self.start_at)
        one_of("FrankWolfe.on", self.on, ("observed", "optimistic"))
        one_of("FrankWolfe.optimism", self.optimism, ("row", "net"))
        self.objective.check(np.array(self.start_at, float), "FrankWolfe.start_at")
        if self.smoothing is None and not self.objective.smooth:
            expected = f"Moreau or Randomized, as the slope of {type(self.objective).__name__} jumps or has no bound"
            raise InvalidInput("FrankWolfe.smoothing", expected, None)
        self.slope(np.array([self.start_at], float), np.zeros(1))

    def start(self, n_replicas: int) -> FrankWolfeState:
        return FrankWolfeState(*np.zeros((2, n_replicas, len(self.rows))))

    def price(self, state: FrankWolfeState) -> tuple[Floats, Floats]:
        """The slope at the average so far, `->(k,d),()`, with k = d readings where optimism differs by row."""
        z, t = _average(state.total, state.rounds, self._start_at)
        if not whole_space(self.objective):
            self._stay(z, t)
        slope = self.slope(z, t)
        return self.read(slope), np.zeros(len(z)) if self._tangent is None else self._tangent.intercept(slope)

    def read(self, slope: Floats) -> Floats:
        """Read all rows at once, or each separately where optimism differs by row, `(d)->(k,d)`."""
        if self.optimism == "net":
            return slope[:, None]
        reading = self.rows.readings(by_row=self.optimism == "row")
        return row_prices(slope, -1.0, np.zeros(len(reading)), reading)[0]

    def average(self, state: FrankWolfeState) -> Floats:
        """The averages so far, `->(d)`; `start_at` for outcomes that were never observed."""
        return _average(state.total, state.rounds, self._start_at)[0]

    @property
    def on_estimates(self) -> bool:
        return self.on == "optimistic"

    def ends(self, state: FrankWolfeState) -> Floats:
        sign = np.sign(self.slope(*_average(state.total, state.rounds, self._start_at)))
        return np.where(sign == 0.0, 1.0, sign)

    def on_decision(self, state: FrankWolfeState, decision: Decision, estimate: Floats | None) -> None:
        """Enter the optimistic estimate of the plays if there is one, else their known rows, `(d)`."""
        if estimate is not None:
            counted = decision.counted[:, None] * ~self.rows.is_unsure  # rows that depend on exposure wait
            self.enter(state, counted, estimate * counted)
        elif self.rows.any_known:
            v = self.rows.post_known(decision)
            enter_known(state.total, state.rounds, self.rows.is_known, decision.counted, v)

    def on_outcome(self, state: FrankWolfeState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter the rows that were not entered at commit; averages are over observed rounds only, `(),(d)`."""
        if self._any_waits:
            _enter_observed(state.total, state.rounds, counted, self._waits, v)

    def on_cancel(self, state: FrankWolfeState, decision: Decision) -> None:
        if self.on == "observed" and self.rows.any_known:
            v = self.rows.post_known(decision)
            enter_known(state.total, state.rounds, self.rows.is_known, -decision.counted, -v)

    def go_on(self, state: FrankWolfeState, past: Past) -> None:
        self.enter(state, past.seen, past.sums)

    def view(self, state: FrankWolfeState) -> _FrankWolfeView | None:
        rows, objective = self.rows.view(), view_of(self.smoothing, self.objective)
        if rows is None or objective is None or self.on_estimates or self._tangent or not whole_space(self.objective):
            return None
        books, known = (state.total, state.rounds, self._start_at), (self.rows.is_known, self.rows.any_known)
        readings = self.rows.readings(by_row=True)
        return _FrankWolfeView(*books, rows, *known, self._waits, self.optimism == "net", readings, objective)

    def enter(self, state: FrankWolfeState, rounds: Floats, v: Floats) -> None:
        state.total += v
        state.rounds += rounds

    def slope(self, z: Floats, t: Floats) -> Floats:
        """The gradient of f_t at averages z, `(d),()->(d)`."""
        try:
            if self.smoothing is None:
                return self.objective.supergradient(z)
            return self.smoothing.gradient(self.objective, z, t, self._luck(t))
        except InvalidInput as error:
            for r in range(len(z)):  # raise the error of the replica concerned, with its round
                self.objective.check(z[r], _place(t[r]))
            place = f"random points around {_place(t.max())}, {error.field}"
            raise InvalidInput(place, f"{error.expected}; or a smaller beta", error.got) from error

    def _stay(self, z: Floats, t: Floats) -> None:
        """Refuse averages outside of the objective's domain; its edge is allowed, because smoothing handles it.

        The domain is convex, so a point on its edge is inside after a tiny move towards the start.
        """
        if self.smoothing is None:
            return  # then `slope` refuses them, and the edge too
        inside = z + 1e-9 * (self._start_at - z)
        try:
            self.objective.check(inside, "the average")
        except InvalidInput:
            for r in range(len(z)):
                self.objective.check(inside[r], _place(t[r]))

    def _luck(self, t: Floats) -> Floats:
        if self._draws == 0:
            return _NO_LUCK
        return normal(0, Stream.SMOOTHING, np.zeros(len(t), np.int64), t, self._draws)

    @cached_property
    def _draws(self) -> int:
        return 0 if self.smoothing is None else self.smoothing.draws(len(self.rows))

    @cached_property
    def _start_at(self) -> Floats:
        return np.array(self.start_at, float)

    @cached_property
    def _waits(self) -> Bools:
        return ~self.rows.is_known if self.on == "observed" else self.rows.is_unsure

    @cached_property
    def _any_waits(self) -> bool:
        return bool(self._waits.any())

    @cached_property
    def _tangent(self) -> Tangential | None:
        """The objective, if it has the intercepts of its tangents; only a `Lottery` reads these constants."""
        objective: object = self.objective
        return objective if isinstance(objective, Tangential) and able(objective, Tangential) else None


def _place(t: float) -> str:
    return f"the average after round {int(t)}" if t else "start_at"


def frank_wolfe(
    problem: Problem,
    objective: Objective,
    smoothing: Smoothing | None = None,
    *,
    start_at: tuple[float, ...] | None = None,
    on: Literal["observed", "optimistic"] = "observed",
    optimism: Literal["row", "net"] = "row",
) -> FrankWolfe:
    """Return the goal of a concave objective, smoothed if it has kinks; z_0 is by default the middle of the ranges."""
    names = tuple(objective.outcomes)
    start_at = problem.middle(names) if start_at is None else start_at
    if smoothing is None and not objective.smooth:
        low, high = problem.ranges(names)
        smoothing = default_smoothing(objective, low, high)
    return FrankWolfe(
        rows=select(problem, names),
        objective=objective,
        smoothing=smoothing,
        start_at=start_at,
        on=on,
        optimism=optimism,
    )


def objective_goal(problem: Problem) -> LinearReward | FrankWolfe:
    """Return `LinearReward` for a linear objective, `FrankWolfe` for any other.

    The first applies optimism to the priced sum, the second to each outcome.

    >>> from evenhand.environments import Court, MultiObjective
    >>> [type(objective_goal(world.problem)).__name__ for world in (Court(), MultiObjective())]
    ['LinearReward', 'FrankWolfe']
    """
    if not isinstance(problem.objective, LinearObjective):
        return frank_wolfe(problem, problem.objective)
    return reward(problem)
