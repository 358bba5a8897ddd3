import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court, Delayed, Matching
from evenhand.models import Ridge
from evenhand.recipes import cab_ucb, random_allocation
from tests.environments.test_court import decide

COURT = Court(horizon=30)


@pytest.mark.parametrize("delay", [0, 1, 7, 100])
def test_outcomes_arrive_so_many_steps_later_with_their_own_decision(delay):
    late, at_once = (e.start(3, np.arange(4)) for e in (Delayed(COURT, delay), COURT))
    assert late.steps == at_once.steps == 30
    arrived = {}
    for step in range(30):
        context = late.context(step)
        decision = decide(context, step % 3)
        taken, arrivals = late.respond(step, context, decision)
        assert taken is decision
        _, (answer,) = at_once.respond(step, context, decision)
        arrived[step] = answer
        assert [a.step for a in arrivals] == ([step - delay] if step >= delay else [])
        for a in arrivals:
            assert a.decision is arrived[a.step].decision
            np.testing.assert_array_equal(a.y, arrived[a.step].y)


def test_everything_else_is_as_it_was():
    late = Delayed(COURT, 5)
    assert late.problem is COURT.problem
    assert late.n_features == COURT.n_features
    a, b = late.start(1, np.arange(2)), COURT.start(1, np.arange(2))
    np.testing.assert_array_equal(a.context(3).features, b.context(3).features)
    plays = np.zeros((2, 1), np.int64)
    np.testing.assert_array_equal(a.expected(a.context(3), plays), b.expected(b.context(3), plays))


USERS = Matching(users=8, arms=3, horizon=60)


def arrivals_of(policy, delay, seed=2, replicas=3):
    """Steps at which every play's outcome arrived, -1 for never, and the outcomes, `->(S,R,P),(S,R,P)`."""
    state, world = policy.start(seed=seed, replicas=replicas), Delayed(USERS, delay).start(seed, np.arange(replicas))
    when, y = np.full((60, replicas, 8), -1), np.full((60, replicas, 8), np.nan)
    for step in range(60):
        context = world.context(step)
        _, arrivals = world.respond(step, context, policy.act(state, context))
        for a in arrivals:
            here = ~np.isnan(a.y[:, :, 0])
            assert (when[a.step][here] == -1).all()
            when[a.step][here], y[a.step][here] = step, a.y[:, :, 0][here]
            if a.pending is not None:
                np.testing.assert_array_equal(a.pending, when[a.step] < 0)
    return when, y


def test_every_play_has_a_delay_of_its_own_and_arrives_once():
    when, y = arrivals_of(random_allocation(USERS.problem, n_features=5), (2, 6))
    late = np.where(when >= 0, when - np.arange(60)[:, None, None], -1)
    assert (late[:54] >= 2).all()
    assert (late <= 6).all()
    counts = np.bincount(late[:54].ravel(), minlength=7)[2:]
    assert (np.abs(counts - 54 * 24 / 5) < 4 * np.sqrt(54 * 24 * 0.2 * 0.8)).all()
    assert (when[58:] == -1).all()  # due after the last step
    _, at_once = arrivals_of(random_allocation(USERS.problem, n_features=5), 0)
    np.testing.assert_array_equal(y[when >= 0], at_once[when >= 0])


def test_delays_are_alike_for_all_policies_and_batches():
    mine, _ = arrivals_of(random_allocation(USERS.problem, n_features=5), (0, 9))
    other, _ = arrivals_of(cab_ucb(USERS.problem, Ridge(n_features=5)), (0, 9))
    np.testing.assert_array_equal(mine, other)
    alone, _ = arrivals_of(random_allocation(USERS.problem, n_features=5), (0, 9), replicas=1)
    np.testing.assert_array_equal(alone[:, 0], mine[:, 0])
    assert (arrivals_of(random_allocation(USERS.problem, n_features=5), (0, 9), seed=3)[0] != mine).any()


def test_parts_are_not_divided_again():
    world = Delayed(Delayed(USERS, (0, 3)), (0, 3)).start(0, np.arange(1))
    policy = random_allocation(USERS.problem, n_features=5)
    context = world.context(0)
    with pytest.raises(InvalidInput, match=r"^Delayed.environment: expected one whose rounds arrive whole"):
        world.respond(0, context, policy.act(policy.start(), context))
