import math

import numpy as np
import pytest

from evenhand.choices import Staged, TopK
from evenhand.environments import Court
from evenhand.goals import Doubling, DualGradient, HardBudget, LinearReward, Steady
from evenhand.models import Logarithmic, Logistic
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.recipes import mixed_oracle, pgd, pgd_adaptive
from evenhand.recipes.pgd import experimental_thresholds
from evenhand.recipes.terms import Terms
from evenhand.run import play
from tests import accounts

COURT = Court()
MODEL = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))


def test_pgd_is_logistic_and_linear_and_dual_and_the_argmax_after_a_warm_up():
    policy = pgd(COURT.problem, MODEL, step=0.04)
    objective, dual = policy.goals
    assert isinstance(objective, LinearReward)
    assert objective.weights == (1.0,)
    assert isinstance(dual, DualGradient)
    assert dual.step == Steady(0.04)
    assert (dual.on, dual.optimism, dual.start_at) == ("optimistic", "row", ())
    assert policy.choice == Staged(50, TopK(1))
    assert policy.model is MODEL
    np.testing.assert_allclose(dual.bound, [0.045, 0.195] + [1e-7] * 8)  # a margin of 0.005 on the budgets only
    assert pgd(COURT.problem, MODEL).goals[1].step == Steady(0.02)  # 2 / sqrt(T)


def test_the_hard_variant_is_the_same_with_limits():
    soft, hard = pgd(COURT.problem, MODEL, step=0.04), pgd(COURT.problem, MODEL, step=0.04, hard=True)
    assert isinstance(hard.goals[2], HardBudget)
    np.testing.assert_allclose(hard.goals[2].total, [500, 2000])  # without the margin
    assert len(soft.goals) == 2
    assert hard.name == soft.name + ", hard"


def test_the_adaptive_step_doubles_at_the_limits_of_the_experiments():
    policy = pgd_adaptive(COURT.problem, MODEL)
    step = policy.goals[1].step
    assert isinstance(step, Doubling)
    assert step.base == 0.01  # 1 / sqrt(T)
    assert step.reset is False
    # M_k = 0.01 * 6 * sqrt(T ln(T (k + 2))) with T = 10,000
    assert step.excess[0] == pytest.approx(0.06 * math.sqrt(1e4 * math.log(2e4)))
    assert step.excess[2] == pytest.approx(0.06 * math.sqrt(1e4 * math.log(4e4)))
    assert step.excess == experimental_thresholds(COURT.problem)
    assert pgd_adaptive(COURT.problem, MODEL, reset=True).goals[1].step.reset is True


def test_the_margin_of_a_budget_is_half_of_the_least_of_it_and_root_of_the_horizon():
    for court, ride in ((COURT, 0.005), (Court(ride=0.004), 0.002), (Court(horizon=100), 0.025)):
        margin = Terms(court.problem).margin
        np.testing.assert_allclose(margin[:2], [ride, min(0.5 / court.horizon**0.5, 0.1)])
        assert (margin[2:] == 0.0).all()  # parities


def test_the_mixed_oracle_holds_its_prices_and_learns_rewards_only():
    prices = tuple(0.1 * j for j in range(10))
    policy = mixed_oracle(COURT.problem, MODEL, prices, warmup=5)
    world, state = COURT.start(1, np.arange(3)), policy.start(seed=1, replicas=3)
    for _ in play(policy, state, world, range(60)):
        np.testing.assert_array_equal(accounts.duals(policy, state), np.tile(prices, (3, 1)))
    np.testing.assert_array_equal(state.model.count, [60.0] * 3)


def test_parity_without_budgets_is_a_problem_like_any_other():
    problem = Problem(
        actions=("a", "b"),
        outcomes=(Outcome("gain"), Outcome("fee", known={"b": 1})),
        maximize="gain",
        subject_to=(Parity("fee", by="side", tolerance=0.1),),
        groups=(Groups("side", ["left", "right"]),),
        horizon=50,
    )
    policy = pgd(problem, MODEL)
    np.testing.assert_allclose(policy.goals[1].bound, [0.1] * 4)
    assert len(pgd(problem, MODEL, hard=True).goals) == 2  # there is nothing to keep hard
    assert pgd(problem, MODEL, hard=True).name == policy.name


def run(policy, court, replicas, seed=1):
    """Average spending per round (R, 2), average fairness rows (R, 4), and the price at the end."""
    world, state = court.start(seed, np.arange(replicas)), policy.start(seed=seed, replicas=replicas)
    spent, fairness = np.zeros((replicas, 2)), np.zeros((replicas, 4))
    for r in play(policy, state, world, range(court.horizon)):
        c, first = r.decision.known[:, 0] * r.decision.counted[:, None], (r.context.groups[:, 0] == 0).astype(float)
        spent += c
        fairness += np.concatenate([2 * c * first - c, 2 * c * (1 - first) - c], 1)
    return spent / court.horizon, np.abs(fairness) / court.horizon


@pytest.mark.parametrize("hard", [False, True])
def test_budgets_are_kept_on_average_and_help_is_shared_alike(hard):
    """A short court: the constraints hold up to what a dual step of 0.1 may overshoot, 1 / (0.1 T) and a little."""
    court = Court(horizon=2000)
    spent, fairness = run(pgd(court.problem, MODEL, step=0.1, hard=hard), court, replicas=20)
    most = np.array([0.05, 0.2])
    assert (spent.mean(0) <= most).all()
    assert (spent.mean(0) >= 0.5 * most).all()
    assert fairness.mean() <= 0.005
    if hard:
        assert (spent <= most + 1e-12).all()


def test_without_parity_help_is_not_shared_alike():
    """The two groups respond differently, so that the test above has something to show."""
    court = Court(horizon=2000)
    problem = Problem(
        actions=court.problem.actions,
        outcomes=court.problem.outcomes,
        maximize="appears",
        subject_to=(Budget("ride", rate=0.05), Budget("voucher", rate=0.2)),
        groups=court.problem.groups,
        horizon=2000,
    )
    _, fairness = run(pgd(problem, MODEL, step=0.1), court, replicas=20)
    assert fairness.mean() > 0.03
