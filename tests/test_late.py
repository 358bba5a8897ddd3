"""Outcomes that come late, twice, in part, or for another state."""

import copy
import dataclasses
import threading

import numpy as np
import pytest

from evenhand.core.errors import ConcurrentUse, InvalidInput, StaleDecision, StateMismatch
from evenhand.core.records import Context
from evenhand.environments import Court
from evenhand.experiments.court.study import model
from evenhand.goals import FrankWolfe, Resolving
from evenhand.models import Fixed, Ridge
from evenhand.objectives import GeneralizedGini
from evenhand.policy.receipts import Receipts
from evenhand.policy.saving import flatten
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.recipes import pgd, resolving, ucb

SPENDING = Problem(
    actions=("wait", "go"),
    outcomes=(Outcome("gain"), Outcome("cost")),
    maximize="gain",
    subject_to=(Budget("cost", total=5),),
    horizon=10,
)
POLICY = pgd(SPENDING, Ridge(n_features=2, n_outcomes=2, width=Fixed(0.1)), warmup=0, margin=0.0, hard=True)
CASE = Context(np.eye(2)[None], np.zeros((1, 2, 0)), np.zeros((1, 1, 0), np.int64), np.array([[False, True]]))


def test_an_outcome_is_learned_once():
    state = POLICY.start()
    first, second = POLICY.act(state, CASE), POLICY.act(state, CASE)
    y = np.array([[[1.0, 0.5]]])
    POLICY.learn(state, first, y)
    before = {path: z.copy() for path, z in flatten(state)}
    with pytest.raises(InvalidInput, match=r"^decision: expected one that waits .* got number 0, settled before"):
        POLICY.learn(state, first, y)
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, before[path], err_msg=path)
    POLICY.learn(state, second, y)
    assert state.goals[2].left[0, 0] == 5 - 2 * 0.5


def test_a_decision_that_was_never_committed_teaches_nothing():
    state = POLICY.start()
    with pytest.raises(InvalidInput, match="got one that was never committed"):
        POLICY.learn(state, POLICY.decide(state, CASE), np.array([[[1.0, 0.5]]]))
    assert state.goals[2].left[0, 0] == 5.0
    assert state.model.count[0] == 0


def test_a_decision_of_another_state_is_refused():
    mine, other = POLICY.start(), POLICY.start()
    for _ in range(3):
        decision = POLICY.act(mine, CASE)
    POLICY.act(other, CASE)
    with pytest.raises(InvalidInput, match="got number 2 of another state"):
        POLICY.learn(other, decision, np.array([[[1.0, 0.5]]]))
    for _ in range(3):
        POLICY.act(other, CASE)
    with pytest.raises(InvalidInput, match="got number 2 of another state"):  # which has one of that number by now
        POLICY.learn(other, decision, np.array([[[1.0, 0.5]]]))
    POLICY.learn(copy.deepcopy(mine), decision, np.array([[[1.0, 0.5]]]))
    POLICY.learn(mine, decision, np.array([[[1.0, 0.5]]]))


def test_a_decision_is_committed_once():
    state = POLICY.start()
    decision = POLICY.act(state, CASE)
    with pytest.raises(InvalidInput, match="expected one that was not committed yet, got number 0"):
        POLICY.commit(state, CASE, decision)
    assert state.t[0] == 1


def test_a_decision_that_limits_have_overtaken_is_refused():
    """Two decisions on a budget of 1: the second one is told so, and nothing is spent twice."""
    problem = dataclasses.replace(SPENDING, subject_to=(Budget("cost", total=1),))
    policy = pgd(problem, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    state = policy.start()
    first, second = policy.decide(state, CASE), policy.decide(state, CASE)
    policy.commit(state, CASE, first)
    before = {path: z.copy() for path, z in flatten(state)}
    with pytest.raises(StaleDecision, match=r"plays \[1\] of replica 0 no longer fit cost"):
        policy.commit(state, CASE, second)
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, before[path], err_msg=path)
    policy.learn(state, first, np.array([[[1.0, 0.0]]]))  # it cost nothing: now there is room again
    policy.commit(state, CASE, second)
    assert state.goals[2].left[0, 0] == 0.0


