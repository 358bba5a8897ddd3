from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.environments import Delayed
from evenhand.goals import HardBudget, hard_limits
from evenhand.goals.hard_limits import hard_budget, refuse_unspendable
from evenhand.goals.linear_reward import reward
from evenhand.models import Ridge
from evenhand.objectives import Linear
from evenhand.policy import Policy
from evenhand.problem import Budget, Outcome, Problem, Rows
from evenhand.problem.rows import select
from tests import accounts, twins
from tests.problem.test_rows import frames
from tests.problems import pose
from tests.rows import for_each
from tests.worlds import Market


@given(frames(), st.integers(0, 10_000))
def test_what_fits_is_its_twin_which_tries_every_corner_of_the_ranges(frame, seed):
    rows, context, _, y, _ = frame
    rows = replace(Rows.plain(rows.names, rows.learned, rows.known), sure=rows.sure)
    rng = np.random.default_rng(seed)
    low = rng.uniform(-2, 1, y.shape[2])
    high, total = low + rng.uniform(0.1, 2, y.shape[2]), rng.uniform(0.5, 6, len(rows))
    goal = HardBudget(rows=rows, total=total, low=low, high=high)
    state = goal.start(len(y))
    state.taken[0] = total * rng.uniform(0, 1.2, state.left.shape)
    worst, left = goal.room(state, context)
    expected = twins.worst_case(rows, context.known, low, high)
    np.testing.assert_allclose(worst, np.broadcast_to(expected, worst.shape), atol=1e-12)
    np.testing.assert_allclose(left, np.maximum(state.left + 1e-9 * total, 0.0), rtol=1e-12)


def spending(low=0.0, high=1.0, rate=0.3, horizon=120, actions=("a", "b", "c"), plays=1):
    """Costs that are learned and wanted: whoever maximises them spends whatever it can."""
    return Problem(
        actions=actions,
        outcomes=(Outcome("cost", low=low, high=high), Outcome("fee", known={"b": 0.5, "c": 1.0})),
        maximize=Linear({"cost": 1.0, "fee": 1.0}),
        subject_to=(Budget("cost", rate=rate * plays), Budget("fee", rate=rate * plays)),
        horizon=horizon,
        n_plays=plays,
    )


def spender(problem):
    goals = (reward(problem), hard_budget(problem))
    return Policy(problem=problem, model=Ridge(n_features=3), goals=goals, choice=TopK(problem.n_plays))


def run(policy, environment, replicas=6):
    """Per step: the state, what was spent at once (not when it becomes known), (R, 2), and the decision."""
    world, state = environment.start(7, np.arange(replicas)), policy.start(seed=7, replicas=replicas)
    truth = Market(problem=environment.problem).start(7, np.arange(replicas))  # answers at once
    spent = np.zeros((replicas, 2))
    for step in range(world.steps):
        context = world.context(step)
        decision = policy.act(state, context)
        _, (answer,) = truth.respond(step, context, decision)
        played = (decision.plays >= 0)[:, :, None] * decision.counted[:, None, None]
        spent = spent + (np.concatenate([answer.y, decision.known], 2) * played).sum(1)
        for arrival in world.respond(step, context, decision)[1]:
            policy.learn(state, arrival.decision, arrival.y)
        yield state, spent, decision


@for_each("plays", [1, 2])
@for_each("delay", [0, 1, 9, 1000])
@for_each(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (-0.5, 0.25), (0.25, 0.75)])
def test_no_total_is_ever_exceeded_whatever_costs_turn_out_to_be(low, high, delay, plays):
    problem = spending(low, high, plays=plays)
    total = np.array([0.3, 0.3]) * plays * problem.horizon
    policy = spender(problem)
    for state, spent, _ in run(policy, Delayed(Market(problem=problem), delay)):
        assert (spent <= total + 1e-9 * total).all()
        assert np.isfinite(accounts.left(policy, state)).all()
    assert (state.t <= problem.horizon).all()
    if (low, delay) == (0.0, 0):
        assert (spent.max(1) > 0.9 * total[0]).all()  # and hardly anything is left over


def test_a_replica_stops_when_nothing_fits_and_the_others_go_on():
    problem = spending(horizon=60)
    steps = list(run(spender(problem), Market(problem=problem)))
    active, (state, _, last) = np.stack([d.counted for _, _, d in steps]), steps[-1]
    ends = active.sum(0)
    assert (ends < 60).all()
    assert len(set(ends.tolist())) > 1
    for r, end in enumerate(ends.astype(int)):
        assert active[:end, r].all()
        assert not active[end:, r].any()
    np.testing.assert_array_equal(state.t, ends)
    np.testing.assert_array_equal(last.plays, np.full((6, 1), -1))
    np.testing.assert_array_equal(last.propensities, np.ones((6, 1)))  # what cannot be otherwise
    np.testing.assert_array_equal(last.restricted, np.ones(6))


