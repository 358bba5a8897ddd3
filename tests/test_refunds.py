"""What comes back to a hard budget: credited once it came back, and never twice."""

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.goals import HardBudget
from evenhand.models import Fixed, Ridge
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes import pgd


def gives_back(actions=("buy", "return"), fee=(2.0, -5.0), plays=1, sure=True):
    """What is spent and what comes back are known for sure."""
    problem = Problem(
        actions=actions,
        outcomes=(Outcome("gain"), Outcome("fee", known=dict(zip(actions, fee, strict=True)), sure=sure)),
        maximize="gain",
        subject_to=(Budget("fee", total=5),),
        horizon=50,
        n_plays=plays,
    )
    return pgd(problem, Ridge(n_features=2, width=Fixed(0.1)), warmup=0, margin=0.0, hard=True)


def only(policy, action):
    """A context in which one action is offered."""
    known = policy.problem.declared[None]
    offered = np.array([[a == action for a in policy.problem.actions]])
    return Context(np.eye(2)[None], known, np.zeros((1, 1, 0), np.int64), offered)


def test_what_comes_back_is_credited_once_it_came_back(tmp_path):
    """Were it credited at once, cancelling it later would leave less than nothing."""
    policy = gives_back()
    state = policy.start()
    for _ in range(2):
        policy.act(state, only(policy, "buy"))
    returned = policy.act(state, only(policy, "return"))
    assert policy.act(state, only(policy, "buy")).plays[0, 0] == -1  # 1 is left
    policy.save(state, tmp_path / "state")
    policy.cancel(state, returned)
    assert state.goals[-1].left[0, 0] == 1.0
    kept = policy.load(tmp_path / "state")
    policy.learn(kept, returned, np.zeros((1, 1, 1)))
    assert kept.goals[-1].left[0, 0] == 6.0


@pytest.mark.parametrize("exposed", [False, True])
def test_what_comes_back_only_if_exposed_is_credited_only_then(exposed):
    policy = gives_back(sure=False)
    state = policy.start()
    returned = policy.act(state, only(policy, "return"))
    assert state.goals[-1].left[0, 0] == 5.0
    policy.learn(state, returned, np.zeros((1, 1, 1)), exposed=np.array([[exposed]]))
    assert state.goals[-1].left[0, 0] == (10.0 if exposed else 5.0)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_cancelled_or_comes_late_no_budget_is_exceeded(seed):
    """Random orders of buying, returning, learning and cancelling, against an account of what really happened."""
    policy, rng, waiting, spent = gives_back(), np.random.default_rng(seed), [], 0.0
    state = policy.start()
    for _ in range(60):
        move = rng.integers(3)
        if move == 0 or not waiting:
            decision = policy.act(state, only(policy, ("buy", "return")[rng.integers(2)]))
            if decision.counted[0]:
                waiting.append(decision)
                spent += max(decision.known[0, 0, 0], 0.0)  # what comes back is not there yet
        else:
            decision = waiting.pop(rng.integers(len(waiting)))
            fee = decision.known[0, 0, 0]
            if move == 1:
                policy.learn(state, decision, np.zeros((1, 1, 1)))
                spent += min(fee, 0.0)
            else:
                policy.cancel(state, decision)
                spent -= max(fee, 0.0)
        assert state.goals[-1].left[0, 0] == pytest.approx(5.0 - spent)
        assert spent <= 5.0


def test_what_was_known_at_commit_is_what_is_settled():
    policy = gives_back()
    state = policy.start()
    bought = policy.act(state, only(policy, "buy"))
    bought.known[:] = -3.0
    for settle in (lambda: policy.cancel(state, bought), lambda: policy.learn(state, bought, np.zeros((1, 1, 1)))):
        with pytest.raises(InvalidInput, match=r"^decision: expected the plays, groups, known outcomes"):
            settle()
    assert state.goals[-1].left[0, 0] == 3.0


def test_a_refund_that_is_sure_comes_back_though_the_rest_was_not_observed():
    """At worst the learned outcome takes 2 of the 5 that come back."""
    rows = Rows.plain(["net"], np.array([[1.0]]), np.array([[1.0]]))
    goal = HardBudget(rows=rows, total=np.array([5.0]), low=np.zeros(1), high=np.full(1, 2.0))
    policy = gives_back()
    case = only(policy, "return")
    decision = policy.decide(policy.start(), case)
    state = goal.start(1)
    goal.on_decision(state, decision, None)
    assert state.left[0, 0] == 5.0
    goal.on_outcome(state, decision, np.ones(1), np.array([[np.nan]]))
    assert state.left[0, 0] == 8.0


def test_a_refund_in_one_replica_leaves_the_others_alone():
    """Two replicas in one batch, of which one buys and returns and the other only buys, end as each does alone."""
    policy = gives_back()
    moves = [("buy", "buy"), ("return", "buy"), ("buy", "buy"), ("buy", "buy")]

    def left(replicas):
        state = policy.start(replicas=replicas)
        for move in moves:
            cases = [only(policy, move[i]) for i in replicas]
            together = Context(*(np.concatenate(z) for z in zip(*cases, strict=True)))
            policy.learn(state, policy.act(state, together), np.zeros((len(replicas), 1, 1)))
        return state.goals[-1].left[:, 0]

    batch = left([0, 1])
    np.testing.assert_array_equal(batch, np.concatenate([left([0]), left([1])]))
    np.testing.assert_array_equal(batch, [4.0, 1.0])
