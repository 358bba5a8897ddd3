"""How many rounds to come budgets can pay for, by hand; and that models are told."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments import Court
from evenhand.policy.marked_arrays import Payable
from tests.problems import pose

A = 2


def problem(*limits, horizon=100):
    return pose(
        "gain",
        eh.Outcome("cost", high=10.0, free=("none",)),
        eh.Outcome("fee", known={"spend": 2.0}),
        actions=("none", "spend"),
        subject_to=limits,
        horizon=horizon,
    )


def context(p, replicas=1):
    x = np.tile(np.eye(A), (replicas, 1, 1))
    return eh.Context(x, p.declared[None], np.zeros((replicas, 1, 0), np.int64), np.ones((1, A), bool))


def policy_of(p):
    return eh.resolving(p, eh.BayesianRidge(n_features=A, n_outcomes=2))


def played(policy, state, action, cost, observed=True):
    """One round of a given action, whose cost is seen or not."""
    c = context(policy.problem, len(state.t))
    d = policy.decide(state, c)
    plays = np.full((len(state.t), 1), action)
    x = np.take_along_axis(c.features, plays[:, :, None], 1)
    known = np.take_along_axis(np.broadcast_to(c.known, (len(plays), A, c.known.shape[2])), plays[:, :, None], 1)
    d = d._replace(plays=plays, features=x, known=known.copy())
    policy.commit(state, c, d)
    y = np.zeros((len(plays), 1, 2))
    y[:, 0, 1] = cost
    seen = np.ones(y.shape, bool)
    seen[:, :, 1] = observed
    policy.learn(state, d, np.where(seen, y, 0.0), seen)


def rounds(policy, state):
    """What the model is told, in rounds."""
    Payable(policy.problem).tell(state)
    return state.model.ahead * policy.problem.horizon


def test_rounds_that_were_cancelled_need_not_be_paid_for():
    p = problem(eh.Budget("cost", total=60.0), eh.Budget("fee", total=100.0))
    policy = policy_of(p)
    state = policy.start(replicas=2)
    played(policy, state, 1, 3.0)
    played(policy, state, 1, 3.0)
    c = context(p, 2)
    for _ in range(70):
        policy.cancel(state, policy.act(state, c))
    np.testing.assert_array_equal(rounds(policy, state), 60.0 / 6.0 * 2.0 - 2.0)


def test_by_hand():
    p = problem(eh.Budget("cost", total=60.0), eh.Budget("fee", total=100.0))
    policy = policy_of(p)
    state = policy.start()
    assert rounds(policy, state) == [100.0]
    played(policy, state, 0, 0.0)
    assert rounds(policy, state) == [99.0]  # nothing was used yet
    played(policy, state, 1, 3.0)
    assert rounds(policy, state) == [60.0 / 3.0 * 2.0 - 2.0]  # 1.5 a round so far, 57 left
    played(policy, state, 1, 0.0)
    played(policy, state, 1, 0.0)
    assert rounds(policy, state) == [pytest.approx(100.0 / 6.0 * 4.0 - 4.0)]  # less than 60 / 3 * 4 - 4


def test_a_cost_that_was_not_seen_is_taken_for_the_average_and_what_waits_is_still_to_be_paid_for():
    p = problem(eh.Budget("cost", total=60.0))
    policy = policy_of(p)
    state = policy.start()
    played(policy, state, 1, 3.0)
    played(policy, state, 1, 3.0, observed=False)
    assert rounds(policy, state) == [60.0 / 6.0 * 2.0 - 2.0]
    policy.act(state, context(p))
    assert rounds(policy, state) == [60.0 / 6.0 * 2.0 - 3.0]


def test_without_budgets_and_with_soft_ones_and_past_the_end():
    p = problem()
    policy = policy_of(p)
    state = policy.start()
    played(policy, state, 1, 9.0)
    assert rounds(policy, state) == [99.0]
    soft = problem(eh.Budget("cost", total=10.0, hard=False))
    policy = eh.pgd(soft, eh.BayesianRidge(n_features=A, n_outcomes=2))
    state = policy.start()
    played(policy, state, 1, 5.0)
    assert rounds(policy, state) == [1.0]
    played(policy, state, 1, 9.0)
    assert rounds(policy, state) == [0.0]


def test_each_replica_has_its_own_and_models_inside_of_others_are_told():
    p = problem(eh.Budget("cost", total=60.0), horizon=50)
    inner = eh.BayesianRidge(n_features=A)
    policy = eh.resolving(p, eh.Stacked((inner, inner)))
    state = policy.start(replicas=2)
    played(policy, state, 1, np.array([3.0, 0.5]))
    policy.decide(state, context(p, 2))
    for part in state.model.parts:
        np.testing.assert_allclose(part.ahead, [19.0 / 50.0, 49.0 / 50.0])


def test_a_policy_that_spends_too_fast_explores_less():
    """The same observations, and a budget that pays for 20 rounds in place of 99."""
    bonus = []
    for total in (30.0, 1e6):
        p = problem(eh.Budget("cost", total=total))
        policy = policy_of(p)
        state = policy.start()
        for _ in range(6):
            played(policy, state, 1, 3.0)
        c = context(p)
        policy.decide(state, c)
        bonus.append(
            policy.model.value(state.model, c.features, np.ones((1, 1, 1, 2)), np.zeros((1, 0))).bonus[0, 0, 1]
        )
    assert 0.0 < bonus[0] < 0.8 * bonus[1]


def test_the_plan_and_the_objective_have_one_bonus_of_the_priced_sum():
    """Two bonuses of the same play, for its gain and for its cost, would say more than its worth is uncertain."""
    p = problem(eh.Budget("cost", total=60.0))
    policy = policy_of(p)
    state, c = policy.start(), context(p)
    for _ in range(4):
        played(policy, state, 1, 3.0)
    state.goals[1].mu[:] = 0.5
    w, *_ = policy._assembly.questions.prices(state, c, p.shares[None])
    assert w.shape == (1, 1, A, 2)  # one reading; the cost has no price where it is free
    worth = policy.model.value(state.model, c.features, w, np.zeros((1, 0)))
    assert worth.bonus.shape == (1, 1, A)
    apart = policy.model.value(state.model, c.features, w * np.eye(2)[:, None], np.zeros((1, 0)))
    assert worth.bonus[0, 0, 1] < apart.bonus[0, :, 1].sum()


def left(state):
    return state.model.affordable.tolist()


def test_plays_of_each_action_that_are_left_by_hand():
    """A play of "spend" uses a fee of 2, which is known; that it uses a cost has to be learned."""
    p = problem(eh.Budget("cost", total=60.0), eh.Budget("fee", total=10.0))
    policy = policy_of(p)
    state = policy.start(replicas=2)
    assert left(state) == [[np.inf, 5.0]] * 2
    played(policy, state, 0, 0.0)
    assert left(state) == [[np.inf, 5.0]] * 2
    played(policy, state, 1, 3.0)
    assert left(state) == [[np.inf, 4.0]] * 2
    c = context(p, 2)
    waiting = policy.act(state, c)
    assert left(state) == [[np.inf, 4.0 - float(a)] for a in waiting.plays[:, 0]]  # before its outcome
    policy.cancel(state, waiting)
    played(policy, state, 0, 0.0)  # models are told of what budgets have at the next decision that is committed
    assert left(state) == [[np.inf, 4.0]] * 2
    for _ in range(4):
        played(policy, state, 1, 3.0)
    assert left(state) == [[np.inf, 0.0]] * 2


def test_nobody_is_told_of_plays_where_no_use_is_declared():
    for limits in ((), (eh.Budget("cost", total=60.0),)):
        policy = policy_of(problem(*limits))
        assert policy.start().model.affordable.shape == (1, 0)


def test_models_inside_of_others_are_told_and_go_on_to_be_told_after_a_restart():
    p = problem(eh.Budget("fee", total=100.0), horizon=90)
    policy = eh.resolving(
        p, eh.models.Restarting(inner=eh.BayesianRidge(n_features=A, n_outcomes=2), young=5, every=10)
    )
    state = policy.start()
    for k in range(30):
        played(policy, state, 1, 3.0)
        for member in state.model.members:
            assert member.affordable.tolist() == [[np.inf, 49.0 - k]]


def test_a_loaded_state_knows_the_plays_that_the_totals_of_its_policy_leave(tmp_path):
    first, second = (policy_of(problem(eh.Budget("fee", total=total))) for total in (20.0, 30.0))
    state = first.start()
    played(first, state, 1, 3.0)
    first.save(state, tmp_path / "state.npz")
    assert left(first.load(tmp_path / "state.npz")) == [[np.inf, 9.0]]
    assert left(second.adopt(state, of=first)) == [[np.inf, 14.0]]


@pytest.mark.slow
def test_few_plays_are_not_spent_on_lessons_for_all_rounds(monkeypatch):
    """50 rides and 50 vouchers for 2,500 people: 16 replicas gain 2.5 outcomes more, with a standard error of 0.45.

    Without the plays that are left, 2,500 rounds are to be learned for, which a fiftieth of them pay for.
    """
    court = Court(tolerance=0.025, horizon=2500, ride=0.02, voucher=0.02)

    def outcomes():
        policy = eh.resolving(court.problem, eh.BayesianLogistic(n_features=5))
        return eh.simulate(policy, court, replicas=16, seed=3, progress=False).objective()[-1] * 2500

    told = outcomes()
    monkeypatch.setattr(Payable, "begin", lambda self, state: None)
    gained = told - outcomes()
    assert gained.mean() > 3 * gained.std(ddof=1) / 4


def test_each_replica_has_its_own_plays_left():
    policy = policy_of(problem(eh.Budget("fee", total=10.0)))
    state = policy.start(replicas=2)
    played(policy, state, np.array([[1], [0]]), 0.0)
    assert left(state) == [[np.inf, 4.0], [np.inf, 5.0]]
    played(policy, state, np.array([[1], [1]]), 0.0)
    assert left(state) == [[np.inf, 3.0], [np.inf, 4.0]]
