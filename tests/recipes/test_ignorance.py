"""What policies that plan by prices do before any outcome arrives, and with what they know little of."""

from dataclasses import fields

import numpy as np
import pytest

from evenhand.environments import Delayed, Matching
from evenhand.goals import Resolving
from evenhand.models import BayesianLogistic, BayesianRidge, Fixed, PerAction, Ridge, Sampled, Stacked, Tabular
from evenhand.objectives import AlphaFair, GeneralizedGini
from evenhand.policy import Policy
from evenhand.problem import Budget, Floor, Within
from evenhand.problem.rows import select
from evenhand.recipes import lin_cbwk, resolving, resolving_allocation
from evenhand.run import play, simulate
from evenhand.sets import Ball
from tests.ignorance import CENTS, Letters, Targets
from tests.states import equal

BOTH = ("answer", "sale")


def logistic():
    return Stacked((PerAction(inner=BayesianLogistic(n_features=2), actions=3),) * 2)


def ridge(outcomes=2):
    return PerAction(inner=BayesianRidge(n_features=2, n_outcomes=outcomes), actions=3)


def rounds(policy, world, replicas, seed=5, until=None, expire=False):
    """Plays, propensities and lotteries of every round, `(T,R,P),(T,R,P),(T,R,A)`, and the last state.

    Where decisions expire at once, nothing is on its way, and nothing is ever known.
    """
    state, there, found = policy.start(seed=seed, replicas=replicas), world.start(seed, np.arange(replicas)), []
    for t in range(there.steps if until is None else until):
        context = there.context(t)
        decision = policy.decide(state, context)
        found.append((decision.plays, decision.propensities, state.recent.chances))
        taken, arrivals = there.respond(t, context, decision)
        policy.commit(state, context, taken)
        if expire:
            policy.expire(state, taken)
        for a in arrivals:
            policy.learn(state, a.decision, a.y)
    plays, chances, lotteries = zip(*found, strict=True)
    return np.array(plays), np.array(chances), lotteries, state


def spending(plays):
    """Cents per round, `(T,R,P)->(T,R)`."""
    return np.append(CENTS, 0.0)[plays].sum(2)


def test_what_is_not_known_yet_is_mixed_as_planned():
    """No outcome in 200 rounds, and none on its way: every action is played, at the budget's pace, none for certain.

    Between 30 % and 10 % are far from 0 and from each other by ten standard errors of 200 x 30 plays, at most .007.
    """
    world = Letters(horizon=400, delay=400)
    plays, chances, lotteries, _ = rounds(resolving(world.problem, logistic()), world, 30, until=200, expire=True)
    lotteries = np.array(lotteries)
    share = np.bincount(plays.ravel(), minlength=3) / plays.size
    assert (share > [0.5, 0.25, 0.03]).all()
    assert (share < [0.7, 0.4, 0.12]).all()
    assert chances.max() < 1.0
    assert lotteries.min() > 0.0
    np.testing.assert_allclose(lotteries.sum(2), 1.0)
    cents = spending(plays)
    for tenth in np.split(cents, 5):  # of the run, 40 rounds each
        paid = tenth.mean(0)
        assert abs(paid.mean() - 50.0) <= 5.0 + 3 * paid.std(ddof=1) / np.sqrt(30)
    assert cents.sum(0).max() <= 50.0 * 400


@pytest.mark.parametrize("model", [logistic(), ridge()], ids=["logistic", "ridge"])
def test_actions_take_turns_while_all_outcomes_are_on_their_way(model):
    """Before the first one, every action is played in every replica, and again in every hundred rounds.

    Candidates of which as little is known are mixed as planned, in the first round and seldom later: the one with fewer
    plays on their way is preferred, for certain.
    """
    world = Letters(horizon=400, delay=400)
    plays, chances, lotteries, _ = rounds(resolving(world.problem, model), world, 30, until=200)
    np.testing.assert_allclose(lotteries[0], 1.0 / 3.0)
    np.testing.assert_allclose(chances[0], 1.0 / 3.0)
    assert (chances[100:] == 1.0).mean() >= 0.95
    count = (plays.reshape(2, 100, 30, 1) == np.arange(3)).sum(1)
    assert count.min() >= 2
    cents = spending(plays)
    assert 0.8 * 50.0 <= cents.mean() <= 50.0
    assert cents.sum(0).max() <= 50.0 * 400


