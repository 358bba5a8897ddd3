"""No hard budget is exceeded at any time in random worlds with everything mixed, by books of their own."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.budget_worlds import Course, Span, check, main, world

SOME = 100  # worlds of each seed


def test_some_worlds_keep_to_their_budgets():
    for number in range(5):
        check(number, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_worlds_keep_to_their_budgets_and_use_them(seed):
    """Of a hundred worlds, and spans that allow much of what is played are used up."""
    used, whole = 0, 0
    for number in range(SOME):
        made, found = check(number, seed)
        used, whole = used + found.full, whole + 2 * len(made.spans)
    assert used > 0.4 * whole


def test_worlds_have_every_feature():
    """Of sixty worlds, which are not run."""
    seen = Counter()
    for number in range(60):
        made, _ = world(number, seed=0)
        problem = made.problem
        budgets = [c for c in problem.subject_to if type(c).__name__ == "Budget"]
        seen[made.kind] += 1
        seen["clock" if problem.until is not None else "rounds"] += 1
        seen["traffic"] += problem.traffic is not None
        seen["between"] += hasattr(problem.horizon, "earliest")
        seen["per"] += any(b.per is not None and not b.carry and b.window == 1 for b in budgets)
        seen["carry"] += any(b.carry for b in budgets)
        seen["window"] += any(b.window > 1 for b in budgets)
        seen["own"] += any(isinstance(b.total, tuple) for b in budgets)
        seen["by action"] += any(o.ranges_by_action for o in problem.outcomes)
        seen["times"] += any(o.times is not None for o in problem.outcomes)
        seen["noisy"] += bool(problem.noisy)
        seen["refund"] += any(o.widest[0] < 0.0 for o in problem.outcomes)
        seen["unsure"] += any(not o.sure for o in problem.outcomes)
        seen["fallback"] += any(o.fallback is not None for o in problem.outcomes)
        seen["held out"] += "HeldOut" in repr(made.policy.choice)
        seen["explore"] += "Floored" in repr(made.policy.choice)
        seen.update({type(c).__name__ for c in problem.subject_to})
    wanted = "single list allocation clock rounds traffic between per carry window own times noisy refund unsure"
    more = ("by action", "fallback", "held out", "explore", "Budget", "Floor", "Parity", "Ratio", "NeverWorse")
    assert not [name for name in (*wanted.split(), *more) if not seen[name]]


def test_an_allowance_that_is_stated_too_small_is_found():
    """The books of a world against spans that allow half of what its budgets do: most are exceeded."""
    found = 0
    for number in range(8):
        made, rng = world(number, seed=0)
        made = replace(made, spans=tuple(s._replace(allowance=s.allowance / 2) for s in made.spans))
        found += Course(made, rng, number).run().over > 0.0
    assert found >= 5


def test_uses_count_at_the_time_of_their_decision_whenever_they_come():
    """By hand: a cancelled play counts until it is cancelled, and spans have what was decided within."""
    made, rng = world(0, seed=0)
    name = made.problem.outcomes[0].name
    course = Course(replace(made, spans=(Span(name, 0.0, 2.0, 3.0), Span(name, 1.0, 9.0, 3.0))), rng, 0)
    use = {name: np.array([1.0, 2.0])}
    course._book(np.array([0.0, 1.0]), use)
    course._book(np.array([1.5, 2.0]), use)
    course._book(np.array([1.5, 2.0]), use, times=-1.0)
    assert course._used.tolist() == [[1.0, 0.0], [2.0, 2.0]]
    assert course._most.tolist() == [[2.0, 1.0], [2.0, 4.0]]


def test_it_prints_what_it_saw(capsys):
    assert main(2, 0) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 worlds, 0 failed, largest excess -")
    assert "plays" in said
