"""Programs with limits of all kinds beside HiGHS, and limits that exclude each other."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from evenhand.core.errors import InfeasibleProblem
from evenhand.offline.plans.allocation import Resource, allocate
from evenhand.offline.plans.limits import Bound, allocate_named
from tests.rows import for_each

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ONE = np.ones((1, 1))


def by_highs(worth, resources, relaxed=(), **options):
    """The optimum per case by one program of the whole list less the excess of relaxed limits, or None."""
    count, actions = worth.shape
    variables = np.arange(count * actions + 1)
    one_each = csr_array(
        (np.ones(count * actions), (variables[:-1] // actions, variables[:-1])), (count, len(variables))
    )
    uses = np.concatenate([np.broadcast_to(z.uses(), (len(z.most), count, actions)) for z in resources])
    uses, most = uses.reshape(len(uses), -1), count * np.concatenate([z.most for z in resources])
    units, size = np.abs(uses).max(1), np.abs(worth).max() or 1.0
    units[units == 0.0] = 1.0
    wider = -np.concatenate([np.full(len(z.most), float(z in relaxed)) for z in resources])
    found = linprog(
        np.append(-worth.ravel() / size, 1.0),
        csr_array(np.column_stack([uses, wider]) / units[:, None]),
        most / units,
        one_each,
        np.ones(count),
        options=options,
    )
    return -found.fun * size / count if found.status == 0 else None


def program(seed, least, most, tight=0.0):
    """Actions of some cases with one or two budgets, floors, a parity, a ratio and bounds of shares, also by group."""
    luck = np.random.default_rng(seed)
    count, actions = int(10.0 ** luck.uniform(least, most)), int(luck.integers(2, 6))
    worth = luck.normal(size=(count, actions)) * 10.0 ** luck.integers(-2, 3)
    groups = luck.integers(0, int(luck.integers(2, 5)), count)
    shares, found = np.bincount(groups) / count, []
    per_head = np.diag(1.0 / shares)
    for _ in range(luck.integers(1, 3)):
        use = luck.gamma(1.0, size=(count if luck.random() < 0.7 else 1, actions)) * (luck.random(actions) < 0.8)
        use[:, 0] = 0.0
        found.append(Resource.budget(use, luck.uniform(0.1, 0.6) * (1.0 - tight) * use.max(1).mean()))
    sales, calls = luck.random((2, count, actions))
    found.append(Resource.of_groups(-sales, None, ONE, -np.array([luck.uniform(0.3, 0.6) + tight / 2])))
    last = np.eye(actions)[-1:]
    some = {
        "parity": Resource.parity(found[0].use, groups, luck.choice([0.01, 0.05, 0.2]) * found[0].use.mean()),
        "floors": Resource.of_groups(-sales, groups, per_head, -np.full(len(shares), luck.uniform(0.3, 0.55))),
        "ratio": Resource.of_groups(calls - luck.uniform(0.8, 1.3) * sales, None, ONE, np.zeros(1)),
        "most": Resource.of_groups(last, groups, per_head, np.full(len(shares), luck.uniform(0.3, 0.8))),
        "least": Resource.of_groups(-last, None, ONE, -np.array([luck.uniform(0.02, 0.2) + tight * luck.random()])),
    }
    return worth, found + [z for z in some.values() if luck.random() < 0.6]


def compared(seed, least, most):
    worth, resources = program(seed, least, most)
    best = by_highs(worth, resources, **EXACT)
    if best is None:
        with pytest.raises(InfeasibleProblem):
            allocate(worth, resources, np.arange(len(worth)))
        return False
    found = allocate(worth, resources, np.arange(len(worth)), free=500)
    assert found.value == pytest.approx(best, rel=1e-9)
    lottery = np.eye(worth.shape[1])[found.actions]
    lottery[found.split] = found.lotteries
    assert (lottery * worth).sum() / len(worth) == pytest.approx(best, rel=1e-6)  # optima are of 1e-6 of a case more
    for z in resources:
        used = (lottery * z.uses()).sum((1, 2))
        assert (used <= len(worth) * z.most + 1e-12 * len(worth) * z.units).all()
        assert (z.used(found.actions) <= len(worth) * z.most + z.units * (1.0 + 1e-9)).all()
    return True


@for_each("seed", range(12))
def test_a_program_with_limits_of_all_kinds_is_that_of_highs(seed):
    compared(seed, 2.5, 3.0)


@pytest.mark.slow
def test_two_hundred_larger_programs_are_those_of_highs():
    assert sum(compared(100 + seed, 3.0, 4.0) for seed in range(200)) > 180


def named(seed, least, most):
    """Check the names of limits that exclude each other; False if they do not."""
    worth, resources = program(seed, least, most, tight=0.8)
    if by_highs(np.zeros_like(worth), resources) is not None:
        return False
    bounds = [Bound(f"<{k}>", z) for k, z in enumerate(resources)]
    with pytest.raises(InfeasibleProblem) as caught:
        allocate_named(worth, bounds, np.arange(len(worth)))
    mine = [resources[int(k)] for k in re.findall(r"<(\d+)>", str(caught.value))]
    assert by_highs(np.zeros_like(worth), mine) is None
    for one in mine:
        others = [z for z in mine if z is not one]
        assert not others or by_highs(np.zeros_like(worth), others) is not None
    allowed = re.findall(r"<\d+> \((\S+)( more)? per case is what the others allow\)", str(caught.value))
    for one, (number, more) in zip(mine, allowed, strict=True):
        least = -by_highs(np.zeros_like(worth), mine, relaxed=[one], **EXACT)
        assert bool(more) == (not one.most[0])
        assert float(number) == pytest.approx(abs(one.most[0] + least), rel=2e-5, abs=2e-6 * one.units.max())
    return True


@for_each("seed", range(6))
def test_limits_that_exclude_each_other_are_named(seed):
    named(seed, 2.0, 2.5)


@pytest.mark.slow
def test_a_hundred_times_the_limits_are_named_rightly():
    found = 0
    for seed in range(200):
        found += found < 100 and named(1000 + seed, 2.5, 3.5)
    assert found == 100
