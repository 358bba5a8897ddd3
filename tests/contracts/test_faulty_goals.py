"""`check_goal` catches a goal or a limit that breaks a promise: one broken promise per row."""

import numpy as np
import pytest

from evenhand.goals import DualGradient, Steady
from evenhand.goals.hard_limits import hard_budget
from evenhand.problem.constraints import constraint_rows
from evenhand.testing import check_goal
from tests.contracts.faults import Twisted, after, caught
from tests.examples.problems import EVERYTHING

ROWS, BOUND = constraint_rows(EVERYTHING)
DUAL, HARD = DualGradient(rows=ROWS, bound=BOUND, step=Steady(0.1)), hard_budget(EVERYTHING)
AHEAD = DualGradient(rows=ROWS, bound=BOUND, step=Steady(0.1), on="optimistic")  # which steps on estimates
TRACE = "entries with counted = 0 leave no trace in a goal"
STILL = "`price`, `room` and `fits` leave the state as it is"


class SkewedRows:
    """Rows whose pull forgets the known outcomes."""

    def __init__(self):
        self.post = ROWS.post

    def __len__(self):
        return len(ROWS)

    def pull(self, frame, shares, q):
        prices, offset = ROWS.pull(frame, shares, q)
        return prices, 0.999 * offset


def priced(change):
    """Other prices and offsets."""
    return {"price": after(DUAL.price, lambda said, state: change(*said))}


def offered(change):
    """Other worst cases, and another rest."""
    return {"room": after(HARD.room, lambda said, state, frame: change(*said))}


def halved(said, state):
    state.price *= 0.5
    return said


def spent(said, state, frame):
    state.taken[0] += 0.1
    return said


def steps(state, decision, estimate):
    state.price += 0.1


def trusts(state, decision, estimate):
    if estimate is not None:
        state.price += 0.1


def settles(said, state, decision, rounds, v):
    state.taken[0] += 0.5


FAULTS = [
    (DUAL, {"rows": SkewedRows()}, "`pull` is the adjoint of `post`"),
    (DUAL, {"price": after(DUAL.price, halved)}, STILL),
    (DUAL, priced(lambda q, o: (q, o + 1e-15 * q.mean())), "in a batch has the readings that it has alone"),
    (DUAL, priced(lambda q, o: (q, o + np.inf)), "prices are finite"),
    (DUAL, priced(lambda q, o: (q[:, 0], o)), "prices have shapes"),
    (DUAL, {"on_decision": steps}, TRACE),
    (AHEAD, {"on_decision": trusts}, TRACE),
    (DUAL, {"on_outcome": lambda s, d, rounds, v: DUAL.on_outcome(s, d, np.ones_like(rounds), v)}, TRACE),
    (HARD, {"over": after(HARD.over, lambda said, state: said | True)}, "where a limit is over, nothing fits"),
    (HARD, offered(lambda worst, left: (worst, left[:, 0])), "room has shapes"),
    (HARD, {"fits": lambda s, d: ~HARD.fits(s, d)}, "plays fit together where the sum of their worst cases is left"),
    (HARD, {"room": after(HARD.room, spent)}, STILL),
    (HARD, offered(lambda worst, left: (worst, np.broadcast_to(left.min(0), left.shape))),
     "plays fit together where the sum|in a batch has the readings that it has alone"),
    (HARD, {"on_outcome": after(HARD.on_outcome, settles)}, TRACE),
    (object(), {}, "a goal prices outcomes"),
]  # fmt: skip


@pytest.mark.parametrize("goal", [DUAL, AHEAD, HARD], ids=["dual", "ahead", "hard"])
def test_a_sound_goal_passes(goal):
    check_goal(Twisted(goal), EVERYTHING)


@pytest.mark.parametrize(("goal", "members", "promise"), FAULTS, ids=lambda z: z if isinstance(z, str) else "")
def test_a_faulty_goal_is_caught(goal, members, promise):
    caught(check_goal, Twisted(goal, **members), promise, EVERYTHING)