def test_a_decision_beyond_the_horizon_is_refused():
    problem = dataclasses.replace(SPENDING, horizon=1)
    policy = ucb(problem, Ridge(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    first, second = policy.decide(state, CASE), policy.decide(state, CASE)
    policy.commit(state, CASE, first)
    with pytest.raises(StaleDecision, match="the horizon of 1 rounds is over"):
        policy.commit(state, CASE, second)


def test_a_cancelled_decision_gives_back_what_it_holds():
    costs = (*SPENDING.outcomes, Outcome("letter", known={"go": 1.0}))
    problem = dataclasses.replace(
        SPENDING, outcomes=costs, subject_to=(Budget("cost", total=5), Budget("letter", total=4))
    )
    policy = pgd(problem, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    state = policy.start()
    case = CASE._replace(known=problem.declared[None])
    decision = policy.act(state, case)
    np.testing.assert_array_equal(state.goals[2].left, [[4.0, 3.0]])
    policy.cancel(state, decision)
    np.testing.assert_array_equal(state.goals[2].left, [[5.0, 4.0]])
    np.testing.assert_array_equal(state.goals[2].held, [[0.0, 0.0]])
    for again in (policy.cancel, lambda s, d: policy.learn(s, d, np.array([[[1.0, 0.0]]]))):
        with pytest.raises(InvalidInput, match="settled before"):
            again(state, decision)
    assert state.t[0] == 1


@pytest.mark.parametrize("objective", [GeneralizedGini(("gain", "letter")), "gain"])
def test_a_cancelled_decision_is_taken_out_of_the_books_of_what_was_known(objective):
    costs = (*SPENDING.outcomes, Outcome("letter", known={"go": 1.0}))
    budgets = (Budget("cost", total=5), Budget("letter", total=4))
    problem = dataclasses.replace(SPENDING, outcomes=costs, subject_to=budgets, maximize=objective)
    policy = resolving(problem, Ridge(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    policy.cancel(state, policy.act(state, CASE._replace(known=problem.declared[None])))
    for i, goal in enumerate(policy.goals):
        if isinstance(goal, FrankWolfe):
            np.testing.assert_array_equal(state.goals[i].total, 0.0)
            np.testing.assert_array_equal(state.goals[i].rounds, 0.0)
        if isinstance(goal, Resolving):
            np.testing.assert_array_equal(state.goals[i].spent, 0.0)
            np.testing.assert_array_equal(state.goals[i].counted, 0.0)


def test_what_is_not_exposed_counts_for_nothing_and_teaches_nothing():
    """Unlike what is not observed: that stays held back."""
    shown = Outcome("shown", known=1.0, sure=False)
    problem = dataclasses.replace(
        SPENDING, outcomes=(*SPENDING.outcomes, shown), subject_to=(Budget("cost", total=5), Budget("shown", total=4))
    )
    policy = pgd(problem, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    state, case = policy.start(), CASE._replace(known=problem.declared[None])
    waiting = [policy.act(state, case) for _ in range(3)]
    np.testing.assert_array_equal(state.goals[2].left, [[2.0, 1.0]])
    np.testing.assert_array_equal(state.goals[2].held, [[3.0, 3.0]])
    y = np.array([[[1.0, 0.5]]])
    policy.learn(state, waiting[0], np.full_like(y, np.nan), exposed=np.array([[False]]))
    np.testing.assert_array_equal(state.goals[2].left, [[3.0, 2.0]])
    assert state.model.count[0] == 0
    policy.learn(state, waiting[1], y, exposed=np.array([[True]]))
    np.testing.assert_array_equal(state.goals[2].left, [[3.5, 2.0]])
    assert state.model.count[0] == 1
    policy.learn(state, waiting[2], y, observed=np.zeros((1, 1, 2), bool))
    np.testing.assert_array_equal(state.goals[2].left, [[3.5, 2.0]])  # the cost is unknown: it stays held back
    np.testing.assert_array_equal(state.goals[2].held, [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ({"exposed": np.ones((1, 2), bool)}, r"^exposed: expected true or false, of shape \(1, 1\)"),
        ({"exposed": np.ones((1, 1))}, "^exposed: expected true or false"),
        ({"observed": np.ones((1, 1), bool)}, r"^observed: expected true or false, of shape \(1, 1, 2\)"),
    ],
)
def test_masks_have_the_shape_of_what_they_mask(mask, expected):
    state = POLICY.start()
    decision = POLICY.act(state, CASE)
    with pytest.raises(InvalidInput, match=expected):
        POLICY.learn(state, decision, np.array([[[1.0, 0.5]]]), **mask)
    POLICY.learn(state, decision, np.array([[[1.0, 0.5]]]))  # which still waits


def test_a_second_thread_inside_a_state_is_refused_at_once():
    inside, go = threading.Event(), threading.Event()

    class Slow(Ridge):
        def value(self, state, x, w, u):
            inside.set()
            go.wait(10)
            return super().value(state, x, w, u)

    policy = ucb(SPENDING, Slow(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    first = threading.Thread(target=policy.act, args=(state, CASE))
    first.start()
    assert inside.wait(10)
    for use in (policy.decide, policy.act):
        with pytest.raises(ConcurrentUse, match="one writer at a time"):
            use(state, CASE)
    go.set()
    first.join()
    policy.act(state, CASE)
    assert state.t[0] == 2


def test_a_copied_state_has_a_guard_of_its_own():
    state = POLICY.start()
    again = copy.deepcopy(state)
    with state.guard:
        POLICY.act(again, CASE)


def test_receipts_keep_only_what_waits():
    """Decisions that are settled in their order take no memory, however many there are."""
    book = Receipts()
    for number in range(1000):
        receipt = book.enter()
        assert receipt.tolist() == [book.book, number]
        book.settle(receipt)
    assert len(book.settled) == 16
    oldest = book.enter()
    for _ in range(500):
        book.settle(book.enter())
    np.testing.assert_array_equal(book.waiting(), [oldest[1]])
    assert 501 <= len(book.settled) <= 1024
    book.settle(oldest)
    for _ in range(2000):
        book.settle(book.enter())
    np.testing.assert_array_equal(book.waiting(), [])
    with pytest.raises(InvalidInput, match=f"number {oldest[1]}, settled before"):
        book.settle(oldest)


def test_a_cost_that_was_not_observed_moves_no_price():
    dual = dataclasses.replace(POLICY.goals[1], on="observed", start_at=(1.0,))
    policy = dataclasses.replace(POLICY, goals=(POLICY.goals[0], dual, POLICY.goals[2]))
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
