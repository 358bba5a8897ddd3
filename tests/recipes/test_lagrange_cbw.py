import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge as RidgeRegression

from evenhand.choices import InverseGap, OracleRate, Rate
from evenhand.core.arguments import arguments, read
from evenhand.environments import PackingCovering
from evenhand.goals import DualHedge, LinearReward
from evenhand.models import Ridge, Sklearn
from evenhand.recipes import lagrange_cbw, square_cbwk
from evenhand.run import opt, simulate
from tests import accounts


def test_ten_rounds_by_hand():
    """Prices and lotteries from the outcomes that came, by the equations of the docstring in plain NumPy."""
    world = PackingCovering(costs=1, goods=1, horizon=10)
    model = Ridge(n_features=12, n_outcomes=3)
    policy = lagrange_cbw(world.problem, model, rate=7.0, hard=False)
    state, cases = policy.start(), world.start(0, np.arange(1))
    budget, floor = world.rates
    unit, step = np.sqrt([budget, floor]), 3.0 * math.sqrt(math.log(3.0) / 10)
    z = max(2.0, 1.0 / math.sqrt(budget))
    weight, gram, moment = np.full(3, 1 / 3), np.eye(12), np.zeros((12, 3))
    for t in range(10):
        context = cases.context(t)
        lam = z * weight[:2] / unit
        x = context.features[0]
        predicted = np.clip(x @ np.linalg.solve(gram, moment), 0.0, 1.0)
        worth = predicted @ np.array([1.0, -lam[0], lam[1]])
        chances = 1.0 / (4 + 7.0 * (worth.max() - worth))
        best = np.isclose(worth, worth.max(), rtol=0, atol=1e-12)
        chances[best] = (1.0 - chances[~best].sum()) / best.sum()
        decision = policy.decide(state, context)
        assert decision.propensities[0, 0] == pytest.approx(chances[decision.plays[0, 0]])
        _, arrivals = cases.respond(t, context, decision)
        policy.commit(state, context, decision)
        y = arrivals[0].y[0, 0]
        policy.learn(state, decision, arrivals[0].y)
        gain = step * np.array([y[1] - budget, floor - y[2], 0.0]) / np.append(unit, 1.0)
        weight = weight * np.exp(gain) / (weight * np.exp(gain)).sum()
        played = x[decision.plays[0, 0]]
        gram, moment = gram + np.outer(played, played), moment + np.outer(played, y)


def excess(trace):
    """How far the worst row is out of its bound, per round, `->(R)`."""
    sign = {"high": 1.0, "low": -1.0}
    rows = [sign[c.worst] * (trace.measure(c)[-1] - c.limit(trace.problem.horizon)) for c in trace.problem.subject_to]
    return np.maximum(np.max(rows, 0), 0.0)


def test_budgets_and_floors_are_kept_with_an_oracle_of_scikit_learn():
    """The optimum keeps to two or three rows with equality; shares of one replica spread by .02 at this length."""
    world = PackingCovering(horizon=1500)
    oracle = Sklearn(estimator=RidgeRegression(fit_intercept=False), n_features=12, n_outcomes=5, per_outcome=False)
    trace = simulate(lagrange_cbw(world.problem, oracle), world, replicas=2, seed=2, progress=False)
    best = opt(world, contexts=1000, replicas=1, progress=False)
    assert (best.prices > 0.05).sum() >= 2
    assert excess(trace).max() <= 3.0 * 0.5 / math.sqrt(1500)  # three standard deviations of an average of coins
    assert trace.objective()[-1].min() > 0.85 * best.value


def test_floors_alone_need_no_budget():
    """Without budgets the largest price is that of two plays, and a first round of goods below the floor raises it."""
    world = PackingCovering(costs=1, goods=2, horizon=30)
    problem = replace(world.problem, subject_to=world.problem.subject_to[1:])
    policy = lagrange_cbw(problem, Ridge(n_features=12, n_outcomes=4))
    assert [type(goal) for goal in policy.goals] == [LinearReward, DualHedge]
    assert policy.goals[1].max_price == 2.0
    state = policy.start()
    before = accounts.duals(policy, state)
    decision = policy.act(state, world.start(0, np.arange(1)).context(0))
    policy.learn(state, decision, np.zeros((1, 1, 4)))
    assert (accounts.duals(policy, state) > before).all()


class ByCandidates:
    """A schedule of one's own."""

    def rates(self, t, candidates):
        return np.full(len(t), 7.0 * candidates)


@pytest.mark.parametrize("rate", [ByCandidates(), OracleRate(regret=10.0, delta=0.1), Rate(3.0, 0.5), 5.0])
@pytest.mark.parametrize("recipe", [lagrange_cbw, square_cbwk])
def test_any_schedule_is_a_rate(recipe, rate):
    world = PackingCovering(costs=1, goods=1, horizon=30)
    policy = recipe(world.problem, Ridge(n_features=12, n_outcomes=3), rate=rate)
    assert policy.choice == InverseGap(rate)
    assert simulate(policy, world, replicas=1, progress=False).finished
    written = {"kind": "oracle_rate", "regret": 10, "delta": 0.1}
    hint = arguments(recipe)["rate"].hint
    assert read("rate", written, hint, {}) == OracleRate(regret=10.0, delta=0.1)
    assert read("rate", {"scale": 3, "power": 0.5}, hint, {}) == Rate(3.0, 0.5)
