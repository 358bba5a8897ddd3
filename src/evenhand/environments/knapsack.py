"""A knapsack instance with fixed contexts, from Han et al. 2022."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, normal_within
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints, cached_property
from evenhand.core.validate import nonnegative, whole
from evenhand.environments._cases import Cases, means, no_groups
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

RESOURCES = 4  # the resources of FixedContexts
_OUTCOME = np.uint64(Stream.OUTCOME)
RANGE = 2.0  # outcomes of FixedContexts are within [-RANGE, RANGE]


@kernel
def _noisy(mean: Floats, x: Floats, scale: float, noise: Floats) -> Floats:
    """Add noise to means and clip them to the range, `(P,M),(P,n),(),(M)->(P,M)`; the null arm (x = 0) has no noise."""
    y = np.empty_like(mean)
    for r in range(len(y)):
        for p in range(y.shape[1]):
            size = scale if x[r, p].any() else 0.0
            for m in range(y.shape[2]):
                y[r, p, m] = min(max(mean[r, p, m] + size * noise[r, m], -RANGE), RANGE)
    return y


class _FixedView(NamedTuple):
    seed: Any
    replicas: Ints
    features: Floats
    known: Floats
    groups: Ints
    offered: Bools
    theta: Floats
    noise: float
    every_play: Bools  # shown

    @kernel
    def context(self, step: int) -> tuple[Context, None]:
        return Context(self.features, self.known, self.groups, self.offered, None), None

    @kernel
    def respond(self, step: int, c: Context, hidden: None, d: Decision) -> tuple[Floats, Bools, Floats]:
        mean = means(c.features, self.theta, d.plays)
        noise = normal_within(self.seed, _OUTCOME, self.replicas, np.full(1, step), len(self.theta))
        return _noisy(mean, d.features, self.noise, noise), self.every_play, mean


@named("S5", source="Han et al. 2022, Appendix C.1, with the settings of the authors' code")
@dataclass(frozen=True, kw_only=True)
class FixedContexts:
    """Arms with the same linear features every round; one reward and four costs, with normal noise.

    Equation: x_a = (e_1 + e_{a+1}) / sqrt 2; theta_0 = (e_1 + e_2) / sqrt 2, theta_1 = (e_1 + e_3) / sqrt 2,
    theta_2 = (e_2 + e_3 + e_4 + e_5) / 2, theta_i = e_{i+1} for i = 3, 4; B = T / 4 for each resource.
    Deviations: the paper prints features that are not normalised and noise N(0, 0.2); its code normalises, and 0.2 is
    the standard deviation. Outcomes are declared within [-2, 2] and clipped to it, five standard deviations above the
    largest mean. A hard budget then stops when less than 2 is left of a resource, as the code does. The null arm's
    outcomes have no noise.

    Args:
        arms: A, at most dimension - 1.
        dimension: n, at least 5.
        null_arm: also offer an arm without reward and costs, as OPT does; the published learners have none.
        noise: standard deviation, at least 0 and small against the declared range, as clipping shifts the means.
        orders: replica i has the arms in random order i modulo `orders`; 0 keeps the order of the paper, in which the
            best arm comes first. The null arm stays in its place.

    >>> FixedContexts(arms=3, dimension=52).problem.spending[0].total
    500.0
    """

    arms: int = 3
    dimension: int = 52
    horizon: int = 2000
    null_arm: bool = False
    noise: float = 0.2
    orders: int = 0

    def __post_init__(self) -> None:
        if not (self.dimension > RESOURCES and 1 <= self.arms < self.dimension):
            expected = f"dimension of at least {RESOURCES + 1} and 1 <= arms < dimension"
            raise InvalidInput("FixedContexts", expected, f"{self.arms} arms in dimension {self.dimension}")
        nonnegative("FixedContexts.noise", self.noise)
        whole("FixedContexts.orders", self.orders, 0)

    @cached_property
    def problem(self) -> Problem:
        names = [f"cost {i}" for i in range(1, RESOURCES + 1)]
        free = ("nothing",) if self.null_arm else ()
        return Problem(
            actions=tuple((["nothing"] if self.null_arm else []) + [f"arm {a}" for a in range(1, self.arms + 1)]),
            outcomes=tuple(Outcome(name, low=-RANGE, high=RANGE, free=free) for name in ["reward", *names]),
            maximize="reward",
            subject_to=tuple(Budget(name, total=self.horizon / 4) for name in names),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.dimension

    @cached_property
    def arm_features(self) -> Floats:
        """Features of every arm in the order of the paper, `()->(A,n)`."""
        x = np.zeros((self.arms, self.dimension))
        x[:, 0] = 1.0
        x[np.arange(self.arms), np.arange(1, self.arms + 1)] = 1.0
        x /= math.sqrt(2.0)
        return np.concatenate([np.zeros((1, self.dimension)), x]) if self.null_arm else x

    @cached_property
    def theta(self) -> Floats:
        """True parameters of the reward and the costs, `()->(5,n)`."""
        theta = np.zeros((1 + RESOURCES, self.dimension))
        theta[0, [0, 1]] = theta[1, [0, 2]] = 1.0 / math.sqrt(2.0)
        theta[2, 1:5] = 0.5
        theta[3, 3] = theta[4, 4] = 1.0
        return theta

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, theta, features = Luck(seed=seed, replicas=replicas), self.theta, self.arm_features
        known, offered = self.problem.declared[None], np.ones((1, len(features)), bool)
        context = Context(features[self._order(seed, replicas)], known, no_groups(replicas), offered)

        def outcomes(step: int, decision: Decision, mean: Floats) -> Floats:
            noise = luck.normal(Stream.OUTCOME, np.array([step]), len(theta))
            return _noisy(mean, decision.features, self.noise, noise)

        def mean(x: Floats, plays: Ints) -> Floats:
            return means(x, theta, plays)

        view = _FixedView(
            seed=np.uint64(seed),
            replicas=replicas,
            features=context.features,
            known=np.ascontiguousarray(known),
            groups=context.groups,
            offered=offered,
            theta=theta,
            noise=float(self.noise),
            every_play=np.zeros((0, 0), bool),
        )
        return Cases(self.horizon, luck, lambda step: context, mean, outcomes, view)

    def _order(self, seed: int, replicas: Ints) -> Ints:
        """Return the paper's index of the arm at every place, `->(A)`."""
        places, null = np.arange(len(self.arm_features)), int(self.null_arm)
        if self.orders == 0:
            return np.tile(places, (len(replicas), 1))
        luck = Luck(seed=seed, replicas=replicas % self.orders)
        shuffled = luck.uniform(Stream.ORDER, np.zeros(1, np.int64), self.arms).argsort(1) + null
        return np.concatenate([np.tile(places[:null], (len(replicas), 1)), shuffled], 1)
