"""Files of sweeps: their points and policies, clear errors with lines, and the command that runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.experiments.sweep_file import parse
from tests.rows import for_each

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


@for_each(
    ("old", "new", "message"),
    [
        ('environment = "court"\n', "", r": environment: expected a text, got nothing"),  # nor is there a line
        ('"court"', '"cuort"', r", line 1: environment: expected one of .* got cuort \(did you mean court\?\)"),
        ("replicas = 2", "replicas = 2.5", ", line 2: replicas: expected a whole number"),
        ("replicas = 2", "replicas = 0", ", line 2: replicas: expected at least one, numbered from 0, got 0"),
        ("replicas = 2", "replica = 2", r", line 2: replica: .* unknown key \(did you mean replicas\?\)"),
        ("seed = 3", "seed = -1", r", line 3: seed: expected a whole number in \[0, 2\*\*64\), got -1"),
        ("settings.horizon = 60", 'settings.horizon = "x"', ", line 4: settings.horizon: expected a whole number"),
        ("settings.horizon = 60", "settings.horizn = 60", r", line 4: settings.horizn: .*did you mean horizon"),
        ("settings.horizon = 60", "settings.horizon = 0", ", line 4: settings.horizon: expected a whole number of at"),
        (
            "settings.horizon = 60",
            "settings.voucher = -1",
            ", line 4: settings.voucher: expected a finite number",
        ),
        (
            "settings.horizon = 60",
            "settings.ride = 0.2",
            ", line 5: grid.ride: expected a key that is not in `settings`",
        ),
        ("[0.05, 0.1]", "0.05", ", line 5: grid.ride: expected a list of values, got 0.05"),
        ("[0.05, 0.1]", "[]", ", line 5: grid.ride: expected a list of values"),
        ("[0.05, 0.1]", "[0.1, true]", ", line 5: grid.ride: expected finite numbers or names, got True"),
        ("[0.05, 0.1]", "[0.1, nan]", ", line 5: grid.ride: expected finite numbers or names, got nan"),
        ("[0.05, 0.1]", '[0.1, "x"]', ", line 5: grid.ride: expected all numbers or all names"),
        ("[0.05, 0.1]", '["x"]', ", line 5: grid.ride: expected a finite number, got 'x'"),
        ("[0.05, 0.1]", "[0.1, 0.1]", ", line 5: grid.ride: expected different values"),
        ("[0.05, 0.1]", "[1, 1.0]", ", line 5: grid.ride: expected different values"),
        ("grid.ride = [0.05, 0.1]\n", "", ": grid: expected at least one setting with a list"),  # nor is there a line
        ("grid.ride", "grid.policy = 3\ngrid.ride", r", line 5: grid.policy: expected policy.KEY = \[...\], got 3"),
        (
            "grid.ride",
            "grid.policy.stp = [1]\ngrid.ride",
            r", line 5: grid.policy.stp: expected one of the keys .*, got an unknown key for policy\[0\] \(ucb\)$",
        ),
        ("grid.ride", 'grid.policy.warmup = ["x"]\ngrid.ride', ", line 5: grid.policy.warmup: expected a whole number"),
        (
            "grid.ride",
            'grid.policy.name = ["pgd"]\ngrid.ride',
            r", line 5: grid.policy.name: .* is in no \[\[policy\]\]",
        ),
        ('name = "ucb"', 'name = "ucbb"', r", line 7: policy\[0\].name: .* \(did you mean ucb\?\)"),
        ('label = "ours"', 'label = "ucb"', r", line 10: policy\[1\].label: expected different names, which `label`"),
        (
            'label = "ours"',
            '[[policy]]\nname = "ucb"',
            r", line 10: policy\[2\]: expected different names, which `label`",
        ),
        (
            'label = "ours"',
            "warmup = -3",
            r", line 8: policy\[1\]: Staged.rounds: expected a whole number of at least 0",
        ),
        (
            'label = "ours"',
            'model = "ridge"\nwidth = -1',
            r", line 11: policy\[1\].width: expected a number of at least",
        ),
        ('label = "ours"', 'model.name = "rdge"', r", line 10: policy\[1\].model: .*did you mean ridge"),
        ('label = "ours"', "model.wdth = 1", r", line 10: policy\[1\].model.wdth: expected one of the keys"),
        ("[[policy]]", "[[policies]]", r", line 6: policies: .*did you mean policy"),
        ("[[policy]]", "[policy", ", line 6: expected a TOML file"),
    ],
)
def test_faults_are_named_with_their_line(old, new, message):
    with pytest.raises(EvenhandError, match=rf"^court\.toml{message}"):
        parse(PLAIN.replace(old, new), "court.toml").run(progress=False)


def test_the_number_of_features_is_what_the_environment_states(monkeypatch):
    def start(court, seed, replicas):
        raise AssertionError("a world was started to read a file")

    monkeypatch.setattr(eh.environments.Court, "start", start)
    assert [len(policies) for _, policies in parse(PLAIN, "court.toml").cases.values()] == [2, 2]


def test_a_file_without_policies_is_refused():
    with pytest.raises(
        EvenhandError, match=r"^court\.toml: policy: expected at least one recipe under \[\[policy\]\], got none"
    ):
        parse(PLAIN.partition("[[policy]]")[0], "court.toml")


def test_the_command_prints_a_row_per_cell_and_writes_them(tmp_path: Path, capsys):
    (tmp_path / "sweep.toml").write_text(PLAIN)
    command = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    first = capsys.readouterr()
    assert first.err == ""
    assert main(command) == 0
    assert capsys.readouterr().out == first.out
    head, _, *rows = first.out.splitlines()
    assert head.split()[:3] == ["ride", "policy", "appears"]
    assert [row.split()[0] for row in rows[:4]] == ["0.05", "0.05", "0.1", "0.1"]
    frame = pd.read_parquet(tmp_path / "out" / "sweep.parquet")
    pd.testing.assert_frame_equal(frame, pd.read_csv(tmp_path / "out" / "sweep.csv"), check_dtype=False)
    assert set(frame["policy"]) == {"ours", row_name(rows[0])}
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 10_000
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 4


def row_name(row: str) -> str:
    return row.split()[1]
