"""The systems in the experiment of Han et al. 2022, with the settings of the authors' code."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from evenhand.environments import FixedContexts
from evenhand.models import BayesianRidge, Fixed, Glmtron, Gradient, Ridge
from evenhand.models.oracles import Projection
from evenhand.policy.policy import Policy
from evenhand.recipes import lin_cbwk, resolving, square_cbwk, uniform

NEWTON, GRADIENT, UCB = "newton, published", "gradient, published", "ucb, published"
OUTCOMES = 5  # a reward and four costs
SCALE = 4.0  # Z = T / B
RANGE = 4.0  # of every outcome; widths are stated in its units


class Point(NamedTuple):
    """The dimension, arms and rounds of an instance by the paper's letters."""

    m: int
    K: int
    T: int

    def __str__(self) -> str:
        return f"m = {self.m}, K = {self.K}, T = {self.T}"


def systems(point: Point, orders: int) -> list[tuple[FixedContexts, Policy]]:
    """Build the published systems, both oracles with the corrected projection, `resolving` and the baseline."""
    world = FixedContexts(dimension=point.m, arms=point.K, horizon=point.T, orders=orders)
    free = replace(world, null_arm=True)  # OPT may play it
    return [
        (world, newton(world, "whole", NEWTON)),
        (world, gradient(world, "whole", GRADIENT)),
        (world, ucb(world, UCB)),
        (world, newton(world, "row", "newton")),
        (world, gradient(world, "row", "gradient")),
        (free, resolving(free.problem, BayesianRidge(n_features=free.n_features, n_outcomes=OUTCOMES))),
        (world, uniform(world.problem, world.n_features)),
    ]


def newton(world: FixedContexts, projection: Projection, name: str) -> Policy:
    """Build SquareCBwK with Newton oracles."""
    oracle = Glmtron(
        n_features=world.n_features,
        n_outcomes=OUTCOMES,
        ridge=2.25,
        step=3.0,  # the authors' 1.5, as their gradient of the square has a factor of 2
        radius=1.0,
        projection=projection,
        start_at=1 / math.sqrt(world.n_features),
    )
    gamma = 2 * math.sqrt(world.arms * world.horizon / (world.n_features * math.log(world.horizon)))
    return square_cbwk(world.problem, oracle, rate=gamma, max_price=SCALE, step=dual_step(world), name=name)


def gradient(world: FixedContexts, projection: Projection, name: str) -> Policy:
    """Build SquareCBwK with gradient descent; steps are twice the authors', for the same reason as in `newton`."""
    oracle = Gradient(
        n_features=world.n_features,
        n_outcomes=OUTCOMES,
        step=2 / math.sqrt(world.horizon + 1),
        power=0,
        first_step=3.0,
        radius=1.0,
        projection=projection,
        start_at=1 / math.sqrt(world.n_features),
    )
    gamma = 2 * math.sqrt(world.arms) * world.horizon**0.25
    return square_cbwk(world.problem, oracle, rate=gamma, max_price=SCALE, step=dual_step(world), name=name)


def ucb(world: FixedContexts, name: str) -> Policy:
    """Build the baseline: linear confidence bounds of radius sqrt(m), and the same dual."""
    model = Ridge(n_features=world.n_features, n_outcomes=OUTCOMES, width=Fixed(math.sqrt(world.n_features) / RANGE))
    return lin_cbwk(world.problem, model, max_price=SCALE, step=dual_step(world), name=name)


def dual_step(world: FixedContexts) -> float:
    """Return the step of the exponentiated gradient, 2 ln d / sqrt T."""
    return 2 * math.log(len(world.problem.spending)) / math.sqrt(world.horizon)
