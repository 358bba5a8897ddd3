"""X2: a concave objective with budgets, parity and contexts, against the convex program on sampled contexts."""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Lessons
from evenhand.environments.lessons import NEAR, SUBJECTS
from evenhand.models import Fixed, Ridge
from evenhand.objectives import GeneralizedGini, Linear
from evenhand.problem import Groups
from evenhand.recipes import fw_dual, resolving
from evenhand.run import opt, opt_without_contexts, simulate
from evenhand.run.optimum import draw
from tests.worlds import Market


def fluid(seed: int, contexts: int = 1000) -> float:
    """The value of the best static policy that knows everything."""
    world = Lessons(horizon=contexts).start(seed, np.array([0]))
    came = [world.context(i) for i in range(contexts)]
    mean = np.stack([world.expected(c, np.arange(5)[None])[0] for c in came])  # (S, A, M)
    near = np.array([c.groups[0, 0, 0] == 0 for c in came])
    pi = cp.Variable((contexts, 5), nonneg=True)
    z = cp.hstack([cp.sum(cp.multiply(pi, mean[:, :, m])) / contexts for m in range(4)])
    hours, money = (pi @ Lessons().problem.declared[:, i] for i in range(2))
    limits = [cp.sum(pi, 1) == 1, cp.sum(hours) / contexts <= 0.8, cp.sum(money) / contexts <= 0.6]
    for inside, share in ((near, NEAR), (~near, 1 - NEAR)):
        limits.append(cp.abs(cp.sum(cp.multiply(hours, inside / share - 1)) / contexts) <= 0.02)
    w = 0.5 ** np.arange(4)
    value = sum((w[k] - (w[k + 1] if k < 3 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(4))
    return float(cp.Problem(cp.Maximize(value), limits).solve())


@dataclass(frozen=True)
class Guessing:
    """Lessons whose shares of groups nobody declared."""

    problem: object
    n_features: int = 12

    def start(self, seed, replicas):
        return Lessons().start(seed, replicas)


def model() -> Ridge:
    return Ridge(n_features=12, n_outcomes=4, width=Fixed(0.3))


def test_the_optimum_agrees_with_cvxpy_on_the_same_pupils():
    found = opt(Lessons(), contexts=300, replicas=1, seed=7, progress=False)
    assert found.value == pytest.approx(fluid(7, 300), abs=1e-5)
    assert (found.prices[:2] > 0).all()  # hours and money bind


def test_who_sees_no_contexts_has_one_lottery_for_everybody():
    world, contexts = Lessons(parity=False), 300
    truth = draw(world, contexts, seed=7)
    p, mean = cp.Variable(5, nonneg=True), truth.outcomes.mean(0)
    z, w = p @ mean, 0.5 ** np.arange(4)
    value = sum((w[k] - (w[k + 1] if k < 3 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(4))
    hours, money = world.problem.declared.T
    best = cp.Problem(cp.Maximize(value), [cp.sum(p) == 1, p @ hours <= 0.8, p @ money <= 0.6]).solve()
    found = opt_without_contexts(world, contexts=contexts, replicas=1, seed=7, progress=False).value
    assert found == pytest.approx(best, abs=1e-5)
    assert found < opt(world, contexts=contexts, replicas=1, seed=7, progress=False).value
    # a lottery for everybody keeps to parities by itself, however few pupils are sampled
    with_parity = opt_without_contexts(Lessons(), contexts=contexts, replicas=1, seed=7, progress=False).value
    assert with_parity == pytest.approx(found, abs=1e-5)
    unknown = replace(Lessons().problem, groups=(Groups("home", ["near", "far"]),))
    assert opt(Guessing(unknown), contexts=contexts, replicas=1, seed=7, progress=False).value == pytest.approx(
        opt(Lessons(), contexts=contexts, replicas=1, seed=7, progress=False).value, abs=0.02
    )
    some = Market(problem=world.problem, offered=0.5)
    with pytest.raises(InvalidInput, match="offers everybody the same"):
        opt_without_contexts(some, contexts=9, replicas=1, progress=False)


@pytest.mark.slow
def test_resolved_prices_come_within_two_hundredths_of_the_fluid_optimum():
    """At T = 5,000; the optimum is the mean of four samples of 1,000 pupils, whose spread is its standard error."""
    world = Lessons(horizon=5000)
    optimum = opt(world, contexts=1000, replicas=4, seed=10**6, progress=False)
    trace = simulate(resolving(world.problem, model(), contexts=300), world, replicas=6, progress=False)
    assert trace.objective()[-1].mean() >= 0.98 * optimum.value
    for b in world.problem.spending:
        assert (trace.total(b.outcome) <= b.total_over(5000) + 1e-6).all()
    assert (trace.measure(world.problem.subject_to[2])[-1] <= 0.02 + 0.005).all()


def test_the_parity_can_be_left_away_by_itself():
    world = Lessons(horizon=100, parity=False)
    assert world.problem.subject_to == Lessons(horizon=100).problem.spending
    assert Lessons(horizon=100, parity=False, constrained=False).problem.subject_to == ()


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "keeper"), [(fw_dual, "DualGradient"), (resolving, "Resolving")])
def test_objective_only_constraints_only_and_both_come_from_one_recipe(recipe, keeper):
    total = Linear(dict.fromkeys(SUBJECTS, 1.0))
    both, goal, limits = (
        Lessons(horizon=2000),
        Lessons(horizon=2000, constrained=False),
        Lessons(horizon=2000, objective=total),
    )
    kinds = [[type(g).__name__ for g in recipe(w.problem, model()).goals] for w in (both, goal, limits)]
    sloped = "LinearReward" if recipe is resolving else "FrankWolfe"
    assert kinds == [["FrankWolfe", keeper, "HardBudget"], ["FrankWolfe"], [sloped, keeper, "HardBudget"]]
    traces = [simulate(recipe(w.problem, model()), w, replicas=4, progress=False) for w in (both, goal, limits)]
    gini = GeneralizedGini(SUBJECTS)
    value = [gini.value(t.expected[-1] / 2000).mean() for t in traces if t.expected is not None]
    assert value[1] > value[0] > value[2]  # constraints cost something, and a sum cares for nobody
    for t in (traces[0], traces[2]):
        assert (t.total("hours") <= 1600).all()
        assert (t.total("money") <= 1200 + 1e-9).all()
