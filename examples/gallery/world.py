"""The worlds of the gallery: cases with traits come one after another, and what an action brings depends on them."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

import evenhand as eh
from evenhand.core.luck import Luck, Stream


def asked(default: int) -> int:
    """Return the number of replicas: that of the command line, if one is stated."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default


def coins(mean: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Toss a coin for every mean."""
    return (u < mean) * 1.0


def arrivals(means: Iterable[float], shape: np.ndarray, luck: np.random.Generator) -> np.ndarray:
    """Draw the times of cases, in days: a Poisson number for each day by its mean, and hours by the shape of a day."""
    hours = [luck.choice(24, luck.poisson(mean), p=shape / shape.sum()) for mean in means]
    return np.concatenate([day + np.sort(z + luck.random(len(z))) / 24 for day, z in enumerate(hours)])


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """An environment whose cases have the traits that the problem names, each between 0 and 1.

    Equation: case t has the traits z_t = drawn(u, time of t), u uniform; action a brings outcome(means(z_t)[a], u').

    Args:
        problem: with numeric features, one per trait.
        means: of the learned outcomes of every action, `(R,q) -> (R,A,M)`.
        outcome: one learned outcome of each kind, by its mean and its luck; a coin by default.
        drawn: traits by uniform numbers and the time of a case.
        group: the group of a case by its traits, where the problem has groups.
        times: of the cases; by default they are numbered.
    """

    problem: eh.Problem
    means: Callable[[np.ndarray], np.ndarray]
    outcome: Callable[[np.ndarray, np.ndarray], np.ndarray] = coins
    drawn: Callable[[np.ndarray, float], np.ndarray] = lambda u, _: u
    group: Callable[[np.ndarray], np.ndarray] | None = None
    times: np.ndarray | None = None
    luck: Luck | None = None
    counts_idle_steps = True

    @property
    def n_features(self) -> int:
        """As `PerAction` reads them: the action, a constant, and the traits."""
        return 1 + self.problem.n_features

    @property
    def steps(self) -> int:
        return self.problem.horizon if self.times is None else len(self.times)

    def start(self, seed: int, replicas: np.ndarray) -> "World":
        return replace(self, luck=Luck(seed=seed, replicas=replicas))

    def context(self, step: int) -> eh.Context:
        time = step if self.times is None else self.times[step]
        u = self.luck.uniform(Stream.CONTEXT, np.array([step]), self.problem.n_features - 1)
        z, actions = self.drawn(u, time), len(self.problem.actions)
        x = np.ones((len(u), actions, self.n_features))
        x[:, :, 0], x[:, :, 2:] = np.arange(actions), 2.0 * z[:, None] - 1.0
        groups = np.zeros((len(u), 1, 0), int) if self.group is None else self.group(z)[:, None, None]
        when = None if self.times is None else np.array([time])
        return eh.Context(x, self.problem.declared[None], groups, np.ones((1, actions), bool), when)

    def expected(self, context: eh.Context, plays: np.ndarray) -> np.ndarray:
        mean = self.means((context.features[:, 0, 2:] + 1.0) / 2.0)
        return np.where(plays[:, :, None] >= 0, np.take_along_axis(mean, np.maximum(plays, 0)[:, :, None], 1), 0.0)

    def respond(self, step: int, context: eh.Context, decision):
        mean = self.expected(context, decision.plays)
        u = self.luck.uniform(Stream.OUTCOME, np.array([step]), mean.shape[2])
        return decision, [eh.environments.Arrival(step, decision, self.outcome(mean, u[:, None]))]

    def by_day(self, trace: eh.run.Trace, outcome: str) -> np.ndarray:
        """Sum an outcome over each day, `->(D,R)`."""
        day = np.floor(self.times).astype(int)
        found = np.zeros((day.max() + 1, len(trace.replicas)))
        np.add.at(found, day, trace.by_step(outcome)[: len(day)])
        return found

    def rule(self, name: str, action: str, otherwise: str = "", chance: float = 1.0) -> eh.Policy:
        """Return the policy that plays one action, in a share of the cases where another one is named."""
        numbers = [self.problem.actions.index(z) for z in (action, otherwise or action)]

        class Rule:
            def __init__(self, luck):
                self.luck = luck

            def select(self, context):
                return numbers[int(self.luck.random() >= chance)]

            def update(self, context, action, reward):
                """Learn nothing."""

        return eh.Wrapped(make=Rule, name=name).policy(self.problem, self.n_features)
