"""Rows of known and learned outcomes while outcomes wait: by hand, beside no delay, and in a world of late answers."""

import numpy as np
import pytest

from evenhand.goals._directions import Directions
from evenhand.goals._uses import blank_prices, guarded
from evenhand.planning.forecast import Forecast
from evenhand.problem import Budget, Floor, Outcome, Problem, Ratio
from evenhand.problem.constraints import stated_rows
from evenhand.recipes import resolving
from evenhand.run import simulate
from tests.delays import BAYESIAN, MODELS, error
from tests.each import for_each
from tests.ignorance import CENTS, Letters

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
    of, waits, blank = directions(COST), np.array([True, True, False]), np.array([[True], [False], [False]])
    gain = np.array([[[1.0, 0.5, -np.inf]]] * 3)
    plain, least = np.array([-200.0, -120.0, 100.0]), np.array([0.0, 80.0, 300.0])
    use, hope = np.tile(plain, (3, 1, 1, 1)), np.tile(least, (3, 1, 1, 1))
    hope[2] = 0.0  # not asked for
    kept = np.array([1, 1, 0])
    ends = Forecast(np.ones((3, 1)), gain, gain, use, hope, kept)
    priced = blank_prices(np.zeros((3, 1)), ends, of, blank)
    assert priced[0, 0] == pytest.approx(0.1 * 1.0 / 300.0)
    assert np.isnan(priced[1:]).all()
    sample = Forecast(np.ones((3, 1)), gain, gain, use, use, np.ones(3, np.int64))
    read = guarded(sample, ends, of, waits, priced)
    assert read.use is read.hope
    assert read.use[:, 0, 0].tolist() == [[0.0, 0.0, 0.0], least.tolist(), plain.tolist()]
    assert read.gain[0, 0].tolist() == pytest.approx([1.0, 0.5 - 0.1 * 80.0 / 300.0, -np.inf])
    assert np.array_equal(read.gain[1:], gain[1:])
    assert sample.use is use
    assert (use == plain).all()


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
        return guarded(*arguments)

    world = letters(delay=0, horizon=200)
    policy = resolving(world.problem, MODELS["BayesianRidge"])
    state, there = policy.start(seed=3), world.start(3, np.arange(1))
    monkeypatch.setattr("evenhand.goals.resolving.guarded", guarded_of)
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
    assert ratio.max() < before.max()
    assert (answers - fewer).mean() > -2.0 * error(answers - fewer)
