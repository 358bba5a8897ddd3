"""Outcomes that come late, twice, in part, or for another state."""

import copy
import dataclasses
import threading

import numpy as np
import pytest

from evenhand.core.errors import ConcurrentUse, InvalidInput, StaleDecision, StateMismatch
from evenhand.core.records import Context, Worth
from evenhand.environments import Court
from evenhand.experiments.court.study import model
from evenhand.goals import FrankWolfe, HardBudget, Resolving
from evenhand.models import Fixed, Ridge
from evenhand.objectives import GeneralizedGini
from evenhand.policy.state import Receipts
from evenhand.problem import Budget, Groups, Outcome, Parity, Rows
from evenhand.recipes import pgd, resolving, ucb
from tests import accounts
from tests.polling import LONG
from tests.problems import pose
from tests.states import equal, unchanged

SPENDING = pose("gain", "cost", actions=("wait", "go"), subject_to=(Budget("cost", total=5),), horizon=10)
POLICY = pgd(SPENDING, Ridge(n_features=2, n_outcomes=2, width=Fixed(0.1)), warmup=0, margin=0.0, hard=True)
CASE = Context(np.eye(2)[None], np.zeros((1, 2, 0)), np.zeros((1, 1, 0), np.int64), np.array([[False, True]]))


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


