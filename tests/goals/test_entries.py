"""The kernels that enter rounds into books have the bits of the plain arrays that they stand for."""

import numpy as np
import pytest

from evenhand.goals import _resolving_view

REPLICAS, ROWS = 3, 4
FIRST, FOLLOWED = np.array([0, 2, 3]), np.array([2, 3])
KNOWN = np.array([True, False, False, True])
BOUNDS = np.array([0.5, np.inf, np.inf, 0.25])
CUTS = 2


@pytest.fixture
def drawn():
    """Numbers of a round, some of them not seen."""
    rng = np.random.default_rng(3)

    def of(*shape):
        return rng.normal(size=shape)

    v = of(REPLICAS, ROWS)
    v[0, 1] = v[1, 2] = v[2, 3] = np.nan
    return of, v, np.array([1.0, 0.0, 1.0])


def books(of):
    return [of(REPLICAS, ROWS), of(REPLICAS, ROWS), of(REPLICAS, len(FOLLOWED))]


@pytest.mark.parametrize("times", [1.0, -1.0])
def test_rows_that_a_decision_settles(drawn, times):
    of, v, counted = drawn
    v = np.nan_to_num(v)
    kept = books(of)
    spent, rounds, seen = (z.copy() for z in kept)
    entered, sums = times * (counted[:, None] * KNOWN), times * np.where(KNOWN, v, 0.0)
    used = np.zeros((REPLICAS, len(FIRST) + CUTS))
    used[:, : len(FIRST)] = sums[:, FIRST]
    found = _resolving_view.enter_settled(counted, times, v, KNOWN, FIRST, FOLLOWED, used.shape[1], spent, rounds, seen)
    for one, other in zip(found, (entered, sums, used), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, before, more in zip((spent, rounds, seen), kept, (sums, entered, entered[:, FOLLOWED]), strict=True):
        np.testing.assert_array_equal(one, before + more)


def test_rows_of_outcomes_that_arrived(drawn):
    of, v, counted = drawn
    kept, unseen = books(of), np.where(np.isfinite(BOUNDS), BOUNDS, 0.0)
    spent, rounds, seen = (z.copy() for z in kept)
    there = ~np.isnan(v)
    filled, waited = np.where(there, v, counted[:, None] * unseen), counted[:, None] * ~KNOWN
    sums = np.where(KNOWN, 0.0, filled)
    found = _resolving_view.enter_arrived(counted, v, KNOWN, unseen, FOLLOWED, spent, rounds, seen)
    for one, other in zip(found, (filled, waited, sums), strict=True):
        np.testing.assert_array_equal(one, other)
    added = (sums, waited, (waited * there)[:, FOLLOWED])
    for one, before, more in zip((spent, rounds, seen), kept, added, strict=True):
        np.testing.assert_array_equal(one, before + more)
    plan = of(REPLICAS, len(FIRST) + CUTS)
    as_planned = np.isinf(BOUNDS[FIRST]) & ~there[:, FIRST]
    assert as_planned.any()
    used = np.where(as_planned, counted[:, None] * plan[:, : len(FIRST)], filled[:, FIRST])
    np.testing.assert_array_equal(_resolving_view.use_in_directions(counted, v, filled, FIRST, BOUNDS, plan), used)


def test_the_use_that_is_off_plan(drawn):
    of, _, counted = drawn
    used, plan, gap, since = (of(REPLICAS, 5) for _ in range(4))
    jump, which, forced = np.abs(of(REPLICAS, 5)), np.array([True, True, False, True, False]), np.array([0.0, 0.0, 1.0])
    chosen = (1.0 - forced)[:, None] * which
    moved = gap + (used * chosen - counted[:, None] * chosen * plan)
    compared = since + counted[:, None] * chosen
    most = np.where(
        which & (counted > 0.0)[:, None], np.maximum(jump, np.abs(used + (1 - counted)[:, None] * plan)), jump
    )
    _resolving_view.compare(counted, used, which, forced, plan, gap, since, jump)
    for one, other in zip((gap, since, jump), (moved, compared, most), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("drift", [0.1, 4.0, np.inf])
@pytest.mark.parametrize("t", [40.0, 41.0])
def test_when_prices_are_solved_again(drawn, drift, t):
    of, _, counted = drawn
    t, last = np.array([t, t, t - 1.0]), 45.0
    arrived, due, news = np.array([30.0, 30.0, 50.0]), np.full(3, 41.0), np.full(3, 50.0)
    changed = np.array([False, True, False])
    since, noise, jump, gap = (
        np.abs(of(REPLICAS, 3)),
        np.abs(of(REPLICAS, 3)),
        np.abs(of(REPLICAS, 3)),
        3 * of(REPLICAS, 3),
    )
    alive = (counted > 0) & (t < last)
    planned = alive & ((t >= due) | (arrived + 1.0 >= news) | changed)
    off = (np.abs(gap) > drift * np.sqrt(since * noise + jump**2)).any(1)
    solve = planned | (alive & (t % 10 == 0) & off)
    found = _resolving_view.is_due(counted, t, last, arrived, due, news, changed, drift, since, noise, jump, gap)
    np.testing.assert_array_equal(found[0], planned)
    np.testing.assert_array_equal(found[1], solve)
    assert found[2] == solve.any()
