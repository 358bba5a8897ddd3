"""The command line on the log of a campaign: audits and exports, which replay reads again."""

import csv
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from tests.replay.shop import PROBLEM, rows, write


@pytest.fixture
def served(tmp_path):
    return begun(tmp_path, learn=True)


def begun(tmp_path, learn):
    """A campaign of a problem file with 90 decisions; its store, its problem file and its log."""
    log, file = write(tmp_path, rows(300))
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=learn)
    for i, row in enumerate(rows(90, seed=1)):
        said = campaign.decide({"age": float(row[0]), "town": row[1]}, key=f"customer {i}")
        if i % 3:
            campaign.observe(said.id, {"visit": i % 2})
    return store, file, log


def test_an_audit_says_that_all_is_as_it_was(served, capsys):
    store, file, log = served
    file.unlink()  # the campaign kept what it says
    assert main(["audit", store, "--log", str(log)]) == 0
    assert "as it was stored" in capsys.readouterr().out
    assert main(["audit", store, "post", "--log", str(log)]) == 0
    head = list(connect(store).scan("post"))[-1].hash.hex()
    assert capsys.readouterr().out == (
        f"post: 151 events, 90 decisions\nevery decision that was recomputed is as it was stored\nhead 151:{head}\n"
    )


def test_what_an_audit_needs_is_named(served, capsys):
    store, file, log = served
    assert main(["audit", store, "post", "--log", str(file)]) == 2
    assert "learned from another log, or from none" in capsys.readouterr().err
    assert main(["audit", store, "post"]) == 0  # by what the store keeps of the log
    capsys.readouterr()
    assert main(["audit", store, "spring"]) == 2
    assert capsys.readouterr().err == "evenhand: no campaign 'spring'; the store has ['post']\n"
    assert main(["audit", "redis://x", "post"]) == 2
    assert "store: expected sqlite:///FILE" in capsys.readouterr().err
    file.write_text(PROBLEM.replace("rate = 0.3", "rate = 0.4"))
    assert main(["audit", store, "post", "--log", str(log), "--problem", str(file)]) == 1
    assert "90 decisions of policies that were not given were not recomputed" in capsys.readouterr().out


def test_an_export_is_a_log_that_replay_reads(tmp_path, capsys):
    store, file, _ = begun(tmp_path, learn=False)  # with a warm-up, in which every action is played
    out = tmp_path / "decisions.csv"
    assert main(["export", store, "post", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"written: {out}, 90 decisions\n"
    with out.open(newline="") as opened:
        found = list(csv.DictReader(opened))
    assert len(found) == 90
    assert {row["state"] for row in found} == {"observed", "waiting"}
    seen = [row for row in found if row["state"] == "observed"]
    again = tmp_path / "seen.csv"
    with again.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(seen[0]))
        writer.writeheader()
        writer.writerows(seen)
    problem = PROBLEM.replace('column = "letter"\nvalues = { "" = "none", "A" = "a", "B" = "b" }',
                              'column = "action"\nvalues = { none = "none", a = "a", b = "b" }')  # fmt: skip
    problem = problem.replace("constant = 0.333333", 'column = "probability"')
    problem = problem.replace("[outcomes.visit]", '[outcomes.visit]\ncolumn = "outcome visit"')
    file.write_text(problem.replace("horizon = 300", "horizon = 10"))
    replayed = eh.replay_log(again, file, replicas=2, bootstrap=0, progress=False)
    assert replayed.rows == len(seen)


def test_an_export_of_json_has_a_line_per_decision(served, tmp_path):
    store, _, _ = served
    out = tmp_path / "decisions.jsonl"
    main(["export", store, "post", "--out", str(out)])
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["key"] for line in lines[:2]] == ["customer 0", "customer 1"]
    assert lines[1]["outcome visit"] == 1


def test_a_campaign_without_a_problem_file_is_named(tmp_path, capsys):
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    store = f"sqlite:///{tmp_path / 'coins.db'}"
    eh.Campaign.open(store, "coins", eh.resolving(coin, eh.PerAction.of(coin)))
    assert main(["audit", store, "coins"]) == 2
    assert "campaign: expected one that was opened with a problem file" in capsys.readouterr().err
    assert main(["export", store, "coins", "--out", str(tmp_path / "x.csv")]) == 0
    eh.Campaign.open(store, "more coins", eh.resolving(coin, eh.PerAction.of(coin)))
    assert main(["audit", store]) == 2
    assert "campaign: expected one of ['coins', 'more coins'], got none" in capsys.readouterr().err


def test_a_report_is_one_page(served, tmp_path, capsys):
    store, _, log = served
    out = tmp_path / "report.html"
    assert main(["report", store, "--out", str(out), "--log", str(log)]) == 0
    assert capsys.readouterr().out == f"written: {out}\n"
    text = out.read_text()
    assert "Budgets" in text
    assert "customer 89" in text
    assert "<script" not in text
    assert main(["report", store, "--out", str(out)]) == 0
    assert "customer 89" in out.read_text()
    with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as db, db:
        db.execute("DELETE FROM snapshots")
    assert main(["report", store, "--out", str(out)]) == 2
    assert "learned from a log: open it with the same one" in capsys.readouterr().err
    assert main(["report", store, "--out", str(tmp_path), "--log", str(log)]) == 2
    assert "path: expected a file that can be written" in capsys.readouterr().err


