"""Fair frontiers against linear programs of HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.offline import FairFrontier, Frontier
from tests.rows import for_each


def optimum(worth, cost, groups, budget, tolerance):
    """The greatest average worth of policies whose groups use about as much; None if there is none."""
    rows, actions = worth.shape
    use = np.broadcast_to(cost, worth.shape)
    lines, bounds = [use.ravel() / rows], [budget]
    for g in np.unique(groups):
        inside = (groups == g)[:, None] * use
        gap = (inside / (groups == g).sum() - use / rows).ravel()
        lines += [gap, -gap]
        bounds += [tolerance, tolerance]
    each = np.kron(np.eye(rows), np.ones((1, actions)))
    found = linprog(-worth.ravel(), A_ub=np.array(lines), b_ub=bounds, A_eq=each, b_eq=np.ones(rows), method="highs")
    return None if found.status == 2 else -found.fun / rows


@for_each("seed", range(12))
def test_fair_frontiers_are_optima_of_linear_programs(seed):
    rng = np.random.default_rng(seed)
    rows, actions = 40, 2 + seed % 3
    worth = rng.standard_normal((rows, actions)) + np.array([0.0, *np.full(actions - 1, 0.5 * (seed % 2))])
    cost = np.array([[0.0, *(1.0 + rng.random(actions - 1))]]) if seed % 4 else rng.random((rows, actions))
    groups = rng.integers(0, 3, rows)
    worth[groups == 0] += 0.7 * cost[0] if seed % 4 else 0.0
    fair, free = FairFrontier.of(worth, cost, groups), Frontier.of(worth, cost)
    compared = 0
    for tolerance in (0.0, 0.02, 0.1, 5.0):
        for budget in np.linspace(free.least, 1.2 * free.enough, 7):
            best = optimum(worth, cost, groups, budget, tolerance)
            if best is None:
                with pytest.raises(InfeasibleProblem):
                    fair.split(budget, tolerance)
                continue
            split = fair.split(budget, tolerance)
            average = fair.shares @ split.budgets
            value = sum(
                share * f.beyond(b).of(worth[m]).mean()
                for share, f, b, m in zip(fair.shares, fair.frontiers, split.budgets, fair.rows.members, strict=True)
            )
            assert value == pytest.approx(best, abs=1e-9)
            assert average <= budget + 1e-12
            assert np.abs(split.budgets - average).max() <= tolerance + 1e-9
            compared += 1
    assert compared >= 14


def test_a_wide_tolerance_is_no_constraint():
    rng = np.random.default_rng(3)
    worth, cost, groups = rng.standard_normal((60, 3)), np.array([[0.0, 1.0, 2.0]]), rng.integers(0, 2, 60)
    fair, free = FairFrontier.of(worth, cost, groups), Frontier.of(worth, cost)
    for budget in (0.1, 0.5, 5.0):
        assert fair.shares @ fair.split(budget, 9.0).budgets == pytest.approx(min(budget, free.enough))


def test_tolerances_below_zero():
    fair = FairFrontier.of(np.zeros((2, 2)), np.array([[0.0, 1.0]]), np.array([0, 1]))
    with pytest.raises(InvalidInput, match=r"tolerance: expected at least 0, got -0\.1"):
        fair.split(0.5, -0.1)
    with pytest.raises(InvalidInput, match="tolerance"):
        fair.split(0.5, float("nan"))


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**-40, 2.0**30])
def test_units_of_costs_change_no_split(unit):
    """By powers of two, which round nothing: all numbers are the same to the last bit."""
    rng = np.random.default_rng(4)
    worth, groups = rng.standard_normal((40, 3)) + 0.5, rng.integers(0, 3, 40)
    cost = np.concatenate([np.zeros((40, 1)), 1.0 + rng.random((40, 2))], axis=1)
    one, other = FairFrontier.of(worth, cost, groups), FairFrontier.of(worth, unit * cost, groups)
    for budget in (0.05, 0.3, 0.9):
        for tolerance in (0.0, 0.02, 0.3):
            mine, again = one.split(budget, tolerance), other.split(unit * budget, unit * tolerance)
            assert (again.budgets / unit).tolist() == mine.budgets.tolist()
            assert (again.price * unit, again.slope * unit) == (mine.price, mine.slope)
