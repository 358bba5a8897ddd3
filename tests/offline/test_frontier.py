"""Frontiers against linear programs of HiGHS, and against sorting where there are two actions."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import kron

from evenhand.core.errors import InvalidInput
from evenhand.offline import Frontier
from tests.rows import for_each


def optimum(worth, cost, budget):
    """The greatest average worth within a budget, and its price."""
    rows, actions = worth.shape
    cost = np.broadcast_to(cost, worth.shape)
    found = linprog(
        -worth.ravel(),
        A_ub=cost.reshape(1, -1),
        b_ub=[budget * rows],
        A_eq=kron(np.eye(rows), np.ones((1, actions))),
        b_eq=np.ones(rows),
        method="highs",
    )
    return -found.fun / rows, -found.ineqlin.marginals[0]


def drawn(kind, rows, actions, seed):
    rng = np.random.default_rng(seed)
    worth, cost = rng.standard_normal((rows, actions)), rng.random((rows, actions))
    if kind == "ties":
        worth, cost = np.round(worth), np.round(3 * cost)
    if kind == "shared":
        cost = cost[:1]
    if kind == "alike":
        worth, cost = np.tile(worth[:1], (rows, 1)), cost[:1]
    if kind == "wide":
        cost, worth = cost * 10.0 ** rng.integers(-3, 4, (rows, 1)), worth * 10.0 ** rng.integers(-3, 4, (rows, 1))
    return worth, cost


@pytest.mark.parametrize("kind", ["each", "ties", "shared", "alike", "wide"])
@for_each("seed", range(4))
def test_frontiers_are_optima_of_linear_programs(kind, seed):
    worth, cost = drawn(kind, 30, 2 + seed, seed)
    frontier = Frontier.of(worth, cost)
    ends = frontier.least, frontier.enough
    for budget in np.linspace(*ends, 7):
        point = frontier.at(budget)
        lottery, full = point.probabilities(worth.shape[1]), np.broadcast_to(cost, worth.shape)
        best, price = optimum(worth, cost, budget)
        assert lottery.sum(1) == pytest.approx(1.0)
        assert (lottery * full).sum(1).mean() <= budget + 1e-12 * max(1.0, budget)
        value, dual = point.of(worth).mean(), (worth - point.price * cost).max(1).mean() + point.price * budget
        size = np.abs(worth).max() + point.price * full.max()
        assert value == pytest.approx(dual, abs=1e-13 * size)  # no policy is worth more than the dual at any price
        if kind != "wide":  # there the solver's own tolerance is larger
            assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert (lottery * worth).sum(1) == pytest.approx(point.of(worth))
        assert (lottery * full).sum(1) == pytest.approx(point.of(cost))
        if ends[0] < budget < ends[1] and kind == "each":  # elsewhere a budget may have several prices
            assert point.price == pytest.approx(price, rel=1e-6)


def test_two_actions_are_sorted_by_what_the_second_brings():
    rng = np.random.default_rng(5)
    worth = rng.standard_normal((500, 2))
    frontier = Frontier.of(worth, np.array([[0.0, 1.0]]))
    gain = worth[:, 1] - worth[:, 0]
    best = np.flatnonzero(gain > 0)[np.argsort(-gain[gain > 0])]
    for count in (0, 1, 100, len(best)):
        assert np.flatnonzero(frontier.at(count / 500).point.actions).tolist() == sorted(best[:count])


def test_more_money_than_useful_is_not_spent():
    worth = np.array([[1.0, 0.0], [0.0, 2.0]])
    frontier = Frontier.of(worth, np.array([[0.0, 1.0]]))
    assert frontier.enough == 0.5
    point = frontier.at(9.0)
    assert (point.point.actions.tolist(), point.price, point.point.row) == ([0, 1], 0.0, -1)
    assert frontier.beyond(1.0).of(worth).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("kind", ["each", "ties", "shared"])
def test_segments_that_are_worth_nothing_may_be_left_out(kind):
    """They change nothing within any budget: the same lotteries and prices, to the bit."""
    worth, cost = drawn(kind, 200, 5, 3)
    whole, less = Frontier.of(worth, cost), Frontier.of(worth, cost, above=0.0)
    assert len(less.price) == whole.useful < len(whole.price)
    assert (less.least, less.enough, less.useful) == (whole.least, whole.enough, whole.useful)
    for budget in np.linspace(whole.least, whole.enough + 1.0, 7):
        a, b = whole.at(budget), less.at(budget)
        assert (a.price, a.total(worth)) == (b.price, b.total(worth))
        assert (a.probabilities(5) == b.probabilities(5)).all()


def test_segments_are_counted_by_their_price():
    frontier = Frontier.of(np.array([[0.0, 2.0, 3.0], [0.0, 1.0, -1.0]]), np.array([[0.0, 1.0, 2.0]]))
    assert frontier.price.tolist() == [2.0, 1.0, 1.0, -2.0]
    counted = [(frontier.dearer(p, "left"), frontier.dearer(p, "right")) for p in (3.0, 2.0, 1.0, 0.0, -2.0, -3.0)]
    assert counted == [(0, 0), (0, 1), (1, 3), (3, 3), (3, 4), (4, 4)]


def test_rows_and_actions_in_another_order_have_the_same_values():
    worth, cost = drawn("each", 40, 4, 9)
    rng = np.random.default_rng(1)
    rows, actions = rng.permutation(40), rng.permutation(4)
    a, b = Frontier.of(worth, cost), Frontier.of(worth[rows][:, actions], cost[rows][:, actions])
    for budget in np.linspace(a.least, a.enough, 9):
        assert a.at(budget).of(worth)[rows] == pytest.approx(b.at(budget).of(worth[rows][:, actions]))


def test_one_row_and_one_action():
    assert Frontier.of(np.array([[2.0]]), np.array([[3.0]])).at(3.0).of(np.array([[2.0]])).tolist() == [2.0]
    frontier = Frontier.of(np.array([[0.0, 4.0]]), np.array([[1.0, 3.0]]))
    assert frontier.at(2.0).of(np.array([[0.0, 4.0]])).tolist() == [2.0]


@pytest.mark.parametrize(
    ("worth", "cost", "field"),
    [
        (np.zeros((0, 2)), np.zeros((1, 2)), "worth"),
        (np.zeros(3), np.zeros((1, 3)), "worth"),
        (np.array([[np.nan, 0.0]]), np.zeros((1, 2)), "worth"),
        (np.zeros((3, 2)), np.zeros((2, 2)), "cost"),
        (np.zeros((3, 2)), np.full((1, 2), np.inf), "cost"),
    ],
)
def test_tables_that_are_none(worth, cost, field):
    with pytest.raises(InvalidInput, match=f"^{field}: expected finite numbers"):
        Frontier.of(worth, cost)


def test_budgets_below_what_the_cheapest_actions_cost():
    frontier = Frontier.of(np.array([[0.0, 4.0]]), np.array([[1.0, 3.0]]))
    with pytest.raises(InvalidInput, match=r"budget: expected at least 1, what the cheapest actions cost, got 0\.5"):
        frontier.at(0.5)
    with pytest.raises(InvalidInput, match=r"budget: expected at least 2"):
        list(frontier.along([2.0, 1.5]))
    with pytest.raises(InvalidInput, match="budget"):
        frontier.at(float("nan"))
