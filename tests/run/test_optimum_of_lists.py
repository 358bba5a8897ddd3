"""The optimum of rankings, through the same door as every other."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.environments import Absences, LastFM, Listeners, Phases, Ranking
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear, WeightedSum
from evenhand.planning.lists import maximize_lists
from evenhand.problem import Budget, Floor
from evenhand.problem.constraints import stated_rows
from evenhand.run import opt, opt_without_contexts

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data")) / "lastfm"
ABSENT = "lastfm/user_artists.dat is absent: set EVENHAND_DATA to the folder that lastfm is in"
needs_data = pytest.mark.skipif(not (DATA / "user_artists.dat").exists(), reason=ABSENT)

WORLD = Ranking(audience=Listeners(users=8, items=9, factors=3).audience, horizon=1000, slots=3)
CLICKS = Linear({"click": 1.0})


def unfair(world, part=GeneralizedGini.difference, beta=1.0):
    return replace(world, maximize=WeightedSum(((1.0, CLICKS), (beta, part(world.exposures)))))


def greedy(world, offered=True):
    worth = np.where(offered, world.audience.chances, 0.0)
    return world.shares_of_users @ -np.sort(-worth, 1)[:, : world.slots] @ world.looked


def test_clicks_alone_are_the_items_that_every_user_likes_most():
    world = replace(WORLD, users=tuple(range(1, 9)))
    found = opt(world, replicas=[3, 5], progress=False)
    assert found.value == pytest.approx(greedy(world), abs=1e-7)
    np.testing.assert_array_equal(found.values, found.value)
    assert (found.se, found.gap) == (0.0, 0.0)
    assert opt_without_contexts(world, replicas=1, progress=False).value == pytest.approx(
        -np.sort(-world.shares_of_users @ world.audience.chances)[:3] @ world.looked, abs=1e-7
    )


def test_users_may_look_at_places_in_ways_of_their_own():
    """The best list of every user is the same (Proposition 4); with phases, by luck or not, each has her own places."""
    b = -np.sort(-np.random.default_rng(3).uniform(0.1, 1.0, (8, 3)), 1)
    world, share = replace(WORLD, users=tuple(range(1, 9)), position=b), np.arange(1, 9) / 36
    top = -np.sort(-world.audience.chances, 1)[:, :3]
    assert opt(world, replicas=1, progress=False).value == pytest.approx(share @ (top * b).sum(1), abs=1e-7)
    np.testing.assert_allclose(world.looked, share @ b)
    linear, curved = unfair(world), unfair(world, lambda names: AlphaFair(names, alpha=1.0))
    by_program = opt(linear, replicas=1, progress=False)
    lists, rows = linear.lists(1, 0, 0), stated_rows(linear.problem)
    by_passes = maximize_lists(linear.problem.objective, linear.problem, lists, *rows)
    assert by_passes.value == pytest.approx(by_program.value, abs=1e-4)
    assert by_passes.value - 1e-7 <= by_program.value <= by_passes.value + by_passes.gap + 1e-7
    assert 0.0 <= opt(curved, replicas=1, progress=False).gap <= 1e-4
    plan = np.array([[True] * 9, [False] * 4 + [True] * 5])
    some = np.where(plan[1], world.audience.chances, 0.0)
    later = share @ (-np.sort(-some, 1)[:, :3] * b).sum(1)
    found = opt(replace(world, offers=Phases(plan, length=400)), replicas=1, progress=False)
    assert found.value == pytest.approx(0.6 * (share @ (top * b).sum(1)) + 0.4 * later, abs=1e-7)
    with pytest.raises(InvalidInput, match="look at places alike"):
        opt_without_contexts(world, replicas=1, progress=False)


def test_constraints_have_prices_and_margins():
    fees = dict.fromkeys(WORLD.audience.names[:4], 1.0)
    world = replace(WORLD, fees=fees, subject_to=(Budget("fee", rate=0.5),))
    found, tight = (opt(world, replicas=1, margin=margin, progress=False) for margin in (0.0, 0.1))
    assert found.value < greedy(world)
    assert found.prices[0] > 0
    assert tight.value == pytest.approx(found.value - 0.1 * tight.prices[0], rel=0.02)
    with pytest.raises(InfeasibleProblem):
        opt(replace(world, fees=dict.fromkeys(WORLD.audience.names, 1.0)), replicas=1, progress=False)


def test_objectives_that_are_no_linear_program_have_a_gap():
    found = opt(unfair(WORLD, lambda names: AlphaFair(names, alpha=1.0)), replicas=4, progress=False)
    assert 0.0 <= found.gap <= 1e-4
    np.testing.assert_array_equal(found.values, found.value)


def test_phases_are_weighted_by_their_rounds():
    plan = np.array([[True] * 9, [False] * 4 + [True] * 5])
    world = replace(WORLD, offers=Phases(plan, length=400))  # 600 and 400 rounds
    found = opt(world, replicas=2, progress=False)
    assert found.value == pytest.approx(0.6 * greedy(world) + 0.4 * greedy(world, plan[1]), abs=1e-7)


def test_absences_by_luck_are_those_of_the_replica():
    offers = Absences(0.3, length=200)
    world = replace(WORLD, offers=offers)
    found = opt(world, replicas=[0, 1], seed=5, progress=False)
    run = world.start(5, np.arange(2))
    offered = np.stack([run.context(step).offered for step in range(0, 1000, 200)])
    each = [np.mean([greedy(world, row) for row in offered[:, r]]) for r in range(2)]
    np.testing.assert_allclose(found.values, each, atol=1e-7)
    assert found.values[0] != found.values[1]
    few = opt(world, replicas=[0], seed=5, contexts=16, progress=False)  # two phases: the first and the last
    assert few.value == pytest.approx((greedy(world, offered[0, 0]) + greedy(world, offered[4, 0])) / 2, abs=1e-7)
    with pytest.raises(InvalidInput, match="offers everybody the same"):
        opt_without_contexts(world, replicas=1, progress=False)


@needs_data
@pytest.mark.slow
def test_the_reference_lines_of_last_fm():
    """Eq. 2 with beta = 1, Gini welfare with beta = 0.5, and a floor."""
    world = Ranking(audience=LastFM(path=DATA).audience, horizon=1000)
    assert opt(unfair(world), replicas=1, progress=False).value == pytest.approx(1.71385, abs=2e-5)
    welfare = unfair(world, GeneralizedGini.welfare, 0.5)
    assert opt(welfare, replicas=1, progress=False).value == pytest.approx(2.87264, abs=2e-5)
    labels = {name: str(i % 5) for i, name in enumerate(world.audience.names)}
    looked = float((1.0 / np.log2(2.0 + np.arange(10))).sum())  # the exposure of a list; equal labels have it per share
    for share, cost in ((0.9, 0.0), (0.98, 1.847e-4)):  # without floors, the worst-off of the labels has 0.928 of it
        floor = replace(world, labels=labels, subject_to=(Floor("exposure", rate=share * looked, by="label"),))
        assert greedy(world) - opt(floor, replicas=1, progress=False).value == pytest.approx(cost, abs=2e-7)
