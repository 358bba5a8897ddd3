"""Workers that are killed lose nothing that they replied, and exceed no budget, and start again.

See `kills`, `start_kills` and `lease_kills`.
"""

import pytest

from tests.live.killers import found_by

KINDS = ["sqlite", "postgresql"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_workers_that_are_killed_lose_nothing(kind):
    found = found_by("tests.live.kills", 100, kind)
    assert found["decisions"] > 100
    assert found["busy"] == 0
    assert min(found[verb] for verb in ("paused", "changed", "switched", "erased", "sealed", "backups")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_servers_that_are_killed_start_again_by_their_first_command(kind):
    """Whoever switched meanwhile: one that ends by itself fails this."""
    found = found_by("tests.live.start_kills", 20, kind)
    assert min(found[name] for name in ("started", "superseded", "decided", "switches", "sealed")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_workers_that_are_killed_lose_nothing_of_a_pool(kind):
    """They lose no unit of it, and spend none twice."""
    found = found_by("tests.live.lease_kills", 50, kind)
    assert min(found[name] for name in ("decisions", "grants", "returns", "used")) > 0
