"""The same log as files of any kind, folders, pipes, data frames, columns and queries: the same bits."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import threading
from importlib.util import find_spec

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.logs import Query
from evenhand.offline import Evidence
from evenhand.replay import draft, read_log, replay_log
from tests.replay import shop

pd = pytest.importorskip("pandas", reason="needs pandas")
pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")

PROBLEM = (
    shop.PROBLEM.replace('numeric = ["age"]', 'numeric = ["age", "mails"]\ndates = ["born"]')
    .replace("constant = 0.333333", 'column = "p"')
    .replace("[action]", '[features.missing]\nage = "indicator"\ntown = "level"\nborn = "indicator"\n\n[action]')
)
HEADER = [*shop.HEADER, "born", "mails"]


def lines(count=700):
    """Rows with gaps in an age, a town and a date."""
    rng, found = np.random.default_rng(8), shop.rows(count)
    for i, line in enumerate(found):
        line += [str(np.datetime64("1990-01-01") + np.timedelta64(rng.integers(0, 9000), "D")), str(rng.integers(0, 5))]
        for column in (0, 1, 5):
            if i and rng.random() < 0.1:
                line[column] = ""
    return found


def frame(rows):
    """The log as pandas would have it: numbers, dates, and texts that may be missing."""
    columns = dict(zip(HEADER, zip(*rows, strict=True), strict=True))
    return pd.DataFrame(
        {
            "age": [float(z) if z else np.nan for z in columns["age"]],
            "town": [z or None for z in columns["town"]],
            "letter": pd.Categorical(columns["letter"]),
            "visit": [z == "1" for z in columns["visit"]],
            "p": [float(z) for z in columns["p"]],
            "born": pd.to_datetime([z or None for z in columns["born"]]),
            "mails": pd.array([int(z) for z in columns["mails"]], dtype="Int64"),
        }
    )


def written(tmp_path):
    """The log in every form."""
    rows = lines()
    log, toml = shop.write(tmp_path, rows, PROBLEM, HEADER)
    data = frame(rows)
    one = tmp_path / "log.parquet"
    data.to_parquet(one)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, (start, end) in enumerate(((0, 300), (300, 301), (301, 700))):
        data[start:end].to_parquet(folder / f"part-{i}.parquet", index=False)
    (folder / "_SUCCESS").write_text("")
    sparse = data.astype({"age": pd.SparseDtype(float, np.nan), "visit": pd.SparseDtype(bool, False)})
    table = pa.Table.from_pandas(data)
    forms = {"pandas": data, "sparse": sparse, "pyarrow": table, "file": one, "folder": folder}
    return log, toml, forms


def bits(log):
    e = log.encoded
    return [z.tobytes() for z in (e.units[:], e.actions, e.propensities, e.outcomes, *e.groups)], e.levels, e.coding


@pytest.mark.parametrize("form", ["pandas", "sparse", "pyarrow", "file", "folder"])
def test_every_form_of_a_log_is_read_with_the_same_bits(tmp_path, form):
    log, toml, forms = written(tmp_path)
    one, other = read_log(log, toml), read_log(forms[form], toml)
    assert bits(one) == bits(other)
    assert other.name == {"file": "log.parquet", "folder": "parts"}.get(form, "the data frame")
    mine, theirs = one.columns(), other.columns()
    assert all(np.array_equal(mine[c], theirs[c], equal_nan=mine[c].dtype.kind == "f") for c in mine)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def packed(data, name):
    """Compress the bytes of a file by the end of its name; zstd is in no library of every Python."""
    if name.endswith(".zst"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as out:
            out.write(data)
        return sink.getvalue().to_pybytes()
    return PACKERS.get(name.rpartition(".")[2], bytes)(data)


def as_json(rows):
    """The log as lines of JSON: numbers as numbers, and nothing where a value is missing."""
    kinds = [float, str, str, int, float, str, int]
    lines = [
        {name: kind(z) for name, kind, z in zip(HEADER, kinds, row, strict=True) if z or name == "letter"}
        for row in rows
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv.bz2", "log.csv.xz", "log.csv.zst", "log.tsv", "log.jsonl",
                                  "log.jsonl.gz", "log.jsonl.zst", "log.feather"])  # fmt: skip
def test_files_of_any_kind_are_read_with_the_same_bits(tmp_path, name):
    """As files, as several in a folder, and through a pipe."""
    rows = lines()
    log, toml = shop.write(tmp_path, rows, PROBLEM, HEADER)
    frame(rows).to_feather(tmp_path / "feather")
    one = {"csv": log.read_bytes(), "tsv": log.read_bytes().replace(b",", b"\t"), "jsonl": as_json(rows)}
    data = (one | {"feather": (tmp_path / "feather").read_bytes()})[name.split(".")[1]]
    (tmp_path / name).write_bytes(packed(data, name))
    expected = bits(read_log(log, toml))
    found = read_log(tmp_path / name, toml)
    assert (found.name, bits(found)) == (name, expected)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=[(tmp_path / name).read_bytes()])
    writing.start()
    assert bits(read_log(pipe, toml)) == expected
    writing.join()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "feather"])
def test_folders_have_files_of_one_kind_that_follow_each_other(tmp_path, kind):
    rows = lines()
    log, toml = shop.write(tmp_path, rows, PROBLEM, HEADER)
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    head, *texts = log.read_text().splitlines(keepends=True)
    for i, (start, end) in enumerate(((0, 300), (300, 301), (301, 700))):
        if kind == "feather":
            frame(rows)[start:end].reset_index(drop=True).to_feather(folder / f"{i}.feather")
        else:
            data = as_json(rows[start:end]) if kind == "jsonl" else "".join([head, *texts[start:end]]).encode()
            (folder / f"{i}.{kind}").write_bytes(packed(data, "x.gz") if i == 1 else data)
    assert bits(read_log(folder, toml)) == bits(read_log(log, toml))
    assert draft(folder).open == ()
    if kind == "csv":
        (folder / "2.csv").write_text("".join([head, *texts[301:], "old,north,A,1,0.333333,2000-01-01,1\n"]))
        assert "first in line 401 of 2.csv: 'old'" in read_log(folder, toml).bad.messages()[0]


def test_the_standard_input_is_a_source_of_every_command(tmp_path, monkeypatch, capsys):
    log, toml = shop.write(tmp_path, shop.rows(300))
    said = []
    for name in (str(log), "-"):
        for command in (["value"], ["replay", "--replicas", "2", "--bootstrap", "0"]):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
            assert main([*command, name, "--problem", str(toml)]) == 0
            said.append(capsys.readouterr().out.replace("the standard input", "log.csv").partition("\n")[2])
    assert said[:2] == said[2:]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    assert main(["draft", "-"]) == 0
    assert "Drafted from the standard input." in capsys.readouterr().out


def test_columns_by_name(tmp_path):
    log, toml, forms = written(tmp_path)
    columns = {name: forms["pandas"][name].to_numpy() for name in ("age", "visit", "p", "born")}
    columns |= {name: forms["pandas"][name].tolist() for name in ("town", "letter")}
    columns["mails"] = [int(line[-1]) for line in lines()]
    columns["town"] = [line[1] or None for line in lines()]
    assert bits(read_log(columns, toml)) == bits(read_log(log, toml))
    with pytest.raises(InvalidInput, match=r"the data frame: expected columns of one kind each, .*length"):
        read_log(columns | {"age": [1.0]}, toml)


def database():
    """The log in a database, with no type in a column that has one in all others."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table log (age real, town text, letter text, visit int, p real, born, mails int)")
    connection.executemany("insert into log values (?,?,?,?,?,?,?)", [[z if z else None for z in r] for r in lines()])
    connection.execute("update log set letter = '' where letter is null")
    return connection


