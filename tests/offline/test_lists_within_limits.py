"""Lists under several limits, beside the linear program of the whole list by HiGHS."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from evenhand.core.errors import InfeasibleProblem
from evenhand.offline.plans.allocation import Resource, allocate
from tests.rows import for_each


def whole(worth, resources):
    """The optimum per case by one program, None where there is none; cases are not merged and limits stated plainly."""
    count, actions = worth.shape
    variables = np.arange(count * actions)
    one_each = csr_array((np.ones(len(variables)), (variables // actions, variables)))
    rows, most = [], []
    for z in resources:
        use = np.broadcast_to(z.use, worth.shape)
        if z.groups is None:
            rows.append(use)
            most.append(z.most[0])
            continue
        for g in np.unique(z.groups):
            apart = use * ((z.groups == g) / (z.groups == g).mean() - 1.0)[:, None]
            rows += [apart, -apart]
            most += [z.most[0]] * 2
    above = csr_array(np.array(rows).reshape(len(rows), -1) / count)
    found = linprog(-worth.ravel() / count, above, most, one_each, np.ones(count), method="highs")
    return -found.fun if found.status == 0 else None


def instance(seed, count, coarse=False):
    """A list of some actions, with one to three budgets and up to two parities."""
    luck = np.random.default_rng(seed)
    actions = int(luck.integers(2, 6))
    worth = luck.normal(size=(count, actions)) * 10.0 ** luck.integers(-3, 4)
    worth = worth.round(0 if np.abs(worth).max() > 10.0 else 1) if coarse else worth
    resources = []
    for _ in range(luck.integers(1, 4)):
        use = luck.gamma(1.0, size=(count if luck.random() < 0.7 else 1, actions)) * (luck.random(actions) < 0.8)
        use = np.ceil(use) if coarse else use
        use[:, 0] = 0.0
        resources.append(Resource.budget(use, float(luck.uniform(0.02, 0.6)) * float(use.max(1).mean())))
    for z in resources[: luck.integers(0, 3)]:
        groups = luck.integers(0, 4, count)
        resources.append(Resource.parity(z.use, groups, float(luck.choice([0.0, 0.01, 0.1])) * float(z.use.mean())))
    return worth, resources


def checked(worth, resources, free):
    order = np.random.default_rng(1).permutation(len(worth))
    best, found = whole(worth, resources), allocate(worth, resources, order, free=free)
    size = np.abs(worth - worth[:, :1]).max()
    assert found.value == pytest.approx(best, abs=2e-7 * size)
    limits = sum(len(z.most) for z in resources)
    own = worth[np.arange(len(worth)), found.actions].mean()
    assert abs(own - found.value) <= (limits * size) / len(worth)  # at most so many cases had a lottery
    dual = worth - sum(np.einsum("m,mna->na", p, z.uses()) for z, p in zip(resources, found.prices, strict=True))
    bound = dual.max(1).mean() + sum(p @ z.most for z, p in zip(resources, found.prices, strict=True))
    assert bound == pytest.approx(best, abs=2e-7 * size)  # the prices are a proof
    for z in resources:
        assert (z.used(found.actions) <= len(worth) * z.most + limits * z.units + 1e-6 * z.units).all()


@for_each("seed", range(30))
def test_the_optimum_of_the_whole_list(seed):
    checked(*instance(seed, 400), free=40)


@for_each("seed", range(15))
def test_lists_of_which_many_cases_are_alike(seed):
    checked(*instance(seed, 600, coarse=True), free=30)


def test_prices_that_are_far_away_change_nothing_but_the_time():
    for seed in range(5):
        worth, resources = instance(seed, 400)
        one = allocate(worth, resources, np.arange(400), free=40)
        far = tuple(10.0 * z + 1.0 for z in one.prices)
        other = allocate(worth, resources, np.arange(400), far, free=40)
        assert (one.actions == other.actions).all()
        assert other.value == pytest.approx(one.value, abs=2e-7 * np.abs(worth).max())


def test_ten_thousand_cases_with_two_budgets_and_a_parity():
    worth, resources = instance(11, 10_000)
    checked(worth, resources, free=500)


def test_one_budget_is_kept():
    for seed in range(20):
        worth, (first, *_) = instance(seed, 300)
        found = allocate(worth, [first], np.arange(300), free=50)
        assert first.used(found.actions)[0] <= 300 * first.most[0] * (1 + 1e-12)


def test_without_limits_every_case_has_its_best_action():
    worth = instance(3, 50)[0]
    assert (allocate(worth, [], np.arange(50)).actions == worth.argmax(1)).all()


def test_the_price_of_nothing_is_what_the_first_unit_brings():
    worth, use = instance(7, 300)[0][:, :2], np.array([[0.0, 2.0]])
    found = allocate(worth, [Resource.budget(use, 0.0)], np.arange(300))
    assert (found.actions == 0).all()
    assert found.prices[0][0] == pytest.approx((worth[:, 1] - worth[:, 0]).max() / 2.0)


@pytest.mark.parametrize("count", [1, 60])
def test_a_parity_with_one_group_changes_nothing(count):
    worth, (money, *_) = instance(8, count)
    even = Resource.parity(money.use, np.zeros(count, np.int64), 0.0)
    order = np.arange(count)
    assert (allocate(worth, [money, even], order).actions == allocate(worth, [money], order).actions).all()


def test_one_action_and_actions_that_are_worth_the_same():
    money = Resource.budget(np.array([[0.0, 1.0]]), 0.5)
    assert (allocate(np.ones((9, 2)), [money], np.arange(9)).actions == 0).all()
    alone = Resource.budget(np.array([[0.0]]), 0.0)
    assert allocate(np.ones((9, 1)), [alone], np.arange(9)).actions.tolist() == [0] * 9


def test_limits_that_exclude_each_other():
    use = np.array([[1.0, 2.0]])
    with pytest.raises(InfeasibleProblem, match="no policy keeps to all limits"):
        allocate(np.eye(2)[np.zeros(50, int)], [Resource.budget(use, 0.5)], np.arange(50))


def test_the_order_of_cases_that_are_not_alike_changes_nothing():
    worth, resources = instance(5, 300)
    one = allocate(worth, resources, np.arange(300), free=40).actions
    other = allocate(worth, resources, np.arange(300)[::-1].copy(), free=40).actions
    assert (one == other).all()


def test_the_order_of_actions_changes_nothing():
    for seed in range(5):
        worth, resources = instance(seed, 300)
        turn = np.roll(np.arange(worth.shape[1]), 1)
        turned = [replace(z, use=z.use[:, turn]) for z in resources]
        one = allocate(worth, resources, np.arange(300), free=40).actions
        other = allocate(worth[:, turn], turned, np.arange(300), free=40).actions
        assert (turn[other] == one).mean() >= 1.0 - sum(len(z.most) for z in resources) / 300  # but for lotteries


def test_units_change_nothing():
    worth, resources = instance(6, 300)
    scaled = [replace(z, use=1e6 * z.use, most=1e6 * z.most, units=1e6 * z.units) for z in resources]
    one, other = (allocate(worth * c, r, np.arange(300), free=40) for c, r in ((1.0, resources), (1e-9, scaled)))
    assert (one.actions == other.actions).all()
