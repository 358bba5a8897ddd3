"""Outcomes that come late, twice, in part, or for another state."""

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, StateMismatch
from evenhand.core.records import Context
from evenhand.environments import Court
from evenhand.experiments.court.study import model
from evenhand.models import Fixed, Ridge
from evenhand.problem.constraints import Budget
from evenhand.problem.problem import Outcome, Problem
from evenhand.recipes import pgd

SPENDING = Problem(
    actions=("wait", "go"),
    outcomes=(Outcome("gain"), Outcome("cost")),
    maximize="gain",
    subject_to=(Budget("cost", total=5),),
    horizon=10,
)
POLICY = pgd(SPENDING, Ridge(n_features=2, n_outcomes=2, width=Fixed(0.1)), warmup=0, margin=0.0, hard=True)
CASE = Context(np.eye(2)[None], np.zeros((1, 2, 0)), np.zeros((1, 1, 0), np.int64), np.array([[False, True]]))


def test_an_outcome_reported_again_and_again_gives_nothing_back():
    state = POLICY.start()
    first, second = POLICY.act(state, CASE), POLICY.act(state, CASE)
    y = np.array([[[1.0, 0.5]]])
    for _ in range(6):
        POLICY.learn(state, first, y)
    left = state.goals[2].left[0, 0]
    POLICY.learn(state, second, y)
    assert left <= 5 - 0.5 - 0.5
    assert state.goals[2].left[0, 0] <= 5 - 2 * 0.5


def test_an_outcome_of_a_decision_that_was_never_made_gives_nothing_back():
    state = POLICY.start()
    POLICY.learn(state, POLICY.decide(state, CASE), np.array([[[1.0, 0.5]]]))
    assert state.goals[2].left[0, 0] == 4.5


def test_a_cost_that_was_not_observed_moves_no_price():
    from dataclasses import replace

    dual = replace(POLICY.goals[1], on="observed", start_at=(1.0,))
    policy = replace(POLICY, goals=(POLICY.goals[0], dual, POLICY.goals[2]))
    state = policy.start()
    decision = policy.act(state, CASE)
    policy.learn(state, decision, np.array([[[1.0, 0.0]]]), observed=np.array([[[True, False]]]))
    assert state.goals[1].price[0, 0] == 1.0
    policy.learn(state, policy.act(state, CASE), np.array([[[1.0, 0.0]]]))
    assert state.goals[1].price[0, 0] < 1.0


def test_a_decision_of_another_batch_is_refused():
    court = Court(horizon=100)
    policy = pgd(court.problem, model())
    three = policy.start(replicas=3)
    decision = policy.act(three, court.start(0, three.replicas).context(0))
    one = policy.start()
    context = court.start(0, one.replicas).context(0)
    with pytest.raises(InvalidInput, match="decision: expected one of this state"):
        policy.learn(one, decision, np.ones((3, 1, 1)))
    with pytest.raises(InvalidInput, match="decision: expected one of this state"):
        policy.commit(one, context, decision)


def test_waiting_decisions_survive_a_restart(tmp_path):
    state = POLICY.start()
    waiting = [POLICY.act(state, CASE) for _ in range(3)]
    POLICY.save(state, tmp_path / "state.npz")
    for i, d in enumerate(waiting):
        POLICY.save_decision(d, tmp_path / f"{i}.npz")
    back = POLICY.load(tmp_path / "state.npz")
    for i, d in enumerate(waiting):
        y = np.array([[[1.0, 0.25 * i]]])
        POLICY.learn(state, d, y)
        POLICY.learn(back, POLICY.load_decision(tmp_path / f"{i}.npz"), y)
    np.testing.assert_array_equal(back.goals[2].left, state.goals[2].left)
    np.testing.assert_array_equal(back.goals[1].price, state.goals[1].price)
    np.testing.assert_array_equal(back.model.theta, state.model.theta)
    assert back.goals[2].left[0, 0] == 5 - 0.75


def test_what_is_no_decision_or_one_of_another_policy_is_refused(tmp_path):
    state = POLICY.start()
    decision = POLICY.act(state, CASE)
    POLICY.save(state, tmp_path / "state.npz")
    with pytest.raises(StateMismatch, match="not a saved decision"):
        POLICY.load_decision(tmp_path / "state.npz")
    POLICY.save_decision(decision, tmp_path / "decision.npz")
    with pytest.raises(StateMismatch, match="not a saved state"):
        POLICY.load(tmp_path / "decision.npz")
    other = pgd(SPENDING, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    with pytest.raises(StateMismatch, match="configured differently"):
        other.load_decision(tmp_path / "decision.npz")
