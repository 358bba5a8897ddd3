"""Lotteries under several bounds: against HiGHS, with ties, degenerate corners, empty programs and other units."""

import numpy as np
import pytest
from hypothesis import settings
from scipy.optimize import linprog

from evenhand.numerics.simplex import lotteries, share_alike
from tests.properties import drawn
from tests.rows import for_each


def by_highs(worth, use, bound):
    """The least excess, as a part of the largest number of its row, and the most worth at it, `(A),(M,A),(M)->`."""
    arms, m = len(worth), len(bound)
    one = np.ones((1, arms))
    if m == 0:
        return 0.0, worth.max()
    size = np.maximum(np.abs(use).max(1), np.abs(bound))
    size = np.where(size > 0.0, size, 1.0)
    use, bound = use / size[:, None], bound / size
    objective, rows = np.append(np.zeros(arms), 1.0), np.column_stack([use, -np.ones(m)])
    excess = max(linprog(objective, rows, bound, np.append(one, 0.0)[None], [1.0]).fun, 0.0)
    best = linprog(-worth, use, bound + excess + 1e-9, one, [1.0])
    return excess, -best.fun


@pytest.mark.slow
@settings(max_examples=150)
@drawn(arms=12, m=(0, 6), chance=[0.5, 1.0], digits=[0, 1, 2, 9], shift=[-0.5, 0.0, 0.5], negative=bool)
def test_no_lottery_is_better_by_highs(arms, m, chance, digits, shift, negative, seed):
    """With few digits arms tie, corners are degenerate, and bounds of 0 and empty programs are common."""
    rng = np.random.default_rng(seed)
    worth, use = rng.normal(size=(20, arms)), rng.normal(size=(20, m, arms))
    worth, use = worth.round(digits), (use if negative else np.abs(use)).round(digits)
    bound = (0.5 * rng.normal(size=m) + shift).round(digits)
    allowed = rng.random((20, arms)) < chance
    p, excess = lotteries(worth, use, bound, allowed)
    for r in range(20):
        if not allowed[r].any():
            assert not p[r].any()
            continue
        assert p[r].sum() == pytest.approx(1.0, abs=1e-12)
        assert (p[r] >= 0.0).all()
        assert not p[r, ~allowed[r]].any()
        least, most = by_highs(worth[r, allowed[r]], use[r][:, allowed[r]], bound)
        assert excess[r] == pytest.approx(least, abs=1e-7)
        size = np.maximum(np.abs(use[r][:, allowed[r]]).max(1, initial=0.0), np.abs(bound))
        assert (use[r] @ p[r] <= bound + size * excess[r] + 1e-8).all()
        assert worth[r] @ p[r] >= most - 1e-5  # the solver is within 1e-7 of the excess, which may be worth more
        alone = lotteries(worth[r : r + 1], use[r : r + 1], bound, allowed[r : r + 1])[0]
        np.testing.assert_array_equal(alone[0], p[r])


@for_each("seed", range(20))
def test_without_ties_few_arms_have_a_chance_and_neither_order_nor_units_matter(seed):
    rng = np.random.default_rng(seed)
    worth, use, bound = rng.random((30, 40)), rng.random((30, 8, 40)), np.full(8, 0.5)
    everything = np.ones((30, 40), bool)
    p, excess = lotteries(worth, use, bound, everything)
    assert (excess == 0.0).all()
    assert ((p > 0.0).sum(1) <= 9).all()
    order = rng.permutation(40)
    other = lotteries(worth[:, order].copy(), use[:, :, order].copy(), bound, everything)[0]
    np.testing.assert_allclose(other, p[:, order], atol=1e-9)
    unit = 10.0 ** rng.uniform(-6, 6, 8)
    other = lotteries(100.0 * worth, use * unit[:, None], bound * unit, everything)[0]
    np.testing.assert_allclose(other, p, atol=1e-7)


def test_arms_that_do_not_differ_share_and_cheap_ones_come_first_among_equals():
    worth = np.array([[1.0, 1.0, 1.0, 0.2]])
    use = np.array([[[0.3, 0.1, 0.1, 0.0]]])
    everything = np.ones((1, 4), bool)
    p = lotteries(worth, use, np.array([0.5]), everything)[0]
    np.testing.assert_allclose(p, [[0.0, 0.5, 0.5, 0.0]], atol=1e-12)
    p = lotteries(worth, use, np.array([0.05]), everything)[0]  # half of the time one of the two, else the last
    np.testing.assert_allclose(p, [[0.0, 0.25, 0.25, 0.5]], atol=1e-12)
    order = [3, 1, 0, 2]
    other = lotteries(worth[:, order].copy(), use[:, :, order].copy(), np.array([0.05]), everything)[0]
    np.testing.assert_allclose(other, p[:, order], atol=1e-12)
    np.testing.assert_array_equal(
        lotteries(np.ones((1, 4)), np.ones((1, 1, 4)), np.ones(1), everything)[0], [[0.25] * 4]
    )


def test_where_nothing_keeps_to_all_bounds_the_largest_excess_is_small_and_then_the_worth_large():
    """The best mixture of the first two exceeds both bounds by 1/4; the third does so alone, at more worth."""
    worth = np.array([[0.1, 0.1, 0.9]])
    use = np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]])
    p, excess = lotteries(worth, use, np.array([0.25, 0.25]), np.ones((1, 3), bool))
    assert excess[0] == pytest.approx(0.25)
    np.testing.assert_allclose(p, [[0.0, 0.0, 1.0]], atol=1e-12)


def test_a_program_that_makes_dantzigs_rule_cycle_ends():
    """Beale 1955, made a lottery: a first arm takes what is left, so that the chances of the others stay below 1."""
    worth = np.array([[0.0, 0.75, -150.0, 0.02, -6.0]]) / 150.0
    use = np.array([[[0.0, 0.25, -60.0, -0.04, 9.0], [0.0, 0.5, -90.0, -0.02, 3.0], [0.0, 0.0, 0.0, 1.0, 0.0]]])
    bound = np.array([0.0, 0.0, 0.5])
    p, excess = lotteries(worth, use, bound, np.ones((1, 5), bool))
    assert excess[0] == 0.0
    assert worth[0] @ p[0] == pytest.approx(by_highs(worth[0], use[0], bound)[1], abs=1e-9)


@for_each("seed", range(5))
def test_many_arms_on_few_corners(seed):
    """All numbers are 0, 1/2 or 1: almost every pivot is degenerate."""
    rng = np.random.default_rng(seed)
    worth, use = rng.integers(0, 3, (20, 50)) / 2.0, rng.integers(0, 3, (20, 10, 50)) / 2.0
    bound = np.full(10, 0.5)
    p, excess = lotteries(worth, use, bound, np.ones((20, 50), bool))
    for r in range(20):
        assert excess[r] == pytest.approx(0.0, abs=1e-12)
        assert worth[r] @ p[r] == pytest.approx(by_highs(worth[r], use[r], bound)[1], abs=1e-7)


def test_shares_of_what_is_alike():
    readings, p = np.array([[[1.0, 2.0, 1.0, 1.0]]]), np.array([[0.4, 0.6, 0.0, 0.0]])
    share_alike(readings, np.array([[True, True, True, False]]), p)
    np.testing.assert_allclose(p, [[0.2, 0.6, 0.2, 0.0]])
