"""Intervals hold in every kind of log, or are not shown: a small run of the table on what numbers can bear."""

import pytest

from tests.offline.regimes import KINDS, measured

LOGS = dict.fromkeys(KINDS, 40) | dict.fromkeys([kind for kind in KINDS if kind.startswith("34 actions")], 10)
LOGS |= {"spending, 20,000 rows": 15, "30 actions, 900 rows": 12}
FEW = {"spending of 1 %, 600 rows": 0.01, "half of the rows decided, 2,000 rows": 0.34}  # parts that are shown


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_or_are_not_shown(kind):
    """At least 92.5 % less three standard errors: of what is seen between logs, or by chance alone if that is more."""
    logs = LOGS[kind]
    for found in measured(KINDS[kind], logs, first=10_000):
        assert found.shown <= FEW[kind] if kind in FEW else found.shown >= 0.95
        assert found.shown < 0.05 or found.held >= 0.925 - 3.0 * max(found.error, 0.26 / (10.0 * logs) ** 0.5)


@pytest.mark.parametrize("kind", ["1 % of 600 rows", "34 actions, 1 event each", "spending, 2,000 rows"])
def test_normal_intervals_do_not(kind):
    found, _ = measured(KINDS[kind], LOGS[kind], first=10_000)
    assert found.normal < 0.925 - 3.0 * max(found.error, 0.26 / (10.0 * LOGS[kind]) ** 0.5)
