"""Sensors that cover overlapping sets of points; each point must be seen often enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, number, one_of
from evenhand.environments._arms import ArmsWorld, draw_links, instance_luck
from evenhand.objectives import Linear
from evenhand.problem.constraints import Within
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.sets import Box, Halfspaces


@named("B11", source="Agrawal & Devanur 2014, Section 3 (sensor networks); instances are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Switches on at most one of m sensors per round; each of N points must be seen at a given rate.

    Equation: sensor i works with probability q_i, and then sees the points that it covers: with x_i the rate at which
    it is on and works, S = {x : sum of x_i over the sensors i that cover k >= rate, for all points k}. The energy of
    sensors is known, and as little as possible is to be used.
    q is uniform on [1/2, 1], energies on [0.2, 1]; a sensor covers a point with probability 0.3, each point has a
    sensor, and each sensor a point. The rate is `demand` times the largest one that can be had.

    Outcomes are the m sensors' successes with a set of N half-spaces, or, stated linearly, the N points that are seen,
    each with a floor. Both describe the same rounds.

    Args:
        sensors: m.
        points: N.
        outcomes: whether the outcomes are the "sensors" or the "points".
        demand: above 0, at most 1.

    >>> len(Sensors(points=30).problem.learned), len(Sensors(points=30, outcomes="points").problem.learned)
    (10, 30)
    """

    sensors: int = 10
    points: int = 100
    outcomes: Literal["sensors", "points"] = "sensors"
    instance: int = 0
    demand: float = 0.8
    horizon: int = 10_000

    def __post_init__(self) -> None:
        counts(self, {"sensors": 1, "points": 1, "instance": 0})
        one_of("Sensors.outcomes", self.outcomes, ("sensors", "points"))
        number("Sensors.demand", self.demand, "a number in (0, 1]", lambda x: 0 < x <= 1)

    @cached_property
    def covers(self) -> Floats:
        """Whether each sensor covers each point, 0 or 1, `->(m,N)`."""
        luck = instance_luck(self.instance, 1, self.sensors * self.points)
        return draw_links(luck.reshape(self.sensors, self.points), 0.3).astype(float)

    @cached_property
    def works(self) -> Floats:
        """The probability q that each sensor works, `->(m)`."""
        return 0.5 + 0.5 * instance_luck(self.instance, 2, self.sensors)

    @cached_property
    def rate(self) -> float:
        """The required rate at which each point is seen per round."""
        from scipy.optimize import linprog  # slow to import

        seen = (self.works[:, None] * self.covers).T
        rows = np.column_stack([-seen, np.ones(self.points)])
        total = np.append(np.ones(self.sensors), 0.0)[None]
        worth = np.append(np.zeros(self.sensors), -1.0)
        best: Any = linprog(worth, A_ub=rows, b_ub=np.zeros(self.points), A_eq=total, b_eq=[1.0])
        return float(-self.demand * best.fun)

    @cached_property
    def problem(self) -> Problem:
        names = tuple(f"sensor {i}" for i in range(1, self.sensors + 1))
        actions = ("nothing", *names)
        energy = 0.2 + 0.8 * instance_luck(self.instance, 3, self.sensors)
        if self.outcomes == "sensors":
            seen = tuple(f"success of {name}" for name in names)
            learned = [Outcome(o, free=tuple(a for a in actions if a != n)) for n, o in zip(names, seen, strict=True)]
            rows = tuple(map(tuple, (-self.covers.T).tolist()))
            enough = Within(seen, Halfspaces(rows, (-self.rate,) * self.points))
        else:
            seen = tuple(f"point {k}" for k in range(1, self.points + 1))
            learned = [Outcome(name, free=("nothing",)) for name in seen]
            enough = Within(seen, Box((self.rate,) * self.points, (np.inf,) * self.points))
        return Problem(
            actions=actions,
            outcomes=(*learned, Outcome("energy", known=dict(zip(names, energy.tolist(), strict=True)))),
            maximize=Linear({"energy": -1.0}),
            subject_to=(enough,),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.sensors

    def start(self, seed: int, replicas: Ints) -> ArmsWorld:
        effect = np.eye(self.sensors) if self.outcomes == "sensors" else self.covers
        means = np.concatenate([np.zeros((1, effect.shape[1])), self.works[:, None] * effect])
        return ArmsWorld(self.problem, means, True, seed, replicas)
