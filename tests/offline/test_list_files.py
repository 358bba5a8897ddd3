"""Lists as Parquet files that the next command reads, and dates in what a list says of whom."""

import csv
import sys

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.logs.dates import days
from evenhand.offline import Evidence, assign, for_whom, value
from evenhand.offline.targeting import levels_of
from tests.offline.test_assignments import BUDGET, HEAD, files

DATED = HEAD.replace(
    'categorical = ["town"]', 'categorical = ["town"], dates = ["since"], missing = { age = "indicator" }'
)
BACK = """
maximize = "sale"
horizon = 100
features = { numeric = ["age"], categorical = ["town"], dates = ["since"], missing = { age = "indicator" } }
action = { column = "action", values = { none = "none", letter = "letter", call = "call" } }
propensity = { column = "probability" }
outcomes = { sale = { range = [0, 1] } }
"""


def dated(folder):
    """The files of lists, with a date per row, and some ages missing."""
    cases, problem = files(folder)
    problem.write_text(DATED + BUDGET)
    for path in (folder / "log.csv", cases):
        head, *lines = path.read_text().splitlines()
        rows = [
            f"{'' if i % 7 == 3 else line.partition(',')[0]},{line.partition(',')[2]}" for i, line in enumerate(lines)
        ]
        rows = [f"{row},2026-{1 + i % 12:02}-{1 + i % 28:02}" for i, row in enumerate(rows)]
        path.write_text("\n".join([f"{head},since", *rows]) + "\n")
    return cases, problem, folder / "log.csv"


def test_a_list_is_written_as_parquet_and_read_back_by_value(tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    cases, problem, log = dated(tmp_path)
    told = ["assign", str(cases), "--problem", str(problem), "--learn-from", str(log), "--holdout", "0.3"]
    assert main([*told, "--out", str(tmp_path / "list.csv"), "--verbatim"]) == 0
    assert main([*told, "--out", str(tmp_path / "list.parquet")]) == 0
    assert f"{tmp_path}/list.parquet" in capsys.readouterr().out
    assert (tmp_path / "list.html").exists()
    table, given = parquet.read_table(tmp_path / "list.parquet"), (tmp_path / "list.csv").read_text().splitlines()
    rows = list(csv.DictReader(given))
    assert table.column_names == list(rows[0])
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert kinds["who"] == kinds["since"] == kinds["action"] == "string"
    assert kinds["age"] == kinds["probability"] == kinds["expected sale"] == "double"
    assert kinds["held out"] == "bool"
    assert table["age"].null_count == sum(row["age"] == "" for row in rows) > 0
    for name in ("who", "since", "action", "town"):
        assert table[name].to_pylist() == [row[name] for row in rows]
    for name in ("probability", "expected sale", "expected post"):
        assert table[name].to_pylist() == pytest.approx([float(row[name]) for row in rows], rel=5e-6)

    import pyarrow

    sales = (np.random.default_rng(0).random(len(rows)) < 0.4).astype(float)
    parquet.write_table(table.append_column("sale", pyarrow.array(sales)), tmp_path / "seen.parquet")
    seen = [f"{line},{sale:g}" for line, sale in zip(given[1:], sales, strict=True)]
    (tmp_path / "seen.csv").write_text("\n".join([f"{given[0]},sale", *seen, ""]))
    (tmp_path / "back.toml").write_text(BACK)
    back = (Evidence.read(tmp_path / f"seen.{kind}", tmp_path / "back.toml") for kind in ("parquet", "csv"))
    exact, short = map(value, back)
    assert exact.rows == short.rows == 300
    assert exact.policies[0].value.value == pytest.approx(sales.mean())
    for a, b in zip(exact.policies, short.policies, strict=True):  # a CSV file has ten digits of probabilities
        assert a.policy == b.policy
        told = [*b.value.pair, *b.by["ips"].pair, *b.beyond.pair]
        assert [*a.value.pair, *a.by["ips"].pair, *a.beyond.pair] == pytest.approx(told, rel=1e-9, abs=1e-12)


def test_a_list_that_changed_since_it_was_read_is_not_written(tmp_path):
    """Its rows are read once more where they are written: those of another file would get actions of these."""
    parquet = pytest.importorskip("pyarrow.parquet")
    cases, problem, log = dated(tmp_path)
    from pyarrow import csv as tables

    typed = tmp_path / "cases.parquet"
    parquet.write_table(tables.read_csv(cases), typed)
    found = assign(typed, problem, learn_from=log)
    parquet.write_table(parquet.read_table(typed).take(list(range(299, -1, -1))), typed)
    with pytest.raises(InvalidInput, match=r"cases\.parquet: expected the files as they were when they were read"):
        found.write(tmp_path / "list.parquet")


def test_parquet_is_refused_before_the_work_where_it_cannot_be_written(tmp_path, monkeypatch, capsys):
    cases, problem, log = dated(tmp_path)
    found = assign(cases, problem, learn_from=log)
    with pytest.raises(InvalidInput, match="path: expected a file that can be written"):
        found.write(tmp_path / "none" / "list.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    told = ["assign", str(cases), "--problem", str(problem), "--learn-from", str(log)]
    assert main([*told, "--out", str(tmp_path / "list.parquet")]) == 2
    assert "Parquet files need an optional dependency: pip install 'evenhand[parquet]'" in capsys.readouterr().err
    with pytest.raises(MissingExtra):
        found.write(tmp_path / "list.parquet")
    assert not list(tmp_path.glob("list.*"))


def test_dates_of_a_list_and_of_a_log_are_in_bands_that_are_written_as_dates(tmp_path):
    cases, problem, log = dated(tmp_path)
    found = assign(cases, problem, learn_from=log)
    mine = [z for z in found.levels if z.feature == "since"]
    numbers = np.array([days(text) for text in found.texts["since"]])
    edges = np.unique(np.quantile(numbers, (0.25, 0.5, 0.75), method="inverted_cdf"))
    bands = np.searchsorted(edges, numbers, side="left")
    assert len(mine) == 4
    for k, level in enumerate(mine):
        inside = sorted(np.array(found.texts["since"])[bands == k].tolist())
        assert level.level == f"{inside[0]} to {inside[-1]}"
        assert level.share == pytest.approx((bands == k).mean())
        assert level.actions == pytest.approx([(found.chosen[bands == k] == a).mean() for a in range(3)])
    assert any(z.level == "missing" for z in found.levels if z.feature == "age")
    whom = for_whom(Evidence.read(log, problem))
    assert next(z.level for z in whom.levels if z.feature == "since").startswith("2026-01-01 to 2026-0")
    one = next(levels_of({"day": np.zeros(2)}, np.eye(2), ("day",)))
    assert one.name == "day: 1970-01-01"
