"""What enters the averages of `FrankWolfe`, and where they may be."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models import Fixed, Ridge
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, Moreau, Randomized, WeightedSum
from evenhand.problem import Budget, Outcome
from evenhand.recipes import fw_dual, fw_linucb, resolving
from tests.calls import tell
from tests.goals.arms import CASE, averages, problem, truth


def test_averages_are_over_what_was_observed_of_each_outcome():
    goal = frank_wolfe(problem(GeneralizedGini(("u", "v"))), GeneralizedGini(("u", "v")), Moreau(0.1))
    policy = fw_linucb(problem(GeneralizedGini(("u", "v"))), truth())
    decision, state = policy.decide(policy.start(), CASE), goal.start(1)
    np.testing.assert_allclose(goal.average(state), [goal.start_at])
    for v in ([0.2, np.nan], [np.nan, np.nan], [0.4, 0.9], [0.9, np.nan]):
        goal.on_outcome(state, decision, np.ones(1), np.array([v]))
    np.testing.assert_allclose(goal.average(state), [[0.5, 0.9]])
    goal.on_outcome(state, decision, np.zeros(1), np.zeros((1, 2)))  # a round that does not count
    np.testing.assert_allclose(goal.average(state), [[0.5, 0.9]])


def test_optimistic_averages_take_the_end_of_each_interval_that_the_slope_likes():
    """By hand: the upper end of the interval for a positive slope, the lower one for a negative; clipped to [0, 1]."""
    objective = Linear({"u": 1.0, "v": -2.0})
    p = replace(problem(objective), outcomes=(Outcome("u"), Outcome("v"), Outcome("w")))
    goal = frank_wolfe(p, objective, on="optimistic")
    model = Ridge(n_features=4, n_outcomes=3, ridge=1.0, width=Fixed(0.25))
    policy = replace(fw_linucb(p, model), goals=(goal,))
    state = policy.start()
    policy.act(state, CASE)
    np.testing.assert_allclose(goal.average(state.goals[0]), [[0.25, 0.0]])  # 0 + 0.25, and 0 - 0.25 clipped to 0
    decision = policy.decide(state, CASE)
    tell(policy.model, state.model, decision.features, np.array([[[0.8, 0.6, 0.0]]]), np.ones(1), decision.prices)
    policy.commit(state, CASE, decision)
    half = 0.25 / np.sqrt(2)  # one observation of weight 1 and a ridge of 1
    np.testing.assert_allclose(goal.average(state.goals[0]), [[(0.25 + 0.4 + half) / 2, (0.3 - half) / 2]])


def test_each_outcome_has_a_bonus_of_its_own_or_the_sum_has_one():
    objective = GeneralizedGini(("u", "v", "w"))
    model = Ridge(n_features=4, n_outcomes=3, ridge=1.0, width=Fixed(0.25))
    for optimism, readings in (("row", 3), ("net", 1)):
        policy = fw_linucb(problem(objective), model, optimism=optimism)
        state = policy.start()
        d = policy.decide(state, CASE)
        bonus = policy.model.value(state.model, CASE.features, d.prices, np.zeros((1, 0))).bonus
        assert bonus.shape == (1, readings, 4)
        slope = policy.goals[0].slope(policy.goals[0].average(policy.start().goals[0]), np.zeros(1))
        np.testing.assert_allclose(bonus.sum(1), 0.25 * slope.sum(), rtol=1e-9)


def test_random_smoothing_draws_anew_each_round():
    goal = frank_wolfe(problem(GeneralizedGini(("u", "v"))), GeneralizedGini(("u", "v")), Randomized(1.0, samples=2))
    z = np.full((2, 2), 0.5)
    slopes = [tuple(goal.slope(z, np.full(2, float(t)))[0].round(9)) for t in range(12)]
    assert len(set(slopes)) > 1
    assert all((goal.slope(z, np.full(2, float(t)))[0] == goal.slope(z, np.full(2, float(t)))[1]).all() for t in (0, 5))


def test_an_average_that_leaves_the_domain_names_round_and_outcome():
    objective = AlphaFair(("u", "v", "w"), alpha=1.0, offset=0.05)
    signed = replace(
        problem(objective), outcomes=(Outcome("u", low=-1.0), Outcome("v", low=-1.0), Outcome("w", low=-1.0))
    )
    policy = fw_linucb(signed, truth())
    state = policy.start()
    policy.learn(state, policy.act(state, CASE), np.array([[[0.5, -0.5, 0.5]]]))
    with pytest.raises(InvalidInput, match=r"average after round 1.*v"):
        policy.decide(state, CASE)


def test_smoothing_bears_the_edge_of_the_domain_and_nothing_outside():
    objective = AlphaFair(("u", "v"), alpha=1.0)
    signed = replace(problem(objective), outcomes=(*(Outcome(n, low=-0.5) for n in ("u", "v")), Outcome("w")))
    policy = fw_linucb(signed, truth())
    state = policy.start()
    for y in ([0.5, 0.0, 0.5], [0.5, -0.01, 0.5]):
        decision = policy.act(state, CASE)
        policy.learn(state, decision, np.array([[y]]))
    with pytest.raises(InvalidInput, match=r"average after round 2, outcome 'v'.*offset"):
        policy.decide(state, CASE)
    near = replace(signed, maximize=AlphaFair(("u", "v"), alpha=1.0, offset=0.05))
    policy = fw_linucb(near, truth(), smoothing=Randomized(0.25))
    state = policy.start()
    policy.learn(state, policy.act(state, CASE), np.array([[[0.5, 0.0, 0.5]]]))
    with pytest.raises(InvalidInput, match=r"random points around the average after round 1.*smaller beta"):
        policy.decide(state, CASE)


def test_prices_move_where_the_start_is_the_best_there_is():
    p = problem(EqualExposure(("u", "v", "w")), 100, (Budget("u", rate=0.4),))
    policy = fw_dual(p, truth())
    assert policy.goals[0].slope(np.array([policy.goals[0].start_at]), np.zeros(1)).sum() == 0.0
    (step,) = policy.goals[1].step.sizes
    assert step == pytest.approx(1 / 3 * np.sqrt(3) / 2)  # L |ranges| / (2 sqrt(P)), over sqrt(t) in round t


def test_sums_whose_parts_share_outcomes_are_smoothed_by_random_points():
    names = ("u", "v", "w")
    shared = WeightedSum(((1.0, GeneralizedGini(names)), (0.5, EqualExposure(names))))
    policy = fw_linucb(problem(shared), truth())
    assert isinstance(policy.goals[0].smoothing, Randomized)
    p = problem(shared, 40, (Budget("u", rate=0.4),))
    assert shared.value(averages(resolving(p, truth()), 40)) > shared.value(np.zeros(3))
