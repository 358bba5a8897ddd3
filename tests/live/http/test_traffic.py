"""The shipped client plays a log against a server: what it says it did is what the log of the campaign has."""

import csv
import re
import runpy
import signal
import socketserver
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.live.log.events import read
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_serve import server
from tests.replay.shop import rows, write
from tests.replay.test_email import LOG, PROBLEM as EMAIL

SCRIPT = Path(__file__).parents[3] / "examples" / "traffic.py"


def play(client, log, problem, *more, stop_after=None):
    """Play a log; returns what the script printed by name, and its status."""
    command = [sys.executable, SCRIPT, log, "--problem", problem, "--url", str(client.base_url), *more]
    process = subprocess.Popen([str(z) for z in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if stop_after is not None:
        stop_after()
        process.send_signal(signal.SIGINT)
    said, told = process.communicate(timeout=200)
    assert re.search(r"rows per second; latency [\d.]+ ms \(p50\), [\d.]+ ms \(p99\)", said), told
    (line,) = re.findall(".* decided, .*", said)
    found = {name: int(count.replace(",", "")) for count, name in re.findall(r"(\d[\d,]*) (\w+)", line)}
    return found, process.returncode, said, told


def log_of(path, name):
    return list(SqliteStore(path).scan(name))


@pytest.mark.slow
def test_a_log_is_played_and_played_again(tmp_path):
    log, file = write(tmp_path, rows(400), STATED)
    with server(file, "--store", f"sqlite:///{tmp_path}/post.db") as client:
        more = ("--skip", 20, "--rows", 200, "--clients", 2, "--delay", 0.02, "--lost", 0.1, "--rate", 400)
        found, status, _, told = play(client, log, file, *more)
        assert status == 0, told
        events = log_of(tmp_path / "post.db", "problem")
        kinds = Counter(event.kind for event in events)
        assert found["decided"] == kinds["decided"] == 200
        assert found["cancelled"] == kinds["cancelled"] > 0
        assert found["observed"] == kinds["observed"] > 0
        assert found["agreed"] + found["cancelled"] == 200
        assert 0 < found["agreed"] - found["observed"] < 40
        agree(events, log)
        again, status, _, told = play(client, log, file, *more)
        assert (again, status) == (found, 0), told
        assert log_of(tmp_path / "post.db", "problem") == events
    assert main(["audit", f"sqlite:///{tmp_path}/post.db"]) == 0


def agree(events, log):
    """Require that outcomes are those of rows whose action was decided, and that the other rows were cancelled."""
    with log.open(newline="") as file:
        lines = list(csv.DictReader(file))
    about = {event.ref: event for event in events if event.ref is not None}
    actions = {"": 0, "A": 1, "B": 2}
    for event in events:
        if event.kind == "decided":
            line, body = lines[int(event.key.removeprefix("row-"))], read(event)
            assert body["case"] == {"age": float(line["age"]), "town": line["town"]}
            end = about.get(event.seq)
            if body["a"][0] != actions[line["letter"]]:
                assert end.kind == "cancelled"
            elif end is not None:
                assert read(end)["y"] == {"visit": float(line["visit"])}


@pytest.mark.slow
def test_rows_that_are_refused_are_told(tmp_path):
    log, file = write(tmp_path, [*rows(5), ["x", "north", "A", "1", "0.3"]], STATED)
    with server(file, "--store", f"sqlite:///{tmp_path}/post.db") as client:
        found, status, _, told = play(client, log, file)
    assert (status, found["decided"], found["refused"]) == (1, 5, 1)
    assert "1 times /decide: 422" in told
    assert "age: expected a finite number" in told


@pytest.mark.slow
def test_ctrl_c_stops_and_says_what_was_done(tmp_path):
    log, file = write(tmp_path, rows(400), STATED)
    store = tmp_path / "post.db"

    def first():
        while sum(event.kind == "decided" for event in log_of(store, "problem")) < 5:
            time.sleep(0.05)

    with server(file, "--store", f"sqlite:///{store}") as client:
        found, status, said, told = play(client, log, file, "--rate", 20, stop_after=first)
    assert "stopped; this was done" in said, told
    assert 5 <= found["decided"] < 200
    assert status == 0
    assert sum(event.kind == "decided" for event in log_of(store, "problem")) == found["decided"]


class Flaky(BaseHTTPRequestHandler):
    """Is busy first, then hangs up before it answers, then answers."""

    protocol_version = "HTTP/1.1"
    seen = ()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen += (body,)
        self.close_connection = len(self.seen) == 2
        if len(self.seen) == 2:
            return
        self.send_response(503 if len(self.seen) == 1 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *told):
        pass


def test_what_got_no_answer_is_asked_again_with_the_same_key():
    client = runpy.run_path(str(SCRIPT))["Client"]
    with socketserver.TCPServer(("127.0.0.1", 0), Flaky) as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.01,))
        thread.start()
        asked = client(Namespace(url=f"http://127.0.0.1:{one.server_address[1]}"), [], threading.Event())
        assert asked.ask("/decide", {"key": "row-1"}) == {}
        asked.line.close()
        one.shutdown()
        thread.join()
    assert Flaky.seen == (b'{"key": "row-1"}',) * 3
    assert len(asked.seconds) == 1


def test_a_server_that_is_not_there_ends_the_traffic(tmp_path):
    log, file = write(tmp_path, rows(5), STATED)
    space = runpy.run_path(str(SCRIPT))
    space["Client"].ask.__globals__["TRIES"] = 2
    with pytest.raises(OSError, match="no answer to /decide in 2 tries"):
        space["Client"](Namespace(url="http://127.0.0.1:1"), [], threading.Event()).ask("/decide", {})
    assert space["main"]([str(log), "--problem", str(file), "--url", "http://127.0.0.1:1"]) == 1


@pytest.mark.slow
def test_outcomes_are_sent_when_they_come_also_as_fast_as_can_be(tmp_path):
    log, file = write(tmp_path, rows(200), STATED)
    with server(file, "--store", f"sqlite:///{tmp_path}/post.db") as client:
        _, status, _, told = play(client, log, file, "--delay", 0.001)
    assert status == 0, told
    kinds = [event.kind for event in log_of(tmp_path / "post.db", "problem")]
    assert kinds.index("observed") < 100 < len(kinds) - kinds[::-1].index("decided")


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
def test_e_mails_of_the_real_log(tmp_path):
    first, store = tmp_path / "first.csv", f"sqlite:///{tmp_path}/email.db"
    with LOG.open(encoding="utf-8", newline="") as whole:
        first.write_text("".join(next(whole) for _ in range(10_001)), encoding="utf-8", newline="")
    with server(EMAIL, "--store", store, "--learn-from", first) as client:
        more = ("--skip", 10_000, "--rows", 2000, "--clients", 4, "--delay", 0.1, "--lost", 0.05)
        found, status, _, told = play(client, LOG, EMAIL, *more)
        report = client.get("/report").json()
    assert status == 0, told
    assert found["decided"] == report["rounds"] == 2000
    assert 500 < found["agreed"] < 850  # a third of the rows
    assert report["waiting"] == found["agreed"] - found["observed"]
    (budget,) = report["budgets"].values()
    assert budget["spent"] + budget["held"] <= budget["total"] == 6000
    events = log_of(tmp_path / "email.db", "email")
    back = {event.ref for event in events if event.kind == "cancelled"}
    sent = sum(read(e)["a"] != [0] for e in events if e.kind == "decided" and e.seq not in back)
    assert budget["spent"] == sent
    assert "email gap by zip_code" in report["standings"]
    assert main(["audit", store, "--log", str(first)]) == 0
