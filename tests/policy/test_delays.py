"""More information never hurts, and is never worth less than uniform play."""

import numpy as np
import pytest

from evenhand.recipes import uniform
from evenhand.run import play
from tests.delays import (
    BAYESIAN,
    CONSTRAINTS,
    DELAYS,
    Pair,
    Study,
    beside_uniform,
    more_and_less,
    tells_more,
    tolerance,
)
from tests.ignorance import Letters
from tests.rows import for_each

FEW = ("never", "500", "500, first 3 at once", "500, first 10 at once", "none 0, letter 30, call 400", "100", "0")
FEWER = {("floor", "BayesianLogistic"): 16, ("floor", "BayesianRidge"): 24}  # replicas, as their plans take the longest
UNPAID = {"budget": (), "no limit": ("never",), "floor": ("never", "500")}  # where what nobody knows pays


def test_what_is_known_is_ordered_by_hand():
    assert [sum(tells_more(delay, other) for other in DELAYS) for delay in DELAYS] == [0, 1, 2, 3, 4, 5, 2, 2, 2, 3, 10]
    assert tells_more("500, first 1 at once", "500")
    assert tells_more("none 0, letter 30, call 400", "500")
    assert not tells_more("100", "500, first 1 at once")
    assert not tells_more("30", "none 0, letter 30, call 400")
    assert not tells_more("30", "30")


def test_every_outcome_arrives_once_after_the_delay_of_its_action():
    late = np.array([2, 0, 5])
    world = Letters(horizon=30, delay=(2, 0, 5), at_once=3)
    policy, there = uniform(world.problem, n_features=3), world.start(1, np.arange(6))
    state, due, found = policy.start(seed=2, replicas=6), {}, {}
    for t, _, decision, _, arrivals in play(policy, state, there, range(30)):
        for r, action in enumerate(decision.plays[:, 0]):
            due[t, r] = t + (late[action] if t >= 3 else 0)
        for a in arrivals:
            here = ~np.isnan(a.y).any((1, 2))
            for r in np.flatnonzero(here):
                assert (a.step, r) not in found
                found[a.step, r] = t
            for r in np.flatnonzero(~here):
                assert (due[a.step, r] > t) == (a.pending is not None and a.pending[r, 0])
    assert found == {key: step for key, step in due.items() if step < 30}
    assert len(set(due.values())) > 20
    assert len(state.receipts.waiting()) == len({step for (step, r), end in due.items() if end >= 30})


def test_pairs_are_judged_in_standard_errors_of_their_differences():
    assert Pair(name="the same", gain=np.zeros(4)).errors == 0.0
    assert Pair(name="by hand", gain=np.array([1.0, 3.0])).errors == pytest.approx(2.0)
    assert tolerance(1, 10**6) == pytest.approx(1.645, abs=1e-3)
    assert tolerance(20, 32) == pytest.approx(3.0, abs=0.03)  # 1 / 400 of Student's t of 31 degrees of freedom


@pytest.mark.slow
@for_each(("constraint", "model"), [(c, m) for c in CONSTRAINTS for m in BAYESIAN], parts=6)
def test_more_information_does_not_hurt(constraint, model):
    """Beside runs of the same luck that are told less, and beside uniform play; all pairs of the six tests at once.

    Before an answer, a policy without a budget knows what actions cost and nothing of what they bring: those that wait
    tell it that it will know more, and not that paying is worth it, as it is here. If no answer comes, or all come too
    late for a floor, it is not compared with uniform play.
    """
    study = Study(replicas=FEWER.get((constraint, model), 32))
    cells = {delay: study.cell(constraint, model, delay) for delay in FEW}
    paid = {d: c for d, c in cells.items() if d not in UNPAID[constraint]}
    pairs = [*more_and_less(cells), *beside_uniform(paid)]
    least = -tolerance(len(CONSTRAINTS) * len(BAYESIAN) * len(pairs), study.replicas)
    assert not [(p.name, p.gain.mean(), p.errors) for p in pairs if p.errors < least]