def test_queries_of_a_database(tmp_path):
    log, toml = shop.write(tmp_path, lines(), PROBLEM, HEADER)
    connection = database()
    found = read_log(Query(connection, "select * from log"), toml)
    assert (found.name, bits(found)) == ("the query", bits(read_log(log, toml)))
    asked = Query(connection, "select * from log where age > :age", {"age": 40})
    assert len(read_log(asked, toml)) == sum(float(line[0] or 0) > 40 for line in lines())
    assert draft(asked).text == draft(Query(connection, "select * from log where age > ?", [40])).text
    for text, said in (
        ("selct", 'expected a statement that the database runs, got near "selct"'),
        ("select * from logs", "expected a statement that the database runs, got no such table: logs"),
        ("select iif(rowid % 2, 'a', 1) as a from log", "expected columns of one kind each, got "),
        ("delete from log", "expected a statement that selects rows, got delete from log"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(f"the query: {said}")):
            read_log(Query(connection, text), toml)


@pytest.mark.skipif(find_spec("duckdb") is None, reason="duckdb is in no extra")
def test_relations_of_duckdb(tmp_path):
    import duckdb

    log, toml, forms = written(tmp_path)
    connection = duckdb.connect()
    connection.register("given", forms["pyarrow"])
    connection.execute("create table log as select * from given")
    for found in (connection.sql("select * from log"), Query(connection, "select * from log")):
        assert bits(read_log(found, toml)) == bits(read_log(log, toml))


@pytest.mark.skipif(find_spec("polars") is None, reason="polars is in no extra")
def test_polars_too(tmp_path):
    import polars as pl

    log, toml, forms = written(tmp_path)
    assert bits(read_log(pl.from_arrow(forms["pyarrow"]), toml)) == bits(read_log(log, toml))


def test_replays_and_values_take_them(tmp_path):
    log, toml, forms = written(tmp_path)
    quick = {"replicas": 2, "bootstrap": 0, "progress": False}
    one, other = replay_log(log, toml, **quick), replay_log(forms["pandas"], toml, **quick)
    assert str(one).partition("\n")[2] == str(other).partition("\n")[2]
    assert str(other).startswith("the data frame: 700 rows")
    assert str(eh.value(forms["folder"], toml)).partition("\n")[2] == str(eh.value(log, toml)).partition("\n")[2]
    assert Evidence.of(read_log(forms["file"], toml), "p").log == "log.parquet"
    assert draft(forms["pandas"]).open == draft(forms["file"]).open == ()


def test_columns_of_texts_and_whole_numbers_are_read_like_those_of_a_file(tmp_path):
    """As pandas reads a CSV, in which a code with gaps becomes a float, and as one reads all as texts."""
    rows = lines()
    log, toml = shop.write(tmp_path, rows, PROBLEM.replace('by = "town"', 'by = "mails"'), HEADER)
    texts = pd.DataFrame(dict(zip(HEADER, zip(*rows, strict=True), strict=True)), dtype=str)
    floats = frame(rows).assign(mails=lambda z: z["mails"].astype(float))
    expected = bits(read_log(log, toml))
    assert set(expected[1]["mails"]) == set("01234")
    assert bits(read_log(texts, toml)) == bits(read_log(floats, toml)) == expected


def test_dates_with_times_and_zones(tmp_path):
    problem = shop.PROBLEM.replace('numeric = ["age"]', 'dates = ["age"]')
    rows = shop.rows(300)
    moments = pd.Series(pd.date_range("2026-01-01", periods=300, freq="7h", tz="Europe/Berlin"))
    data = pd.DataFrame(dict(zip(shop.HEADER, zip(*rows, strict=True), strict=True))).assign(age=moments)
    toml = tmp_path / "problem.toml"
    toml.write_text(problem)
    days = read_log(data, toml).columns()["age"]
    expected = (moments.dt.tz_localize(None) - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)  # as it is written
    np.testing.assert_allclose(days, expected, rtol=0, atol=1e-9)


def test_folders_may_state_a_column(tmp_path):
    rows = shop.rows(400)
    data = pd.DataFrame(dict(zip(shop.HEADER, zip(*rows, strict=True), strict=True)))
    for town, part in data.groupby("town"):
        home = tmp_path / "log" / f"town={town}"
        home.mkdir(parents=True)
        part.drop(columns="town").to_parquet(home / "a.parquet", index=False)
    toml = tmp_path / "problem.toml"
    toml.write_text(shop.PROBLEM)
    log = read_log(tmp_path / "log", toml)
    assert len(log) == 400
    assert log.encoded.levels["town"] == {
        "north": (data.town == "north").mean(),
        "south": (data.town == "south").mean(),
    }


def test_bad_rows_name_their_row_and_file(tmp_path):
    rows = [[*line[:3], "1", line[4]] for line in shop.rows(300)]
    data = pd.DataFrame(dict(zip(shop.HEADER, zip(*rows, strict=True), strict=True)))
    data["visit"] = data["visit"].astype(float)
    data.loc[250, "visit"] = 7.5
    data.loc[251, "visit"] = np.nan
    toml = tmp_path / "problem.toml"
    toml.write_text(shop.PROBLEM)
    said = "2 rows: 'visit' is not a number in [0, 1] (first in row 251: '7.5')"
    with pytest.raises(InvalidInput, match=re.escape(said)):
        read_log(data, toml)
    folder = tmp_path / "parts"
    folder.mkdir()
    data[:200].to_parquet(folder / "a.parquet")
    data[200:].to_parquet(folder / "b.parquet")
    with pytest.raises(InvalidInput, match=re.escape(said.replace("row 251", "row 51 of b.parquet"))):
        read_log(folder, toml)


def refused(tmp_path, log, message, problem=shop.PROBLEM):
    toml = tmp_path / "problem.toml"
    toml.write_text(problem)
    with pytest.raises(InvalidInput, match=message) as caught:
        read_log(log, toml)
    assert "\n" not in str(caught.value)


def test_logs_that_cannot_be_read(tmp_path):
    data = pd.DataFrame(dict(zip(shop.HEADER, zip(*shop.rows(60), strict=True), strict=True)))
    whole = tmp_path / "log.parquet"
    data.to_parquet(whole)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-40])
    refused(tmp_path, cut, r"^cut.parquet: expected a complete Parquet file, or a folder of them, got")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(tmp_path, empty, "^empty: expected a complete Parquet file, or a folder of them, got a folder without")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    data.to_parquet(mixed / "a.parquet")
    data.drop(columns="p").rename(columns={"visit": "visits"}).to_parquet(mixed / "b.parquet")
    refused(
        tmp_path,
        mixed,
        r"^problem.toml, line \d+: outcomes.visit: 'visit': expected a column of b.parquet, as of other files",
    )
    (mixed / "b.parquet").write_text("age,town\n1,2\n")
    refused(tmp_path, mixed, "^mixed: expected a complete Parquet file, or a folder of them, got")
    refused(
        tmp_path,
        data.rename(columns={"age": "Age"}),
        r"^problem.toml, line \d+: features.numeric: 'age': expected a column of the data frame",
    )
    refused(
        tmp_path,
        data.assign(town=[["x"]] * 60),
        r"^groups.town: 'town' of the data frame: expected numbers, texts or",
    )
    refused(
        tmp_path, data.assign(age=[1, "x"] * 30), r"^the data frame: expected columns of one kind each, by names that"
    )
    refused(
        tmp_path,
        data.assign(visit=2.0),
        r"^the data frame: expected an action, a propensity and outcomes .*first in row 1: '2'\); outside.visit says",
    )
    refused(tmp_path, data[:0], "^the data frame: expected at least one row after the header, got none")
    refused(tmp_path, 3, r"^log: expected .*, got 3")
    refused(tmp_path, tmp_path / "none.parquet", r"^none.parquet: expected a file that can be read, got No such file")