def test_what_is_free_goes_on_when_the_budget_is_gone():
    problem = pose(
        "gain",
        Outcome("fee", known={"dear": 1.0}),
        actions=("free", "dear"),
        maximize=Linear({"gain": 1.0, "fee": 9.0}),
        subject_to=(Budget("fee", total=7),),
        horizon=40,
    )
    plays = np.stack([d.plays[:, 0] for _, _, d in run(spender(problem), Market(problem=problem), 3)])
    np.testing.assert_array_equal(plays[:7], 1)
    np.testing.assert_array_equal(plays[7:40], 0)


def test_plays_that_did_not_fit_cost_and_teach_nothing():
    """Two candidates are wanted and one is offered: in the place of the second outcome stands 0, or nothing."""
    problem = spending(plays=2)
    policy = spender(problem)
    x = np.random.default_rng(1).random((1, 3, 3))
    context = Context(x, problem.declared[None], np.zeros((1, 1, 0), np.int64), np.array([[False, True, False]]))
    states = []
    for nothing in (0.0, np.nan):
        state = policy.start()
        decision = policy.act(state, context)
        np.testing.assert_array_equal(decision.plays, [[1, -1]])
        for something in (1.0, np.inf, -1e9):
            with pytest.raises(InvalidInput, match="expected 0 or NaN where nothing was played"):
                policy.learn(state, decision, np.array([[[0.5], [something]]]))
        policy.learn(state, decision, np.array([[[0.5], [nothing]]]))
        states.append(state)
    for state in states:
        assert state.model.count[0] == 1
        np.testing.assert_array_equal(state.model.theta, states[0].model.theta)
        np.testing.assert_allclose(accounts.left(policy, state), [[0.6 * 120 - 0.5, 0.6 * 120 - 0.5]])


def test_a_cost_without_a_finite_range_cannot_be_kept_hard():
    problem = spending(high=np.inf)
    with pytest.raises(InvalidInput, match=r"^HardBudget 'cost': expected an outcome with a finite declared range"):
        hard_budget(problem)
    rows = select(problem, ("fee",))  # what is declared needs no range
    HardBudget(rows=rows, total=np.ones(1), low=problem.low, high=problem.high)


def test_it_is_over_only_when_nothing_is_under_way_and_nothing_fits():
    """Three plays of at most 1 each out of 3: what is held back may come back."""
    problem = Problem(
        actions=("go",), outcomes=(Outcome("cost"),), maximize="cost", subject_to=(Budget("cost", total=3),), horizon=9
    )
    policy = Policy(
        problem=problem, model=Ridge(n_features=1), goals=(reward(problem), hard_budget(problem)), choice=TopK()
    )
    state = policy.start(replicas=2)
    one = Context(np.ones((2, 1, 1)), np.zeros((1, 1, 0)), np.zeros((2, 1, 0), np.int64), np.ones((1, 1), bool))
    waiting = [policy.act(state, one) for _ in range(3)]
    assert (policy.decide(state, one).plays == -1).all()  # nothing fits now
    assert not policy.over(state).any()
    for decision in waiting:
        policy.learn(state, decision, np.array([[[1.0]], [[0.5]]]))
    np.testing.assert_array_equal(policy.over(state), [True, False])
    np.testing.assert_array_equal(policy.decide(state, one).plays[:, 0], [-1, 0])


def test_a_budget_below_the_worst_case_of_every_play_is_refused():
    """Costs are learned or noisy, within [0, 3]: with 2 in all nothing could ever be played, or ever be spent."""

    def problem(total, **cost):
        return pose("gain", Outcome("cost", high=3.0, **cost), subject_to=(Budget("cost", total=total),), horizon=10)

    expected = "^Budget 'cost', kept hard: expected a total of at least 3: any single play may use that much, got 2"
    with pytest.raises(InvalidInput, match=expected):
        hard_budget(problem(2.0))
    assert hard_budget(problem(3.0)).total[0] == 3.0
    expected = "at least 3: any single play that is not free may use that much, got 2"
    for cost in ({"free": ("a",)}, {"mean": {"b": 0.5}}):
        tight, enough = problem(2.0, **cost), problem(3.0, **cost)
        with pytest.raises(InvalidInput, match=expected):
            refuse_unspendable(hard_limits(tight, True), tight)  # what is free can be played
        refuse_unspendable(hard_limits(enough, True), enough)
    nothing = problem(2.0, free=("a", "b"))
    refuse_unspendable(hard_limits(nothing, True), nothing)  # which is never spent, and masks nothing
