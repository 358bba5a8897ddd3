"""Decisions that wait at the end of a check of compiled rounds: their tokens are random, and that they wait is not."""

import pytest

from evenhand.environments import Court, Delayed
from evenhand.recipes import uniform
from evenhand.testing import blocks, check_compiled

COURT = Court(horizon=300)
POLICY = uniform(COURT.problem, 5)


@pytest.mark.parametrize("delay", [5, (2, 5)])
def test_random_tokens_are_no_difference(delay):
    assert check_compiled(POLICY, Delayed(COURT, delay), rounds=20) == 0


def test_a_decision_that_waits_on_one_side_only_is_a_difference(monkeypatch):
    ordinary = blocks._run

    def run(*args, by_hand):
        trace, state, played = ordinary(*args, by_hand=by_hand)
        if not by_hand:
            receipts = state.receipts
            receipts.tokens[receipts.waiting()[0] - receipts.base] = 0
        return trace, state, played

    monkeypatch.setattr(blocks, "_run", run)
    with pytest.raises(AssertionError, match=r"the state that Python leaves: \.receipts\.tokens"):
        check_compiled(POLICY, Delayed(COURT, 5), rounds=20)
