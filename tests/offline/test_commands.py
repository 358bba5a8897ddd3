"""The commands, on a small log."""

import pytest

from evenhand.cli import main

FILES = {"results.json", "report.html"}
PROBLEM = """
maximize = "sale"
horizon = 100
features = { numeric = ["age"], categorical = ["town"] }
action = { column = "sent", values = { no = "none", letter = "letter" } }
propensity = { column = "p" }
groups = { town = { shares = "log" } }
outcomes = { sale = { range = [0, 1] }, post = { known = { letter = 1 } } }
budget = [{ outcome = "post", rate = 0.25 }]
parity = [{ outcome = "post", by = "town", tolerance = 0.1 }]
"""


@pytest.fixture
def files(tmp_path):
    lines = ["age,town,sent,p,sale"]
    for i in range(240):
        sent = i % 3 == 0
        lines.append(
            f"{20 + i % 31},{'AB'[i % 2]},{'letter' if sent else 'no'},{1 / 3 if sent else 2 / 3},{int(i % 5 == 0)}"
        )
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "problem.toml").write_text(PROBLEM)
    return str(tmp_path / "log.csv"), "--problem", str(tmp_path / "problem.toml")


def test_a_curve_is_printed_and_written(files, tmp_path, capsys):
    asked = ["--at", "0.5", "--at", "0.25", "--tolerance", "0", "--folds", "3", "--out", str(tmp_path / "out")]
    assert main(["curve", *files, *asked]) == 0
    said = capsys.readouterr().out
    assert "log.csv: 240 rows; sale per case against post per case; 3 folds, seed 0" in said
    assert "fair by town, 0 " in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"curve.parquet", "curve.svg"}


def test_values_are_printed_and_written(files, tmp_path, capsys):
    rule = "letter where age < 30 and town = A; else none"
    assert main(["value", *files, "--rule", rule, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert rule in said
    assert "targeted, post 0.25" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"value.parquet", "value.svg"}


@pytest.mark.parametrize(
    ("command", "asked", "message"),
    [
        ("curve", ["--at", "-1"], "budgets[0]: expected at least 0"),
        ("curve", ["--tolerance", "-1"], "tolerances[0]: expected"),
        ("curve", ["--budgets", "1"], "budgets: expected 2 to 10,000 of them"),
        ("curve", ["--folds", "1"], "folds: expected a whole number of at least 3"),
        ("curve", ["--seed", "-1"], "seed: expected"),
        ("value", ["--rule", "letter"], "rule: expected"),
        ("value", ["--rule", "letter where height < 3; else none"], "rule: expected one of the features"),
    ],
)
def test_what_cannot_be_asked_is_one_line(files, tmp_path, capsys, command, asked, message):
    assert main([command, *files, *asked, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert not list((tmp_path / "out").glob("*"))
