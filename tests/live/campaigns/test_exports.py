"""Exports have what the log has, in the formats of others: each is read back and compared."""

import csv
import json
import re
import subprocess
import sys
from urllib.parse import unquote

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.live import Busy
from evenhand.live.campaigns.commands import policies
from evenhand.live.campaigns.exports import export
from evenhand.live.campaigns.history import History
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from tests.live.store_failures import Striking
from tests.replay.shop import PROBLEM, rows, write


@pytest.fixture
def campaign(tmp_path):
    """A campaign of a problem file: of 60 decisions, a third waits and one is cancelled."""
    log, file = write(tmp_path, rows(300))
    found = eh.live.open_campaign(MemoryStore(), "post", file, log_path=log, learn=False)
    for i, row in enumerate(rows(60, seed=1)):
        said = found.decide({"age": float(row[0]), "town": row[1]}, key=f"customer {i}")
        if i == 3:
            found.cancel(said.id)
        elif i % 3:
            found.observe(said.id, {"visit": i % 2})
    return found


@pytest.fixture
def store(campaign):
    return campaign._worker.store


@pytest.fixture
def seen(store):
    """The rows that were observed."""
    return [row for row in History.of(store, "post") if row["state"] == "observed"]


ODD = {"size: big": 3, "state": "c|d", "action": 0.5}


OUTCOMES = (eh.Outcome("won"), eh.Outcome("paid", high=9.0))


def shop(outcomes=OUTCOMES, plays=1):
    """The store of a campaign of Python, in which names have a meaning to others."""
    problem = eh.Problem(
        actions=("no", "yes"),
        features=(eh.Numeric("size: big", 0, 9), eh.Categorical("state", ("a b", "c|d")), eh.Numeric("action", 0, 1)),
        outcomes=outcomes,
        maximize=outcomes[0].name,
        horizon=50,
        n_plays=plays,
    )
    store = MemoryStore()
    found = eh.Campaign.open(store, "shop", eh.uniform(problem, 8))
    for i in range(6):
        said = found.decide({**ODD, "size: big": i, "state": ("a b", "c|d")[i % 2]}, key=f"=1+{i}")
        if i:
            play = {outcome.name: i % 2 for outcome in outcomes}
            found.observe(said.id, play if plays == 1 else [play] * plays)
    return store


def test_a_history_is_that_of_one_moment_and_can_be_read_again(campaign, store):
    history = History.of(store, "post")
    before = list(history)
    said = campaign.decide({"age": 33, "town": "north"}, key="later")
    campaign.observe(said.id, {"visit": 1})
    campaign.observe(before[0]["id"], {"visit": 1})
    assert list(history) == before
    assert [row["state"] for row in before[:5]] == ["waiting", "observed", "observed", "cancelled", "observed"]
    assert set().union(*before) <= set(history.columns)
    assert next(iter(History.of(store, "post")))["outcome visit"] == 1


