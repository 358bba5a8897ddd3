"""Multi-objective bandits: each arm has several outcomes that are linear in its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, nonnegative
from evenhand.environments._cases import Cases, no_groups
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
        noise: standard deviation divided by mean, at least 0.

    >>> MultiObjective(arms=50, n_outcomes=5).problem.objective.weights
    (1.0, 0.5, 0.25, 0.125, 0.0625)
    """

    arms: int = 50
    n_outcomes: int = 5
    n_features: int = 10
    horizon: int = 2000
    noise: float = 0.1

    def __post_init__(self) -> None:
        counts(self, {"arms": 1, "n_outcomes": 1, "n_features": 1, "horizon": 1})
        nonnegative("MultiObjective.noise", self.noise)

    @cached_property
    def problem(self) -> Problem:
        names = tuple(f"outcome {i}" for i in range(1, self.n_outcomes + 1))
        return Problem(
            actions=tuple(f"arm {a}" for a in range(1, self.arms + 1)),
            outcomes=tuple(Outcome(name, low=-np.inf, high=np.inf) for name in names),
            maximize=GeneralizedGini(names),
            horizon=self.horizon,
        )

    def theta(self, seed: int, replicas: Ints) -> Floats:
        """Draw the true parameters of every replica, `->(M,n)`."""
        luck = Luck(seed=seed, replicas=replicas)
        draws = luck.uniform(Stream.TRUTH, np.zeros(1, np.int64), self.n_outcomes * self.n_features)
        return draws.reshape(len(replicas), self.n_outcomes, self.n_features)

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, theta, groups = Luck(seed=seed, replicas=replicas), self.theta(seed, replicas), no_groups(replicas)
        known, offered = self.problem.declared[None], np.ones((1, self.arms), bool)

        def case(step: int) -> Context:
            z = luck.normal(Stream.CONTEXT, np.array([step]), self.arms * self.n_features)
            return Context(_features(z, self.arms, self.n_features), known, groups, offered)

        def outcomes(step: int, decision: Decision, mean: Floats) -> Floats:
            noise = luck.normal(Stream.OUTCOME, np.array([step]), self.n_outcomes)
            return np.asarray(mean * (1.0 + self.noise * noise[:, None]))

        return Cases(self.horizon, luck, case, lambda x, plays: _means(x, theta, plays), outcomes)
