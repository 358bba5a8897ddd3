"""The server as people start it: from a problem file, stopped by Ctrl-C or killed, and started again."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live.stores.opening import connect
from tests.live.campaigns.test_files import STATED
from tests.live.log.test_proof import POLICY
from tests.polling import LONG
from tests.replay.shop import PROBLEM, rows, write

CASE = {"key": "customer 1", "features": {"age": 33}, "groups": {"town": "north"}}


@contextmanager
def server(*arguments, stop=signal.SIGINT, env=None, campaigns=1, also=""):
    """A client of a server in a process of its own, and what the process printed before, a line per campaign.

    `also` is what it prints before its last lines.
    """
    command = [sys.executable, "-m", "evenhand.cli", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        first = "".join(process.stdout.readline() for _ in range(campaigns))
        found = re.match(r"(http://\S+) \(Ctrl-C stops\)", process.stdout.readline())
        assert found, first + process.stdout.read()
        with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:
            client.said = first
            yield client
        process.send_signal(stop)
        rest, _ = process.communicate(timeout=LONG)
        assert process.returncode == (-stop if stop == signal.SIGKILL else 0), rest
        names = [line.split(":")[0] for line in client.said.splitlines()]
        heads = "".join(rf"{name}: head \d+:[0-9a-f]{{64}}\n" for name in names)
        end = also + heads + "stopped; the log has everything that was answered\n"
        assert re.fullmatch("" if stop == signal.SIGKILL else end, rest)
        client.rest = rest
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_server_goes_on_where_one_was_stopped_or_killed(tmp_path):
    log, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/new/folder/post.db"
    with server(file, "--store", store, "--learn-from", log) as client:
        assert client.said == "problem: pgd, budget and parity; new campaign, 0 of 300 decided\n"
        first = client.post("/decide", json=CASE).json()
    with server(file, "--store", store, "--learn-from", log, stop=signal.SIGKILL) as client:
        assert client.said == "problem: pgd, budget and parity; found 2 events, 1 of 300 decided\n"
        assert client.post("/decide", json=CASE).json() == {**first, "repeated": True}
        assert client.post("/observe", json={"id": first["id"], "outcomes": {"visit": 1}}).json() == {"new": True}
    file.write_text(STATED.replace("[policy]", '[policy]\nname = "resolving"').replace("step = 0.01", ""))
    with server(file, "--store", store, "--learn-from", log, "--switch") as client:
        assert client.said == "problem: resolving, budget and parity; found 4 events, 1 of 300 decided\n"
        assert client.get(f"/decisions/{first['id']}").json()["state"] == "observed"
    assert main(["audit", store, "--log", str(log)]) == 0


@pytest.mark.slow
def test_sigterm_ends_with_a_whole_file_and_a_word(tmp_path):
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    with server(file, "--store", store, "--new", stop=signal.SIGTERM) as client:
        assert client.post("/decide", json=CASE).status_code == 200
    assert not (tmp_path / "post.db-wal").exists()
    shutil.copy(tmp_path / "post.db", tmp_path / "copy.db")  # the file alone
    head = client.rest.split()[2]
    assert head.startswith("2:")
    assert main(["audit", f"sqlite:///{tmp_path}/copy.db", "--head", head]) == 0
    with server(file, "--store", store, "--existing", stop=signal.SIGTERM) as client:
        assert client.said.endswith("found 2 events, 1 of 300 decided\n")


READY = """
import os, signal, sys
import evenhand as eh
from evenhand.live.http import serve
from tests.live.log.test_proof import POLICY

number = int(sys.argv[1])
signal.signal(number, signal.SIG_IGN)  # as shells do with Ctrl-C for what they begin in the background
serve(eh.Campaign.open("memory://", "post", POLICY), port=0, ready=lambda _: os.kill(os.getpid(), number))
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_hears_that_it_shall_stop_once_it_has_said_that_it_is_ready(stop):
    done = subprocess.run([sys.executable, "-c", READY, str(int(stop))], timeout=LONG, check=False)
    assert done.returncode == 0


