"""Ties of allocations are found as by a look at every other allocation that is one change away."""

import numpy as np
import pytest

from evenhand.choices._shared import TIE
from evenhand.choices.allocate import by_luck
from evenhand.welfare import Capped, Linear, Logarithmic, Piecewise, Power, satisfaction
from evenhand.welfare._kernels import slope
from evenhand.welfare.curves import plain

CURVES = [
    Linear(),
    Capped(1.5),
    Logarithmic(2.0),
    Power(0.5),
    Power(1.0),
    Piecewise(at=(1.0, 2.0, 4.0), values=(1.0, 1.5, 1.75)),
]


def by_hand(value, beside, eligible, capacity, curve, chosen):
    """The definition, one allocation after the other: users one by one, and two by two."""
    users, columns = value.shape

    def worth(arms):
        sums, extra = np.zeros(columns), 0.0
        for i, a in enumerate(arms):
            if a >= 0:
                sums[a] += value[i, a]
                extra += beside[i, a]
        return satisfaction(curve, sums).sum() + extra

    near = 2.0 * TIE * np.where(eligible, value + abs(beside), 0.0).max()
    now, held = worth(chosen), np.bincount(chosen[chosen >= 0], minlength=columns)
    for i in np.flatnonzero(chosen >= 0):
        for b in range(columns):
            if b != chosen[i] and eligible[i, b] and held[b] < capacity[b]:
                other = chosen.copy()
                other[i] = b
                if abs(worth(other) - now) <= near:
                    return True
        for j in range(users):
            a, b = chosen[i], chosen[j]
            if b != a and eligible[j, a] and (b < 0 or eligible[i, b]):
                other = chosen.copy()
                other[i], other[j] = b, a
                if abs(worth(other) - now) <= near:
                    return True
    return False


@pytest.mark.parametrize("curve", CURVES, ids=str)
@pytest.mark.parametrize("steps", [4, 1000])
def test_ties_are_those_of_the_definition(curve, steps):
    """Worths on a coarse grid tie often, others seldom."""
    rng, found = np.random.default_rng(3), []
    for _ in range(150):
        value = rng.integers(1, steps + 1, (5, 3)) / steps
        beside = rng.integers(-steps, steps + 1, (5, 3)) / steps * rng.integers(0, 2)
        eligible, capacity = rng.random((5, 3)) < 0.8, rng.integers(1, 4, 3)
        chosen = np.array([rng.choice([-1, *np.flatnonzero(row)]) for row in eligible])
        told = by_luck(value[None], beside[None], eligible[None], capacity, plain(curve.curves(3)), chosen[None])
        assert told.item() == by_hand(value, beside, eligible, capacity, curve, chosen)
        found.append(told.item())
    assert any(found) or steps > 4
    assert not all(found)


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_slopes_bound_what_a_sum_can_be_worth(curve):
    curves, x = plain(curve.curves(2)), np.linspace(0.0, 5.0, 41)
    worth = np.array([satisfaction(curve, np.array([z, 0.0]))[0] for z in x])
    for z, here in zip(x, worth, strict=True):
        g = slope(curves, 0, z)
        assert g >= 0.0
        assert (worth <= here + g * (x - z) + 1e-12).all()
