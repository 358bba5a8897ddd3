"""Multi-objective bandits: each arm has several outcomes that are linear in its features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.environments.base import Arrival
from evenhand.objectives import GeneralizedGini
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem


@kernel
def _features(z: Floats, arms: int, n: int) -> Floats:
    """Compute features 1/n plus a normal number over n, `(A*n)->(A,n)`."""
    x = np.empty((len(z), arms, n))
    for r in range(len(z)):
        for a in range(arms):
            for i in range(n):
                x[r, a, i] = (1.0 + z[r, a * n + i]) / n
    return x


@kernel
def _means(x: Floats, theta: Floats, plays: Ints) -> Floats:
    """Compute the means of the plays under each replica's own parameters, `(A,n),(M,n),(P)->(P,M)`."""
    mean = np.zeros((*plays.shape, theta.shape[1]))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                for m in range(theta.shape[1]):
                    for i in range(x.shape[2]):
                        mean[r, p, m] += theta[r, m, i] * x[r, plays[r, p], i]
    return mean


class _World:
    """A world in which every replica has its own true parameters, drawn once."""

    counts_idle_steps = True

    def __init__(
        self, steps: int, arms: int, n_features: int, n_outcomes: int, noise: float, seed: int, replicas: Ints
    ):
        self._luck, self._noise, self._arms, self._n = Luck(seed=seed, replicas=replicas), noise, arms, n_features
        count = len(replicas)
        draws = self._luck.uniform(Stream.TRUTH, np.zeros(1, np.int64), n_outcomes * n_features)
        self.theta = draws.reshape(count, n_outcomes, n_features)
        self._known, self._offered = np.zeros((1, arms, 0)), np.ones((1, arms), bool)
        self._groups = np.zeros((count, 1, 0), np.int64)
        self._plays, self._mean = np.zeros((count, 0), np.int64), np.zeros((count, 0, n_outcomes))
        self.steps = steps

    def context(self, step: int) -> Context:
        z = self._luck.normal(Stream.CONTEXT, np.array([step]), self._arms * self._n)
        return Context(_features(z, self._arms, self._n), self._known, self._groups, self._offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        self._plays, self._mean = decision.plays, _means(context.features, self.theta, decision.plays)
        noise = self._luck.normal(Stream.OUTCOME, np.array([step]), self.theta.shape[1])
        y = self._mean * (1.0 + self._noise * noise[:, None])
        return decision, [Arrival(step, decision, y)]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return self._mean if plays is self._plays else _means(context.features, self.theta, plays)


@named("C9", source="Do et al. 2023, Appendix B.2, multi-objective bandits with generalised Gini functions")
@dataclass(frozen=True, kw_only=True)
class MultiObjective:
    """Arms whose M outcomes are linear in features that change every round; a generalised Gini of their averages.

    Equation: Theta ~ U[0, 1]^(M x n), one per replica; features of each arm N(1/n, 1/n^2) in each coordinate; outcomes
    N(Theta x, (noise Theta x)^2), noise 0.1; f = sum_i 2^-(i-1) z_(i).
    Outcomes are normal and unbounded, so no budget on them can be hard.

    Args:
        arms: A.
        n_outcomes: M.
        n_features: n of each arm.
        horizon: T.
        noise: standard deviation divided by mean.

    Raises:
        InvalidInput: sizes or a horizon below 1, or noise that is negative or not finite.

    >>> MultiObjective(arms=50, n_outcomes=5).problem.objective.weights
    (1.0, 0.5, 0.25, 0.125, 0.0625)
    """

    arms: int = 50
    n_outcomes: int = 5
    n_features: int = 10
    horizon: int = 2000
    noise: float = 0.1

    def __post_init__(self) -> None:
        for field in ("arms", "n_outcomes", "n_features", "horizon"):
            whole(f"MultiObjective.{field}", getattr(self, field), 1)
        if not (isinstance(self.noise, Real) and 0 <= self.noise < math.inf):
            raise InvalidInput("MultiObjective.noise", "a finite number of at least 0", repr(self.noise))

    @cached_property
    def problem(self) -> Problem:
        """The problem: a generalised Gini function of all outcomes."""
        names = tuple(f"outcome {i}" for i in range(1, self.n_outcomes + 1))
        return Problem(
            actions=tuple(f"arm {a}" for a in range(1, self.arms + 1)),
            outcomes=tuple(Outcome(name, low=-np.inf, high=np.inf) for name in names),
            maximize=GeneralizedGini(names),
            horizon=self.horizon,
        )

    def start(self, seed: int, replicas: Ints) -> _World:
        """Start a world; parameters, features and luck are the same for every policy."""
        return _World(self.horizon, self.arms, self.n_features, self.n_outcomes, self.noise, seed, replicas)
