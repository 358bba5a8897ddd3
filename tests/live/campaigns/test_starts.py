"""A server starts from the log: the file of its command begins a campaign, and is no second truth afterwards."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.live import Conflict, Unknown
from evenhand.live.campaigns import files
from evenhand.live.campaigns.files import open_campaign, switch_campaign
from evenhand.live.http import start
from evenhand.live.log.events import Busy, encode
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_under_load import with_action
from tests.live.campaigns.test_training import decided
from tests.live.http.test_serve import refused, server
from tests.live.lease_worlds import PROBLEM as LEASED
from tests.live.log.test_proof import POLICY
from tests.replay.shop import rows, write

SAID = ("--by", "Ada", "--why", "less")
LESS, MORE = (STATED.replace("rate = 0.3", f"rate = {x}") for x in (0.2, 0.4))
CASE = {"age": 33, "town": "north"}


@pytest.fixture
def served(monkeypatch):
    """The campaigns that commands would serve: their names, and the rates of their budgets of mail."""
    found = []

    def serve(each, **_):
        found.append({z.name: z.status().accounts["post"].total / z.policy.problem.horizon for z in each})

    monkeypatch.setattr("evenhand.live.http.start.serve", serve)
    return found


@pytest.fixture
def place(tmp_path):
    """A problem file, and the URL of a store."""
    return write(tmp_path, rows(300), STATED)[1], f"sqlite:///{tmp_path}/post.db"


def switched(file, store, text, *more):
    """Switch to another file of another name."""
    other = file.with_name("other.toml")
    other.write_text(text)
    assert main(["switch", store, str(other), *SAID, *more]) == 0


def test_the_same_command_starts_again_after_a_switch(place, served, capsys):
    file, store = place
    start = ["serve", str(file), "--store", store]
    assert main(start) == 0
    switched(file, store, LESS)
    capsys.readouterr()
    assert main(start) == 0
    told = "note: 'problem': problem.toml is superseded: continuing with event 2's, switched by Ada (less)\n"
    assert capsys.readouterr().err == told
    switched(file, store, STATED)
    switched(file, store, MORE)
    assert main(start) == 0
    assert "continuing with event 4's" in capsys.readouterr().err
    switched(file, store, STATED)
    capsys.readouterr()
    assert main(start) == 0  # once more it is the present one
    assert capsys.readouterr().err == ""
    assert [z["problem"] for z in served] == pytest.approx([0.3, 0.2, 0.4, 0.3])


def test_a_file_is_the_same_if_it_means_the_same(place, served, capsys):
    file, store = place
    assert main(["serve", str(file), "--store", store]) == 0
    switched(file, store, LESS)
    capsys.readouterr()
    file.write_text("# the first one\n" + STATED.replace("rate = 0.3", "rate   = 0.30"))
    assert main(["serve", str(file), "--store", store]) == 0
    assert "problem.toml is superseded: continuing with event 2's" in capsys.readouterr().err
    file.write_text("# the present one\n" + LESS)
    assert main(["serve", str(file), "--store", store]) == 0
    assert capsys.readouterr().err == ""


def test_a_file_that_the_log_never_had_is_refused(place, served, capsys):
    file, store = place
    assert main(["serve", str(file), "--store", store]) == 0
    switched(file, store, LESS)
    capsys.readouterr()
    file.write_text(MORE)
    assert refused(capsys, file, "--store", store) == (
        "evenhand: 'problem': budget post: rate 0.2 there, 0.4 here, since event 2, switched by Ada (less): "
        "it never had problem.toml: leave the file out, or switch: "
        "evenhand switch STORE problem.toml --by WHO --why TEXT\n"
    )
    file.write_text(STATED.replace('["age"]', '["height"]').replace("age = [", "height = ["))
    told = refused(capsys, file, "--store", store)
    assert told.startswith("evenhand: 'problem': problem.toml has features.numeric: ['height'], the cases of the camp")
    file.write_text("maximize = 3")
    assert "problem.toml" in refused(capsys, file, "--store", store)
    assert len(served) == 1


def test_a_start_command_with_switch_takes_a_new_file_once(place, served, capsys):
    """So that it neither undoes what was switched since, nor goes back."""
    file, store = place
    start = ["serve", str(file), "--store", store, "--switch"]
    for text, rate in ((STATED, 0.3), (LESS, 0.2), (LESS, 0.2)):
        file.write_text(text)
        assert main(start) == 0
        assert served[-1]["problem"] == pytest.approx(rate)
    switched(file, store, MORE)
    for text in (LESS, STATED):
        capsys.readouterr()
        file.write_text(text)
        assert main(start) == 0
        assert "superseded: continuing with event 3's" in capsys.readouterr().err
        assert served[-1]["problem"] == pytest.approx(0.4)
    switched(file, store, STATED)
    assert main(start) == 0
    assert served[-1]["problem"] == pytest.approx(0.3)


def test_without_files_all_campaigns_of_a_store_are_served(place, served, capsys):
    file, store = place
    for name in ("a", "b", "ended"):
        open_campaign(store, name, file).close()
    switched(file, store, LESS, "--campaign", "b")
    with open_campaign(store, "ended") as ended:
        ended.end(by="Ada", why="so")
    eh.Campaign.open(store, "python", POLICY).close()
    eh.live.Pool.begin(store, "pool", {"cents": 60.0}, rounds=200).close()
    capsys.readouterr()
    assert main(["serve", "--store", store]) == 0
    assert served[-1] == pytest.approx({"a": 0.3, "b": 0.2, "ended": 0.3})
    said = capsys.readouterr()
    assert said.err == "note: python is not served: its policy was written in Python, and is in no log\n"
    assert "ended: pgd, budget and parity; found 2 events, 0 of 300 decided; ended by Ada" in said.out
    for more in (["--campaign", "b"], ["--campaign", "b", "--existing"]):
        assert main(["serve", "--store", store, *more]) == 0
        assert served[-1] == pytest.approx({"b": 0.2})
    assert "no campaign 'c'; the store has ['a', 'b', 'ended', 'python']" in (
        refused(capsys, "--store", store, "--campaign", "c")
    )
    assert "no campaign 'pool'" in refused(capsys, "--store", store, "--campaign", "pool")
    told = refused(capsys, "--store", store, "--campaign", "python")
    assert "campaign: expected one that was opened with a problem file" in told
    assert main(["serve", "--store", store, "--campaign", "a", "--patience", "60"]) == 0
    assert "note: --patience 60.0 is not used: the campaign has 86400.0" in capsys.readouterr().err


def test_a_store_without_a_campaign_says_how_one_begins(place, tmp_path, capsys):
    _, store = place
    told = "store: expected one that has a campaign, or a problem file that begins one: evenhand serve PROBLEM"
    assert told in refused(capsys, "--store", store)
    assert not (tmp_path / "post.db").exists()
    connect(store)
    assert told in refused(capsys, "--store", store)
    for log in (None, __file__):
        with pytest.raises(Unknown, match=r"no campaign 'post'; the store has \[\]"):
            open_campaign(store, "post", log_path=log)
    eh.Campaign.open(store, "python", POLICY).close()
    assert "store: expected one that was opened with a problem file" in refused(capsys, "--store", store)
    for more in (["--new"], ["--switch"], ["--encode-as", "x.csv"]):
        with pytest.raises(SystemExit):
            main(["serve", "--store", store, *more])
        assert f"{more[0]} is of a problem file" in capsys.readouterr().err


def test_a_file_without_tables_is_a_store_that_nobody_wrote_to_yet(place, tmp_path, served, capsys):
    """Another server makes it at this moment, or was killed while it did."""
    file, store = place
    (tmp_path / "post.db").touch()
    told = "store: expected an SQLite file with the log of a campaign, got"
    assert told in refused(capsys, file, "--store", store, "--existing")
    assert main(["serve", str(file), "--store", store]) == 0
    assert capsys.readouterr().out.startswith("problem: pgd, budget and parity; new campaign")


def test_a_campaign_is_opened_by_its_name_and_decides_the_same(place, tmp_path):
    """What it learned from a log is in the store."""
    file, store = place
    log = tmp_path / "log.csv"
    with open_campaign("memory://", "post", file, log_path=log, seed=3) as whole:
        first, later = decided(whole), decided(whole, 12)
    open_campaign(store, "post", file, log_path=log, seed=3).close()
    for path in (log, file):
        path.unlink()
    with open_campaign(store, "post") as campaign:
        assert decided(campaign) == first
    with open_campaign(store, "post") as campaign:
        assert decided(campaign, 12) == later
        assert campaign.terms == whole.terms


def test_a_command_with_a_log_starts_again_after_a_switch_with_another_log(place, served, tmp_path, capsys):
    file, store = place
    text = STATED.replace("[features.ranges]\nage = [20, 60]\n", "")
    assert text != STATED
    file.write_text(text)
    log = tmp_path / "log.csv"
    start = ["serve", str(file), "--store", store, "--encode-as", str(log)]
    assert main(start) == 0
    older = tmp_path / "older.csv"
    older.write_text(log.read_text().replace("\n2", "\n7"))
    switch_campaign(store, "problem", file.with_name("problem.toml"), log_path=log, learn=False).close()
    file.write_text(text.replace("rate = 0.3", "rate = 0.2"))
    switch_campaign(store, "problem", file, log_path=older, learn=False, by="Ada", why="older people").close()
    file.write_text(text)
    capsys.readouterr()
    assert main(start) == 0
    assert "superseded: continuing with event 2's, switched by Ada (older people)" in capsys.readouterr().err
    start[-1] = str(older)
    assert "encodes cases as another log did: leave out older.csv" in refused(capsys, *start[1:])


def test_a_later_version_is_named_before_its_file_is_read(place, capsys):
    """As after an upgrade that was rolled back: this version may not know what the file states."""
    file, store = place
    open_campaign(store, "problem", file).close()
    with connect(store).write("problem") as log:
        kept = json.loads(log.get(1).body)
        kept["encoding"]["file"][1] = STATED + "\n[invented]\nx = 1\n"
        log.append("upgraded", encode({"versions": {"evenhand": "99.1"}}))
        body = {"mark": "0" * 16, "name": "new", "encoding": kept["encoding"], "adopts": True}
        log.append("switched", encode(body))
    for more in ([], [file]):
        told = refused(capsys, *more, "--store", store)
        assert "'problem': evenhand 99.1 decides for the campaign, and this is" in told
        assert "restart this worker with that version; to go back to this one, restore a backup from before" in told


@pytest.mark.parametrize("kind", ["adopted", "folded anew"])
@pytest.mark.parametrize("given", [True, False])
def test_a_worker_that_starts_during_a_switch_continues_with_it(place, monkeypatch, kind, given):
    """Whatever it read of the log before."""
    file, _ = place
    store = MemoryStore()
    with open_campaign(store, "post", file) as one:
        decided(one)
    next_ = file.with_name("next.toml")
    next_.write_text(LESS if kind == "adopted" else with_action(STATED))
    begin, times = files.begin, []

    def begun(*arguments):
        times.append(arguments)
        if len(times) == 1:
            monkeypatch.setattr(files, "begin", begin)
            switch_campaign(store, "post", next_, by="Ada", why="less")
            monkeypatch.setattr(files, "begin", begun)
        return begin(*arguments)

    monkeypatch.setattr(files, "begin", begun)
    with open_campaign(store, "post", file if given else None) as two:
        assert len(times) == 2
        assert (
            two._worker.fold.mark
            == eh.live.fold.column_encoder.of_file(eh.live.fold.column_encoder.Text.of(next_)).policy.fingerprint()
        )
        assert decided(two, 12, 3)


def test_a_worker_that_starts_during_an_erasure_begins_again(place, monkeypatch):
    file, _ = place
    store = MemoryStore()
    one = open_campaign(store, "post", file)
    decided(one)
    begin, times = files.begin, []

    def begun(*arguments):
        times.append(arguments)
        if len(times) == 1:
            one.erase(["3"], by="Ada", why="asked for")
            raise Conflict("the erased data are not in the state")
        return begin(*arguments)

    monkeypatch.setattr(files, "begin", begun)
    with open_campaign(store, "post") as two:
        assert two.status().rounds == 12
    monkeypatch.setattr(files, "begin", lambda *_: begin(*_) and (_ for _ in ()).throw(Conflict("nothing moved")))
    with pytest.raises(Conflict, match="nothing moved"):
        open_campaign(store, "post")


def test_a_server_that_starts_waits_for_its_turn(place, served, monkeypatch, capsys):
    file, store = place
    opened, times = start.open_with_settings, []

    def busy(*arguments, **more):
        times.append(arguments)
        if len(times) < 3:
            raise Busy("another worker is at work")
        return opened(*arguments, **more)

    monkeypatch.setattr(start, "open_with_settings", busy)
    monkeypatch.setattr(start, "_PAUSE", 0.0)
    assert main(["serve", str(file), "--store", store]) == 0
    assert capsys.readouterr().err == "note: it is tried again: another worker is at work\n" * 2
    monkeypatch.setattr(start, "_LONGEST", -1.0)
    times.clear()
    assert "another worker is at work" in refused(capsys, file, "--store", store)


def test_a_lease_that_is_not_settled_is_noted(tmp_path, served, monkeypatch, capsys):
    file, store, pool = tmp_path / "north.toml", f"sqlite:///{tmp_path}/north.db", f"sqlite:///{tmp_path}/pool.db"
    file.write_text(LEASED)
    totals = []
    monkeypatch.setattr(
        "evenhand.live.http.start.serve", lambda each, **_: totals.append(each[0].status().accounts["cents"])
    )
    assert main(["pool", pool, "--name", "all", "--total", "cents=60", "--rounds", "5000"]) == 0
    assert main(["serve", str(file), "--store", store, "--lease", pool, "--on-expiry", "release"]) == 0
    for more in ([], [str(file)]):
        capsys.readouterr()
        assert main(["serve", *more, "--store", store, "--lease", pool]) == 0
        assert "note" not in capsys.readouterr().err
        assert main(["serve", *more, "--store", store]) == 0
        assert "note: north takes in no more of pool 'all' and returns nothing, as --lease" in capsys.readouterr().err
    assert {z.total for z in totals} == {totals[0].total}


class Plain:
    """An encoder of Python, which has no problem file."""

    def __init__(self, coded):
        self.coded = coded

    def context(self, *stated):
        return self.coded.context(*stated)

    def to_dict(self):
        return {}


def test_a_policy_of_python_in_between_has_no_file(place):
    file, store = place
    with open_campaign(store, "post", file) as campaign:
        stated = campaign.policy, campaign.encoder
        other, third = (replace(eh.uniform(stated[0].problem, 9), name=name) for name in ("other", "third"))
        told = r"open it with the policy that it has, or switch: campaign\.switch"
        campaign.switch(other, by="Ada", why="by hand")
        for given in (None, file):
            with pytest.raises(Conflict, match=told):
                open_campaign(store, "post", given)
        campaign.switch(third, Plain(stated[1]))
        for given in (None, file):
            with pytest.raises(InvalidInput, match="opened with a problem file"):
                open_campaign(store, "post", given)
        campaign.switch(*stated)
    file.write_text("# the same\n" + STATED)
    with open_campaign(store, "post", file) as again:
        assert again.policy.fingerprint() == stated[0].fingerprint()


def test_in_python_a_file_that_was_superseded_is_a_warning(place):
    file, store = place
    with open_campaign(store, "post", file) as campaign:
        decided(campaign, n=3)
    other = file.with_name("other.toml")
    other.write_text(LESS)
    switch_campaign(store, "post", other, by="Ada", why="less").close()
    with pytest.warns(EvenhandWarning, match="problem.toml is superseded: continuing with event 8's"):
        campaign = open_campaign(store, "post", file)
    with campaign:
        assert campaign.status().accounts["post"].total == pytest.approx(60.0)
    eh.Campaign.open(store, "python", POLICY).close()
    with pytest.raises(InvalidInput, match="opened with a problem file"):
        open_campaign(store, "python")


@pytest.mark.slow
def test_a_server_that_is_killed_after_a_hot_switch_starts_by_the_same_command(place):
    """Others see a switch without a restart, and a start without a file serves the same."""
    file, store = place
    with server(file, "--store", store, stop=signal.SIGKILL) as client:
        first = client.post("/decide", json={"key": "1", "features": {"age": 33}, "groups": {"town": "north"}}).json()
        other = file.with_name("other.toml")
        other.write_text(LESS)
        done = subprocess.run([sys.executable, "-m", "evenhand", "switch", store, str(other), *SAID], timeout=120)
        assert done.returncode == 0
        assert client.get("/readyz").status_code == 200
    for more in ([], ["--existing"]):
        with server("--store", store, *more) as client:
            assert client.said == "problem: pgd, budget and parity; found 3 events, 1 of 300 decided\n"
            assert client.get(f"/decisions/{first['id']}").json()["key"] == "1"
            assert client.get("/report").json()["budgets"]["post"]["total"] == pytest.approx(60.0)
