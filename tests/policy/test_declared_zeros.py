"""Models are told which of their observations are declared zeros, so that these are not taken for certainty."""

import numpy as np
import pytest

from evenhand.core.records import Context
from evenhand.models import BayesianRidge, Bootstrapped, PerAction, Stacked
from evenhand.objectives import Linear
from evenhand.policy.marked_arrays import marked_arrays
from evenhand.problem import Floor, Outcome, Problem
from evenhand.recipes import fw_dual
from evenhand.run import simulate
from tests.ignorance import Targets

SHOP = Problem(
    actions=("none", "letter", "call"),
    outcomes=(
        Outcome("reads", free=("none", "call")),
        Outcome("answers", free=("none",)),
        Outcome("cents", known={"letter": 1.0, "call": 2.0}),
    ),
    maximize=Linear({"cents": -1.0}),
    subject_to=(Floor("reads", rate=0.1), Floor("answers", rate=0.1)),
    horizon=50,
    n_plays=2,
)


def shown(features, replicas=2):
    return Context(features, SHOP.declared[None], np.zeros((replicas, 1, 0), np.int64), np.ones((1, 3), bool))


def played(model, features, rounds=20):
    """The state of the model, and how often each action was played, `(R,A)`."""
    policy = fw_dual(SHOP, model, warmup=20)
    state, times, context = policy.start(seed=1, replicas=2), np.zeros((2, 3)), shown(features)
    for t in range(rounds):
        d = policy.act(state, context)
        y = np.zeros((2, 2, 2))
        y[..., 0] = d.plays == 1
        y[..., 1] = d.plays >= 1
        pending = np.arange(2)[None] == np.full((2, 1), t % 2)  # one play arrives later than the other
        policy.learn(state, d, y * ~pending[:, :, None], pending=pending)
        policy.learn(state, d, y * pending[:, :, None])
        for r in range(2):
            np.add.at(times[r], d.plays[r][d.plays[r] >= 0], 1)
    return state.model, times


RIDGE = BayesianRidge(n_features=3, n_outcomes=2)
ONE_HOT = np.broadcast_to(np.eye(3), (2, 3, 3)).copy()
INDEXED = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]]), (2, 3, 2)).copy()


@pytest.mark.parametrize(
    ("model", "features"),
    [(RIDGE, ONE_HOT), (PerAction(inner=BayesianRidge(n_features=1, n_outcomes=2), actions=3), INDEXED)],
    ids=["plain", "per action"],
)
def test_a_model_hears_of_declared_zeros(model, features):
    """Reads are declared 0 under a call; doing nothing, where all outcomes are, is not counted."""
    state, times = played(model, features)
    zeros = next(marked_arrays(state, "zeros"))
    for r in range(2):
        same = zeros.reshape(2, -1, 2)[r]
        np.testing.assert_array_equal(same[:, 0], times[r, 2])
        np.testing.assert_array_equal(same[:, 1], 0.0)
    assert times[:, 2].min() > 0


def test_a_taught_row_counts_by_its_weight():
    policy = fw_dual(SHOP, RIDGE)
    state = policy.start(seed=1)
    context = Context(ONE_HOT[:1], SHOP.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
    policy.teach(state, context, "call", {"reads": 0.0, "answers": 1.0}, weight=0.25)
    policy.teach(state, context, "letter", {"reads": 1.0, "answers": 1.0}, weight=0.25)
    policy.teach(state, context, "call", {"reads": None, "answers": 1.0})  # no model of both learns from this
    assert next(marked_arrays(state.model, "zeros")).tolist() == [[0.25, 0.0]]


def test_parts_of_other_outcomes_are_left_as_they_are():
    parts = Stacked((BayesianRidge(n_features=3), BayesianRidge(n_features=3)))
    state, _ = played(parts, ONE_HOT)
    assert all((zeros == 0.0).all() for zeros in marked_arrays(state, "zeros"))
    assert all(zeros.max() > 0.0 for zeros in marked_arrays(played(Bootstrapped(inner=RIDGE), ONE_HOT)[0], "zeros"))


@pytest.mark.slow
def test_what_failed_at_first_is_tried_again_where_zeros_are_declared():
    """Six floors at 0.08 that dual prices are slow to reach: no outcome is given up for ever."""
    world = Targets(horizon=8000)
    trace = simulate(
        fw_dual(world.problem, BayesianRidge(n_features=6, n_outcomes=6)), world, replicas=6, seed=4, progress=False
    )
    rates = np.stack([trace.average(f"hit {i}")[-1] for i in range(6)])
    assert rates.min() > 0.07


def test_replicas_hear_of_zeros_alone_as_they_do_together():
    model = PerAction(inner=BayesianRidge(n_features=1, n_outcomes=2), actions=3)
    policy, said = fw_dual(SHOP, model, warmup=5), {}
    for ids in ([0, 1, 2], [1]):
        state = policy.start(seed=3, replicas=ids)
        for _ in range(30):
            d = policy.act(state, shown(INDEXED[:1].repeat(len(ids), 0), len(ids)))
            policy.learn(state, d, np.stack([d.plays == 1, d.plays >= 1], 2).astype(float))
        (zeros,) = marked_arrays(state.model, "zeros")
        said[len(ids)] = zeros
    assert len(np.unique(said[3], axis=0)) > 1
    np.testing.assert_array_equal(said[3][1:2], said[1])
