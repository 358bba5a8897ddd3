"""What comes in a round and cannot be used is refused with one error that names it, and leaves no trace."""

import math
import re

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.models import Ridge
from evenhand.policy.saving import flatten
from evenhand.problem.constraints import Parity
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.recipes import pgd
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

NAN, INF = math.nan, math.inf
SHAPE = "outcomes: expected shape (2, 1, 2), a column for each of ('gain', 'hours')"

POLICY = pgd(EVERYTHING, Ridge(n_features=3, n_outcomes=2), warmup=0, step=0.1, hard=True)
WORLD = Market(problem=EVERYTHING)


def at(index, value):
    def change(z):
        z = z.copy()
        z[index] = value
        return z

    return change


# Two replicas, four candidates, three features, two known outcomes, groupings of columns 0-2 and 3-4.
CONTEXTS = {
    "feature nan": (
        "features",
        at((1, 2, 0), NAN),
        "context.features[1, 2, 0]: expected a finite number, of size at most 1e+100, got nan",
    ),
    "feature inf": (
        "features",
        at((0, 0, 1), INF),
        "context.features[0, 0, 1]: expected a finite number, of size at most 1e+100, got inf",
    ),
    "feature -inf": (
        "features",
        at((1, 3, 2), -INF),
        "context.features[1, 3, 2]: expected a finite number, of size at most 1e+100, got -inf",
    ),
    "too many features": (
        "features",
        lambda x: np.ones((2, 4, 4)),
        "context.features: expected shape (2, A, 3), got (2, 4, 4)",
    ),
    "too few features": (
        "features",
        lambda x: x[:, :, :2],
        "context.features: expected shape (2, A, 3), got (2, 4, 2)",
    ),
    "one case": ("features", lambda x: x[0], "context.features: expected shape (2, A, 3), got (4, 3)"),
    "one replica": ("features", lambda x: x[:1], "context.features: expected shape (2, A, 3), got (1, 4, 3)"),
    "three replicas": (
        "features",
        lambda x: np.ones((3, 4, 3)),
        "context.features: expected shape (2, A, 3), got (3, 4, 3)",
    ),
    "known nan": (
        "known",
        at((0, 1, 1), NAN),
        "context.known[0, 1, 1]: expected a finite number, of size at most 1e+100, got nan",
    ),
    "too few known": (
        "known",
        lambda z: z[..., :1],
        "context.known: expected shape (2, 4, 2) or (1, 4, 2), got (1, 4, 1)",
    ),
    "known of others": (
        "known",
        lambda z: z[:, :3],
        "context.known: expected shape (2, 4, 2) or (1, 4, 2), got (1, 3, 2)",
    ),
    "known of three": (
        "known",
        lambda z: np.ones((3, 4, 2)),
        "context.known: expected shape (2, 4, 2) or (1, 4, 2), got",
    ),
    "flat known": ("known", lambda z: z[0], "context.known: expected shape (2, 4, 2) or (1, 4, 2), got (4, 2)"),
    "no group": (
        "groups",
        lambda g: g[:, :, :1],
        "context.groups: expected shape (2, 1, 2) or (2, 4, 2), got (2, 1, 1)",
    ),
    "group by index": ("groups", at((1, 0, 1), 1), "context.groups[1, 0, 1]: expected columns [3, 4] of 'age', got"),
    "group beyond": (
        "groups",
        at((0, 0, 0), 3),
        "context.groups[0, 0, 0]: expected columns [0, 1, 2] of 'district', got",
    ),
    "group unseen": (
        "groups",
        at((0, 0, 0), -1),
        "context.groups[0, 0, 0]: expected columns [0, 1, 2] of 'district', got",
    ),
    "groups of the case": (
        "groups",
        lambda g: g[:, 0],
        "context.groups: expected shape (2, 1, 2) or (2, 4, 2), got (2, 2)",
    ),
    "groups of three": ("groups", lambda g: g[:, [0, 0, 0]], "context.groups: expected shape (2, 1, 2) or (2, 4, 2)"),
    "group in parts": ("groups", lambda g: g.astype(float), "context.groups: expected whole numbers, got float64"),
    "offered in numbers": ("offered", lambda o: o * 1.0, "context.offered: expected true or false, got float64"),
    "offered to some": ("offered", lambda o: o[:, :3], "context.offered: expected shape (2, 4) or (1, 4), got (2, 3)"),
    "offered flat": ("offered", lambda o: o[0], "context.offered: expected shape (2, 4) or (1, 4), got (4,)"),
}


