"""Intervals hold in every kind of log, or are not shown: a small run of the table on what numbers can bear."""

import pytest

from tests.offline.regimes import KINDS, measured

LOGS = dict.fromkeys(KINDS, 40) | dict.fromkeys([kind for kind in KINDS if kind.startswith("34 actions")], 4)
LOGS |= {"spending, 20,000 rows": 10, "30 actions, 900 rows": 6}
FEW = {"spending of 1 %, 600 rows": 0.05, "half of the rows decided, 2,000 rows": 0.34}  # parts that are shown


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_or_are_not_shown(kind):
    """At least 92.5 % less three standard errors of so many logs: estimates of one log are not independent."""
    each = measured(KINDS[kind], LOGS[kind], first=10_000)
    least = 0.925 - 3.0 * (0.925 * 0.075 / LOGS[kind]) ** 0.5
    for shown, held, _ in each:
        assert shown <= FEW[kind] if kind in FEW else shown >= 0.95
        assert shown < 0.05 or held >= least
