"""Rounds of policies that plan, in compiled blocks: solves, fits and growing arrays are left to Python."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.views import alike
from evenhand.environments import Court, MixedContexts
from evenhand.goals.resolving import Resolving
from evenhand.models import BayesianLogistic, BayesianRidge
from evenhand.policy import entries
from evenhand.policy.kernels.views import views
from evenhand.problem.rows import ZeroRowsView
from evenhand.recipes import resolving
from evenhand.run import blocks, simulate
from evenhand.run.recorder import Recorder, empty
from evenhand.run.simulation import play
from evenhand.testing import check_compiled
from tests.run.interpreter import check_interpreted
from tests.run.test_blocks import PLACES, places

COURT = Court(horizon=400)
MIXED = MixedContexts(horizon=300)
RIDGE = BayesianRidge(n_features=5)


def solved(policy, environment, rounds):
    """The number of solves of an ordinary run."""
    state = policy.start(seed=5)
    world = environment.start(5, state.replicas)
    for _ in play(policy, state, world, range(rounds)):
        pass
    return int(next(own.solved for goal, own in zip(policy.goals, state.goals, strict=True) if plans(goal)).item())


def plans(goal):
    return type(goal) is Resolving


def restless(policy):
    """The same policy, which solves again as soon as consumption is a little off plan."""
    return replace(policy, goals=tuple(replace(g, drift=0.7) if plans(g) else g for g in policy.goals))


@pytest.mark.parametrize(("check", "replicas"), [(check_compiled, 1), (check_interpreted, 3)])
def test_solves_as_planned_and_as_consumption_drifts(check, replicas):
    policy = resolving(COURT.problem, RIDGE)
    assert check(policy, COURT, rounds=300, replicas=replicas) > 200
    assert solved(restless(policy), COURT, 300) > solved(policy, COURT, 300) + 5
    assert check(restless(policy), COURT, rounds=300, replicas=replicas) > 150


def test_budgets_are_kept():
    tight = replace(COURT, ride=0.01, voucher=0.05)
    trace = simulate(resolving(tight.problem, RIDGE), tight, replicas=2, progress=False, compiled=True)
    assert (trace.total("ride") <= 4).all()
    assert (trace.total("voucher") <= 20).all()


def test_mixtures_of_equal_gains_are_those_of_python():
    """Nothing is known at first, so that all candidates gain the same in every context."""
    policy = resolving(COURT.problem, RIDGE)
    state = policy.start(seed=5, replicas=3)
    for _ in play(policy, state, COURT.start(5, state.replicas), range(40)):
        pass
    assert next(own.heat for goal, own in zip(policy.goals, state.goals, strict=True) if plans(goal)).all()
    assert check_compiled(policy, COURT, rounds=100) > 60


@pytest.mark.parametrize("buffer", [2000, 270])
def test_observations_for_which_arrays_grow_or_that_are_folded(buffer):
    """There is room for 256 at first."""
    policy = resolving(COURT.problem, BayesianLogistic(n_features=5, buffer=buffer))
    assert check_interpreted(policy, COURT, rounds=400, replicas=2) > 300


@pytest.mark.slow
@pytest.mark.parametrize("contexts", [1000, 30])
def test_samples_of_contexts_that_grow_or_are_thinned(contexts):
    policy = resolving(COURT.problem, RIDGE, contexts=contexts, every=20)
    assert check_compiled(policy, COURT, rounds=300) > 200


def test_plans_with_shares_that_are_estimated():
    policy = restless(resolving(PLACES, BayesianLogistic(n_features=4)))
    assert policy._assembly.can.restating
    assert check_interpreted(policy, places(), rounds=150) > 60


def test_outcomes_that_are_declared_zero_under_some_actions():
    """A Bayesian model counts them, and prices of candidates differ."""
    policy = resolving(MIXED.problem, BayesianRidge(n_features=9, n_outcomes=3))
    state = policy.start(replicas=2)
    assert isinstance(views(policy, state)[1], ZeroRowsView)
    assert check_interpreted(policy, MIXED, rounds=200) > 120
    for _ in play(policy, state, MIXED.start(0, state.replicas), range(50)):
        pass
    trace = simulate(policy, MIXED, replicas=2, progress=False, compiled=False)
    assert (trace.total("cost 1") <= 0.15 * MIXED.horizon + 1e-9).all()


def test_pointers_stay_where_a_solve_moves_no_array():
    policy = resolving(COURT.problem, RIDGE)
    state, world = policy.start(), COURT.start(0, np.arange(1))
    recorder = Recorder(policy, state, world, empty(policy.problem, 1, 400), False)
    for _ in play(policy, state, world, range(100)):
        pass
    found = blocks.Blocks(policy, state, world, recorder)
    assert found._hold()
    before = found._held
    found.renew()
    assert found._hold()
    assert found._held is before
    mine = next(own for goal, own in zip(policy.goals, state.goals, strict=True) if plans(goal))
    mine.gap = mine.gap.copy()
    found.renew()
    assert found.next_views is None
    assert found._hold()
    assert found._held is not before


def test_views_are_alike_where_arrays_are_the_same_by_address():
    x = np.zeros((3, 4))
    assert alike((x, 1.0), (x[:], 1.0))
    assert not alike((x, 1.0), (x, 2.0))
    assert not alike((x,), (x.copy(),))
    assert not alike((x[:2],), (x,))
    assert not alike((x[:2],), (x[1:],))
    assert not alike((x,), (x.T,))
    assert not alike((x,), (1.0,))
    assert not alike((x,), (x, x))
    assert alike((x[:0],), (np.zeros((0, 4)),))


def test_prices_are_netted_as_sums_over_readings():
    rng = np.random.default_rng(0)
    q, o = rng.normal(size=(3, 2, 5)), rng.normal(size=(3, 2))
    price, constant = entries.net_price(q, o)
    np.testing.assert_array_equal(price, q.sum(1, keepdims=True))
    np.testing.assert_array_equal(constant, o.sum(1, keepdims=True))
