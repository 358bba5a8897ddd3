"""Rankings: who comes, what is looked at and clicked, and what the problem says of items, labels and fees."""

import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.choices import Random, TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.environments import Absences, Audience, Phases, Ranking, WithoutContexts
from evenhand.goals.linear_reward import indifferent
from evenhand.models import NullModel
from evenhand.objectives import GeneralizedGini, Linear, WeightedSum
from evenhand.policy import Policy
from evenhand.problem import Budget, Floor
from evenhand.run import simulate
from tests.examples.environments import AUDIENCE

LABELS = {"song": "a", "film": "a", "book": "b", "play": "b"}
WORLD = Ranking(audience=AUDIENCE, horizon=1000, slots=3)


def decision(plays, replicas):
    empty = Decision(*([None] * len(Decision._fields)))
    return empty._replace(plays=np.tile(plays, (replicas, 1)))


def at_random(world):
    problem = world.problem
    model = NullModel(world.n_features, 1)
    return Policy(problem=problem, model=model, goals=(indifferent(problem),), choice=Random(n_plays=problem.n_plays))


def rows_of_users(world, step=0, replicas=20_000):
    """Features of the first item for many replicas, which tell users apart here."""
    return world.start(1, np.arange(replicas)).context(step).features[:, 0, :2]


@pytest.mark.parametrize("weight", [None, (1.0, 3.0, 2.0)])
def test_users_come_as_often_as_stated(weight):
    """Five standard errors, N = 20,000."""
    x = rows_of_users(replace(WORLD, users=weight))
    share = np.ones(3) / 3 if weight is None else np.array(weight) / 6
    for user, expected in zip(AUDIENCE.users, share, strict=True):
        came = (x == user).all(1).mean()
        assert abs(came - expected) <= 5 * math.sqrt(expected * (1 - expected) / 20_000)


def test_features_are_the_factors_side_by_side_or_their_products():
    pair, flat = WORLD, replace(WORLD, flat=True)
    x, products = (w.start(2, np.arange(6)).context(4).features for w in (pair, flat))
    assert (pair.n_features, flat.n_features) == (4, 4)
    np.testing.assert_array_equal(x[:, :, 2:], np.tile(AUDIENCE.items, (6, 1, 1)))
    np.testing.assert_array_equal(x[:, :, :2], np.tile(x[:, :1, :2], (1, 4, 1)))
    np.testing.assert_array_equal(products, np.einsum("bau,bav->bauv", x[:, :, :2], x[:, :, 2:]).reshape(6, 4, 4))


@pytest.mark.parametrize("position", [None, (1.0, 0.25, 0.25)])
def test_places_are_looked_at_and_items_clicked_with_the_stated_probabilities(position):
    """Five standard errors over 300 steps of 100 replicas; a click takes a look."""
    world = replace(WORLD, position=position)
    run, plays = world.start(3, np.arange(100)), np.array([2, 0, 3])
    looks, clicks, chances = [], [], []
    for step in range(300):
        context = run.context(step)
        d = decision(plays, 100)
        taken, ((when, about, y, exposed, _),) = run.respond(step, context, d)
        assert (taken, when, about) == (d, step, d)
        looks.append(exposed)
        clicks.append(y[:, :, 0])
        chances.append(run.expected(context, d.plays)[:, :, 0])
        np.testing.assert_array_equal(chances[-1], run.expected(context, d.plays.copy())[:, :, 0])
        liked = np.einsum("bu,pu->bp", context.features[:, 0, :2], AUDIENCE.items[plays])
        np.testing.assert_allclose(chances[-1], liked * world.looked, rtol=1e-12)
    looks, clicks, chances = (np.concatenate(z).astype(float) for z in (looks, clicks, chances))
    b = np.array([1.0, 1 / math.log2(3), 0.5]) if position is None else np.array(position)
    np.testing.assert_allclose(world.looked, b)
    assert (np.abs(looks.mean(0) - b) <= 5 * np.sqrt(b * (1 - b) / len(looks))).all()
    assert (np.abs(clicks.mean(0) - chances.mean(0)) <= 5 * np.sqrt(chances.mean(0) / len(looks))).all()
    assert (clicks <= looks).all()