def test_what_is_missing_is_named_where_pyarrow_is_not_installed(tmp_path):
    toml = tmp_path / "problem.toml"
    toml.write_text(shop.PROBLEM)
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from evenhand.replay import read_log\n"
        "class Frame:\n    def __arrow_c_stream__(self, requested_schema=None): ...\n"
        f"read_log(Frame(), {str(toml)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(f"MissingExtra: {MissingExtra('data frames', 'parquet')}")


def test_a_csv_in_parts_of_many_rows_is_read_as_a_whole(tmp_path):
    """Texts become numbers part by part; the first row of the second part is in its place, and named if it is bad."""
    lines = shop.rows(50_001)
    log, toml = shop.write(tmp_path, lines)
    assert read_log(log, toml).columns()["age"].tolist() == [float(line[0]) for line in lines]
    lines[50_000][0] = "old"
    found = read_log(shop.write(tmp_path, lines)[0], toml)
    assert found.bad.messages() == ["1 row: 'age' is not a finite number (first in line 50002: 'old')"]


@pytest.mark.parametrize("zones", ["one", "several"])
def test_a_date_with_a_time_zone_is_the_day_that_is_written(tmp_path, zones):
    """In every form of a log, also where the offset differs by row, which a note says; 1 March is no 29 February."""
    problem = shop.PROBLEM.replace('numeric = ["age"]', 'dates = ["age"]')
    rows = shop.rows(300)
    for i, row in enumerate(rows):
        row[0] = f"2024-03-{1 + i % 5:02}T00:00:00+0{2 if zones == 'one' else 1 + i % 2}:00"
    log, toml = shop.write(tmp_path, rows, problem)
    data = pd.DataFrame(dict(zip(shop.HEADER, zip(*rows, strict=True), strict=True)))
    moments = data.assign(age=pd.Series([pd.Timestamp(z).to_pydatetime() for z in data["age"]], dtype=object))
    forms = [log, data, moments]
    if zones == "one":
        forms += [data.assign(age=pd.to_datetime(data["age"])), pa.Table.from_pandas(moments)]
    first = (np.datetime64("2024-03-01") - np.datetime64("1970-01-01")).astype(int)
    for form in forms:
        found = read_log(form, toml)
        assert found.columns()["age"].tolist() == [first + i % 5 for i in range(300)]
        note = "'age' has dates of several time zones (UTC+01:00, UTC+02:00): each is the day that is written there"
        assert (note in found.notes) == (zones == "several")
        mine = eh.value(form, toml, rules=["b where age >= 2024-03-01; else none"]).policies[-1]
        assert mine.doubt.cases == eh.value(form, toml).policies[3].doubt.cases  # all of them


