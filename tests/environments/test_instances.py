"""Random instances without contexts, and routing: their means, offers and optima."""

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import BernoulliKnapsacks, MixedArms, Routing
from evenhand.models import Tabular
from evenhand.recipes import fw_dual, resolving, uniform
from evenhand.run.optimum import opt
from evenhand.run.simulation import play, simulate


@pytest.mark.parametrize(
    "world", [BernoulliKnapsacks(arms=5, resources=2, horizon=4000), Routing(types=3, routes=2, edges=4, horizon=4000)]
)
def test_outcomes_have_the_means_that_are_stated(world):
    policy = uniform(world.problem, n_features=world.n_features)
    state, there = policy.start(), world.start(3, np.arange(1))
    seen = np.zeros((len(world.problem.actions), len(world.problem.learned)))
    stated, count = seen.copy(), np.zeros(len(seen))
    for r in play(policy, state, there, range(world.horizon)):
        a, (arrival,) = r.decision.plays[0, 0], r.arrivals
        if a >= 0:
            seen[a] += arrival.y[0, 0]
            stated[a] = there.expected(r.context, r.decision.plays)[0, 0]
            count[a] += 1
    played = count > 0
    assert played.all()
    wide = 4.5 * np.sqrt(0.25 / count)[:, None]  # standard errors of coins
    assert (np.abs(seen / count[:, None] - stated) <= wide).all()
    assert (seen[0] == 0).all()  # doing nothing


def test_an_instance_depends_on_its_number_alone():
    one, other = BernoulliKnapsacks(instance=1), BernoulliKnapsacks(instance=2)
    assert (one.means != other.means)[1:].all()
    np.testing.assert_array_equal(one.means, BernoulliKnapsacks(instance=1, horizon=7).means)
    np.testing.assert_allclose(one.means[1:, 0], 0.5 * (one.means[1:, 1:].mean(1)), atol=0.5)


def test_budgets_of_knapsacks_are_a_part_of_what_uniform_play_uses():
    world = BernoulliKnapsacks(arms=4, resources=2, scarcity=0.25, horizon=100)
    limits = [c.limit(100) for c in world.problem.subject_to]
    np.testing.assert_allclose(limits, 0.25 * world.means[1:, 1:].mean(0))


def test_a_request_is_offered_the_routes_of_its_type():
    world = Routing(types=3, routes=2, edges=5, horizon=50)
    there = world.start(0, np.arange(4))
    kinds = set()
    for step in range(50):
        context = there.context(step)
        for r in range(4):
            kind = context.groups[r, 0, 0]
            kinds.add(int(kind))
            np.testing.assert_array_equal(np.flatnonzero(context.offered[r]), [0, 1 + 2 * kind, 2 + 2 * kind])
    assert kinds == {0, 1, 2}
    assert world.uses.sum(1).min() >= 1


def test_every_thing_has_a_partner():
    for instance in range(20):
        uses = Routing(types=2, routes=3, edges=9, instance=instance).uses
        assert uses.any(0).all()
        assert uses.any(1).all()


def test_plans_price_the_groups_of_cases_that_an_objective_reads():
    """The slope of the objective differs between types, so between contexts."""
    world = Routing(types=3, routes=3, edges=6, horizon=2000)
    best = opt(world, contexts=300, replicas=1).value
    model = Tabular(arms=world.n_features, confidence=0.5)
    for recipe, part in ((resolving, 0.98), (fw_dual, 0.97)):
        trace = simulate(recipe(world.problem, model), world, replicas=3, progress=False)
        assert (trace.objective()[-1] >= part * best).all()
        for c in world.problem.subject_to:
            assert (trace.total(c.outcome)[-1] <= c.total_over(2000) + 1e-9).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: BernoulliKnapsacks(arms=0), "BernoulliKnapsacks.arms"),
        (lambda: BernoulliKnapsacks(scarcity=0.0), "BernoulliKnapsacks.scarcity"),
        (lambda: BernoulliKnapsacks(instance=-1), "BernoulliKnapsacks.instance"),
        (lambda: Routing(types=1), "Routing.types"),
        (lambda: Routing(room=float("nan")), "Routing.room"),
    ],
)
def test_bad_settings_are_refused(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


def test_arms_of_a_mixture_are_the_same_in_every_round():
    there = MixedArms(horizon=10).start(0, np.arange(2))
    assert there.context(0) is there.context(9)
