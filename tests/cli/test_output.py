"""Tables are JSON on request, results come alone under --quiet, and options are written in full."""

import json

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.replay import draft
from evenhand.report.results import Measurement, Results
from tests.replay.shop import rows, write as write_shop
from tests.replay.test_draft import table, write
from tests.replay.test_draft_requests import ASKED, HEADER, offers

SCHEMA = {"experiment", "version", "se", "settings", "notes", "checks", "rows"}
ROW = {"system", "at", "metric", "mean", "se", "worst", "published"}
SWEEP = 'environment="court"\nreplicas=2\nsettings.horizon=9\ngrid.ride=[0.05, 0.1]\n[[policy]]\nname="uniform"'


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A log, its problem file and a list; a missing tenure makes notes."""
    folder = tmp_path_factory.mktemp("output")
    log = write(folder, table(HEADER, offers()))
    keep = [HEADER.index(name) for name in ("segment", "tenure")]
    cases = table([HEADER[i] for i in keep], [[row[i] for i in keep] for row in offers(40, seed=5)])
    return str(log), str(draft(log, **ASKED).write(folder / "p.toml")), str(write(folder, cases, "next.csv"))


def said(capsys, *words):
    """What a command prints as JSON, which is all that it prints."""
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # NaN is no JSON


def test_a_list_in_json_has_the_numbers_of_its_table(files, tmp_path, capsys):
    log, problem, cases = files
    asked = [cases, "--problem", problem, "--learn-from", log, "--out", tmp_path / "l.csv", "--baseline", "none"]
    told = said(capsys, "assign", *asked, "--holdout", "0.2", "--lottery", "none")
    assert (set(told), set(told["rows"][0])) == (SCHEMA, ROW)
    found = {(row["system"], row["metric"]): row["mean"] for row in told["rows"]}
    own = eh.assign(cases, problem, learn_from=log, baseline="none", holdout=0.2, lottery="none")
    counts = {name: int((own.chosen == a).sum()) for a, name in enumerate(own.actions)}
    assert {name: found[name, "cases"] for name in own.actions} == counts
    assert found["all cases", "cost: budget"] == own.budgets[0].total >= found["all cases", "cost: used"]
    assert found["all cases", "beyond all none"] == pytest.approx(own.beyond.total)
    assert found["all cases", "held out"] == own.holdout.cases
    assert found["all cases", "expected (margin - cost)"] == pytest.approx(own.expected["(margin - cost)"].sum())


def test_a_replay_in_json_is_its_results(tmp_path, capsys):
    log, file = write_shop(tmp_path, rows(300))
    out = tmp_path / "out"
    asked = ["replay", log, "--problem", file, "--replicas", "2", "--bootstrap", "0", "--out", out]
    assert said(capsys, *asked) == json.loads((out / "results.json").read_text())


def test_an_audit_and_a_pool_in_json(tmp_path, capsys):
    log, file = write_shop(tmp_path, rows(300))
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    with eh.live.open_campaign(store, "post", file, log_path=log, learn=True) as campaign:
        campaign.decide({"age": 30.0, "town": "north"}, key="one")
    told = said(capsys, "audit", store, "--log", log)
    assert (told["campaign"], told["decisions"], told["clean"], told["faults"]) == ("post", 1, True, [])
    assert told["head"].startswith(f"{told['events']}:")
    for more, notes in (([], True), (["--quiet"], False)):
        assert main(["problem", store, *more]) == 0
        assert bool(capsys.readouterr().err) is notes
    pool = f"sqlite:///{tmp_path / 'pool.db'}"
    begun = said(capsys, "pool", pool, "--total", "cents=800", "--rounds", "100")
    expected = {"pool": "pool", "rounds": 100, "outcomes": {"cents": {"total": 800.0, "free": 800.0}}, "campaigns": {}}
    assert begun == said(capsys, "pool", pool) == expected


def test_simulations_in_json(tmp_path, capsys, monkeypatch):
    write(tmp_path, SWEEP, "s.toml")
    told = said(capsys, "sweep", tmp_path / "s.toml")
    assert told["finished"] is True
    assert {"ride": 0.05, "policy": "uniform", "name": "appears"}.items() <= told["rows"][0].items()
    assert set(said(capsys, "reproduce", "--list")[0]) == {"paper", "number", "shows", "command", "reason"}
    found = Results("court", {"seed": 0}, [Measurement("uniform", {}, "reward", 0.4, float("nan"))])

    def run(experiment, *, out, resume, log):
        log("a table")
        return found

    monkeypatch.setattr("evenhand.experiments.loop.run", run)
    for command in (["demo", "--out", tmp_path], ["reproduce", "court"]):
        assert said(capsys, *command)["rows"] == [Measurement("uniform", {}, "reward", 0.4)._asdict()]


def test_quiet_commands_print_results_alone(files, tmp_path, capsys):
    log, problem, _ = files
    asked = ["value", log, "--problem", problem]
    assert main([*asked, "--out", str(tmp_path / "out")]) == 0
    loud = capsys.readouterr().out.splitlines()
    assert any(line.startswith("note: ") for line in loud)
    assert main([*asked, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert [z for z in shown.out.splitlines() if z] == [
        z for z in loud if z and not z.startswith(("note: ", "written: "))
    ]


@pytest.mark.parametrize("words", ["serve --token x --store sqlite:///a.db", "value log.csv --prob p.toml", "--vers"])
def test_options_are_not_abbreviated(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert "unrecognized arguments" in told or "required: --problem; `evenhand draft LOG.csv" in told