def test_every_user_may_look_at_places_in_a_way_of_her_own():
    """Five standard errors per user over 200 steps of 100 replicas; a row for all is the same as that row for each."""
    b = np.array([[1.0, 0.5, 0.25], [0.9, 0.9, 0.1], [0.3, 0.2, 0.2]])
    world = replace(WORLD, position=b)
    run, plays, looks, whose = world.start(3, np.arange(100)), np.array([2, 0, 3]), [], []
    for step in range(200):
        context = run.context(step)
        who = (context.features[:, 0, None, :2] == AUDIENCE.users).all(2).argmax(1)
        _, (arrival,) = run.respond(step, context, decision(plays, 100))
        looks.append(arrival.exposed)
        whose.append(who)
        liked = AUDIENCE.users[who] @ AUDIENCE.items[plays].T
        np.testing.assert_allclose(run.expected(context, np.tile(plays, (100, 1)))[:, :, 0], liked * b[who])
    looks, whose = np.concatenate(looks), np.concatenate(whose)
    for user in range(3):
        seen = looks[whose == user]
        assert (np.abs(seen.mean(0) - b[user]) <= 5 * np.sqrt(b[user] * (1 - b[user]) / len(seen))).all()
    one, same = (replace(WORLD, horizon=50, position=z) for z in (tuple(b[1]), np.tile(b[1], (3, 1))))
    first, second = (simulate(at_random(w), w, replicas=3, seed=2, progress=False).total("click") for w in (one, same))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(InvalidInput, match="a row for each of 3 users"):
        replace(WORLD, position=b[:2])
    with pytest.raises(InvalidInput, match="never increase"):
        replace(WORLD, position=b[:, ::-1])


def test_what_users_like_may_be_any_matrix():
    liked = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    world = Ranking(audience=Audience(users=np.eye(2), items=np.ones((3, 1)), liked=liked), horizon=9, slots=2)
    run = world.start(0, np.arange(8))
    context = run.context(0)
    users = context.features[:, 0, 1].astype(int)
    mean = run.expected(context, np.tile([0, 2], (8, 1)))[:, :, 0]
    np.testing.assert_array_equal(mean, np.stack([liked[users, 0], liked[users, 2] / math.log2(3)], 1))


def test_an_empty_place_is_neither_looked_at_nor_clicked():
    run = WORLD.start(0, np.arange(50))
    context = run.context(0)
    _, ((_, _, y, exposed, _),) = run.respond(0, context, decision([-1, 0, -1], 50))
    assert not exposed[:, [0, 2]].any()
    assert exposed[:, 1].any()
    assert not y[:, [0, 2]].any()


