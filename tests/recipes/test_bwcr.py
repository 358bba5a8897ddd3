"""B7: a plain loop with a solver round by round, and the best fixed lottery by a convex program."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.choices import Lottery
from evenhand.environments import Lessons, MixedArms, WithoutContexts
from evenhand.environments.lessons import NEAR, SLOPES
from evenhand.goals import FrankWolfe
from evenhand.models import Tabular
from evenhand.objectives import Linear, Moreau
from evenhand.objectives.smoothing import moreau_gradient
from evenhand.problem import Budget
from evenhand.recipes import bwcr
from evenhand.run import play, simulate

GAMMA = 0.5


class Plain:
    """The source's algorithm for one replica, its averages over the arms that were drawn, costs in units of plays."""

    def __init__(self, problem, margin):
        arms, names = len(problem.actions), problem.names
        self.problem, self.count, self.total = problem, np.zeros(arms), np.zeros((arms, len(problem.learned)))
        self.wanted = [names.index(n) for n in problem.objective.outcomes]
        self.bounded = [names.index(b.outcome) for b in problem.spending]
        self.bound = np.array([b.limit(problem.horizon) for b in problem.spending]) - margin
        self.unit = np.append(np.ones(len(problem.learned)), problem.declared.max(0))[self.bounded]
        self.t, self.x, self.c = 0, np.full(len(self.wanted), 0.5), self.bound

    def vectors(self):
        """Slope g and direction phi, and the outcomes of every arm as each of them likes them."""
        f = self.problem.objective
        smooth = isinstance(f, Linear)
        g = f.supergradient(self.x) if smooth else moreau_gradient(f, self.x, 0.01 / np.sqrt(self.t + 1))
        phi = np.maximum(self.c - self.bound, 0.0) / self.unit**2
        low, high = self.ends()
        wanted = np.where(g >= 0, high[:, self.wanted], low[:, self.wanted])
        return g, phi, wanted, np.where(phi > 0, low[:, self.bounded], high[:, self.bounded])

    def ends(self):
        """Ends of intervals; what an action is declared not to bring is 0."""
        n = self.count[:, None] + 1
        v = self.total / n
        rad, not_free = np.sqrt(GAMMA * v / n) + GAMMA / n, ~self.problem.free
        high = np.hstack([np.minimum(v + 2 * rad, 1.0) * not_free, self.problem.declared])
        return np.hstack([np.maximum(v - 2 * rad, 0.0) * not_free, self.problem.declared]), high

    def solve(self, wanted, slack):
        best = linprog(-wanted, -slack[None], [0.0], np.ones((1, len(wanted))), [1.0])
        return -best.fun if best.status == 0 else None

    def learn(self, arm, y, wanted, used):
        self.x, self.c = ((z * (self.t > 0) * self.t + v) / (self.t + 1) for z, v in ((self.x, wanted), (self.c, used)))
        self.t += 1
        self.count[arm] += 1
        self.total[arm] += y


class Remembered(Lottery):
    """A lottery that is written on the receipt."""

    goes_on = True

    def pick(self, state, worth, offer, t, u):
        pick = super().pick(state, worth, offer, t, u)
        return pick._replace(carried=pick.lottery)

    def on_decision(self, state, decision):
        assert decision.carried.shape == (len(decision.plays), 5)


@pytest.mark.parametrize("inner", [Lessons(horizon=300, parity=False), MixedArms(horizon=300)], ids=repr)
def test_every_lottery_is_the_linear_programs(inner):
    """Known costs and a concave objective, and learned costs and a linear one; round by round along the same draws."""
    world, problem = WithoutContexts(inner), inner.problem
    model = Tabular(arms=5, n_outcomes=len(problem.learned), confidence=GAMMA)
    policy = bwcr(problem, model, margin=0.01, hard=False)
    policy = replace(policy, choice=Remembered(policy.choice.wanted))
    plain, mixed, bound = Plain(problem, 0.01), 0, 0
    state = policy.start()
    for r in play(policy, state, world.start(0, state.replicas), range(300)):
        g, phi, wanted, used = plain.vectors()
        worth, slack = wanted @ g, phi @ plain.bound - used @ phi
        p, best = r.decision.carried[0], plain.solve(worth, slack)
        bound += phi.any()
        mixed += (p > 0).sum() == 2
        assert best is not None  # doing nothing fits
        assert p @ worth == pytest.approx(best, abs=1e-6)
        assert p @ slack >= -1e-9
        arm = r.decision.plays[0, 0]
        plain.learn(arm, r.arrivals[0].y[0, 0], wanted[arm], used[arm])
        if isinstance(policy.goals[0], FrankWolfe):  # the slope of a linear objective needs no average
            np.testing.assert_allclose(plain.x, policy.goals[0].average(state.goals[0])[0], atol=1e-12)
        np.testing.assert_allclose(plain.c / plain.unit, policy.goals[1].average(state.goals[1])[0], atol=1e-12)
    assert bound > 50
    assert mixed > 50