ASKED = """
import os, signal, threading
import evenhand as eh
import httpx
from evenhand.live.http import serve
from tests.live.log.test_proof import POLICY

signal.signal(signal.SIGTERM, signal.SIG_IGN)

def ask(address):
    assert httpx.post(f"{address}/decide", json={"key": "a", "features": {}}, trust_env=False).status_code == 200
    assert "evenhand commits" in {thread.name for thread in threading.enumerate()}
    os.kill(os.getpid(), signal.SIGTERM)

def ready(address):
    threading.Thread(target=ask, args=(address,), name="client").start()

serve(eh.Campaign.open("memory://", "post", POLICY), port=0, ready=ready)
left = {thread.name for thread in threading.enumerate()} - {"MainThread", "client", "evenhand-kernels"}
assert not left, left
"""


@pytest.mark.slow
def test_threads_that_write_end_before_the_store_is_closed():
    """A connection that is left open has commits in the WAL until the interpreter ends, if that gets so far."""
    subprocess.run([sys.executable, "-c", ASKED], timeout=LONG, check=True)


def test_a_campaign_is_new_or_existing_if_the_command_says_so(tmp_path, capsys):
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    told = refused(capsys, file, "--store", store, "--existing")
    assert f"store: expected a file that is there, got {tmp_path}/post.db" in told
    assert not (tmp_path / "post.db").exists()
    eh.live.open_campaign(store, "problem", file).close()
    assert "no campaign 'other'" in refused(capsys, file, "--store", store, "--existing", "--campaign", "other")
    told = refused(capsys, file, "--store", store, "--new")
    assert "campaign: expected a new one, as --new says, got 'problem', which is in the store" in told
    with pytest.raises(SystemExit):
        main(["serve", str(file), "--store", store, "--new", "--existing"])


def test_a_campaign_closes_the_store_that_was_opened_for_it(tmp_path):
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    with eh.live.open_campaign(store, "post", file) as campaign:
        campaign.decide({"age": 33, "town": "north"}, key="a")
        assert (tmp_path / "post.db-wal").stat().st_size > 0
        head = campaign.head()
    assert not (tmp_path / "post.db-wal").exists()
    campaign.close()
    with pytest.raises(InvalidInput, match="store: expected one that is open"):
        campaign.decide({"age": 33, "town": "north"}, key="b")
    own = connect(store)
    with eh.live.open_campaign(own, "post", file) as campaign:
        assert campaign.head() == head
    assert list(own.campaigns()) == ["post"]  # who opened it closes it


def test_another_thread_may_close_a_campaign(tmp_path):
    """What it does not close is closed when the threads end that used it; the file is whole before."""
    store = f"sqlite:///{tmp_path}/coins.db"
    campaign = eh.Campaign.open(store, "coins", POLICY)
    campaign.decide({}, key="a")
    thread = threading.Thread(target=campaign.close)
    thread.start()
    thread.join()
    shutil.copy(tmp_path / "coins.db", tmp_path / "copy.db")
    assert len(list(connect(f"sqlite:///{tmp_path}/copy.db").scan("coins"))) == 2
    with pytest.raises(InvalidInput, match="store: expected one that is open"):
        campaign.decide({}, key="b")


