"""A choice, a model, a constraint and an environment of one's own: checked, then compared over a grid of budgets."""

from dataclasses import dataclass

import numpy as np

import evenhand as eh
from evenhand.testing import check_choice, check_constraint, check_environment, check_model, check_policy


@dataclass(frozen=True)
class Softmax:
    """My choice: the worse a candidate looks, the less likely it is played; bonuses do not matter."""

    temperature: float
    n_plays = 1
    reads_bonus = False

    def draws(self, candidates):
        return 1

    def start(self, n_replicas):
        """No state."""

    def pick(self, state, worth, offer, t, u):
        some = offer.playable.any(1, keepdims=True)
        value = np.where(offer.playable, worth.mean.sum(1), -np.inf)
        best = np.where(some, value.max(1, keepdims=True), 0)
        weight = np.exp((value - best) / self.temperature)
        chances = weight / np.where(some, weight.sum(1, keepdims=True), 1)
        edges = chances.cumsum(1)
        play = np.where(some, (u * edges[:, -1:] >= edges).sum(1, keepdims=True), -1)
        stated = np.where(some, np.take_along_axis(chances, play, 1), 1.0)
        return eh.choices.Pick(play, stated, lottery=chances, forced=np.zeros(len(play)))


@dataclass
class Memory:
    """The state of my model, for R replicas."""

    matrix: np.ndarray  # (R, n, n)
    sums: np.ndarray  # (R, n, M)


@dataclass(frozen=True)
class Forgetful:
    """My model: ridge regression in which a round counts less with every round after it."""

    n_features: int
    n_outcomes: int = 1
    keep: float = 0.99

    def draws(self, candidates):
        return 0

    def start(self, n_replicas, low, high, horizon):
        n = self.n_features
        return Memory(np.zeros((n_replicas, n, n)), np.zeros((n_replicas, n, self.n_outcomes)))

    def value(self, state, x, w, u):
        inverse = np.linalg.inv(state.matrix + np.eye(self.n_features))
        mean = w * (x @ inverse @ state.sums)[:, None]  # (R, K, A, M)
        error = np.sqrt((x @ inverse * x).sum(2))[:, None]  # (R, 1, A)
        return eh.core.records.Worth(mean.sum(3), 0.2 * np.abs(w).sum(3) * error)

    def update(self, state, x, y, seen, w, lesson=None):
        seen = seen.all(2, keepdims=True)
        x, keep = x * seen, np.where(seen.any(1, keepdims=True), self.keep, 1)
        state.matrix[:] = keep * state.matrix + x.transpose(0, 2, 1) @ x
        state.sums[:] = keep * state.sums + x.transpose(0, 2, 1) @ y


@dataclass(frozen=True)
class FewVisits:
    """My constraint: at most a share of the contacts are visits."""

    most: float
    hard, spends, worst, label = None, False, "high", "visits per contact"

    def rows(self, problem):
        """On average, visits - most * contacts <= 0."""
        weights = np.array([[(n == "visits") - self.most * (n == "contacts") for n in problem.names]])
        m = len(problem.learned)
        return eh.problem.Rows.plain([self.label], weights[:, :m], weights[:, m:])

    def bound(self, problem):
        return np.zeros(1)

    def limit(self, horizon):
        return self.most

    def total_over(self, horizon):
        return self.most * horizon

    def measure(self, run):
        visits, contacts = (run.totals[:, :, run.problem.names.index(n)] for n in ("visits", "contacts"))
        return visits / np.maximum(contacts, 1e-9)


class Clinic:
    """My environment, and its own world: patients have two traits; what helps whom changes with the season."""

    n_features = 9  # an intercept and two traits, for each of three actions
    steps, counts_idle_steps = 600, True

    def __init__(self, hours, luck=None):
        self.hours, self.luck = hours, luck
        known = {"visits": {"visit": 1}, "contacts": {"call": 1, "visit": 1}, "hours": {"call": 0.2, "visit": 0.5}}
        self.problem = eh.Problem(
            actions=("wait", "call", "visit"),
            outcomes=(eh.Outcome("recovers"), *(eh.Outcome(name, known=of) for name, of in known.items())),
            maximize="recovers",
            subject_to=(eh.Budget("hours", rate=hours), FewVisits(0.4)),
            horizon=self.steps,
        )

    def start(self, seed, replicas):
        return Clinic(self.hours, eh.core.luck.Luck(seed=seed, replicas=replicas))

    def context(self, step):
        traits = self.luck.uniform(eh.core.luck.Stream.CONTEXT, np.array([step]), 2)
        x = np.kron(np.eye(3), np.insert(traits, 0, 1, axis=1)[:, None])  # (R, 3, 9)
        return eh.Context(x, self.problem.declared[None], np.zeros((len(x), 1, 0), int), np.ones((1, 3), bool))

    def respond(self, step, context, decision):
        season = 0.3 * np.cos(2 * np.pi * step / self.steps)
        effect = np.array([0.1, 0, 0, 0.1, 0.3 + season, 0, 0.3, 0, 0.3 - season])
        u = self.luck.uniform(eh.core.luck.Stream.OUTCOME, np.array([step]), 1)
        y = (u < decision.features @ effect) & (decision.plays >= 0)
        return decision, [eh.environments.Arrival(step, decision, y[:, :, None].astype(float))]

    def expected(self, context, plays):
        """Unknown: a context does not tell the season."""


check_choice(Softmax(0.1))
check_model(Forgetful(9))
check_constraint(FewVisits(0.4), Clinic(0.2).problem)
check_environment(Clinic(0.2))
check_policy(eh.resolving(Clinic(0.2).problem, Forgetful(9), choice=Softmax(0.05)), Clinic(0.2))


def policies(problem):
    """Mine beside those of the house."""
    mine, house = Forgetful(9), eh.BayesianRidge(n_features=9)
    return [
        eh.resolving(problem, house, name="bayesian"),
        eh.resolving(problem, mine, name="forgetful"),
        eh.resolving(problem, house, choice=Softmax(0.05), name="softmax"),
        eh.resolving(problem, mine, choice=Softmax(0.05), name="forgetful softmax"),
        eh.uniform(problem, n_features=9),
    ]


found = eh.sweep(policies, "hours per patient", {h: Clinic(h) for h in (0.1, 0.2, 0.3)}, replicas=5, progress=False)
print(found)
found.plot("researcher.png")
