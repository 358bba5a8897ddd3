import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court, Delayed
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


def test_a_negative_delay_is_refused():
    with pytest.raises(InvalidInput, match=r"^Delayed\.delay: expected a whole number of at least 0, got -1"):
        Delayed(COURT, -1)