def refused(capsys, *arguments):
    assert main(["serve", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_what_a_server_is_refused_for(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("EVENHAND_TOKEN", raising=False)
    log, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    for token in (None, " "):
        if token is not None:
            monkeypatch.setenv("EVENHAND_TOKEN", token)
        told = refused(capsys, file, "--store", store, "--host", "0.0.0.0")
        assert "token: expected a t" in told
        assert ("set EVENHAND_TOKEN, or state --tokens" in told) == (token is None)
    monkeypatch.delenv("EVENHAND_TOKEN")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "expected an address that is free" in refused(capsys, file, "--store", store, "--port", port)
    assert "store: expected sqlite:///FILE" in refused(capsys, file, "--store", tmp_path / "post.db")
    assert "patience: expected seconds above 0" in refused(capsys, file, "--store", store, "--patience", "-1")
    eh.live.open_campaign(store, "problem", file).close()
    file.write_text(STATED.replace("rate = 0.3", "rate = 0.2"))
    told = refused(capsys, file, "--store", store)
    assert "'problem': budget post: rate 0.3 there, 0.2 here: it never had problem.toml: leave the file out" in told
    assert told.endswith("or switch: evenhand switch STORE problem.toml --by WHO --why TEXT\n")
    file.write_text(PROBLEM)
    told = refused(capsys, file, "--store", f"sqlite:///{tmp_path}/new.db")
    expected = "the range of its usual values, [low, high], as there is no log to learn it from"
    assert f"features.ranges.age: expected {expected}, got nothing" in told
    log.write_text("")
    assert "log.csv" in refused(capsys, file, "--store", f"sqlite:///{tmp_path}/new.db", "--learn-from", log)


@pytest.mark.parametrize(
    ("more", "token", "told"),
    [
        (["--host", "0.0.0.0"], None, "token: expected a token, as other machines reach 0.0.0.0"),
        (["--host", "999.1.1.1"], "a long enough secret", "host and port: expected an address that is free"),
        (["--port", "99999"], None, "port: expected a number from 0 to 65,535"),
        ([], "short", "token: expected at least 16 characters"),
        (["--campaign", ""], None, "name: expected a text of 1 to"),
        (["--campaign", "a/b", "--campaign", "c"], None, "campaigns: expected names without '/'"),
    ],
)
def test_no_campaign_is_begun_for_a_server_that_is_refused(tmp_path, capsys, monkeypatch, more, token, told):
    monkeypatch.delenv("EVENHAND_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("EVENHAND_TOKEN", token)
    _, file = write(tmp_path, rows(300), STATED)
    files = [file] * max(more.count("--campaign"), 1)
    before = sorted(tmp_path.iterdir())
    assert told in refused(capsys, *files, "--store", f"sqlite:///{tmp_path}/post.db", *more)
    assert sorted(tmp_path.iterdir()) == before


def test_a_campaign_that_begins_beside_others_names_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.start.serve", lambda *_, **__: None)
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    note = "note: the store has ['a', 'b'] as well; --campaign NAME continues one of them\n"
    for names, told in ((["a", "b"], ""), (["c"], note), (["a"], "")):
        more = [text for name in names for text in ("--campaign", name)]
        assert main(["serve", *[str(file)] * len(names), "--store", store, *more]) == 0
        assert capsys.readouterr().err == told
        if "a" in names:
            eh.live.open_campaign(store, "a", file).decide({"age": 33, "town": "north"}, key="customer 1")


def test_a_campaign_begins_beside_others_by_a_stated_name_only(tmp_path, capsys, monkeypatch):
    """After a switch to another file, the server that is started with it has to continue, not to begin anew."""
    served = []
    monkeypatch.setattr("evenhand.live.http.start.serve", lambda found, **_: served.append([z.name for z in found]))
    _, file = write(tmp_path, rows(300), STATED)
    third, store = tmp_path / "third.toml", f"sqlite:///{tmp_path}/post.db"
    third.write_text(STATED.replace("rate = 0.3", "rate = 0.2"))
    assert main(["serve", str(file), "--store", store]) == 0  # of an empty store
    assert main(["switch", store, str(third), "--by", "Ada", "--why", "less"]) == 0
    assert capsys.readouterr().err == ""
    told = refused(capsys, third, "--store", store)
    assert "campaign: expected a stated name, as the store has ['problem']" in told
    assert "`--campaign problem` without a file continues that one, `--campaign third` begins another one" in told
    assert list(connect(store).campaigns()) == ["problem"]
    assert main(["serve", "--store", store, "--campaign", "problem"]) == 0
    assert main(["serve", str(third), "--store", store, "--campaign", "third"]) == 0
    new = ["serve", str(file), str(third), "--store", f"sqlite:///{tmp_path}/new.db"]
    assert main(new) == main(new) == 0  # several at once, begun and continued
    assert served == [["problem"], ["problem"], ["third"], ["problem", "third"], ["problem", "third"]]


def test_settings_that_the_campaign_does_not_have_are_noted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.start.serve", lambda *_, **__: None)
    _, file = write(tmp_path, rows(300), STATED)
    log = tmp_path / "log.csv"
    start = ["serve", str(file), "--store", f"sqlite:///{tmp_path}/post.db", "--learn-from", str(log)]
    for more, noted in (
        (["--seed", "3", "--patience", "60", "--on-expiry", "release"], []),
        ([], []),
        (["--seed", "3"], []),
        (["--seed", "4"], ["--seed 4 is not used: the campaign has 3"]),
        (
            ["--patience", "61", "--on-expiry", "hold"],
            [
                "--patience 61.0 is not used: the campaign has 60.0",
                "--on-expiry hold is not used: the campaign has release",
            ],
        ),
    ):
        assert main([*start, *more]) == 0
        notes = [line for line in capsys.readouterr().err.splitlines() if "is not used" in line]
        assert notes == [f"note: {text}" for text in noted]


def test_a_server_accepts_a_clock_that_is_far_ahead_if_it_is_told_to(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.start.serve", lambda *_, **__: None)
    now = [1_790_000_000 * 10**6]
    monkeypatch.setattr("evenhand.live.stores.sqlite.clock", lambda: now[0])
    _, file = write(tmp_path, rows(300), STATED)
    start = ["serve", str(file), "--store", f"sqlite:///{tmp_path}/post.db"]
    assert main([*start, "--accept-clock"]) == 0
    now[0] += 100 * 86_400 * 10**6
    assert main(start) == 2
    assert "100 days after the last event of 'problem': set it right, or accept it by `--accept-clock`" in (
        capsys.readouterr().err
    )
    for more in (["--accept-clock"], ["--accept-clock"], []):
        assert main([*start, *more]) == 0
    store = connect(f"sqlite:///{tmp_path}/post.db")
    assert [event.kind for event in store.scan("problem")] == ["opened", "clock"]


@pytest.mark.parametrize("command", ["audit", "export"])
def test_a_store_that_is_not_there_is_not_made(tmp_path, capsys, command):
    out = [] if command == "audit" else ["--out", str(tmp_path / "x.csv")]
    assert main([command, f"sqlite:///{tmp_path}/none.db", *out]) == 2
    assert "store: expected a file that is there" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_parity_without_its_groups_is_told_what_it_needs(tmp_path, capsys):
    without = STATED.replace("[groups.town]\nshares = { north = 0.5, south = 0.5 }\n", "")
    _, file = write(tmp_path, rows(300), without)
    told = refused(capsys, file, "--store", f"sqlite:///{tmp_path}/new.db")
    assert "groups.town.shares: expected the share of each group" in told
    assert "got 'log', as where nothing is stated" in told


@pytest.mark.parametrize("gone", [True, False])
def test_a_server_whose_store_is_gone_says_so_when_it_stops(gone, tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        if gone:
            (tmp_path / "log.db").unlink()
        raise KeyboardInterrupt

    _, file = write(tmp_path, rows(300), STATED)
    monkeypatch.setattr("evenhand.live.http.start.serve", stop)
    assert main(["serve", str(file), "--store", f"sqlite:///{tmp_path}/log.db", "--port", "0"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    told = "stopped; the store cannot be read: " if gone else "stopped; the log has everything that was answered"
    assert last.startswith(told)
