import dataclasses

import numpy as np
import pytest

from evenhand.choices import Random, TopK
from evenhand.choices.base import Pick
from evenhand.core.errors import EvenhandWarning, InvalidInput, StaleDecision
from evenhand.core.records import Context
from evenhand.environments import Court
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import Fixed, Logarithmic, Logistic, NullModel, PerAction, Ridge
from evenhand.policy import Policy
from evenhand.policy.saving import flatten
from evenhand.problem import Budget, Groups, Outcome, Problem
from evenhand.recipes import lyapunov, pgd, resolving, ucb, uniform
from evenhand.run import play
from tests import accounts
from tests.examples.problems import EVERYTHING, LITTLE
from tests.problems import pose
from tests.states import unchanged
from tests.worlds import Market

COURT = Court(horizon=600, tolerance=0.025)
MODEL = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))
POLICIES = [pgd(COURT.problem, MODEL, step=0.02), pgd(COURT.problem, MODEL, step=0.1, warmup=0, hard=True)]


def run(policy, environment, replicas, rounds, seed=5):
    world, state = environment.start(seed, np.array(replicas)), policy.start(seed=seed, replicas=replicas)
    for step in play(policy, state, world, range(rounds)):
        yield state, step.decision


def after(policy, environment, replicas, rounds):
    """The state and the last decision after so many rounds."""
    *_, last = run(policy, environment, replicas, rounds)
    return last


def test_replicas_and_seeds_differ():
    plays = np.stack([d.plays[:, 0] for _, d in run(POLICIES[0], COURT, [0, 1], 300)])
    other = np.stack([d.plays[:, 0] for _, d in run(POLICIES[0], COURT, [0, 1], 300, seed=6)])
    assert (plays[:, 0] != plays[:, 1]).any()
    assert (plays != other).any()