@pytest.mark.parametrize(
    ("world", "model"),
    [
        (Letters(horizon=160, delay=80), ridge()),
        (Letters(horizon=160, delay=80, plays=2), ridge()),
        (Letters(horizon=160, delay=80, objective=GeneralizedGini(BOTH, (1.0, 0.5))), ridge()),
        (Letters(horizon=160, delay=80, objective=AlphaFair(BOTH, alpha=1.0, offset=0.01)), ridge()),
        (Letters(horizon=160, delay=80, learned=True), ridge(3)),
        (Letters(horizon=160, delay=80, more=(Floor("sale", rate=0.04),)), ridge()),
        (Letters(horizon=160, delay=80, more=(Within(BOTH, Ball((0.15, 0.075), 0.05)),)), ridge()),
        (Letters(horizon=160, delay=80), Ridge(n_features=3, n_outcomes=2, width=Fixed(0.3))),
        (Letters(horizon=160, delay=80), Sampled(inner=Ridge(n_features=3, n_outcomes=2, width=Fixed(0.0)), scale=0.3)),
    ],
    ids=["plain", "lists", "gini", "fair", "learned costs", "a floor", "a ball", "a width", "draws"],
)  # fmt: skip
def test_nothing_is_left_idle_until_outcomes_come(world, model):
    """At least half of what the budget allows until the first outcome arrives, and never more than it allows."""
    plays, _, _, _ = rounds(resolving(world.problem, model), world, 12)
    cents = spending(plays)
    assert cents[:80].mean() >= 0.5 * 50.0 * world.plays
    assert cents.sum(0).max() <= 50.0 * world.plays * 160 + 1e-9


def test_the_argmax_of_lin_cbwk_plays_what_is_free_until_outcomes_come():
    """As its source does, which has outcomes at once, and as its documentation says."""
    world = Letters(horizon=160, delay=80)
    plays, _, _, _ = rounds(lin_cbwk(world.problem, ridge()), world, 4)
    assert (plays[:80] == 0).all()
    assert (plays[81:] > 0).any()


@pytest.mark.parametrize(
    "objective", [GeneralizedGini(BOTH, (1.0, 0.5)), AlphaFair(BOTH, alpha=1.0, offset=0.01)], ids=["gini", "fair"]
)
def test_concave_goals_keep_their_pace_when_outcomes_begin_to_arrive(objective):
    """A fifth of the run after the first arrival, 16 x 100 rounds.

    Plans that gave the priced sum one bonus, where decisions give each outcome one, spent 1.57 and 1.61 of the pace.
    """
    world = Letters(horizon=500, delay=100, objective=objective)
    plays, _, _, _ = rounds(resolving(world.problem, ridge()), world, 16, until=200)
    assert spending(plays)[100:].mean() <= 1.4 * 50.0


def without(policy, reads):
    """The policy whose plan does not hear of arrivals: it is made again by the number of decided rounds alone."""

    class Deaf(Resolving):
        def on_outcome(self, state, decision, counted, v):
            super().on_outcome(state, decision, counted, v)
            state.arrived[:] = 0.0

    plan = policy.goals[1]
    deaf = Deaf(**{f.name: getattr(plan, f.name) for f in fields(plan)})
    return Policy(
        problem=policy.problem, model=reads, goals=(policy.goals[0], deaf, *policy.goals[2:]), choice=policy.choice
    )


@pytest.mark.parametrize("delay", [0, 60])
def test_arrivals_move_the_schedule_of_plans_only_if_they_are_late(delay):
    world, model = Letters(horizon=150, delay=delay), logistic()
    policy = resolving(world.problem, model)
    plays, chances, _, state = rounds(policy, world, 3)
    others, of_others, _, other = rounds(without(policy, model), world, 3)
    if delay == 0:
        np.testing.assert_array_equal(plays, others)
        np.testing.assert_array_equal(chances, of_others)
        np.testing.assert_array_equal(state.goals[1].mu, other.goals[1].mu)
        np.testing.assert_array_equal(state.goals[1].solved, other.goals[1].solved)
    else:  # what arrives after 60 rounds is as new as in the first rounds, when plans are made most often
        assert (state.goals[1].solved >= other.goals[1].solved + 8).all()


def test_stated_chances_are_those_of_the_draws():
    """Of 20,000 replicas of one case, by what was stated; no share is off by more than four standard errors."""
    count, world = 20_000, Letters(horizon=50, delay=50)
    policy = resolving(world.problem, Tabular(arms=3, n_outcomes=2, confidence=0.5))
    state, groups = policy.start(seed=1, replicas=count), np.zeros((count, 1, 0), np.int64)
    x = np.broadcast_to(np.eye(3), (count, 3, 3))
    context = replace_context(world, x, groups)
    for _ in range(4):
        decision = policy.act(state, context)
        lottery = state.recent.chances
        stated = np.take_along_axis(lottery, decision.plays, 1)
        np.testing.assert_allclose(decision.propensities, stated)
        for row in np.unique(lottery.round(9), axis=0):
            same = np.abs(lottery - row).max(1) < 1e-8
            found = np.bincount(decision.plays[same, 0], minlength=3) / same.sum()
            assert (np.abs(found - row) <= 4 * np.sqrt(row * (1 - row) / same.sum())).all()


def replace_context(world, x, groups):
    there = world.start(0, np.arange(1)).context(0)
    return there._replace(features=x, groups=groups)