def lived(rounds=10):
    world, state = WORLD.start(1, np.arange(2)), POLICY.start(seed=1, replicas=2)
    for step in range(rounds):
        context = world.context(step)
        decision = POLICY.act(state, context)
        POLICY.learn(state, decision, world.respond(step, context, decision)[1][0].y)
    return state, world.context(rounds)


def unchanged(state, before):
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, before[path], err_msg=path)


@pytest.mark.parametrize("after_a_good_one", [False, True])
@pytest.mark.parametrize("name", CONTEXTS)
def test_a_bad_context_is_refused_and_leaves_no_trace(name, after_a_good_one):
    """Also where everything else is that of a context that was looked at just before."""
    field, change, message = CONTEXTS[name]
    state, context = lived()
    if after_a_good_one:
        POLICY.decide(state, context)
    before = {path: z.copy() for path, z in flatten(state)}
    bad = context._replace(**{field: change(getattr(context, field))})
    with pytest.raises(InvalidInput, match="^" + re.escape(message)):
        POLICY.act(state, bad)
    unchanged(state, before)
    POLICY.act(state, context)


# Outcomes (2, 1, 2): gain in [0, 1], hours in [-0.5, 2].
OUTCOMES = {
    "nan": (at((1, 0, 0), NAN), "outcome 'gain' of replica 1: expected a finite number in [0, 1] (as declared), got"),
    "inf": (
        at((0, 0, 1), INF),
        "outcome 'hours' of replica 0: expected a finite number in [-0.5, 2] (as declared), got",
    ),
    "too high": (
        at((0, 0, 0), 1.1),
        "outcome 'gain' of replica 0: expected a finite number in [0, 1] (as declared), got",
    ),
    "too low": (
        at((1, 0, 1), -0.6),
        "outcome 'hours' of replica 1: expected a finite number in [-0.5, 2] (as declared)",
    ),
    "one outcome": (lambda y: y[..., :1], f"{SHAPE}, got (2, 1, 1)"),
    "two plays": (lambda y: np.zeros((2, 2, 2)), f"{SHAPE}, got (2, 2, 2)"),
    "one replica": (lambda y: y[:1], f"{SHAPE}, got (1, 1, 2)"),
    "flat": (lambda y: y[:, 0], f"{SHAPE}, got (2, 2)"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_bad_outcomes_are_refused_and_leave_no_trace(name):
    change, message = OUTCOMES[name]
    state, context = lived()
    decision = POLICY.act(state, context)
    before = {path: z.copy() for path, z in flatten(state)}
    y = np.tile([0.5, 1.0], (2, 1, 1))
    for observed in (None, np.ones((2, 1, 2), bool)):
        with pytest.raises(InvalidInput, match="^" + re.escape(message)):
            POLICY.learn(state, decision, change(y), observed)
        unchanged(state, before)
    with pytest.raises(
        InvalidInput, match=re.escape("observed: expected true or false, of shape (2, 1, 2), got bool of shape (2, 1)")
    ):
        POLICY.learn(state, decision, y, np.ones((2, 1), bool))
    unchanged(state, before)
    POLICY.learn(state, decision, y)


def test_what_is_said_not_to_be_observed_may_be_anything():
    state, context = lived()
    decision = POLICY.act(state, context)
    seen = np.array([[[True, True]], [[True, False]]])
    POLICY.learn(state, decision, np.array([[[0.5, 0.5]], [[0.5, NAN]]]), seen)
    assert all(np.isfinite(z).all() for _, z in flatten(state))
    assert state.model.count[0] == state.model.count[1] + 1


@pytest.mark.parametrize("value", [INF, -INF, NAN])
def test_an_unbounded_outcome_is_finite_all_the_same(value):
    problem = Problem(
        actions=("go",),
        outcomes=(Outcome("gain", low=-INF, high=INF),),
        maximize="gain",
        groups=(Groups("side", ["left", "right"]),),
        subject_to=(Parity("gain", by="side", tolerance=0.1),),
        horizon=5,
    )
    free = pgd(problem, Ridge(n_features=3), warmup=0)
    world, state = Market(problem=problem).start(1, np.arange(1)), free.start()
    context = world.context(0)
    decision = free.act(state, context)
    with pytest.raises(InvalidInput, match=r"^outcome 'gain': expected a finite number in \[-1e\+100, 1e\+100\]"):
        free.learn(state, decision, np.full((1, 1, 1), value))
    free.learn(state, decision, np.full((1, 1, 1), value), observed=np.zeros((1, 1, 1), bool))
    free.learn(state, free.act(state, context), np.full((1, 1, 1), -1e6))
    assert all(np.isfinite(z).all() for path, z in flatten(state) if path not in (".model.low", ".model.high"))