def test_a_decision_stays_as_it_was_while_the_policy_goes_on():
    """It is a receipt: kept until the outcome comes, however late."""
    policy, world = POLICIES[1], COURT.start(5, np.arange(2))
    state = policy.start(seed=5, replicas=2)
    context = world.context(0)
    kept = policy.act(state, context)
    copies = [np.array(z) if not isinstance(z, tuple) else tuple(np.array(q) for q in z) for z in kept]
    list(play(policy, state, world, range(1, 60)))
    for z, copy in zip(kept, copies, strict=True):
        for a, b in zip(*((p if isinstance(p, tuple) else (p,)) for p in (z, copy)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_decision_says_everything_that_its_outcome_will_need():
    _, d = after(POLICIES[0], COURT, [0, 1], 60)
    assert d.plays.shape == (2, 1)
    np.testing.assert_array_equal(d.propensities, [[1.0], [1.0]])
    assert d.features.shape == (2, 1, 5)
    assert d.known.shape == (2, 1, 2)
    assert d.prices.shape == (2, 2, 1, 1)  # the objective's reading, and one for all constraints, whose costs are known
    assert d.row_prices.shape == (2, 11)
    assert d.carried.shape == (2, 0)
    assert max(z.nbytes for z in d[:-1]) <= 2 * 11 * 8  # a receipt is small
    np.testing.assert_array_equal(d.shares, [[0.5, 0.5]])
    np.testing.assert_array_equal(d.forced, [0.0, 0.0])


def test_worth_is_the_priced_mean_with_its_optimism():
    policy = POLICIES[0]
    state, _ = after(policy, COURT, [3], 200)
    context = COURT.start(5, np.array([3])).context(200)
    decision = policy.decide(state, context)
    lam, dual = accounts.duals(policy, state)[0], policy.goals[1]
    model = state.model
    for a in range(3):
        x = context.features[0, a]
        half = 0.025 * (1 + np.log(model.count[0])) * np.sqrt(x @ model.inverse[0] @ x)
        ucb = min(1 / (1 + np.exp(-x @ model.theta[0])) + half, 1.0)
        v = dual.rows.post(context, COURT.problem.shares[None], np.zeros((1, 1, 1)), context.known[:, a : a + 1])[0]
        assert policy.worth(state, context, decision)[0, a] == pytest.approx(ucb - lam @ v)


def test_when_the_horizon_is_over_nothing_is_played_and_no_round_counts():
    court = Court(horizon=30)
    policy = pgd(court.problem, MODEL, step=0.05, warmup=5)
    world, state = Court(horizon=99).start(1, np.arange(2)), policy.start(seed=1, replicas=2)
    for step, _, decision, _, _ in play(policy, state, world, range(40)):
        over = step >= 30
        np.testing.assert_array_equal(decision.plays, np.full((2, 1), -1) if over else decision.plays)
        np.testing.assert_array_equal(decision.counted, np.zeros(2) if over else np.ones(2))
        if step == 29:
            end = {path: z.copy() for path, z in flatten(state)}
    np.testing.assert_array_equal(state.t, [30.0, 30.0])
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, end[path], err_msg=path)


def test_what_is_not_offered_is_never_played():
    problem = dataclasses.replace(EVERYTHING, n_plays=2)
    model = Ridge(n_features=3, n_outcomes=2)
    policy = Policy(problem=problem, model=model, goals=(reward(problem),), choice=TopK(2))
    world, state = Market(problem=problem, offered=0.3).start(1, np.arange(8)), policy.start(seed=1, replicas=8)
    idle = 0
    for _, context, decision, _, _ in play(policy, state, world, range(60)):
        count = context.offered.sum(1)
        np.testing.assert_array_equal((decision.plays >= 0).sum(1), np.minimum(count, 2))
        np.testing.assert_array_equal(decision.counted, count > 0)
        np.testing.assert_array_equal(decision.restricted, np.zeros(8))
        for r, chosen in enumerate(decision.plays):
            for p, a in enumerate(chosen):
                x, z = (context.features[r, a], context.known[0, a]) if a >= 0 else (0.0, 0.0)
                np.testing.assert_array_equal(decision.features[r, p], np.broadcast_to(x, 3))
                np.testing.assert_array_equal(decision.known[r, p], np.broadcast_to(z, 2))
        idle += (count == 0).sum()
    assert idle > 0
    np.testing.assert_array_equal(state.t.sum(), 8 * 60 - idle)


def shares_problem(horizon=200):
    return pose(
        "gain",
        Outcome("fee", known={"b": 1}),
        groups=(Groups("side", {"left": 0.3, "right": 0.7}), Groups("age", ["young", "middle", "old"])),
        horizon=horizon,
    )


def test_unknown_shares_are_estimated_from_decided_rounds_and_the_case_at_hand():
    problem = shares_problem()
    policy = Policy(problem=problem, model=NullModel(n_features=3), goals=(reward(problem),), choice=Random())
    world, state = Market(problem=problem, offered=0.4).start(2, np.arange(3)), policy.start(seed=2, replicas=3)
    seen, decided = np.zeros((3, 5)), np.zeros(3)
    for step in range(80):
        context = world.context(step)
        decision = policy.act(state, context)
        here = np.zeros((3, 5))
        for g in range(2):
            here[np.arange(3), context.groups[:, 0, g]] = 1.0
        believed = (seen + here) / (decided + 1)[:, None]
        np.testing.assert_allclose(decision.shares[:, 2:], believed[:, 2:])
        np.testing.assert_array_equal(decision.shares[:, :2], np.tile([0.3, 0.7], (3, 1)))
        np.testing.assert_allclose(decision.shares[:, 2:].sum(1), np.ones(3))
        seen += here * decision.counted[:, None]
        decided += decision.counted
        np.testing.assert_array_equal(state.seen, seen)
        np.testing.assert_array_equal(state.t, decided)


def test_one_action_one_replica_no_groups_and_nothing_known_will_do():
    policy = Policy(problem=LITTLE, model=Ridge(n_features=1), goals=(reward(LITTLE),), choice=TopK(1))
    state = policy.start()
    context = Context(np.ones((1, 1, 1)), np.zeros((1, 1, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 1), bool))
    decision = policy.act(state, context)
    assert decision.plays.tolist() == [[0]]
    policy.learn(state, decision, np.ones((1, 1, 1)))
    assert policy.worth(state, context, policy.decide(state, context))[0, 0] == pytest.approx(0.5)


def test_a_policy_needs_a_model_of_its_outcomes_and_a_goal_that_prices_them():
    with pytest.raises(
        InvalidInput, match=r"^model: expected one of \('gain', 'hours'\), got one of 1 outcomes: give it n_outcomes=2"
    ):
        Policy(problem=EVERYTHING, model=NullModel(n_features=1), goals=(reward(EVERYTHING),), choice=TopK(1))
    for goals in ((), (hard_budget(EVERYTHING),)):
        with pytest.raises(InvalidInput, match=r"^goals: expected at least one that prices outcomes"):
            Policy(problem=EVERYTHING, model=NullModel(n_features=1, n_outcomes=2), goals=goals, choice=TopK(1))


def test_replicas_may_be_counted_by_numpy():
    np.testing.assert_array_equal(POLICIES[0].start(replicas=np.int64(3)).replicas, [0, 1, 2])
    np.testing.assert_array_equal(POLICIES[0].start(replicas=np.array([3, 1])).replicas, [3, 1])


def test_explain_says_prices_groups_values_and_what_was_masked_and_played():
    policy = POLICIES[1]
    state, _ = after(policy, COURT, [0, 1], 40)
    state.goals[2].taken[0, 1, 0] += accounts.left(policy, state)[1, 0]  # no ride is left in the second replica
    context = COURT.start(5, state.replicas).context(40)
    decision = policy.decide(state, context)
    text = policy.explain(state, context, decision, replica=1)
    prices = policy.status(state, 1).prices
    for name in policy.goals[1].rows.names:
        assert f"price of {name:<34} {prices[name]:+.4f}" in text
    assert "price of appears" in text
    group = context.groups[1, 0, 0]
    assert f"the case is in group = {group}" in text
    lines = {a: next(z for z in text.splitlines() if z.strip().startswith(a)) for a in COURT.problem.actions}
    for a, line in enumerate(lines.values()):
        assert f"worth {policy.worth(state, context, decision)[1, a]:+.4f}" in line
    assert "masked: its worst case does not fit ride" in lines["ride"]
    assert "played (1 of 1), probability 1.000" in lines[COURT.problem.actions[decision.plays[1, 0]]]
    assert "masked" not in policy.explain(state, context, decision, replica=0)


def test_explain_tells_what_is_not_offered_from_what_does_not_fit():
    problem = Problem(
        actions=("a", "b", "c"),
        outcomes=(Outcome("gain"), Outcome("eur", known={"b": 3, "c": 1})),
        maximize="gain",
        horizon=9,
        subject_to=(Budget("eur", total=2),),
    )
    policy = resolving(problem)
    state, context = policy.start(), policy.encode({}, offered=["a", "b"])
    text = policy.explain(state, context, policy.decide(state, context))
    found = {line.split()[0]: line.partition("masked: ")[2] for line in text.splitlines()}
    assert (found["a"], found["b"], found["c"]) == ("", "its worst case does not fit eur", "not offered")


def test_explain_says_when_values_were_not_looked_at_and_when_nothing_was_played():
    early = POLICIES[0]
    state, context = early.start(seed=5), COURT.start(5, np.arange(1)).context(0)
    text = early.explain(state, context, early.decide(state, context))
    assert "warm-up: the choice did not look at the values" in text
    nothing = context._replace(offered=np.zeros((1, 3), bool))
    text = early.explain(state, nothing, early.decide(state, nothing))
    assert "nothing was played: nothing fits, or the horizon is over" in text
    assert "played (" not in text


def test_explain_names_candidates_that_are_no_actions_by_number():
    problem = dataclasses.replace(LITTLE, n_plays=2)
    policy = Policy(problem=problem, model=NullModel(n_features=1), goals=(reward(problem),), choice=TopK(2))
    offered, state = np.ones((1, 3), bool), policy.start()
    context = Context(np.zeros((1, 3, 1)), np.zeros((1, 3, 0)), np.zeros((1, 1, 0), np.int64), offered)
    text = policy.explain(state, context, policy.decide(state, context))
    assert "candidate 0" in text
    assert "played (2 of 2)" in text


def test_explain_leaves_out_most_of_many_candidates_but_none_that_is_played():
    problem = dataclasses.replace(LITTLE, n_plays=2)
    policy = Policy(problem=problem, model=Ridge(n_features=1), goals=(reward(problem),), choice=TopK(2))
    state, x = policy.start(), np.zeros((1, 500, 1))
    x[0, [499, 498], 0] = 1.0
    context = Context(x, np.zeros((1, 500, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 500), bool))
    state.model.theta[:] = 1.0
    text = policy.explain(state, context, policy.decide(state, context))
    assert "candidate 498" in text
    assert "candidate 499" in text
    assert "and 470 more candidates" in text


def test_budgets_are_counted_over_decided_rounds_only():
    """A replica that stops early has the more left, and its rounds stop with it."""
    problem = dataclasses.replace(LITTLE, subject_to=(Budget("gain", total=3),))
    policy = Policy(
        problem=problem, model=NullModel(n_features=3), goals=(reward(problem), hard_budget(problem)), choice=TopK(1)
    )
    rounds = np.stack([d.counted for _, d in run(policy, Market(problem=problem), [0, 1, 2, 3], 30)]).sum(0)
    assert (rounds >= 3).all()
    assert (rounds < 30).all()


ALIKE = Problem(actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain", horizon=9)
SAME = Context(np.ones((1, 2, 2)), np.zeros((1, 2, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 2), bool))


def test_candidates_that_no_model_can_tell_apart_are_warned_of_once():
    policy = ucb(ALIKE, Ridge(n_features=2), warmup=0)
    state = policy.start()
    message = r"all 2 candidates have the same features, so Ridge predicts .* wrap the model in PerAction"
    with pytest.warns(EvenhandWarning, match=message) as told:
        policy.decide(state, SAME)
    assert [w.filename for w in told] == [__file__]
    policy.act(state, SAME)  # a second warning would be an error
    state = policy.start()
    policy.act(state, SAME._replace(offered=np.array([[True, False]])))  # a single candidate is like no other
    with pytest.warns(EvenhandWarning, match=message):
        policy.act(state, SAME)


@pytest.mark.parametrize("model", [PerAction(inner=Ridge(n_features=1), actions=2), NullModel(n_features=2)], ids=repr)
def test_candidates_that_differ_by_action_or_need_no_model_are_not_warned_of(model):
    features = np.array([[[0.0, 1.0], [1.0, 1.0]]]) if isinstance(model, PerAction) else SAME.features
    policy = ucb(ALIKE, model, warmup=0)
    policy.act(policy.start(), SAME._replace(features=features))
    other = ucb(ALIKE, Ridge(n_features=2), warmup=0)
    other.act(other.start(), SAME._replace(features=np.eye(2)[None]))


def test_what_was_carried_out_is_entered_even_if_it_no_longer_fits():
    """Two decisions for the last unit and the last round: the second would be refused, but it was done elsewhere."""
    problem = pose("gain", Outcome("cost", known={"a": 1.0}), subject_to=(Budget("cost", total=1.0),), horizon=3)
    policy = ucb_with_budget(problem)
    state = policy.start()
    context = Context(np.eye(2)[None], problem.declared[None], SAME.groups, np.array([[True, False]]))
    first, second = policy.decide(state, context), policy.decide(state, context)
    policy.commit(state, context, first)
    with pytest.raises(StaleDecision, match=r"no longer fit cost"):
        policy.commit(state, context, second)
    policy.enter(state, context, second)
    assert policy.status(state).accounts["cost"].left == -1.0
    assert policy.act(state, context).action is None
    for _ in range(2):  # one of these is beyond the horizon
        policy.enter(state, context, policy.decide(policy.start(), context))
    assert state.t[0] == 4.0
    policy.learn(state, second, np.array([[[1.0]]]))


def ucb_with_budget(problem):
    model = Ridge(n_features=2, width=Fixed(0.1))
    return Policy(problem=problem, model=model, goals=(reward(problem), hard_budget(problem)), choice=TopK(1))


def test_an_empty_decision_may_be_cancelled_as_it_may_be_learned_from_and_expired():
    fee = Outcome("fee", known={"a": 1})
    problem = pose("gain", fee, actions="na", subject_to=(Budget("fee", total=1),), horizon=5)
    policy = resolving(problem, Ridge(n_features=1))
    state, only = policy.start(), np.array([[False, True]])
    case = Context(np.ones((1, 2, 1)), problem.declared[None], np.zeros((1, 1, 0), np.int64), only)
    policy.learn(state, policy.act(state, case), np.zeros((1, 1, 1)))
    empty = policy.act(state, case)
    assert (empty.plays == -1).all()
    with unchanged(state):
        policy.cancel(state, empty)
        policy.expire(state, empty)
        policy.learn(state, empty, np.zeros((1, 1, 1)))


@pytest.mark.parametrize("verb", ["learn", "learn in parts", "expire", "cancel", "commit", "enter"])
def test_a_committed_decision_that_was_changed_to_count_nowhere_is_refused(verb):
    """To pass over it, as over a decision that plays nothing, would hold back its worst case for good."""
    problem = pose("gain", Outcome("cost", known={"a": 1.0}), subject_to=(Budget("cost", total=3.0),), horizon=9)
    policy = ucb_with_budget(problem)
    state = policy.start()
    context = Context(np.eye(2)[None], problem.declared[None], SAME.groups, np.ones((1, 2), bool))
    decision = policy.act(state, context)
    changed = decision._replace(counted=np.zeros(1))
    with unchanged(state):
        calls = {
            "learn": lambda: policy.learn(state, changed, np.zeros((1, 1, 1))),
            "learn in parts": lambda: policy.learn(state, changed, np.zeros((1, 1, 1)), pending=np.zeros((1, 1), bool)),
            "expire": lambda: policy.expire(state, changed),
            "cancel": lambda: policy.cancel(state, changed),
            "commit": lambda: policy.commit(state, context, changed),
            "enter": lambda: policy.enter(state, context, changed),
        }
        with pytest.raises(InvalidInput, match=r"^decision: expected .* (got others|got number 0)$"):
            calls[verb]()
    policy.learn(state, decision, np.zeros((1, 1, 1)))


def test_a_decision_that_counts_nowhere_leaves_no_trace():
    policy = POLICIES[1]
    state, _ = after(policy, COURT, [0, 1], 80)
    context = COURT.start(5, state.replicas).context(80)
    with unchanged(state):
        decision = policy.decide(state, context)._replace(counted=np.zeros(2))
        policy.commit(state, context, decision)
        policy.learn(state, decision, np.full((2, 1, 1), np.nan))


class Stubborn:
    """Plays the first candidate, whatever fits."""

    n_plays, reads_bonus = 1, False

    def draws(self, candidates):
        return 0

    def start(self, n_replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        n = len(worth.mean)
        return Pick(np.zeros((n, 1), np.int64), np.ones((n, 1)), np.ones_like(worth.mean[:, 0]), np.zeros(n))


def test_a_choice_that_plays_what_does_not_fit_is_named_rather_than_decisions_of_others():
    problem = pose("gain", Outcome("cost", known={"a": 1.0}), subject_to=(Budget("cost", total=1.0),), horizon=3)
    policy = dataclasses.replace(ucb_with_budget(problem), choice=Stubborn())
    state = policy.start()
    context = Context(np.eye(2)[None], problem.declared[None], SAME.groups, np.array([[True, True]]))
    policy.act(state, context)
    with pytest.raises(InvalidInput, match=r"^decision.plays\[0\]: expected plays that fit cost.*, got \[0\]"):
        policy.act(state, context)


def test_misuse_is_answered_with_what_to_do():
    with pytest.raises(InvalidInput, match=r"^horizon: expected .* rounds to decide, got nothing, or 0"):
        Problem(actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain")
    with pytest.raises(InvalidInput, match=r"^act: expected a state and a context"):
        uniform(pose("gain", horizon=3)).act(SAME)
    with pytest.raises(InvalidInput, match=r"such as eh\.models\.advised\(problem\)"):
        lyapunov(pose("gain", horizon=3))