def test_a_name_of_a_case_does_not_hide_what_was_decided(tmp_path):
    store = shop()
    assert History.of(store, "shop").columns == (
        *("id", "key", "at", "case action", "size: big", "case state"),
        *("action", "probability", "state", "outcome paid", "outcome won"),
    )
    assert export(store, "shop", tmp_path / "x.csv", observed=True, verbatim=True) == 5
    with (tmp_path / "x.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert first["key"] == "=1+1"  # as it was said
    assert (first["case state"], first["state"], first["case action"]) == ("c|d", "observed", "0.5")
    assert first["action"] in ("no", "yes")


@pytest.mark.parametrize("text", ["=1+2*3", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_a_spreadsheet_runs_no_cell(tmp_path, text):
    store = shop()
    with store.write("shop") as log:
        log.append("decided", json.dumps({**read(log.get(2)), "case": {**ODD, "state": text}}), key=text)
    for verbatim, expected in ((False, f"'{text}"), (True, text)):
        export(store, "shop", tmp_path / "x.csv", verbatim=verbatim)
        with (tmp_path / "x.csv").open(newline="") as file:
            *_, last = csv.DictReader(file)
        assert (last["key"], last["case state"], last["size: big"]) == (expected, expected, "3")
    export(store, "shop", tmp_path / "x.jsonl")
    assert json.loads((tmp_path / "x.jsonl").read_text().splitlines()[-1])["key"] == text


def test_a_spreadsheet_runs_no_name_of_a_column(tmp_path):
    asked = {"actions": ("no", "yes"), "features": (eh.Numeric("+size", 0, 9),), "horizon": 9}
    problem, store = eh.Problem(**asked, outcomes=(eh.Outcome("won"),), maximize="won"), MemoryStore()
    eh.Campaign.open(store, "shop", eh.uniform(problem, 2)).decide({"+size": 3}, key="a")
    for verbatim, expected in ((False, "'+size"), (True, "+size")):
        assert export(store, "shop", tmp_path / "x.csv", verbatim=verbatim) == 1
        head, row = csv.reader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines())
        assert expected in head
        assert len(head) == len(row)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.npz", "x.vw"])
def test_an_export_that_fails_leaves_the_file_before(tmp_path, monkeypatch, name):
    if name == "x.parquet":
        pytest.importorskip("pyarrow")
    out, other = tmp_path / name, tmp_path / "other"
    outcome = {"outcome": "won"} if name in ("x.npz", "x.vw") else {}
    other.write_text("of somebody else")
    out.symlink_to(other)
    export(shop(), "shop", out, **outcome)
    assert (out.is_symlink(), other.read_text()) == (False, "of somebody else")
    before = out.read_bytes()
    monkeypatch.setattr(
        "evenhand.live.campaigns.exports._count", lambda *_: iter([object()])
    )  # a row that cannot be written
    with pytest.raises((AttributeError, TypeError)):
        export(shop(), "shop", out, **outcome)
    assert out.read_bytes() == before
    assert sorted(z.name for z in tmp_path.iterdir()) == ["other", name]
    assert out.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_tables_have_every_row(store, tmp_path, suffix):
    out, history = tmp_path / f"x.{suffix.upper()}", History.of(store, "post")
    assert export(store, "post", out) == 60
    if suffix == "csv":
        with out.open(newline="") as file:
            found = [{k: v for k, v in row.items() if v} for row in csv.DictReader(file)]
        expected = [{k: str(v) for k, v in row.items() if v is not None} for row in history]
    elif suffix == "jsonl":
        found, expected = [json.loads(line) for line in out.read_text().splitlines()], list(history)
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
        assert table.column_names == list(history.columns)
        assert [str(kind) for kind in table.schema.types] == [
            *("int64", "string", "int64", "double", "string"),
            *("string", "double", "string", "double"),
        ]
        found = table.to_pylist()
        expected = [{**dict.fromkeys(history.columns), **row} for row in history]
    assert found == expected


def test_parquet_has_lists_and_mixed_values_as_json(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    store = shop()
    with store.write("shop") as log:
        body = read(log.get(2))
        for i, case in enumerate(({"n": [1, 2], "m": 1, "w": 1}, {"m": "x", "w": 0.5})):
            log.append("decided", json.dumps({**body, "case": case}), key=str(i))
    export(store, "shop", tmp_path / "x.parquet")
    found = parquet.read_table(tmp_path / "x.parquet").to_pylist()[-2:]
    assert [(row["n"], row["m"], row["w"]) for row in found] == [("[1, 2]", "1", 1.0), (None, '"x"', 0.5)]


def test_without_pyarrow_the_error_says_what_to_install(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"evenhand\[parquet\]"):
        export(store, "post", tmp_path / "x.parquet")


def test_bandit_feedback_for_the_open_bandit_pipeline(store, seen, tmp_path):
    assert export(store, "post", tmp_path / "x.npz") == len(seen)
    found = dict(np.load(tmp_path / "x.npz"))
    assert (found["n_rounds"], found["n_actions"], found["actions"].tolist()) == (len(seen), 3, ["none", "a", "b"])
    assert found["actions"][found["action"]].tolist() == [row["action"] for row in seen]
    assert found["pscore"].tolist() == [row["probability"] for row in seen]
    assert found["reward"].tolist() == [row["outcome visit"] for row in seen]
    assert found["position"].tolist() == [0] * len(seen)
    coded = policies(store, "post")[0].coded
    assert found["features"].tolist() == list(coded.units.names) == ["1", "age", "town=north"]
    expected = [coded.units.row({name: row[name] for name in ("age", "town")}) for row in seen]
    np.testing.assert_array_equal(found["context"], expected)


def test_bandit_feedback_of_a_campaign_of_python_has_the_numbers_of_cases(tmp_path):
    assert export(shop(), "shop", tmp_path / "x", kind="obp", outcome="paid") == 5
    found = dict(np.load(tmp_path / "x"))
    assert found["features"].tolist() == ["action", "size: big"]
    assert found["context"].tolist() == [[0.5, i] for i in range(1, 6)]
    assert found["reward"].tolist() == [1, 0, 1, 0, 1]


LINE = re.compile(r"(\d+):([-\d.e]+):([\d.e-]+) \|((?: [^\s:|]+(?::[-\d.e+]+)?)*)")


def parsed(path):
    """Actions, costs, probabilities and features of lines, as Vowpal Wabbit reads them."""
    for line in path.read_text().splitlines():
        action, cost, probability, features = LINE.fullmatch(line).groups()
        pairs = (z.partition(":") for z in features.split())
        yield int(action), float(cost), float(probability), {unquote(a): float(b) if b else 1.0 for a, _, b in pairs}


@pytest.mark.parametrize("suffix", ["vw", "txt", "dat"])
def test_lines_for_vowpal_wabbit(store, seen, tmp_path, suffix):
    out = tmp_path / f"x.{suffix}"
    assert export(store, "post", out) == len(seen)
    expected = [
        (
            1 + ("none", "a", "b").index(row["action"]),
            -row["outcome visit"],
            row["probability"],
            {"age": row["age"], f"town={row['town']}": 1.0},
        )
        for row in seen
    ]
    assert list(parsed(out)) == expected


def test_vowpal_wabbit_itself_reads_the_same(store, tmp_path):
    """Actions, costs, probabilities, and the features by their hashes, beside the constant that it adds."""
    vw = pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed")
    for odd in (False, True):
        out = tmp_path / f"{odd}.vw"
        assert export(*((shop(), "shop", out) if odd else (store, "post", out)), outcome="won" if odd else None)
        reader = vw.Workspace("--cb 3 --quiet")
        space = reader.hash_space(" ")
        for line, wanted in zip(out.read_text().splitlines(), parsed(out), strict=True):
            read_as = reader.parse(line, vw.LabelType.CONTEXTUAL_BANDIT)
            (cost,) = read_as.get_label(vw.LabelType.CONTEXTUAL_BANDIT).costs
            assert (cost.action, cost.cost, cost.probability) == pytest.approx(wanted[:3], rel=1e-6)  # 32 bits
            stated = (z.partition(":")[::2] for z in line.partition("|")[2].split())
            mask = 2**18 - 1
            hashed = {reader.hash_feature(name, space) & mask: float(z) if z else 1.0 for name, z in stated}
            found = dict(zip(*np.array(list(read_as.iter_features())).T, strict=True))
            hashed |= {i: 1.0 for i in found.keys() - hashed.keys() if len(found) == len(hashed) + 1}
            assert found == pytest.approx(hashed, rel=1e-6)
            reader.finish_example(read_as)
        reader.finish()


def test_names_for_vowpal_wabbit_are_escaped(tmp_path):
    assert export(shop(), "shop", tmp_path / "x.vw", outcome="won") == 5
    *_, (action, cost, probability, features) = parsed(tmp_path / "x.vw")
    assert (cost, probability, features) == (-1.0, 0.5, {"size: big": 5.0, "state=c|d": 1.0, "action": 0.5})
    assert action in (1, 2)


def test_only_what_has_a_probability_and_the_outcome_is_fed_back(tmp_path):
    store = shop()
    with store.write("shop") as log:
        body = read(log.get(2))
        unknown = log.append("decided", json.dumps({**body, "p": [None]}), key="unknown").seq
        partly = log.append("decided", json.dumps(body), key="partly").seq
        log.append("observed", '{"y":{"won":1,"paid":1}}', ref=unknown)
        log.append("observed", '{"y":{"won":1,"paid":null}}', ref=partly)
    assert export(store, "shop", tmp_path / "x.vw", outcome="won") == 6
    assert export(store, "shop", tmp_path / "x.vw", outcome="paid") == 5


def test_before_the_first_decision(tmp_path):
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    store = MemoryStore()
    eh.Campaign.open(store, "coins", eh.uniform(coin, 1))
    for suffix in ("csv", "jsonl", "parquet"):
        assert export(store, "coins", tmp_path / f"x.{suffix}") == 0
    for suffix in ("npz", "vw"):
        assert export(store, "coins", tmp_path / f"x.{suffix}", outcome="gain") == 0


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("x.xls", {}, r"out: expected a name that ends in .csv, .jsonl, .parquet, .npz, .vw, .txt, .dat, or a format"),
        ("x", {}, "out: expected a name that ends in"),
        ("x", {"kind": "parket"}, r"format: expected one of csv, .*, got 'parket' \(did you mean parquet\?\)"),
        ("x.csv", {"outcome": "won"}, "outcome: expected none, as tables have all of them"),
        ("x.vw", {}, r"outcome: expected the name of the reward, one of \['paid', 'won'\], got none"),
        ("x.vw", {"outcome": "pad"}, r"one that was observed, of .*, got 'pad' \(did you mean paid\?\)"),
        ("no/folder/x.csv", {}, "out: expected a file that can be written"),
    ],
)
def test_what_an_export_is_refused_for(tmp_path, name, more, told):
    with pytest.raises(InvalidInput, match=told):
        export(shop(), "shop", tmp_path / name, **more)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_fails_meanwhile_is_busy_and_the_file_is_not_blamed(tmp_path):
    store = Striking(shop())
    store.strike(1, Busy("locked"))  # the second time that the log is read
    with pytest.raises(Busy, match="locked"):
        export(store, "shop", tmp_path / "x.csv")


def test_several_plays_are_a_table_and_no_bandit_feedback(tmp_path):
    store = shop(outcomes=(eh.Outcome("won"),), plays=2)
    assert export(store, "shop", tmp_path / "x.csv") == 6
    assert "action 2,probability 2,state,outcome won,outcome won 2" in (tmp_path / "x.csv").read_text()
    with pytest.raises(InvalidInput, match="campaign: expected one play per decision, got 'shop', with 2"):
        export(store, "shop", tmp_path / "x.vw")


def test_the_command_line(tmp_path, capsys):
    log, file = write(tmp_path, rows(300))
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    campaign = eh.live.open_campaign(store, "post", file, log_path=log)
    for i in range(3):
        campaign.observe(campaign.decide({"age": 33, "town": "north"}, key=str(i)).id, {"visit": 1})
    campaign.decide({"age": 33, "town": "north"}, key="waits")
    for name, more in (("x.vw", ()), ("x.npz", ("--outcome", "visit")), ("x", ("--format", "csv", "--observed"))):
        assert main(["export", store, "--out", str(tmp_path / name), *more]) == 0
        assert capsys.readouterr().out == f"written: {tmp_path / name}, 3 decisions\n"
    assert main(["export", store, "--out", str(tmp_path / "shop.db"), "--format", "csv"]) == 2
    assert "out: expected a file other than the store" in capsys.readouterr().err
    for end in (".gate", ".lock", "-journal", "-wal"):
        assert main(["export", store, "--out", str(tmp_path / f"shop.db{end}"), "--format", "csv"]) == 2
        assert "out: expected a file other than the store" in capsys.readouterr().err
    assert main(["export", store, "--out", str(tmp_path / "x.xls")]) == 2
    assert "evenhand: out: expected a name that ends in .csv" in capsys.readouterr().err


def test_what_is_observed_can_be_replayed_at_once(store, seen, tmp_path):
    out, file = tmp_path / "seen.csv", tmp_path / "again.toml"
    export(store, "post", out, observed=True)
    problem = PROBLEM.replace('column = "letter"\nvalues = { "" = "none", "A" = "a", "B" = "b" }',
                              'column = "action"\nvalues = { none = "none", a = "a", b = "b" }')  # fmt: skip
    problem = problem.replace("constant = 0.333333", 'column = "probability"').replace("horizon = 300", "horizon = 10")
    file.write_text(problem.replace("[outcomes.visit]", '[outcomes.visit]\ncolumn = "outcome visit"'))
    assert eh.replay_log(out, file, replicas=2, bootstrap=0, progress=False).rows == len(seen)


@pytest.mark.slow
def test_a_long_log_takes_little_memory(tmp_path):
    """In a process of its own; the rest of a million decisions would have to fit as well."""
    code = """
import json
import resource
import sys
from pathlib import Path
from evenhand.live.log.events import read
from evenhand.live.campaigns.exports import export
from tests.live.campaigns.test_exports import shop
store = shop()
with store.write("shop") as log:
    body = read(log.get(2))
    for i in range(20_000):
        seq = log.append("decided", json.dumps({**body, "case": {**body["case"], "size: big": i}}), key=f"c {i}").seq
        log.append("observed", json.dumps({"y": {"won": 1, "paid": i / 7}}), ref=seq)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in ("x.csv", "x.jsonl", "x.vw"):
    assert export(store, "shop", Path(sys.argv[1]) / name, outcome="won" if name == "x.vw" else None) >= 20_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000  # kilobytes: at most one a decision
