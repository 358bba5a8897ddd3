"""Plans that read rows at the means first: one context, an idle action and two others of cost 1, by hand."""

import numpy as np
import pytest

from evenhand.planning.fluid import (
    Fluid,
    Places,
    Solution,
    alike,
    largest,
    solve_fluid,
    solve_plain_first,
    spread,
)

GAIN = np.array([0.0, -1.0, -1.0])


def uses(first, second):
    """Minus what each action brings to two outcomes of its own, `->(1,2,A)`."""
    return -np.array([[[0.0, first, 0.0], [0.0, 0.0, second]]])


def solve(plain, hope, floors):
    """Prices, plan and uses that were read, for replicas of one context each, `(R,S,k,A),(R,S,k,A),(R,k)`."""
    count, k = floors.shape
    gain, kept, weight = np.tile(GAIN, (count, 1, 1)), np.ones(count, np.int64), np.ones((count, 1))
    mu, plan, noise = np.zeros((3, count, k))
    size = spread(weight, gain, kept)
    due, temperatures = np.ones(count, bool), size[:, None] * np.array([0.05, 0.0125])
    low = np.full((count, k), -np.inf)
    fluid = Fluid(weight, gain, kept, Places(np.ones(count), None), None, size, low, -floors, temperatures)
    read = solve_plain_first(
        fluid, plain, hope, due, ~due, Solution(mu, np.zeros((count, 0)), plan, noise, np.empty_like(noise))
    )
    return mu, plan, read


@pytest.mark.parametrize(
    ("plain", "hope", "floors", "hoped"),
    [
        ((0.6, 0.6), (1.0, 1.0), (0.2, 0.2), [False, False]),  # the means keep both: 2/3 of the rounds
        ((0.0, 0.6), (1.0, 1.0), (0.2, 0.2), [True, False]),  # nothing is known about the first one
        ((0.0, 0.0), (1.0, 1.0), (0.2, 0.2), [True, True]),
        ((0.5, 0.5), (1.0, 1.0), (0.4, 0.4), [True, True]),  # each alone could be kept, both together cannot
        ((0.5, 0.5), (1.0, 1.0), (-0.1, 0.4), [False, False]),  # no floor at all
    ],
)
def test_hope_is_for_rows_that_the_means_cannot_keep(plain, hope, floors, hoped):
    plain, hope, floors = uses(*plain), uses(*hope), np.array([floors])
    _, plan, read = solve(plain[None], hope[None], floors)
    for i in range(2):
        np.testing.assert_array_equal(read[0, 0, i], (hope if hoped[i] else plain)[0, i])
    assert (plan <= -np.maximum(floors, 0.0) + 0.01).all()


def test_where_nothing_is_hoped_it_is_the_fluid_problem():
    plain, floors = uses(0.6, 0.4)[None], np.array([[0.2, 0.1]])
    mu, plan, read = solve(plain, plain, floors)
    assert read is plain
    one, size, other, found, noise = np.ones(1, bool), np.ones(1), *np.zeros((3, 1, 2))
    sample = np.ones((1, 1)), GAIN[None, None], np.ones(1, np.int64), Places(np.ones(1), None), None, size
    fluid = Fluid(*sample, np.full((1, 2), -np.inf), -floors, np.array([[0.05, 0.0125]]))
    solve_fluid(fluid, plain, one, ~one, Solution(other, np.zeros((1, 0)), found, noise, np.empty_like(noise)))
    np.testing.assert_array_equal(mu, other)
    np.testing.assert_array_equal(plan, found)


def test_every_replica_is_planned_for_as_if_alone():
    plain = np.stack([uses(0.6, 0.6), uses(0.0, 0.6), uses(0.5, 0.5), uses(0.0, 0.0)])
    hope, floors = np.tile(uses(1.0, 1.0), (4, 1, 1, 1)), np.array([[0.2, 0.2], [0.2, 0.2], [0.4, 0.4], [0.2, 0.2]])
    mu, plan, read = solve(plain, hope, floors)
    for r in range(4):
        one = slice(r, r + 1)
        for z, alone in zip((mu, plan, read), solve(plain[one], hope[one], floors[one]), strict=True):
            np.testing.assert_array_equal(z[one], alone)


def test_the_largest_use_is_that_of_any_candidate_of_the_kept_contexts():
    u = np.zeros((1, 3, 2, 3))
    u[0, 1, 0, 2], u[0, 0, 1, 1], u[0, 2, 1, 0] = -0.7, 0.2, 9.0
    np.testing.assert_array_equal(largest(u, np.array([2])), [[0.7, 0.2]])


def test_gains_are_alike_where_two_offered_candidates_share_the_best():
    none = -np.inf
    g = np.array(
        [
            [[0.1, 0.5, 0.5], [0.0, 0.0, 0.1]],
            [[0.1, 0.1, 0.5], [0.3, 0.2, 0.1]],
            [[0.5, none, none], [none, none, none]],
            [[0.1, 0.2, 0.3], [0.4, 0.4 + 1e-12, none]],
        ]
    )
    assert alike(g, np.full(4, 2)).tolist() == [True, False, False, True]
    assert alike(g, np.array([2, 2, 2, 1])).tolist() == [True, False, False, False]
