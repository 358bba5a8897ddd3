"""The optimum in hindsight where budgets go by time, against linear programs of one's own and cases by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.models import BayesianRidge
from evenhand.problem import Budget, Floor
from evenhand.problem.spans import Spans
from evenhand.recipes import resolving
from evenhand.run import opt, simulate
from tests.day_worlds import Days, cases, forecast

SMALL = Days(times=cases(3, 4, 0.1), subject_to=(), until=4.0, traffic=forecast(0.1))
DAILY = replace(SMALL, subject_to=(Budget("money", total=4.0, per=1.0),))


def brute(shop, seed, replica, within):
    """The most sales, variable by variable; `within` has pairs of a mask of cases and the money for them."""
    world = shop.start(seed, np.array([replica]))
    mean = np.stack([world.means(world.context(i))[0] for i in range(len(shop.times))])
    mean = mean[shop.times < shop.until]
    n, actions = mean.shape[:2]
    each = np.kron(np.eye(n), np.ones(actions))
    uses = np.array([(mean[:, :, 1] * inside[:n, None]).ravel() for inside, _ in within])
    found = linprog(-mean[:, :, 0].ravel(), uses, [total for _, total in within], each, np.ones(n), bounds=(0, 1))
    return -found.fun / n


@pytest.mark.parametrize(
    ("stated", "within"),
    [
        ((Budget("money", total=4.0, per=1.0),), [(d, d + 1, 4.0) for d in range(4)]),
        ((Budget("money", total=4.0, per=1.0, carry=True),), [(0, d + 1, 4.0 * (d + 1)) for d in range(4)]),
        ((Budget("money", total=7.0, per=1.0, window=2),), [(d, d + 2, 7.0) for d in range(3)]),
        ((Budget("money", total=[(0, 3, 9.0), (1, 4, 6.0)]),), [(0, 3, 9.0), (1, 4, 6.0)]),
        ((Budget("money", total=12.0), Budget("money", total=5.0, per=1.0)),
         [(0, 4, 12.0), *((d, d + 1, 5.0) for d in range(4))]),
        ((Budget("money", total=12.0),), [(0, 4, 12.0)]),
    ],
)  # fmt: skip
def test_the_optimum_is_that_of_a_program_of_all_cases(stated, within):
    shop = replace(SMALL, subject_to=stated)
    masks = [((a <= shop.times) & (shop.times < b), total) for a, b, total in within]
    found = opt(shop, replicas=[0, 2], seed=5, progress=False)
    np.testing.assert_allclose(found.values, [brute(shop, 5, r, masks) for r in (0, 2)], rtol=1e-7)
    assert found.prices.shape == (len(within),)
    assert (found.prices >= 0.0).all()


def test_a_price_is_what_one_more_unit_of_an_allowance_brings():
    more = 1e-4
    days = lambda extra: Budget("money", total=[(d, d + 1, 4.0 + extra * (d == 2)) for d in range(4)])  # noqa: E731
    least, most = (opt(replace(SMALL, subject_to=(days(x),)), replicas=1, progress=False) for x in (0.0, more))
    n = (SMALL.times < 4.0).sum()
    assert (most.value - least.value) * n / more == pytest.approx(least.prices[2], rel=0.05)


def test_cases_after_the_end_bring_nothing():
    late = replace(DAILY, times=np.append(DAILY.times, [4.0, 5.5]))
    a, b = (opt(shop, replicas=2, progress=False) for shop in (DAILY, late))
    np.testing.assert_array_equal(a.values, b.values)


def test_spans_of_rounds_count_rounds():
    shop = replace(SMALL, until=None, traffic=None, horizon=60, subject_to=(Budget("money", total=2.0, per=20),))
    rounds = np.arange(len(shop.times))
    masks = [((a <= rounds) & (rounds < a + 20), 2.0) for a in (0, 20, 40)]
    by_round = replace(shop, times=shop.times[:60], until=4.0)
    found = opt(Rounds(shop), replicas=1, progress=False)
    assert found.value == pytest.approx(brute(by_round, 0, 0, masks), rel=1e-7)


class Rounds:
    """The shop without times."""

    counts_idle_steps = True
    n_features = 9

    def __init__(self, shop):
        self.shop, self.problem, self.steps = shop, shop.problem, shop.steps

    def start(self, seed, replicas):
        return Rounds(self.shop.start(seed, replicas))

    def context(self, step):
        return self.shop.context(step)._replace(time=None)

    def expected(self, context, plays):
        return self.shop.expected(context, plays)


def test_other_constraints_stay_means():
    free = opt(DAILY, replicas=1, progress=False)
    asked = free.value * 0.9
    kept = replace(DAILY, subject_to=(*DAILY.subject_to, Floor("sale", rate=asked)))
    assert opt(kept, replicas=1, progress=False).value == pytest.approx(free.value)


def test_no_policy_does_better_than_the_optimum_of_its_run():
    trace = simulate(resolving(DAILY.problem, BayesianRidge(n_features=9, n_outcomes=2)), DAILY, replicas=3)
    found = opt(DAILY, replicas=3, progress=False)
    assert (trace.expected[-1, :, 0] / trace.elapsed[-1] <= found.values).all()
    spans = Spans(np.arange(5.0), np.full(4, 4.0), np.arange(4), np.arange(4))
    np.testing.assert_allclose(found.values * len(DAILY.times), DAILY.best(spans, 0, 3), rtol=1e-7)
