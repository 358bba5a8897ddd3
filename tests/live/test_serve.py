"""The server as people start it: from a problem file, stopped by Ctrl-C or killed, and started again."""

import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from evenhand.cli import main
from tests.live.test_files import STATED
from tests.replay.shop import PROBLEM, rows, write

CASE = {"key": "customer 1", "features": {"age": 33}, "groups": {"town": "north"}}


@contextmanager
def server(*arguments, stop=signal.SIGINT, env=None):
    """A client of a server in a process of its own, and what the process printed before."""
    command = [sys.executable, "-m", "evenhand.cli", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        first = process.stdout.readline()
        found = re.match(r"(http://\S+) \(Ctrl-C stops\)", process.stdout.readline())
        assert found, first + process.stdout.read()
        with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:
            client.said = first
            yield client
        process.send_signal(stop)
        rest, _ = process.communicate(timeout=30)
        assert process.returncode == (0 if stop == signal.SIGINT else -stop), rest
        assert rest == ("stopped; the log has everything that was answered\n" if stop == signal.SIGINT else "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_server_goes_on_where_one_was_stopped_or_killed(tmp_path):
    log, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/new/folder/post.db"
    with server(file, "--store", store, "--learn-from", log) as client:
        assert client.said == "problem: pgd, budget and parity; 0 of 300 decided\n"
        first = client.post("/decide", json=CASE).json()
    with server(file, "--store", store, "--learn-from", log, stop=signal.SIGKILL) as client:
        assert client.said == "problem: pgd, budget and parity; 1 of 300 decided\n"
        assert client.post("/decide", json=CASE).json() == {**first, "repeated": True}
        assert client.post("/observe", json={"id": first["id"], "outcomes": {"visit": 1}}).json() == {"new": True}
    file.write_text(STATED.replace("[policy]", '[policy]\nname = "resolving"').replace("step = 0.01", ""))
    with server(file, "--store", store, "--learn-from", log, "--switch") as client:
        assert client.said == "problem: resolving, budget and parity; 1 of 300 decided\n"
        assert client.get(f"/decisions/{first['id']}").json()["state"] == "observed"
    assert main(["audit", store, "--log", str(log)]) == 0


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
        assert "token: expected a t" in refused(capsys, file, "--store", store, "--host", "0.0.0.0")
    monkeypatch.delenv("EVENHAND_TOKEN")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "expected an address that is free" in refused(capsys, file, "--store", store, "--port", port)
    assert "store: expected sqlite:///FILE" in refused(capsys, file, "--store", tmp_path / "post.db")
    assert "patience: expected seconds above 0" in refused(capsys, file, "--store", store, "--patience", "-1")
    file.write_text(STATED.replace("rate = 0.3", "rate = 0.2"))
    assert "open it with that one, or switch" in refused(capsys, file, "--store", store)
    file.write_text(PROBLEM)
    told = refused(capsys, file, "--store", f"sqlite:///{tmp_path}/new.db")
    expected = "the range of its usual values, [low, high], as there is no log to learn it from"
    assert f"features.ranges.age: expected {expected}, got nothing" in told
    log.write_text("")
    assert "log.csv" in refused(capsys, file, "--store", f"sqlite:///{tmp_path}/new.db", "--learn-from", log)


def test_settings_that_the_campaign_does_not_have_are_noted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.serve", lambda *_, **__: None)
    _, file = write(tmp_path, rows(300), STATED)
    log = tmp_path / "log.csv"
    start = ["serve", str(file), "--store", f"sqlite:///{tmp_path}/post.db", "--learn-from", str(log)]
    for more, noted in (
        (["--seed", "3", "--patience", "60", "--on-expiry", "release"], []),
        ([], []),
        (["--seed", "3"], []),
        (["--seed", "4"], ["--seed 4 is not used: the campaign was opened with 3"]),
        (
            ["--patience", "61", "--on-expiry", "hold"],
            [
                "--patience 61.0 is not used: the campaign was opened with 60.0",
                "--on-expiry hold is not used: the campaign was opened with release",
            ],
        ),
    ):
        assert main([*start, *more]) == 0
        notes = [line for line in capsys.readouterr().err.splitlines() if "is not used" in line]
        assert notes == [f"note: {text}" for text in noted]


@pytest.mark.parametrize("command", ["audit", "export"])
def test_a_store_that_is_not_there_is_not_made(tmp_path, capsys, command):
    out = [] if command == "audit" else ["--out", str(tmp_path / "x.csv")]
    assert main([command, f"sqlite:///{tmp_path}/none.db", *out]) == 2
    assert "store: expected a file that is there" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