class Stream:
    """What hands over its columns once."""

    def __init__(self, table):
        self.reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=70))

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def test_streams_are_read_once_and_whole(tmp_path):
    log, toml, forms = written(tmp_path)
    expected, table = bits(read_log(log, toml)), pa.Table.from_pandas(forms["pandas"])
    for form in (Stream(table).reader, Stream(table)):
        assert bits(read_log(form, toml)) == expected
        for again in (lambda form: read_log(form, toml), draft):
            with pytest.raises(
                InvalidInput, match=r"a stream with rows, got none, as after it was read: keep it as py"
            ):
                again(form)
    assert draft(Stream(table)).text == draft(table).text
    assert str(eh.value(Stream(table).reader, toml)) == str(eh.value(table, toml))
    assert str(replay_log(Stream(table), toml, replicas=1, bootstrap=0)) == str(
        replay_log(table, toml, replicas=1, bootstrap=0)
    )


def test_durations_have_no_unit(tmp_path):
    _, toml, forms = written(tmp_path)
    data = forms["pandas"].assign(age=pd.to_timedelta(forms["pandas"]["mails"].astype(float), unit="h"))
    data.to_parquet(tmp_path / "durations.parquet")
    for form in (data, pa.Table.from_pandas(data), tmp_path / "durations.parquet"):
        for read in (lambda form: read_log(form, toml), draft):
            with pytest.raises(
                InvalidInput, match=r"'age' of .*duration.*: divide it by a unit, such as pandas.Timede"
            ):
                read(form)
    hours = data.assign(age=data["age"] / pd.Timedelta(hours=1))
    assert set(read_log(hours, toml).columns()["age"]) == {0.0, 1.0, 2.0, 3.0, 4.0}


def test_columns_of_several_kinds_are_named_in_a_sentence(tmp_path):
    _, toml, forms = written(tmp_path)
    data = forms["pandas"].assign(town=pd.Series(["north", 3, 2.5, None] * 175, dtype=object))
    with pytest.raises(InvalidInput, match=r"one kind each.*, got [^(].*; Conversion failed for column town"):
        read_log(data, toml)
