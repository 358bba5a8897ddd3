"""Runs with random bills of known means: plans, prices, spending and books, late and lost bills included."""

import numpy as np
import pytest

from evenhand.environments import Delayed
from evenhand.goals import DualGradient, Primal
from evenhand.goals.hard_limits import hard_budget
from evenhand.models import Fixed, Ridge
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Floor, Parity
from evenhand.recipes import fw_dual, pgd, primal_lp, resolving, ucb
from evenhand.run import opt, simulate
from evenhand.testing import check_environment, check_goal, check_policy
from tests import accounts
from tests.worlds import Router

EVEN = (Parity("dollars", by="team", tolerance=0.001), Floor("dollars", rate=0.008))
GINI = GeneralizedGini(("answered", "dollars"))


def model():
    return Ridge(n_features=6, width=Fixed(0.05))


def run(recipe, world, replicas=6, **how):
    policy = recipe(world.problem, model(), **how)
    return policy, simulate(policy, world, replicas=replicas, seed=4, record="all", progress=False)


@pytest.mark.parametrize("recipe", [pgd, primal_lp])
@pytest.mark.parametrize("extra", [(), EVEN])
def test_what_is_decided_at_means_is_decided_as_with_sure_costs(recipe, extra):
    """These recipes step or plan at the decision: they never look at the bills, whatever they are."""
    how = {"horizon": 400, "total": 6.0, "hard": False, "extra": extra}
    (policy, noisy), (_, known) = (run(recipe, Router(noisy=n, **how)) for n in (True, False))
    assert any(isinstance(goal, DualGradient | Primal) for goal in policy.goals)
    np.testing.assert_array_equal(noisy.plays.actions, known.plays.actions)
    np.testing.assert_array_equal(noisy.plays.propensities, known.plays.propensities)
    assert len(np.unique(known.plays.actions)) == 3
    assert noisy.expected is not None
    np.testing.assert_allclose(noisy.expected[-1, :, 1], known.totals[-1, :, 1], rtol=1e-12)
    assert (noisy.total("dollars") != known.total("dollars")).all()


def test_plans_and_the_optimum_are_those_of_sure_costs():
    """After 60 rounds that cost nothing; what is known enters the books one round before an outcome does."""
    mu, plan, best = [], [], []
    for noisy in (True, False):
        world = Router(noisy=noisy, extra=EVEN)
        policy = resolving(world.problem, model(), warmup=0)
        state, start = policy.start(replicas=2), world.start(4, np.arange(2))
        for step in range(60):
            context = start.context(step)
            human = {"features": context.features[:, :1], "known": np.zeros((2, 1, 1)), "plays": np.zeros((2, 1), int)}
            decision = policy.decide(state, context)._replace(**human)
            state.model.theta[:] = np.array([0.1, 0.0, 0.7, -0.5, 0.8, 0.1])
            policy.commit(state, context, decision)
            policy.learn(state, decision, np.zeros((2, 1, 1 + noisy)))
        mu.append(accounts.duals(policy, state))
        plan.append(state.goals[1].plan)
        best.append(opt(world, contexts=400, replicas=2))
    assert (mu[0][:, 0] > 1.0).all()
    np.testing.assert_allclose(mu[0], mu[1], rtol=0.02)
    np.testing.assert_allclose(plan[0], plan[1], rtol=0.02, atol=1e-5)
    assert best[0].value == best[1].value
    np.testing.assert_array_equal(best[0].prices, best[1].prices)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("objective", ["answered", GINI])
def test_budgets_hold_and_spending_matches_its_mean(delay, objective):
    """A replica spends at most 12; over all of them, bills and their means differ by luck alone."""
    router = Router(horizon=600, total=12.0, hard=True, maximize=objective)
    policy = resolving(router.problem, model())
    trace = simulate(policy, Delayed(router, delay), replicas=40, seed=2, progress=False)
    spent = trace.total("dollars")
    assert spent.max() <= 12.0 + 1e-9
    assert spent.mean() > 8.0
    assert trace.expected is not None


def test_bills_match_their_means_where_nothing_stops_the_run():
    """Without a limit the difference is a sum of fair bets, each of variance 7 mean^2."""
    router = Router(horizon=500, hard=False)
    trace = simulate(pgd(router.problem, model()), router, replicas=60, seed=2, record="all", progress=False)
    assert trace.expected is not None
    assert trace.plays is not None
    means = router.problem.declared[:, 0][trace.plays.actions]
    se = np.sqrt(7.0 * (means**2).sum()) / 60
    gap = (trace.total("dollars") - trace.expected[-1, :, 1]).mean()
    assert abs(gap) < 4.0 * se
    assert 4.0 * se < 0.1 * trace.total("dollars").mean()
    np.testing.assert_allclose(trace.plays.outcomes[..., 1].sum((0, 2)), trace.total("dollars"))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [pgd, resolving, fw_dual, primal_lp])
def test_the_contracts_hold_with_bills(recipe):
    router = Router(horizon=200, total=6.0, extra=EVEN)
    check_environment(router)
    policy = recipe(router.problem, model(), warmup=10, hard=True) if recipe is not resolving else None
    policy = policy or resolving(router.problem, model(), warmup=10)
    check_policy(policy, Delayed(router, 3))
    for goal in policy.goals:
        check_goal(goal, router.problem, plays=1)
    check_goal(hard_budget(Router(sure=False).problem), Router(sure=False).problem)


def test_a_trace_counts_bills_by_exposure_only_where_they_are_not_sure():
    for sure in (True, False):
        router = Hidden(horizon=50, hard=False, sure=sure)
        trace = simulate(ucb(router.problem, model()), router, replicas=3, seed=1, record="all", progress=False)
        assert trace.plays is not None
        assert (trace.total("dollars") > 0).all() == sure
        assert np.isnan(trace.plays.outcomes[..., 1]).all() == (not sure)
        assert np.isnan(trace.plays.outcomes[..., 0]).all()
        assert (trace.total("answered") == 0).all()


class Hidden(Router):
    """Nobody looks at any answer."""

    def start(self, seed, replicas):
        world = super().start(seed, replicas)
        inner = world.respond

        def respond(step, context, decision):
            taken, arrivals = inner(step, context, decision)
            unseen, due = np.zeros(taken.plays.shape, bool), np.array([0.0, float(self.sure)])  # a sure bill is due
            return taken, [a._replace(y=a.y * due, exposed=unseen) for a in arrivals]

        world.respond = respond
        return world