def test_a_replica_acts_as_it_does_alone_while_it_knows_nothing():
    world = Letters(horizon=60, delay=40)
    policy = resolving(world.problem, logistic())
    plays, chances, _, _ = rounds(policy, world, 3)
    for r in range(3):
        state, there = policy.start(seed=5, replicas=[r]), world.start(5, np.array([r]))
        for t, _, decision, _, _ in play(policy, state, there, range(60)):
            np.testing.assert_array_equal(decision.plays[0], plays[t, r])
            np.testing.assert_array_equal(decision.propensities[0], chances[t, r])


def test_a_saved_policy_goes_on_mixing(tmp_path):
    world = Letters(horizon=80, delay=80)
    policy = resolving(world.problem, logistic())
    *_, state = rounds(policy, world, 2, until=30, expire=True)
    policy.save(state, tmp_path / "state.npz")
    loaded, there = policy.load(tmp_path / "state.npz"), world.start(5, np.arange(2))
    assert (loaded.goals[1].heat > 0.0).all()
    for t in range(30, 60):
        context = there.context(t)
        one, other = policy.act(state, context), policy.act(loaded, context)
        np.testing.assert_array_equal(one.plays, other.plays)
        np.testing.assert_array_equal(one.propensities, other.propensities)
        assert (one.propensities < 1.0).all()
        policy.expire(state, one)
        policy.expire(loaded, other)
    equal(state.goals[1], loaded.goals[1])


def test_a_single_candidate_or_none_needs_no_lottery():
    world = Letters(horizon=40, delay=40)
    policy = resolving(world.problem, logistic())
    *_, state = rounds(policy, world, 3, until=10, expire=True)
    context = world.start(5, np.arange(3)).context(10)
    offered = np.array([[False, True, False], [False, False, False], [True, True, True]])
    decision = policy.act(state, context._replace(offered=offered))
    assert decision.plays[:2, 0].tolist() == [1, -1]
    assert decision.propensities[:2, 0].tolist() == [1.0, 1.0]
    assert decision.propensities[2, 0] < 1.0


@pytest.mark.parametrize(
    ("n", "rate", "model"),
    [
        (6, 0.08, BayesianRidge(n_features=6, n_outcomes=6)),
        (6, 0.08, Tabular(arms=6, n_outcomes=6, confidence=0.5)),
        (10, 0.05, BayesianRidge(n_features=10, n_outcomes=10)),
        (10, 0.05, Tabular(arms=10, n_outcomes=10, confidence=0.5)),
    ],
    ids=["six", "six, a table", "ten", "ten, a table"],
)
def test_floors_of_learned_outcomes_are_reached(n, rate, model):
    """In 500 rounds, four replicas: one hit less is .002, and least costs are n rate / .6."""
    world = Targets(horizon=500, n=n, rate=rate)
    trace = simulate(resolving(world.problem, model), world, replicas=4, seed=4, progress=False)
    least = np.min([trace.average(f"hit {i}")[-1] for i in range(n)], 0)
    assert least.mean() >= rate - 0.002
    assert least.min() >= rate - 0.006
    assert trace.average("cost")[-1].mean() <= n * rate / 0.6 + 0.07


def test_nothing_is_hoped_of_an_outcome_where_it_is_declared_to_be_zero():
    world = Targets(horizon=10, n=2)
    policy = resolving(world.problem, Ridge(n_features=2, n_outcomes=2, width=Fixed(0.5)))
    state, context = policy.start(), world.start(0, np.arange(1)).context(0)
    ask = policy._assembly.questions
    for m in range(2):
        rows = select(world.problem, world.problem.learned)
        w, _ = rows.pull(context, np.zeros((1, 0)), np.eye(2)[m].reshape(1, 1, 2))
        said = ask.worth(state, context.features, w)
        np.testing.assert_array_equal(said.bonus[0, 0] > 0.0, np.arange(3) == 1 + m)


@pytest.mark.parametrize("expire", [True, False], ids=["none on its way", "all on their way"])
def test_users_get_the_arms_that_a_plan_mixes_until_outcomes_come(expire):
    """Arms cost 0, 1 and 2 a user; twelve users have six a round, of which ties would use nothing."""
    world = Matching(users=12, arms=3, horizon=60, costs=(0, 1, 2), subject_to=(Budget("cost", rate=6.0),))
    policy = resolving_allocation(world.problem, BayesianRidge(n_features=5))
    plays, chances, _, _ = rounds(policy, Delayed(environment=world, delay=60), 4, until=30, expire=expire)
    arms = plays[1:] % 3  # the first plan is that of the first round
    share = np.bincount(arms.ravel(), minlength=3) / arms.size
    assert (share >= [0.5, 0.15, 0.05]).all()
    assert np.isnan(chances[1:]).all() if expire else np.isnan(chances[1:]).any()
    assert 0.75 * 6.0 <= arms.sum(2).mean() <= 1.1 * 6.0
