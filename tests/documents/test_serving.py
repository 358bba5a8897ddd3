"""The example of a service: killed at any moment, it goes on with the actions of a run that was never interrupted."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SERVICE = Path(__file__).parents[2] / "examples" / "serving.py"
UNTIL = 240


def told(text):
    """The actions by number; a line may be told twice, and then says the same."""
    found = {}
    for line in text.splitlines():
        number, _, action = line.partition(" ")
        if not number.isdigit() or " " in action:
            break
        assert found.setdefault(int(number), action) == action
    return found


def run(folder):
    return subprocess.Popen([sys.executable, str(SERVICE), str(folder), str(UNTIL)], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_service_that_is_killed_takes_the_same_actions(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole, _ = run(tmp_path / "whole").communicate(timeout=300)
    status = whole[whole.index(f"{UNTIL} of 500") :]
    found, luck = {}, random.Random(3)
    for last in sorted(luck.sample(range(1, UNTIL), 3)):  # killed as soon as it said so many
        process = run(tmp_path / "killed")
        for line in process.stdout:
            found |= told(line)
            if max(found) >= last:
                process.send_signal(signal.SIGKILL)
                break
        process.communicate(timeout=300)
        with (tmp_path / "killed" / "log").open("a") as log:
            log.write('{"case": {"urg')  # half of an event
    rest, _ = run(tmp_path / "killed").communicate(timeout=300)
    found |= told(rest)
    asked = told(whole)
    assert set(asked) == set(range(1, UNTIL + 1))
    assert all(asked[number] == action for number, action in found.items())
    assert max(found) == UNTIL
    assert rest[rest.index(f"{UNTIL} of 500") :] == status
