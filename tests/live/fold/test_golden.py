"""Snapshots outlive a version whose folds have the same bits, and no other."""

import pytest

from evenhand.live.fold import snapshots
from tests.live import golden

RAISE = """the fold of a fixed log is another one than before: {}
If that is meant, raise FOLD in src/evenhand/live/fold/snapshots.py, so that snapshots of earlier versions are not read,
and
write the states anew: python -m tests.live.golden"""


def test_the_number_of_the_fold_is_raised_when_a_log_folds_to_other_states():
    stored = golden.stored()
    assert stored["fold"] == snapshots.FOLD, "write the states anew: python -m tests.live.golden"
    found = golden.sums()
    assert found.keys() == stored["sums"].keys(), RAISE.format("it has other arrays")
    for name, told in stored["sums"].items():
        assert found[name] == pytest.approx(told, rel=1e-6, abs=1e-6), RAISE.format(name)
    bits, found = stored["bits"].get(golden.machine(), {}), golden.digests()  # none of an unknown processor
    other = [name for name, digest in bits.items() if found[name] != digest]
    assert not other, RAISE.format(f"the bits of {other}")