def test_a_decision_that_limits_have_overtaken_is_refused():
    """Two decisions on a budget of 1: the second one is told so, and nothing is spent twice."""
    problem = dataclasses.replace(SPENDING, subject_to=(Budget("cost", total=1),))
    policy = pgd(problem, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    state = policy.start()
    first, second = policy.decide(state, CASE), policy.decide(state, CASE)
    policy.commit(state, CASE, first)
    with unchanged(state), pytest.raises(StaleDecision, match=r"plays \[1\] of replica 0 no longer fit cost"):
        policy.commit(state, CASE, second)
    policy.learn(state, first, np.array([[[1.0, 0.0]]]))  # it cost nothing: now there is room again
    policy.commit(state, CASE, second)
    assert accounts.left(policy, state)[0, 0] == 0.0


def test_a_decision_beyond_the_horizon_is_refused():
    problem = dataclasses.replace(SPENDING, horizon=1)
    policy = ucb(problem, Ridge(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    first, second = policy.decide(state, CASE), policy.decide(state, CASE)
    policy.commit(state, CASE, first)
    with pytest.raises(StaleDecision, match="the horizon of 1 rounds is over"):
        policy.commit(state, CASE, second)


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


def test_a_second_thread_inside_a_state_is_refused_at_once():
    inside, go = threading.Event(), threading.Event()

    class Slow(Ridge):
        def value(self, state, x, w, u):
            inside.set()
            go.wait(LONG)
            return super().value(state, x, w, u)

    policy = ucb(SPENDING, Slow(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    first = threading.Thread(target=policy.act, args=(state, CASE))
    first.start()
    assert inside.wait(LONG)
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
    book, decided = Receipts(), POLICY.decide(POLICY.start(), CASE)

    def entered():
        decision = decided._replace(id=np.full(3, -1))
        book.number(decision.id, 7)
        return decision

    for number in range(1000):
        decision = entered()
        assert decision.id[0] == number
        book.settle(decision, 7)
    assert len(book.tokens) == 64
    oldest = entered()
    for _ in range(500):
        book.settle(entered(), 7)
    np.testing.assert_array_equal(book.waiting(), [oldest.id[0]])
    assert 501 <= len(book.tokens) <= 1024
    book.settle(oldest, 7)
    for _ in range(2000):
        book.settle(entered(), 7)
    np.testing.assert_array_equal(book.waiting(), [])
    with pytest.raises(InvalidInput, match=f"number {oldest.id[0]}, settled before"):
        book.settle(oldest, 7)
    for number in (book.count, book.count + 99):
        with pytest.raises(InvalidInput, match=f"number {number} of another state"):
            book.settle(decided._replace(id=np.array([number, 0, 7])), 7)


def test_a_cost_that_was_not_observed_moves_no_price():
    dual = dataclasses.replace(POLICY.goals[1], on="observed", start_at=(1.0,))
    policy = dataclasses.replace(POLICY, goals=(POLICY.goals[0], dual, POLICY.goals[2]))
    state = policy.start()
    decision = policy.act(state, CASE)
    policy.learn(state, decision, np.array([[[1.0, 0.0]]]), observed=np.array([[[True, False]]]))
    assert accounts.duals(policy, state) == 1.0
    policy.learn(state, policy.act(state, CASE), np.array([[[1.0, 0.0]]]))
    assert accounts.duals(policy, state) < 1.0


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


def test_a_decision_of_another_policy_is_not_loaded(tmp_path):
    POLICY.save_decision(POLICY.act(POLICY.start(), CASE), tmp_path / "decision.npz")
    other = pgd(SPENDING, Ridge(n_features=2, n_outcomes=2), warmup=0, margin=0.0, hard=True)
    with pytest.raises(StateMismatch, match="configured differently"):
        other.load_decision(tmp_path / "decision.npz")


def test_a_decision_of_a_policy_for_another_problem_is_refused():
    problem = dataclasses.replace(SPENDING, outcomes=(Outcome("gain"), Outcome("cost", known={"go": 1.0})))
    other = pgd(problem, Ridge(n_features=2, n_outcomes=1, width=Fixed(0.1)), warmup=0, hard=True)
    state = other.start()
    with pytest.raises(InvalidInput, match=r"^decision: expected one of this policy, with \(2, 1, 1, 0\) features"):
        other.commit(state, CASE._replace(known=np.zeros((1, 2, 1))), POLICY.decide(POLICY.start(), CASE))
    assert state.t[0] == 0


def test_a_play_that_comes_to_nothing_takes_away_no_credit():
    """The constraint is on `cost - gain`: a gain of at least 1 is no credit, as an unexposed play has none."""
    rows = Rows.plain(["net"], np.array([[-1.0]]), np.array([[1.0]]))
    goal = HardBudget(rows=rows, total=np.array([5.0]), low=np.ones(1), high=np.full(1, 2.0))
    decision = POLICY.decide(POLICY.start(), CASE)._replace(known=np.full((1, 1, 1), 2.0))
    state = goal.start(1)
    for _ in range(2):
        assert goal.fits(state, decision).all()
        goal.on_decision(state, decision, None)
    assert not goal.fits(state, decision).any()  # two times 2 are held, and a third would not fit
    goal.on_outcome(state, decision, np.ones(1), np.array([[2.0]]))  # not exposed, but its cost is sure
    assert state.left[0, 0] == 1.0


def test_what_counts_in_other_replicas_than_it_did_settles_nothing():
    """Settling it would give back what was held for nobody, or for another decision that waits."""
    state = POLICY.start(replicas=2)
    case = CASE._replace(features=np.tile(CASE.features, (2, 1, 1)), groups=np.zeros((2, 1, 0), np.int64))
    decision = POLICY.decide(state, case)
    taken = decision._replace(counted=np.array([1.0, 0.0]))
    POLICY.commit(state, case, taken)
    for other in (decision, taken._replace(plays=np.zeros((2, 1), np.int64)), taken._replace(counted=np.zeros(2))):
        with pytest.raises(InvalidInput, match=r"^decision: expected the plays, .* with which number 0 was committed"):
            POLICY.cancel(state, other)
    with pytest.raises(InvalidInput, match=r"^decision: expected the plays, "):
        POLICY.learn(state, decision, np.zeros((2, 1, 2)))
    np.testing.assert_array_equal(accounts.left(POLICY, state), [[4.0], [5.0]])
    POLICY.cancel(state, taken)
    np.testing.assert_array_equal(accounts.left(POLICY, state), [[5.0], [5.0]])


def test_a_commit_that_fails_moves_no_goal_and_gives_no_receipt_to_cancel(monkeypatch):
    """The estimates of all goals are made before any goal moves."""
    policy, state = dataclasses.replace(POLICY, goals=POLICY.goals[::-1]), POLICY.start()
    decision = POLICY.decide(state, CASE)
    monkeypatch.setattr(Ridge, "value", lambda *asked: Worth(np.full((1, 1, 1), np.nan), np.zeros((1, 1, 1))))
    state.goals.reverse()
    state.owner = policy.start().owner
    with unchanged(state):
        with pytest.raises(InvalidInput, match="expected finite predictions"):
            policy.commit(state, CASE, decision)
        with pytest.raises(InvalidInput, match="got one that was never committed"):
            policy.cancel(state, decision)
    assert len(state.receipts.waiting()) == 0


@pytest.mark.parametrize("way", ["copied", "saved"])
def test_a_decision_that_the_state_has_forgotten_settles_no_other(way, tmp_path):
    """The state goes back to before a decision was committed; the next one gets its number, and not its outcome."""
    state = POLICY.start()
    waits = POLICY.act(state, CASE)
    if way == "saved":
        POLICY.save(state, tmp_path / "state")
        lost = POLICY.act(state, CASE)
        state = POLICY.load(tmp_path / "state")
    else:
        again = copy.deepcopy(state)
        lost = POLICY.act(state, CASE)
        state = again
    new = POLICY.act(state, CASE)
    assert lost.id[0] == new.id[0]
    with pytest.raises(InvalidInput, match="got number 1 of another state"):
        POLICY.learn(state, lost, np.array([[[1.0, 0.5]]]))
    for decision in (new, waits):
        POLICY.learn(state, decision, np.array([[[1.0, 0.5]]]))


def test_a_decision_is_explained_among_its_own_candidates():
    state = POLICY.start()
    decision = POLICY.act(state, CASE)
    assert "go" in POLICY.explain(state, CASE, decision)
    one = Context(np.ones((1, 1, 2)), np.zeros((1, 1, 0)), CASE.groups, np.ones((1, 1), bool))
    with pytest.raises(InvalidInput, match=r"^decision: expected plays among the 1 candidates of the context"):
        POLICY.explain(state, one, decision)


@pytest.mark.parametrize("wide", [False, True])
def test_groups_that_contradict_the_declared_ones_are_refused(wide):
    """`of` says the group of every action; no action is in group z, whose share is 0."""
    groups = Groups("label", ["x", "y", "z"], of={"a": "x", "b": "y"})
    problem = pose("gain", groups=(groups,), subject_to=(Parity("gain", by="label", tolerance=0.5),), horizon=9)
    policy = pgd(problem, Ridge(n_features=2, width=Fixed(0.1)), warmup=0)
    sound = CASE._replace(groups=problem.groups_of(np.zeros((1, 0), np.int64)), offered=np.ones((1, 2), bool))
    policy.act(policy.start(), sound)
    wrong = np.array([[[0], [2]]]) if wide else np.array([[[0]]])
    with pytest.raises(InvalidInput, match=r"^context.groups\[0, [01], 0\]: expected columns \[1\] of 'label' for 'b'"):
        policy.decide(policy.start(), sound._replace(groups=wrong))
    three = Context(np.ones((1, 3, 2)), np.zeros((1, 3, 0)), np.zeros((1, 3, 1), np.int64), np.ones((1, 3), bool))
    with pytest.raises(InvalidInput, match=r"^context.features: expected 2 candidates, .* divided into groups"):
        policy.decide(policy.start(), three)


class Suspicious:
    """A model that cannot say anything of a feature of 7."""

    def __init__(self):
        self.ridge, self.fails = Ridge(n_features=2, n_outcomes=2), False
        self.n_features, self.n_outcomes = 2, 2
        self.draws, self.start, self.update = self.ridge.draws, self.ridge.start, self.ridge.update

    def value(self, state, x, w, u):
        said = self.ridge.value(state, x, w, u)
        return said._replace(mean=said.mean + np.nan) if self.fails and len(x) and (x == 7.0).any() else said


def test_a_decision_whose_plan_fails_is_cancelled():
    """A plan asks the model about earlier contexts; what is held for a decision that nobody gets must not stay held."""
    model = Suspicious()
    policy = resolving(SPENDING, model, every=1)
    state = policy.start()
    strange = CASE._replace(features=np.array([[[1.0, 0.0], [7.0, 0.0]]]))
    policy.cancel(state, policy.act(state, strange))
    model.fails = True
    for _ in range(3):
        with pytest.raises(InvalidInput, match="expected finite predictions"):
            policy.act(state, CASE)
    assert accounts.left(policy, state)[0, 0] == 5.0
    assert len(state.receipts.waiting()) == 0


def test_a_context_that_is_changed_after_it_was_decided_in_writes_beside_no_array():
    groups = Groups("side", ["left", "right"])
    problem = dataclasses.replace(SPENDING, groups=(groups,))
    policy = pgd(problem, Ridge(n_features=2, n_outcomes=2), warmup=0)
    state = policy.start()
    case = CASE._replace(groups=np.zeros((1, 1, 1), np.int64))
    for column in (2**33, -(2**33), 3000):
        case.groups[:] = 0
        decision = policy.decide(state, case)
        case.groups[:] = column
        policy.commit(state, case, decision)
    assert state.seen.sum() == 3.0
    for column in (2, -1):
        case.groups[:] = 0
        decision = policy.decide(state, case)
        decision.groups[:] = column
        with pytest.raises(InvalidInput, match=r"^decision.groups\[0\]: expected columns below 2"):
            policy.commit(state, case, decision)


KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in (np.float32, np.int64, np.int8, np.uint8, bool)]


@pytest.mark.parametrize("kind", [np.float16, *KINDS])  # kernels are compiled for each kind
def test_contexts_of_any_numbers_and_read_only_ones_will_do(kind):
    for features in (np.ones((1, 2, 2), kind), np.broadcast_to(np.eye(2), (1, 2, 2)), np.ones((2, 2, 1)).T):
        for known in (np.zeros((1, 2, 0)), np.zeros((1, 2, 0), kind)):
            state = POLICY.start()
            decision = POLICY.act(state, CASE._replace(features=features, known=known))
            POLICY.learn(state, decision, np.ones((1, 1, 2), kind))
            assert np.isfinite(state.model.theta).all()


def test_loaded_decisions_teach_bit_for_bit_what_kept_ones_do(tmp_path):
    state = POLICY.start()
    waiting = [POLICY.act(state, CASE) for _ in range(3)]
    POLICY.save(state, tmp_path / "state.npz")
    back = POLICY.load(tmp_path / "state.npz")
    for i, kept in enumerate(waiting):
        POLICY.save_decision(kept, tmp_path / "decision.npz")
        for s, d in ((state, kept), (back, POLICY.load_decision(tmp_path / "decision.npz"))):
            POLICY.learn(s, d, np.array([[[1.0, 0.25 * i]]]))
    equal(state, back)
