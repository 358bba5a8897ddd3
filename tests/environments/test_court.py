import math

import numpy as np
import pytest

from evenhand.core.records import Decision
from evenhand.environments import Court
from tests.goals.test_dual import receipt

TRUTH = np.array([-1.0, 1.0, 1.0, 2.0, 2.0])


@pytest.fixture(scope="module")
def people():
    """40 replicas x 250 steps: features (N, 3, 5) and groups (N)."""
    world = Court().start(3, np.arange(40))
    seen = [world.context(step) for step in range(250)]
    return np.concatenate([c.features for c in seen]), np.concatenate([c.groups[:, 0, 0] for c in seen])


def test_features_are_those_of_the_paper(people):
    """(age, proximity 1{voucher}, the same in group 0, poverty 1{ride}, the same in group 0)."""
    x, group = people
    age, proximity, poverty = x[:, 0, 0], x[:, 1, 1], x[:, 2, 3]
    first = (group == 0).astype(float)
    zero = np.zeros(len(x))
    np.testing.assert_array_equal(x[:, 0], np.stack([age, zero, zero, zero, zero], 1))
    np.testing.assert_array_equal(x[:, 1], np.stack([age, proximity, proximity * first, zero, zero], 1))
    np.testing.assert_array_equal(x[:, 2], np.stack([age, zero, zero, poverty, poverty * first], 1))


def test_people_are_uniform_and_evenly_split(people):
    """Five standard errors, N = 10,000."""
    x, group = people
    n = len(x)
    for z in (x[:, 0, 0], x[:, 1, 1], x[:, 2, 3]):
        assert abs(z.mean() - 0.5) <= 5 * math.sqrt(1 / 12 / n)
        assert z.min() >= 0.0
        assert z.max() < 1.0
    assert abs((group == 0).mean() - 0.5) <= 5 * math.sqrt(0.25 / n)


def decide(context, action):
    count = len(context.features)
    plays = np.full((count, 1), action)
    return receipt(count)._replace(plays=plays, features=context.features[:, [action]])


@pytest.mark.parametrize("action", [0, 1, 2])
def test_people_appear_with_the_stated_probability(action):
    world = Court().start(4, np.arange(50))
    often, chance = [], []
    for step in range(200):
        context = world.context(step)
        decision = decide(context, action)
        taken, ((when, about, y, _, _),) = world.respond(step, context, decision)
        assert when == step
        assert about is decision
        assert taken is decision
        mean = world.expected(context, decision.plays)
        u = context.features[:, action] @ TRUTH
        np.testing.assert_allclose(mean[:, 0, 0], 1 / (1 + np.exp(-u)))
        often.append(y)
        chance.append(mean)
    often, chance = np.array(often), np.array(chance)
    assert set(np.unique(often)) == {0.0, 1.0}
    assert abs((often - chance).mean()) <= 5 * math.sqrt((chance * (1 - chance)).mean() / often.size)


def test_the_luck_of_a_person_is_the_same_whatever_is_done():
    """Whoever appears with nothing appears with help, since help only raises the probability."""
    world = Court().start(5, np.arange(30))
    for step in range(50):
        context = world.context(step)
        answers = [world.respond(step, context, decide(context, a))[1][0].y[:, 0, 0] for a in range(3)]
        assert (answers[1] >= answers[0]).all()
        assert (answers[2] >= answers[0]).all()


def test_nobody_is_expected_where_nothing_is_played():
    world = Court().start(5, np.arange(2))
    context = world.context(0)
    mean = world.expected(context, np.array([[-1], [0]]))
    assert mean[0, 0, 0] == 0.0
    assert mean[1, 0, 0] > 0.0
    assert isinstance(decide(context, 0), Decision)


def test_budgets_costs_and_horizon_are_declared():
    problem = Court(tolerance=0.025, horizon=500).problem
    assert problem.horizon == 500
    assert problem.learned == ("appears",)
    assert problem.known == ("ride", "voucher")
    np.testing.assert_array_equal(problem.declared, [[0, 0], [0, 1], [1, 0]])
    assert [b.limit(500) for b in problem.spending] == [0.05, 0.2]
    assert Court(horizon=500).start(0, np.arange(1)).steps == 500
