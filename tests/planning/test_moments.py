"""Passes over contexts beside plain NumPy, and the derivatives of the smoothed dual."""

import numpy as np
import pytest

from evenhand.planning.moments import Block, Memory, PureJob, SmoothJob, best_actions, policies, smooth_dual
from tests.planning.programs import program, stated

SEEDS = range(12)


def some_prices(block, terms, seed, count):
    """Prices at which rows are worth about as much as outcomes."""
    worth, rows = stated(block, terms)
    size = np.abs(worth).mean() / np.maximum(np.abs(rows).mean((1, 2)), 1e-9)
    return np.random.default_rng(seed).uniform(0.0, 1.0, (count, len(rows))) * size


@pytest.mark.parametrize("seed", SEEDS)
def test_pure_policies_are_those_of_the_best_action(seed):
    block, terms = program(seed)
    worth, rows = stated(block, terms)
    prices = some_prices(block, terms, seed, 7)
    prices[1:4] = prices[:1] * (1.0 + 1e-3 * prices[1:4] / np.maximum(prices[:1], 1e-300))  # close to the first
    found = policies(Memory((block,)), terms, prices)
    for z, q in enumerate(prices):
        best = (worth - np.tensordot(q, rows, 1)).argmax(1)
        each = np.arange(len(best))
        assert found.values[z] == pytest.approx(worth[each, best].mean(), rel=1e-9, abs=1e-12)
        assert found.used[z] == pytest.approx(rows[:, each, best].mean(1), rel=1e-9, abs=1e-9)
        net = (worth - np.tensordot(q, rows, 1)).max(1).mean() + q @ terms.bound
        assert found.bounds(terms)[z] == pytest.approx(net, rel=1e-9, abs=1e-9 * np.abs(worth).max())
        slopes, offsets = terms.slopes(q[None])
        own = best_actions(block.outcomes, block.cell, slopes, offsets)[0]
        net = worth - np.tensordot(q, rows, 1)
        assert net[each, own] == pytest.approx(net[each, best], rel=1e-9, abs=1e-9 * np.abs(worth).max())  # or a tie


@pytest.mark.parametrize("seed", SEEDS)
def test_lotteries_are_those_of_the_softmax(seed):
    block, terms = program(seed)
    worth, rows = stated(block, terms)
    q = some_prices(block, terms, seed, 1)[0]
    temperature = 0.1 * np.abs(worth).mean()
    net = worth - np.tensordot(q, rows, 1)
    chances = np.exp((net - net.max(1, keepdims=True)) / temperature)
    total = chances.sum(1)
    chances /= total[:, None]
    found = smooth_dual(Memory((block,)), terms, q, temperature)
    size, paid = np.abs(worth).max(), q @ terms.bound
    assert found.value == pytest.approx(paid + (net.max(1) + temperature * np.log(total)).mean(), abs=1e-7 * size)
    assert found.bound == pytest.approx(paid + net.max(1).mean(), abs=1e-9 * size)
    mean = np.einsum("na,mna->nm", chances, rows)
    units = np.abs(rows).max((1, 2), initial=0.0) + 1e-12
    assert found.slope / units == pytest.approx((terms.bound - mean.mean(0)) / units, abs=1e-6)
    apart = rows - mean.T[:, :, None]
    curve = np.einsum("na,mna,lna->ml", chances, apart, apart) / len(worth) / temperature
    both = np.outer(units, units) / temperature
    assert found.curve / both == pytest.approx(curve / both, abs=1e-6)


def test_parts_add_up():
    block, terms = program(7)
    some = np.arange(len(block.cell))
    parts = [block.take(some[: len(some) // 3]), block.take(some[len(some) // 3 :])]
    q = some_prices(block, terms, 1, 3)
    for job in (SmoothJob(terms, q[0], 0.1), PureJob(terms, q)):
        for one, other in zip(job([block]), job(parts), strict=True):
            assert one == pytest.approx(other, rel=1e-12)


def test_single_precision_is_read_as_it_is():
    block, terms = program(7)
    single = Block(block.outcomes.astype(np.float32), block.cell)
    double = Block(single.outcomes.astype(float), block.cell)
    q = some_prices(block, terms, 1, 3)
    for one, other in zip(PureJob(terms, q)([single]), PureJob(terms, q)([double]), strict=True):
        assert (one == other).all()