MEANS = np.vstack([np.zeros(4), SLOPES @ np.array([1.0, 0.5 * (1.5 - NEAR), 0.5])])  # what is linear: at mean features


def test_the_means_are_those_of_sampled_contexts():
    world, contexts = Lessons(horizon=4000).start(7, np.array([0])), 4000
    seen = np.array([world.expected(world.context(i), np.arange(5)[None])[0] for i in range(contexts)])
    assert (np.abs(seen.mean(0) - MEANS) <= 5 * seen.std(0) / np.sqrt(contexts)).all()


def best_lottery(v):
    """The most that any fixed lottery over actions can reach, `(A,M)->()`."""
    p, w = cp.Variable(5, nonneg=True), 0.5 ** np.arange(4)
    value = sum((w[k] - (w[k + 1] if k < 3 else 0.0)) * cp.sum_smallest(v.T @ p, k + 1) for k in range(4))
    limits = [cp.sum(p) == 1, Lessons().problem.declared.T @ p <= np.array([0.8, 0.6])]
    return float(cp.Problem(cp.Maximize(value), limits).solve())


@pytest.mark.slow
def test_the_best_fixed_lottery_is_approached_and_nothing_is_overspent():
    """Theorem 6.1: the regret is of the order of L sqrt(gamma A / T), 0.026 here; a fifth of it is left."""
    world = Lessons(horizon=5000, parity=False)
    best = best_lottery(MEANS)
    policy = bwcr(world.problem, Tabular(arms=5, n_outcomes=4, confidence=GAMMA))
    trace = simulate(policy, WithoutContexts(world), replicas=6, progress=False)
    reached = trace.objective()[-1]
    spread = 2 * reached.std(ddof=1) / np.sqrt(6)
    scale = world.problem.objective.lipschitz * np.sqrt(GAMMA * 5 / 5000)
    assert best - 0.2 * scale - spread <= reached.mean() <= best + spread
    for b in world.problem.spending:
        used = trace.total(b.outcome)
        assert (used <= b.total_over(5000) + 1e-6).all()
        assert (used >= 0.97 * b.total_over(5000)).all()


def test_of_two_budgets_on_one_outcome_the_tighter_counts():
    problem = Lessons(horizon=1000, parity=False).problem
    twice = replace(problem, subject_to=(*problem.subject_to, Budget("hours", rate=0.5), Budget("hours", rate=0.7)))
    goals = bwcr(twice, Tabular(arms=5, n_outcomes=4, confidence=GAMMA), margin=0.0).goals
    assert isinstance(goals[1], FrankWolfe)
    assert goals[1].objective.outcomes == ("money / 2", "hours in all (2) / 3")
    assert goals[1].objective.within.high == (0.6 / 2, 0.5 / 3)


def test_what_smooths_the_distance_does_not_matter():
    world = WithoutContexts(Lessons(horizon=200, parity=False))
    policy = bwcr(world.problem, Tabular(arms=5, n_outcomes=4, confidence=GAMMA))
    other = replace(policy, goals=(policy.goals[0], replace(policy.goals[1], smoothing=Moreau(1e-3)), policy.goals[2]))
    one, two = (simulate(p, world, replicas=3, record="all", progress=False) for p in (policy, other))
    np.testing.assert_array_equal(one.plays.actions, two.plays.actions)
