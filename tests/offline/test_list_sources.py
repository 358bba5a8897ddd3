"""Lists from the sources of logs: the same plan, and a file as `csv` writes it, in which types of columns stay."""

import csv
import gzip
import io
import sqlite3

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.files import quote_cell
from evenhand.logs import Query
from evenhand.offline import assign
from tests.offline.test_assignments import files

ODD = ["a,b", 'a "b"', '"', "", " ", "line\nline", "line\r\nline", "\rx", "=1+1", "-5", "-5,2 %", "@a", "ä;b", "x\ry"]


def told(found):
    return found.chosen.tolist(), found.probability.tolist(), {k: z.tolist() for k, z in found.expected.items()}


def test_every_source_of_a_list_has_the_same_plan_and_file(tmp_path):
    """With the columns as they came; the actions, chances and expectations are written as from a CSV file."""
    pa = pytest.importorskip("pyarrow")
    parquet, pd = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    cases, problem = files(tmp_path)
    how = {"learn_from": tmp_path / "log.csv", "holdout": 0.2, "seed": 2}
    expected = assign(cases, problem, **how)
    text = expected.write(tmp_path / "list.csv").read_bytes()
    frame = pd.read_csv(cases)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "cases.parquet")
    frame.to_json(tmp_path / "cases.jsonl", orient="records", lines=True)
    (tmp_path / "cases.csv.gz").write_bytes(gzip.compress(cases.read_bytes()))
    connection = sqlite3.connect(":memory:")
    frame.to_sql("cases", connection, index=False)
    names = "cases.parquet", "cases.jsonl", "cases.csv.gz"
    sources = [*(tmp_path / name for name in names), frame, {name: frame[name].tolist() for name in frame}]
    for source in [*sources, Query(connection, "select * from cases")]:
        found = assign(source, problem, **how)
        assert told(found) == told(expected)
        assert found.write(tmp_path / "list.csv").read_bytes().removeprefix(b"\xef\xbb\xbf") == text
        assert str(found) == str(expected)
        assert dict(found.texts) == dict(expected.texts)
        table = parquet.read_table(found.write(tmp_path / "list.parquet"))
        assert table["who"].to_pylist() == expected.texts["who"]
        kind = "double" if str(source).endswith(".gz") else "int64"  # of a table with types they stay
        assert str(table.schema.field("age").type) == kind


def test_a_part_of_a_query_may_lack_values_or_fractions(tmp_path):
    pytest.importorskip("pyarrow")
    _, problem = files(tmp_path)
    connection = sqlite3.connect(":memory:")
    connection.execute("create table cases (age, town, note)")
    rows = [
        (20 + i % 40 if i < 10_000 else 20.5 + i % 40, "ABC"[i % 3], None if i < 10_000 else "x") for i in range(20_001)
    ]
    connection.executemany("insert into cases values (?, ?, ?)", rows)
    found = assign(Query(connection, "select * from cases"), problem, learn_from=tmp_path / "log.csv")
    assert found.texts["note"] == ["" if i < 10_000 else "x" for i in range(len(rows))]
    assert found.numeric["age"].tolist() == [row[0] for row in rows]


def test_the_types_of_a_list_stay(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cases, problem = files(tmp_path)
    table = pytest.importorskip("pyarrow.csv").read_csv(cases)
    days = pa.array(np.arange(len(table)), pa.int32()).cast(pa.date32())
    table = table.append_column("day", days).append_column("tags", pa.array([["a", None]] * len(table)))
    found = assign(table, problem, learn_from=tmp_path / "log.csv")
    back = parquet.read_table(found.write(tmp_path / "list.parquet"))
    assert back.select(table.column_names).equals(table)
    with pytest.raises(InvalidInput, match="'tags' of the data frame: expected numbers, texts or dates, got list"):
        found.write(tmp_path / "list.csv")
    assert not (tmp_path / "list.csv").exists()


@pytest.mark.parametrize("verbatim", [False, True])
def test_a_list_is_written_as_a_writer_of_rows_would(tmp_path, verbatim):
    """Fields that need quotes, and only these, in every place; and numbers of any size."""
    cases, problem = files(tmp_path)
    with cases.open(newline="") as file:
        head, *rows = csv.reader(file)
    texts = [[*row, ODD[i % len(ODD)], ODD[i // 3 % len(ODD)]] for i, row in enumerate(rows)]
    head = [*head, "=a,b", 'a "b"']
    with cases.open("w", newline="") as file:
        csv.writer(file).writerows([head, *texts])
    odd = problem.read_text().replace('call = "call"', 'call = "=call, me"')
    problem.write_text(odd.replace("call = 3", '"=call, me" = 3').replace("call = 1", '"=call, me" = 1'))
    found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2)
    sizes = np.array([123456.7, 1234567.8, -98765432.1, 1e14 + 1.0, 2e15, 1e-7, -0.0, 3.0])
    found.expected["sale"][: len(sizes)] = sizes
    out = io.StringIO(newline="")
    write = (lambda z: z) if verbatim else quote_cell
    means = [f"{z:.0f}" if 1e6 <= abs(z) < 1e15 else f"{z:.6g}" for z in found.expected["sale"].tolist()]
    given = [[write(z) for z in [*row[:2], row[2].strip(), row[3].strip(), row[4].strip()]] for row in texts]
    rest = zip(found.chosen, found.probability.tolist(), found.held_out, found.expected["post"], strict=True)
    rest = [[write(found.actions[a]), f"{p:.10g}", str(h), f"{z:.6g}"] for a, p, h, z in rest]
    fuel = [f"{z:.6g}" for z in found.expected["fuel"].tolist()]
    header = [*map(write, head), "action", "probability", "held out", *(f"expected {n}" for n in found.expected)]
    assert header[-3:] == ["expected sale", "expected post", "expected fuel"]
    body = [[*g, *r[:3], m, r[3], f] for g, r, m, f in zip(given, rest, means, fuel, strict=True)]
    csv.writer(out).writerows([header, *body])
    assert found.write(tmp_path / "list.csv", verbatim=verbatim).read_bytes() == out.getvalue().encode()
