"""What every oracle owes: who may get what, how good it is, and that a replica does not depend on its batch."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.core.errors import InvalidInput
from evenhand.welfare import Capped, ContinuousGreedy, Exact, Round, Rounded, bound, satisfaction
from tests.examples.oracles import CURVES, ORACLES
from tests.rows import for_each
from tests.welfare.instances import brute_force, is_allowed, round_of, welfare_of

CAPPED = [name for name, (_, capacities, _) in ORACLES.items() if capacities]


def allocate(oracle, case, curve, seed=0):
    count, users, arms = case.value.shape
    u = np.random.default_rng(seed).random((count, oracle.draws(users, arms)))
    return oracle.allocate(case, curve.curves(arms), np.full((count, arms), np.nan), u)


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
@pytest.mark.parametrize(
    ("users", "holes", "room", "bonus"),
    [
        (6, 0.0, None, 0.0),
        (6, 0.3, None, 0.4),
        (7, 0.0, (3, 2, 2), 0.4),
        (6, 0.4, (1, 2, 3), 0.4),
        (5, 0.5, (1, 1, 1), 1.0),
    ],
)
def test_exact_finds_the_best_allocation_and_the_bound_is_above(curve, users, holes, room, bonus):
    for seed in range(3):
        case = round_of(seed, users, 3, holes=holes, room=room, bonus=bonus)
        best = brute_force(case, curve)
        solved = Exact().solve(case, curve.curves(3))
        assert is_allowed(case, solved.arms[0])
        found, above = welfare_of(case, curve, solved.arms)[0], bound(case, curve.curves(3))[0]
        error = 1e-4 * satisfaction(curve, case.value.sum(1)).sum()  # of tangents, 0 for straight lines
        assert best - error - 1e-9 <= found <= best + 1e-9
        assert best <= above + 1e-7
        assert solved.gap[0] <= 1e-9


@pytest.mark.parametrize("name", CAPPED)
@for_each("curve", CURVES.values(), ids=CURVES.keys())
def test_capacities_and_holes_are_kept(name, curve):
    oracle = ORACLES[name][0]
    for seed in range(3):
        case = round_of(seed, 8, 3, holes=0.3, room=(2, 3, 2), bonus=0.5)
        arms = allocate(oracle, case, curve).arms
        assert is_allowed(case, arms[0])
        assert welfare_of(case, curve, arms)[0] <= bound(case, curve.curves(3))[0] + 1e-7


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_guarantees_hold(name, curve):
    """On average over the luck, less three standard errors."""
    oracle, _, share = ORACLES[name]
    for seed in range(4):
        case = round_of(seed, 6, 3, holes=0.2 * (seed % 2))
        seeds = range(20 if oracle.draws(6, 3) else 1)
        reached = [welfare_of(case, curve, allocate(oracle, case, curve, s).arms)[0] for s in seeds]
        error = np.std(reached) / np.sqrt(len(reached))
        assert np.mean(reached) + 3.0 * error >= share * brute_force(case, curve) - 1e-9


@pytest.mark.parametrize("name", ORACLES)
def test_a_replica_does_not_depend_on_its_batch(name):
    oracle, curve = ORACLES[name][0], CURVES["per_arm"]
    case = round_of(5, 6, 3, holes=0.2, bonus=0.2, replicas=3)
    u = np.random.default_rng(1).random((3, oracle.draws(6, 3)))
    none = np.full((3, 3), np.nan)
    together = oracle.allocate(case, curve.curves(3), none, u)
    for r in range(3):
        one = Round(case.value[r : r + 1], case.bonus[r : r + 1], case.eligible[r : r + 1], case.capacity)
        alone = oracle.allocate(one, curve.curves(3), none[:1], u[r : r + 1])
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_array_equal(a[r], b[0])


@pytest.mark.parametrize("name", ORACLES)
def test_a_user_without_an_eligible_arm_gets_none(name):
    case = round_of(2, 4, 3)
    case.eligible[0, 1] = False
    arms = allocate(ORACLES[name][0], case, Capped(1.0)).arms[0]
    assert arms[1] == -1
    assert (np.delete(arms, 1) >= 0).all()


@pytest.mark.parametrize("name", ORACLES)
def test_a_user_gets_an_arm_even_at_a_loss(name):
    case = round_of(2, 4, 3)
    case.bonus[:] = -5.0
    assert (allocate(ORACLES[name][0], case, Capped(1.0)).arms >= 0).all()


@pytest.mark.parametrize("name", [name for name, (oracle, _, _) in ORACLES.items() if oracle.draws(1, 1)])
def test_chances_are_frequencies(name):
    """1 over a chance has a mean that is the number of arms that are ever drawn, so chances are what they say."""
    oracle, curve = ORACLES[name][0], Capped(0.7)
    case = round_of(3, 3, 2)
    drawn = [allocate(oracle, case, curve, s) for s in range(400)]
    first = np.array([d.arms[0, 0] for d in drawn])
    stated = np.array([d.chances[0, 0] for d in drawn])
    assert ((stated > 0.0) & (stated <= 1.0)).all()
    found = np.unique(first)
    assert (1.0 / stated).mean() == pytest.approx(len(found), abs=3.5 * np.std(1.0 / stated) / 20.0 + 1e-9)


@given(st.sampled_from(sorted(CURVES)), st.integers(0, 10**6))
def test_satisfaction_is_monotone_and_submodular(name, seed):
    """A user adds something to every set of users, and no more to a larger set."""
    rng, curve = np.random.default_rng(seed), CURVES[name]
    m = rng.random((6, 3))
    large = rng.random((5, 3)) < 0.6
    small = large & (rng.random((5, 3)) < 0.5)

    def added(held):
        sums = (held * m[:5]).sum(0)
        return satisfaction(curve, sums + m[5]) - satisfaction(curve, sums)

    assert (added(large) >= -1e-12).all()
    assert (added(small) >= added(large) - 1e-12).all()


def test_rounding_skips_full_arms():
    """Two users who are alike, for two arms of one place each."""
    case = Round(np.full((1, 2, 2), 0.5), np.zeros((1, 2, 2)), np.ones((1, 2, 2), bool), np.array([1, 1]))
    for s in range(20):
        given = allocate(Rounded(), case, Capped(1.0), s)
        assert sorted(given.arms[0]) == [0, 1]
        assert given.chances[0, 1] == 1.0  # what is left after the first user


def test_continuous_greedy_refuses_capacities_that_could_bind():
    case = round_of(0, 5, 3, room=(5, 4, 5))
    with pytest.raises(InvalidInput, match=r"capacity: expected room for all 5 users who are eligible for arm 1"):
        allocate(ContinuousGreedy(), case, Capped(1.0))
    case.eligible[0, 2, 1] = False
    assert (allocate(ContinuousGreedy(), case, Capped(1.0)).arms >= 0).all()


def test_continuous_greedy_is_closer_with_more_steps_and_samples():
    curve = Capped(2.0)
    case = round_of(11, 20, 4, replicas=30)
    most = bound(case, curve.curves(4))
    rough, fine = (
        (welfare_of(case, curve, allocate(ContinuousGreedy(n, n), case, curve).arms) / most).mean() for n in (1, 30)
    )
    assert rough < fine
    assert fine > 0.9


def test_an_exact_search_reports_its_gap_when_time_is_over():
    case = round_of(0, 40, 8)
    solved = Exact(seconds=0.3).solve(case, Capped(2.6).curves(8))
    assert (solved.arms >= 0).all()
    above = bound(case, Capped(2.6).curves(8))[0]
    found = welfare_of(case, Capped(2.6), solved.arms)[0]
    assert 0.0 <= solved.gap[0] <= above / found - 1.0 + 1e-6