def test_a_report_is_a_mapping_as_well(served):
    store, file, log = served
    campaign = eh.live.open_campaign(store, "post", file, log_path=log)
    found = campaign.report()
    assert json.loads(json.dumps(found)) == found
    assert found["rounds"] == 90
    assert found["observed"] + found["waiting"] <= 90
    assert set(found["budgets"]) == {"post"}


@pytest.mark.parametrize("command", ["report", "export"])
@pytest.mark.parametrize("end", ["", "-wal"])
def test_nothing_is_written_over_the_store(served, capsys, command, end):
    store, _, log = served
    path = store.removeprefix("sqlite:///")
    more = ("--log", str(log)) if command == "report" else ("--format", "csv")
    assert main([command, store, "--out", path + end, *more]) == 2
    assert "out: expected a file other than the store" in capsys.readouterr().err
    assert main(["audit", store, "--log", str(log)]) == 0


def test_the_file_of_another_program_is_refused_and_stays_as_it_is(tmp_path, capsys):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE users (name)")
    before = path.read_bytes()
    for command in (["audit"], ["export", "--out", str(tmp_path / "x.csv")], ["report", "--out", str(tmp_path / "x")]):
        assert main([command[0], f"sqlite:///{path}", *command[1:]]) == 2
        assert "store: expected an SQLite file with the log of a campaign" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert [z.name for z in tmp_path.iterdir()] == ["other.db"]


def test_a_store_without_a_campaign_is_named(tmp_path, capsys):
    SqliteStore(tmp_path / "empty.db")
    assert main(["audit", f"sqlite:///{tmp_path / 'empty.db'}"]) == 2
    assert capsys.readouterr().err == "evenhand: store: expected one that has a campaign, got an empty one\n"


def test_a_person_is_erased_by_the_command(served, capsys, tmp_path):
    store, _, log = served
    said = ["--by", "a clerk", "--why", "asked to", "--log", str(log)]
    for left_out in ([], said[:2], said[2:4]):
        with pytest.raises(SystemExit):
            main(["erase", store, "--key", "customer 1", *left_out])
    capsys.readouterr()
    assert main(["erase", store, "--key", "customer 1", "--key", "customer 2", *said]) == 0
    printed = capsys.readouterr()
    assert printed.out == "2 erased\n"
    assert printed.err.startswith(
        "note: after an erasure, a switch to another model, recipe or constraints keeps the books"
    )
    assert b'customer 1"' not in (tmp_path / "shop.db").read_bytes()
    assert main(["audit", store, "--log", str(log)]) == 0
    assert "2 decisions erased; 87 others before the last erasure cannot be recomputed" in capsys.readouterr().out
    assert main(["erase", store, "--key", "customer 0", *said]) == 2
    assert "waits for its outcome: observe or cancel it first" in capsys.readouterr().err
    assert main(["erase", store, "--before", "2099-01-31", *said]) == 2
    assert "before: expected a date or time in the past" in capsys.readouterr().err
    assert main(["erase", store, "--before", datetime.now(UTC).isoformat(), *said]) == 0
    assert capsys.readouterr().out == "58 erased; 30 left, as they wait for their outcomes\n"
    assert main(["erase", store, "--log", str(log)]) == 0
    assert capsys.readouterr().out == "0 erased\n"
    assert main(["erase", store, "--before", "yesterday", *said]) == 2
    assert "before: expected a date such as 2026-01-31" in capsys.readouterr().err
    assert main(["erase", f"sqlite:///{tmp_path}/none.db", "--key", "x", *said]) == 2
    assert not (tmp_path / "none.db").exists()
    assert main(["export", store, "--out", str(tmp_path / "all.csv")]) == 0
    assert (tmp_path / "all.csv").read_text().count(",erased,") == 60


@pytest.mark.parametrize(
    ("said", "order"),
    [
        ("switch FILE STORE --by a --why b", "PROBLEM.toml; the order is: evenhand switch STORE PROBLEM.toml"),
        ("backup FILE STORE", "FILE; the order is: evenhand backup STORE FILE"),
        ("restore STORE FILE --by Ada --why so", "FILE; the order is: evenhand restore FILE STORE"),
        ("archive FILE STORE", "FILE; the order is: evenhand archive STORE FILE"),
        ("serve STORE --store FILE", "PROBLEM.toml; the order is: evenhand serve PROBLEM.toml --store STORE"),
        ("pause FILE STORE --by a --why b", "CAMPAIGN; the order is: evenhand pause STORE"),
        ("erase FILE STORE", "CAMPAIGN; the order is: evenhand erase STORE"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_and_a_file_that_changed_places_are_told_apart(tmp_path, capsys, said, order, kind):
    """What was stated is said, and the order; a password is not."""
    file = tmp_path / "post.toml"
    file.write_text("")
    store = f"sqlite:///{tmp_path}/post.db" if kind == "sqlite" else "postgresql://anna:secret@nowhere.invalid/post"
    parts = [{"FILE": str(file), "STORE": store}.get(z, z) for z in said.split()]
    assert main(parts) == 2
    told = capsys.readouterr().err
    assert f"store: expected one such as sqlite:///email.db, got '{file}', and a store as {order}\n" in told
    assert "secret" not in told
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_text() == ""


def test_what_is_no_store_beside_a_file_is_named_alone(tmp_path, capsys):
    assert main(["switch", "post.db", str(tmp_path / "post.toml"), "--by", "Ada", "--why", "so"]) == 2
    assert "got 'post.db'\n" in capsys.readouterr().err
