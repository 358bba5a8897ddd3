"""No budget of a span and a group, and no cap of a unit, is ever exceeded in random worlds with zones."""

import numpy as np
import pytest

from tests.zone_worlds import run


def test_a_few_worlds_with_zones_groups_and_units_keep_to_all_limits_and_use_them():
    check(range(4))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_four_hundred_worlds_with_zones_groups_and_units_keep_to_all_limits_and_use_them(part):
    check(range(100 * part, 100 * (part + 1)))


def check(numbers):
    budgets, units, events = zip(*map(run, numbers), strict=True)
    assert max(budgets) <= 1 + 1e-9
    assert max(units) <= 1 + 1e-9
    assert np.mean(budgets) > 0.8
    assert np.mean(units) > 0.8
    assert all(sum(z[what] for z in events) > len(events) for what in ("cancelled", "expired", "restarted"))
