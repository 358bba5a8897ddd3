"""A shop with days and nights: offers bring sales and use money, both learned, and cases come at times of their own."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.environments import Arrival
from evenhand.environments._cases import blocks, no_groups
from evenhand.models import BayesianRidge
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Constraint
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.spans import Spans
from evenhand.problem.traffic import Traffic
from evenhand.recipes import resolving
from evenhand.run import Trace, simulate
from tests.sales import bought

OFFERS = ("nothing", "small", "large", "gift")
CHANCE = np.array([[0.20, 0.60, 0.10], [0.25, 0.10, 0.55], [0.40, 0.05, 0.05]])  # of a sale: constant and two slopes
MONEY = np.array([[0.30, 0.15, 0.00], [0.05, 0.10, 0.00], [0.15, 0.05, 0.05]])  # mean use
WEEK = np.array([1.2, 1.1, 1.0, 1.0, 1.3, 0.7, 0.7])
MEAN = 400  # cases a day
_HALVES = (np.arange(48) + 0.5) / 48


def _by_hour(time: Floats) -> Floats:
    return np.asarray(1.0 + 0.8 * np.sin(2.0 * np.pi * (time - 0.3)))


SHAPE = tuple(np.outer(WEEK, _by_hour(_HALVES)).ravel().tolist())  # of a week, in half hours


def cases(seed: int, days: int, level: float = 1.0, spread: float = 0.3) -> Floats:
    """Draw the times of cases: few at night, more on some days of the week, and days that nobody can foresee."""
    rng, found = np.random.default_rng(seed), []
    for day in range(days):
        luck = np.exp(spread * rng.standard_normal() - spread**2 / 2)
        count = rng.poisson(level * MEAN * WEEK[day % 7] * luck)
        hours = rng.random(4 * count + 50)
        hours = hours[rng.random(len(hours)) < _by_hour(hours) / 1.8][:count]
        found.append(np.sort(day + hours))
    return np.concatenate(found)


def forecast(level: float = 1.0, trust: float = 100.0) -> Traffic:
    """The true season of a week at some level."""
    return Traffic(level * MEAN * WEEK.sum(), per=7.0, shape=SHAPE, trust=trust)


@dataclass(frozen=True, kw_only=True, eq=False)
class Days:
    """The shop. At night a trait of customers is small, so that offers bring less."""

    times: Floats  # of cases, or of the cases of every replica, (N, R)
    subject_to: tuple[Constraint, ...]
    since: str | None = None
    until: float | str | None = None
    traffic: Traffic | None = None
    horizon: int = 0
    luck: Luck | None = None

    counts_idle_steps = True
    n_features = 9

    @property
    def problem(self) -> Problem:
        return Problem(
            actions=OFFERS,
            outcomes=(Outcome("sale", free=("nothing",)), Outcome("money", free=("nothing",))),
            maximize="sale",
            subject_to=self.subject_to,
            horizon=self.horizon,
            since=self.since,
            until=self.until,
            traffic=self.traffic,
        )

    @property
    def steps(self) -> int:
        return len(self.times)

    def start(self, seed: int, replicas: np.ndarray) -> "Days":
        return replace(self, luck=Luck(seed=seed, replicas=replicas))

    def context(self, step: int) -> Context:
        u, time = self.luck.uniform(Stream.CONTEXT, np.array([step]), 2), np.atleast_1d(self.times[step])
        night = _by_hour(time) < 1.0
        x = blocks(np.column_stack([u[:, 0] * np.where(night, 0.4, 1.0), u[:, 1]]), 3)
        return Context(x, np.zeros((1, 4, 0)), no_groups(self.luck.replicas), np.ones((1, 4), bool), time)

    def means(self, context: Context) -> Floats:
        """Means of every candidate, `->(A,M)`."""
        x = context.features.reshape(-1, 4, 3, 3)
        return np.stack([np.einsum("rakn,kn->ra", x, CHANCE), np.einsum("rakn,kn->ra", x, MONEY)], 2)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, list[Arrival]]:
        mean = self.expected(context, decision.plays)
        return decision, [Arrival(step, decision, np.minimum(bought(self.luck, step, mean), 1.0))]

    def expected(self, context: Context, plays: np.ndarray) -> Floats:
        mean = np.take_along_axis(self.means(context), np.maximum(plays, 0)[:, :, None], 1)
        return np.where(plays[:, :, None] >= 0, mean, 0.0)

    @property
    def policy(self) -> Policy:
        return resolving(self.problem, BayesianRidge(n_features=9, n_outcomes=2))

    def played(self, seed: int, replicas: int) -> Trace:
        """A run of the policy, with every play."""
        return simulate(self.policy, self, seed=seed, replicas=replicas, record="all", progress=False)

    def best(self, spans: Spans, seed: int, replicas: int) -> Floats:
        """The most sales within spans, by a linear program that knows all cases and means, `->()`."""
        world = self.start(seed, np.arange(replicas))
        mean = np.stack([world.means(world.context(step)) for step in range(self.steps)], 1)
        period = spans.period(self.times)
        return np.array([_program(z, period, spans) for z in mean])


def _program(mean: Floats, period: np.ndarray, spans: Spans) -> float:
    steps, actions = mean.shape[:2]
    at = np.arange(steps * actions)
    one = csr_array((np.ones(len(at)), (at // actions, at)))
    inside = [(period >= a) & (period <= b) for a, b in zip(spans.first, spans.last, strict=True)]
    use = vstack([coo_array((mean[:, :, 1] * z[:, None]).reshape(1, -1)) for z in inside]).tocsr()
    found = linprog(-mean[:, :, 0].ravel(), use, spans.allowance, one, np.ones(steps), bounds=(0, 1), method="highs")
    return float(-found.fun)
