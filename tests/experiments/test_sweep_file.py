"""Files of sweeps: their points and policies, clear errors with lines, and the command that runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.experiments.sweep_file import parse

PLAIN = """environment = "court"
replicas = 2
seed = 3
settings.horizon = 60
grid.ride = [0.05, 0.1]
[[policy]]
name = "ucb"
[[policy]]
name = "resolving"
label = "ours"
"""


def test_a_file_states_what_python_would():
    told = parse(PLAIN, "court.toml")
    found = told.run(progress=False)
    assert list(found.comparisons) == [(0.05,), (0.1,)]
    court = eh.environments.Court(horizon=60, ride=0.1)
    policy = next(p for p in told.cases[0.1,][1] if p.name == "ours")
    alone = eh.simulate(policy, court, replicas=2, seed=3, progress=False)
    np.testing.assert_array_equal(found[0.1,]["ours"].totals, alone.totals)


def test_settings_of_recipes_vary_as_those_of_the_environment():
    told = parse(PLAIN.replace("grid.ride", "grid.policy.warmup = [0, 20]\ngrid.ride"), "court.toml")
    assert told.parameter == ("ride", "policy.warmup")  # those of the environment come first
    assert list(told.cases) == [(0.05, 0), (0.05, 20), (0.1, 0), (0.1, 20)]
    first, last = (told.run(progress=False)[at]["ours"].totals[-1] for at in ((0.1, 0), (0.1, 20)))
    assert not np.array_equal(first, last)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('environment = "court"\n', "", "environment: expected a text, got nothing"),
        ('"court"', '"cuort"', r"line 1: environment: expected one of .* got cuort \(did you mean court\?\)"),
        ("replicas = 2", "replicas = 2.5", "line 2: replicas: expected a whole number"),
        ("replicas = 2", "replica = 2", r"line 2: replica: .* unknown key \(did you mean replicas\?\)"),
        ("settings.horizon = 60", 'settings.horizon = "x"', "line 4: settings.horizon: expected a whole number"),
        ("settings.horizon = 60", "settings.horizn = 60", r"line 4: settings.horizn: .*did you mean horizon"),
        ("settings.horizon = 60", "settings.horizon = 0", "horizon: expected"),
        ("[0.05, 0.1]", "0.05", "line 5: grid.ride: expected a list of values, got 0.05"),
        ("[0.05, 0.1]", "[]", "line 5: grid.ride: expected a list of values"),
        ("[0.05, 0.1]", "[0.1, true]", "line 5: grid.ride: expected numbers or names, got True"),
        ("[0.05, 0.1]", "[0.1, 0.1]", "line 5: grid.ride: expected different values"),
        ("[0.05, 0.1]", "[0.1, nan]", "ride: expected a"),
        ("[0.05, 0.1]", '[0.1, "x"]', "ride"),
        ("grid.ride = [0.05, 0.1]\n", "", "grid: expected at least one setting with a list"),
        ("grid.ride", "grid.policy = 3\ngrid.ride", "grid.policy: expected"),
        ("grid.ride", "grid.policy.stp = [1]\ngrid.ride", "policy.stp: expected one of the keys"),
        ('name = "ucb"', 'name = "ucbb"', r"policy.name: .* \(did you mean ucb\?\)"),
        ('label = "ours"', 'label = "ucb"', "policies: expected different names"),
        ("[[policy]]", "[[policies]]", r"policies: .*did you mean policy"),
        ("[[policy]]", "[policy", "court.toml, line 6: expected a TOML file"),
    ],
)
def test_faults_are_named_with_their_line(old, new, message):
    with pytest.raises(EvenhandError, match=rf"court\.toml.*{message}|^{message}"):
        parse(PLAIN.replace(old, new), "court.toml").run(progress=False)


def test_a_file_without_policies_is_refused():
    with pytest.raises(EvenhandError, match=r"policy: expected at least one recipe under \[\[policy\]\], got none"):
        parse(PLAIN.partition("[[policy]]")[0], "court.toml")


def test_the_command_prints_a_row_per_cell_and_writes_them(tmp_path: Path):
    (tmp_path / "sweep.toml").write_text(PLAIN)
    command = [sys.executable, "-m", "evenhand", "sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]
    first, again = (subprocess.run(command, capture_output=True, text=True, timeout=300) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert again.stdout == first.stdout
    head, _, *rows = first.stdout.splitlines()
    assert head.split()[:3] == ["ride", "policy", "appears"]
    assert [row.split()[0] for row in rows[:4]] == ["0.05", "0.05", "0.1", "0.1"]
    frame = pd.read_parquet(tmp_path / "out" / "sweep.parquet")
    pd.testing.assert_frame_equal(frame, pd.read_csv(tmp_path / "out" / "sweep.csv"), check_dtype=False)
    assert set(frame["policy"]) == {"ours", row_name(rows[0])}
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 10_000
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 4


def row_name(row: str) -> str:
    return row.split()[1]