def test_every_policy_meets_the_same_users_and_looks_at_the_same_places():
    seen = []
    for plays in ([0, 1, 2], [3, 2, 1]):
        run = WORLD.start(7, np.arange(5))
        rounds = []
        for step in range(10):
            context = run.context(step)
            _, ((_, _, _, exposed, _),) = run.respond(step, context, decision(plays, 5))
            rounds += [context.features, exposed]
        seen.append(rounds)
    for a, b in zip(*seen, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_world_answers_only_for_the_context_that_it_showed_last():
    run = WORLD.start(0, np.arange(1))
    first, second = run.context(0), run.context(1)
    run.expected(second._replace(offered=~second.offered), np.array([[0]]))
    with pytest.raises(InvalidInput, match="the last one shown"):
        run.expected(first, np.array([[0]]))
    with pytest.raises(InvalidInput, match="at most 3, one per slot"):
        run.expected(second, np.array([[0, 1, 2, 3]]))


def test_items_come_and_go_by_plan():
    plan = np.array([[True, False, True, True], [False, True, True, False]])
    world = replace(WORLD, offers=Phases(plan, length=10))
    run = world.start(0, np.arange(3))
    for step, phase in ((0, 0), (9, 0), (10, 1), (19, 1), (20, 0), (5, 0)):
        np.testing.assert_array_equal(run.context(step).offered, plan[[phase]])
    plays = simulate(at_random(world), world, replicas=3, record="all", progress=False).plays.actions
    assert all(plan[step // 10 % 2][p] for step, r, p in np.ndindex(plays.shape) for p in [plays[step, r, p]] if p >= 0)


def test_items_are_absent_by_luck_in_a_share_of_the_phases():
    """Five standard errors over 200 phases of 20 replicas; replicas differ, and steps of a phase do not."""
    run = replace(WORLD, offers=Absences(0.3, length=5)).start(0, np.arange(20))
    phases = [[run.context(5 * phase + step).offered for step in (0, 4)] for phase in range(200)]
    for first, last in phases:
        np.testing.assert_array_equal(first, last)
    offered = np.concatenate([first for first, _ in phases])
    assert (np.abs(offered.mean(0) - 0.7) <= 5 * math.sqrt(0.21 / len(offered))).all()
    assert (offered[:-1] != offered[1:]).any(1).mean() > 0.5


def test_fees_per_impression_wait_for_the_look_and_fees_per_placement_do_not():
    for per, sure in (("impression", False), ("placement", True)):
        world = replace(WORLD, fees={"song": 2.0}, fee_per=per, slots=4, horizon=400)
        trace = simulate(at_random(world), world, replicas=10, progress=False)
        fee = trace.total("fee")
        if sure:
            np.testing.assert_array_equal(fee, 800.0)  # every item is in every list
        else:
            song = trace.group_totals[-1, :, world.problem.columns.index(("item", "song")), 1]
            np.testing.assert_array_equal(fee, 2.0 * song)
            assert (fee < 800.0).all()


def test_the_problem_reads_exposures_of_items_and_labels():
    goal = WeightedSum(((1.0, Linear({"click": 1.0})), (1.0, GeneralizedGini.difference(WORLD.exposures))))
    subject_to = (Floor("exposure", rate=0.5, by="label"), Budget("fee", rate=0.5))
    world = replace(WORLD, labels=LABELS, fees={"film": 1.0}, maximize=goal, subject_to=subject_to)
    trace = simulate(at_random(world), world, replicas=4, progress=False)
    shown = trace.group_totals[-1, :, :4, 1] / 1000
    clicks, chances = trace.total("click") / 1000, trace.expected[-1, :, 0] / 1000
    np.testing.assert_allclose(trace.objective()[-1], goal.value(np.column_stack([chances, shown])))
    b = WORLD.looked.sum()  # five standard errors
    assert (np.abs(shown.sum(1) - b) <= 5 * math.sqrt((WORLD.looked * (1 - WORLD.looked)).sum() / 1000)).all()
    assert (np.abs(clicks - chances) <= 5 * math.sqrt(0.25 * 3 / 1000)).all()


@pytest.mark.parametrize(("items", "slots"), [(1, 1), (4, 4)])
def test_a_single_item_and_as_many_slots_as_items(items, slots):
    audience = Audience(users=AUDIENCE.users, items=AUDIENCE.items[:items])
    world = Ranking(audience=audience, horizon=50, slots=slots)
    assert len(world.exposures) == items
    goal = WeightedSum(((1.0, Linear({"click": 1.0})), (1.0, GeneralizedGini.welfare(world.exposures))))
    world = replace(world, maximize=goal)
    trace = simulate(at_random(world), world, replicas=2, progress=False)
    assert (trace.total("exposure") >= 50).all()  # the first place is always looked at


def test_rankings_without_features():
    world = WithoutContexts(WORLD)
    policy = Policy(problem=world.problem, model=NullModel(4, 1), goals=(indifferent(world.problem),), choice=TopK(3))
    assert (simulate(policy, world, replicas=2, progress=False).total("exposure") > 0).all()
