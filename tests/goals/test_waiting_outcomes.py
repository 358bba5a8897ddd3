"""Rows of known and learned outcomes while outcomes wait: by hand, beside no delay, and in a world of late answers."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.goals._directions import Directions
from evenhand.goals._resolving_state import Left, blank_prices, caution, guard
from evenhand.planning.forecast import Forecast
from evenhand.problem import Budget, Floor, Outcome, Problem, Ratio
from evenhand.problem.constraints import stated_rows
from evenhand.recipes import resolving
from evenhand.run import simulate
from tests.delays import BAYESIAN, MODELS, error
from tests.ignorance import CENTS, Letters
from tests.rows import for_each

COST = Ratio("cents", over="answer", at_most=400.0)


def directions(*limits, learned=False):
    cents = Outcome("cents", high=300.0) if learned else Outcome("cents", known={"letter": 80.0, "call": 300.0})
    problem = Problem(
        actions=("none", "letter", "call"),
        outcomes=(Outcome("answer"), cents),
        maximize="answer",
        subject_to=limits,
        horizon=10,
    )
    rows, bound = stated_rows(problem)
    return Directions(problem=problem, constraints=rows, bound=bound, objective=None, regions=())


@pytest.mark.parametrize(
    ("limits", "learned", "mixed", "worst"),
    [
        ((COST,), False, [True], [-1]),
        ((Ratio("answer", over="cents", at_least=0.01),), False, [True], [-1]),
        ((COST, Floor("answer", rate=0.1)), False, [True, False], [-1, 1]),
        ((COST, Budget("cents", rate=50.0)), False, [False, False], [0, 0]),
        ((COST,), True, [False], [0]),
    ],
    ids=["a cost per answer", "answers per cost", "a floor beside", "a budget limits the cost", "both are learned"],
)
def test_which_rows_have_a_known_and_a_learned_side(limits, learned, mixed, worst):
    found = directions(*limits, learned=learned)
    assert found.mixed.tolist() == mixed
    assert found.worst.tolist() == worst


def test_waiting_replicas_read_the_worst_ends_and_pay_a_price_of_what_is_not_known_by_hand():
    """Of three replicas the first is told nothing yet, the second something, and nothing waits in the third."""
    of, blank = directions(COST), np.array([[True], [False], [False]])
    gain = np.array([[[1.0, 0.5, -np.inf]]] * 3)
    plain, least = np.array([-200.0, -120.0, 100.0]), np.array([0.0, 80.0, 300.0])
    use, hope = np.tile(plain, (3, 1, 1, 1)), np.tile(least, (3, 1, 1, 1))
    hope[2] = 0.0  # not asked for
    kept = np.array([1, 1, 0])
    ends = Forecast(np.ones((3, 1)), gain, gain, use, hope, kept)
    priced = blank_prices(np.zeros((3, 1)), ends, of, blank)
    assert priced[0, 0] == pytest.approx(0.15 * 1.0 / 400.0)  # an answer earns 400 cents
    assert np.isnan(priced[1:]).all()
    sample = Forecast(np.ones((3, 1)), gain, gain, use, use, np.ones(3, np.int64))
    read = guard(sample, ends, np.array([[1.0], [1.0], [0.0]]), priced)
    assert read.use is read.hope
    assert read.use[:, 0, 0].tolist() == [[0.0, 0.0, 0.0], least.tolist(), plain.tolist()]
    assert read.gain[0, 0].tolist() == pytest.approx([1.0, 0.5 - 0.15 * 80.0 / 400.0, -np.inf])
    assert np.array_equal(read.gain[1:], gain[1:])
    assert sample.use is use
    assert (use == plain).all()
    between = guard(sample, ends, np.array([[0.0], [0.25], [0.0]]), np.full((3, 1), np.nan))
    assert between.use[1, 0, 0].tolist() == [-150.0, -70.0, 150.0]
    assert np.array_equal(between.use[[0, 2]], use[[0, 2]])


@pytest.mark.parametrize(
    ("target", "most", "price"),
    [(100.0, 1.0, 1.5e-3), (400.0, 1.0, 3.75e-4), (2000.0, 1.0, 7.5e-5), (400.0, np.inf, 5e-4)],
)
@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_a_target_that_few_answers_keep_costs_little_before_any_by_hand(target, most, price, unit):
    """Nothing is known of three actions that cost 0, 80 and 300: the cheapest gains most, by less if targets are loose.

    A call costs .45 of the largest gain at a target of 100 cents an answer, and .0225 at 2,000, in any unit.
    Where answers have no declared range, it costs .15 of it.
    """
    cents = Outcome("cents", known={"letter": 80.0 / unit, "call": 300.0 / unit})
    problem = Problem(
        actions=("none", "letter", "call"),
        outcomes=(Outcome("answer", high=most), Outcome("sale", high=np.inf), cents),
        maximize="answer",
        subject_to=(Ratio("cents", over="answer", at_most=target / unit),),
        horizon=10,
    )
    rows, bound = stated_rows(problem)
    of = Directions(problem=problem, constraints=rows, bound=bound, objective=None, regions=())
    use = np.array([[[[0.0, 80.0, 300.0]]]]) / unit
    ends = Forecast(np.ones((1, 1)), np.ones((1, 1, 3)), np.ones((1, 1, 3)), use, use, np.ones(1, np.int64))
    priced = blank_prices(np.zeros((1, 1)), ends, of, np.ones((1, 1), bool))
    assert priced[0, 0] == pytest.approx(price * unit)
    gain = guard(ends, ends, np.ones((1, 1)), priced).gain[0, 0]
    assert gain == pytest.approx([1.0, 1.0 - 80.0 * price, 1.0 - 300.0 * price])


def test_plans_are_as_cautious_as_what_waits_is_large_beside_the_rest_by_hand():
    """After 60 of 100 rounds: none arrived; the row is missed; 20 wait; one does; 50 wait, and 40 are to come."""
    of, policy = directions(COST), resolving(letters(delay=0, horizon=100).problem, MODELS["BayesianRidge"])
    state = next(g for g in policy.start(seed=1, replicas=5).goals if hasattr(g, "gap"))
    t = np.full(5, 60.0)
    state.arrived[:] = state.counted[:, 0] = [0.0, 40.0, 40.0, 59.0, 10.0]
    high = np.array([[0.0], [-1.0], [1.0], [-1.0], [1.0]])
    none = np.zeros((5, 0))
    left = Left(np.full(5, 100.0), none, none, np.full((5, 1), -np.inf), high, none, np.zeros((5, 1), bool), none)
    weight, blank = caution(state, of, left, np.ones(5, bool), t)
    assert weight[:, 0].tolist() == [1.0, 1.0, 0.5, 0.0, 1.0]
    assert blank[:, 0].tolist() == [True, False, False, False, False]
    still = left._replace(still=np.ones((5, 1), bool))
    assert not caution(state, of, still, np.ones(5, bool), t)[0].any()


def test_what_has_arrived_is_asked_beside_what_waits():
    world = letters(delay=100, horizon=60)
    policy = resolving(world.problem, MODELS["BayesianRidge"])
    state, there = policy.start(seed=3, replicas=2), world.start(3, np.arange(2))
    for t in range(40):
        context = there.context(t)
        decision = policy.act(state, context)
        if t < 10:
            policy.learn(state, decision, np.full((2, 1, 2), float(t % 2)))
    loop, w = policy._assembly.loop, np.ones((2, 1, 1, 2))
    alone = loop.questions.worth(state, context.features, w)
    with loop.delay.read_before(state):
        both = loop._ask(state)
        assert np.array_equal(both.arrived(context.features, w).bonus, alone.bonus)
        narrow = both(context.features, w)
        assert (narrow.bonus <= alone.bonus).all()
        assert (narrow.bonus < alone.bonus).any()
        assert np.array_equal(narrow.mean, alone.mean)
    assert np.array_equal(loop._ask(state).arrived(context.features, w).bonus, alone.bonus)
    assert np.array_equal(loop.questions.worth(state, context.features, w).bonus, alone.bonus)


def letters(*, delay, horizon=1000, more=(COST,)):
    return Letters(horizon=horizon, delay=delay, differ=True, rate=None, more=more)


def played(world, model="BayesianLogistic", replicas=3):
    policy = resolving(world.problem, MODELS[model])
    return simulate(policy, world, replicas=replicas, seed=5, record="all", progress=False)


@pytest.mark.parametrize("delay", [0, 30])
def test_only_outcomes_that_wait_change_what_is_played(delay, monkeypatch):
    world = letters(delay=delay, horizon=120)
    plays = played(world).plays.actions
    monkeypatch.setattr(Directions, "mixed", np.zeros(1, bool))
    assert np.array_equal(played(world).plays.actions, plays) == (delay == 0)


def test_each_replica_plays_as_it_does_alone():
    world = letters(delay=30, horizon=150)
    policy = resolving(world.problem, MODELS["BayesianRidge"])
    batch = simulate(policy, world, replicas=3, seed=5, record="all", progress=False).plays.actions
    alone = simulate(policy, world, replicas=[2], seed=5, record="all", progress=False).plays.actions
    assert np.array_equal(batch[:, 2:], alone)


def test_a_replica_that_hears_at_once_plays_beside_one_that_waits_as_it_does_alone():
    """They have decided different numbers of cases, as nothing is offered to one of them for some time."""
    world = letters(delay=100, horizon=200)
    policy = resolving(world.problem, MODELS["BayesianRidge"])

    def plays(replicas):
        state, there, found = policy.start(seed=3, replicas=replicas), world.start(3, np.array(replicas)), []
        for t in range(120):
            idle = [(replica, range(50) if replica == 0 else range(50, 54)) for replica in replicas]
            offered = np.array([[t not in rounds] * len(CENTS) for _, rounds in idle])
            decision = policy.act(state, there.context(t)._replace(offered=offered))
            found.append(decision.plays[:, 0])
            if t not in range(50, 54):
                policy.learn(state, decision, np.where(decision.plays[:, :, None] >= 0, float(t % 2), np.zeros(2)))
        return np.array(found)

    both = plays([0, 1])
    assert np.array_equal(both[:, :1], plays([0]))
    assert np.array_equal(both[:, 1:], plays([1]))


def test_rounds_that_were_taken_back_do_not_wait(monkeypatch):
    asked = []

    def guarded_of(*arguments):
        asked.append(1)
        return guard(*arguments)

    world = letters(delay=0, horizon=200)
    policy = resolving(world.problem, MODELS["BayesianRidge"])
    state, there = policy.start(seed=3), world.start(3, np.arange(1))
    monkeypatch.setattr("evenhand.goals.resolving.guard", guarded_of)
    for t in range(30):
        decision = policy.act(state, there.context(t))
        if t % 3:
            policy.cancel(state, decision)
        else:
            policy.learn(state, decision, np.ones((1, 1, 2)))
    policy.act(state, there.context(30))
    assert not asked
    for t in range(31, 40):
        policy.act(state, there.context(t))
    assert asked


@pytest.mark.slow
def test_a_target_that_cannot_bind_costs_few_answers_while_they_wait(monkeypatch):
    """Without it answers cost 572 cents each: beside plans at the means, 4 % of the answers are lost at most."""
    world, found = letters(delay=300, more=(replace(COST, at_most=1000.0),)), []
    for mixed in (Directions.mixed, np.zeros(1, bool)):
        monkeypatch.setattr(Directions, "mixed", mixed)
        found.append(played(world, replicas=32).in_expectation().average("answer")[-1])
    lost = 1.0 - found[0] / found[1].mean()
    assert lost.mean() < 0.04 + 2.0 * error(lost)


@pytest.mark.slow
@for_each(("model",), BAYESIAN, parts=2)
def test_less_is_overspent_for_no_fewer_answers_while_nothing_is_known_for_300_cases(model, monkeypatch):
    """Beside plans at the means that count on answers before there are any, on the same cases and luck."""
    world, found = letters(delay=300), []
    for mixed in (Directions.mixed, np.zeros(1, bool)):
        monkeypatch.setattr(Directions, "mixed", mixed)
        trace = played(world, model, replicas=32)
        answers, cents = trace.in_expectation().average("answer")[-1], CENTS[trace.plays.actions[:, :, 0]]
        found.append((cents.mean(0) / answers, answers, cents[:300].mean()))
    (ratio, answers, early), (before, fewer, _) = found
    less = np.maximum(before - COST.at_most, 0.0) - np.maximum(ratio - COST.at_most, 0.0)
    assert early < 0.8 * CENTS.mean()
    assert less.mean() > 2.0 * error(less)
    assert np.sort(ratio)[-8:].mean() < np.sort(before)[-8:].mean()  # of the worst quarter
    assert (answers - fewer).mean() > -2.0 * error(answers - fewer)
