"""Lines of the log, and numbers of requests."""

import json
import logging
import re
import subprocess
import sys
import time

import httpx
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.http import app
from evenhand.live.http.lines import to_stderr
from evenhand.live.http.server import server
from evenhand.live.worker.requests import Verbs
from tests.live.http.test_many_campaigns import campaigns
from tests.live.http.test_tokens import bearer, entry, write
from tests.live.http_campaign import CASE, asked, opened, serving
from tests.polling import LONG

PERSON = {"key": "jane@example.org", "case": {**CASE, "age": 47.25}}


@pytest.fixture
def client(tmp_path):
    tokens = Tokens(write(tmp_path, entry("till"), entry("page", roles=("read",))))
    with serving(app(campaigns(tmp_path), token=tokens)) as found:
        yield found


def told(capsys):
    """All lines of the log."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_says_who_asked_for_what_and_nothing_of_the_case(client, capsys):
    with to_stderr("json"):
        begun = time.perf_counter()
        client.post("/campaigns/shop/decide", json=PERSON, headers={**bearer("till"), "X-Request-Id": "order-17.a"})
        took = 1000 * (time.perf_counter() - begun)
        client.get("/campaigns/shop/decisions?key=jane@example.org", headers=bearer("page"))
        client.post("/campaigns/shop/decide", json=PERSON, headers=bearer("page"))
        client.get("/campaigns/jane@example.org/report", headers=bearer("till"))
        client.get("/jane@example.org", headers=bearer("till"))
        client.get("/campaigns/shop/report", headers=bearer("jane@example.org"))
        client.get("/healthz")
    text = capsys.readouterr().err
    assert "jane" not in text
    assert "47.25" not in text
    assert "secret" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    wrong = [z for z in lines if "text" in z]
    assert ["wrong token" in z["text"] for z in wrong] == [True]
    lines = [z for z in lines if "text" not in z]
    fields = ("token", "method", "route", "status", "campaign")
    assert [tuple(z[name] for name in fields) for z in lines] == [
        ("till", "POST", "/decide", 200, "shop"),
        ("page", "GET", "/decisions", 200, "shop"),
        ("page", "POST", "/decide", 403, "shop"),
        ("till", "GET", "/report", 404, None),
        ("till", "GET", "other", 404, None),
        (None, "GET", "/report", 401, "shop"),
        ("anyone", "GET", "/healthz", 200, None),
    ]
    assert lines[0]["request"] == "order-17.a"
    assert 0 < lines[0]["ms"] < took
    assert len({z["request"] for z in lines}) == len(lines)
    for z in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", z["at"])
        assert z["level"] == "info"


def test_text_has_the_same(client, capsys):
    with to_stderr("text"):
        client.get("/campaigns/shop/report", headers={**bearer("till"), "X-Request-Id": "abc"})
        client.get("/healthz", headers={"X-Request-Id": "def"})
        client.get("/campaigns/shop/report", headers={**bearer("nobody"), "X-Request-Id": "ghi"})
    first, second, third, fourth = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\S+Z abc till GET /report 200 \d+\.\d ms shop", first)
    assert re.fullmatch(r"\S+Z def anyone GET /healthz 200 \d+\.\d ms -", second)
    assert re.fullmatch(r"\S+Z ghi WARNING: refused 1 request with a wrong token.*", third)
    assert re.fullmatch(r"\S+Z ghi - GET /report 401 \d+\.\d ms shop", fourth)


def test_without_the_option_no_request_is_logged(client, capsys, caplog):
    with caplog.at_level(logging.WARNING), to_stderr(None):
        client.get("/healthz")
    assert capsys.readouterr().err == ""
    assert caplog.records == []


@pytest.mark.parametrize("sent", ["a", "A-1_b.c", "x" * 100])
def test_the_number_of_a_client_comes_back(client, sent):
    assert client.get("/healthz", headers={"X-Request-Id": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", [None, "", "a b", "x" * 101, "a;b", "<b>", "é".encode(), '"'])
def test_another_one_is_replaced(client, sent):
    headers = {} if sent is None else {"X-Request-Id": sent}
    found = [client.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(3)]
    assert len(set(found)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{8}-\d+", z) for z in found)


def test_refusals_have_a_number_too(client):
    for said in (client.get("/nowhere"), client.get("/healthz", headers={"Host": "evil.example"})):
        assert "x-request-id" in said.headers


def test_an_error_has_the_number_of_its_request(tmp_path, capsys, monkeypatch):
    def broken(*given, **more):
        raise RuntimeError("a detail of the code")

    monkeypatch.setattr(Verbs, "decide_plain", broken)
    with serving(app(opened(tmp_path))) as client, to_stderr("json"):
        client.post("/decide", json=asked("one"), headers={"X-Request-Id": "broken-1"})
    error, line = told(capsys)
    assert (error["request"], error["level"]) == ("broken-1", "error")
    assert "a detail of the code" in error["trace"]
    assert (line["request"], line["status"]) == ("broken-1", 500)


SERVER = """
import sys
from pathlib import Path
from evenhand.live.http import serve, to_stderr
from tests.live.http_campaign import opened
with to_stderr("json"):
    serve(opened(Path(sys.argv[1])), port=0, ready=lambda at: print(at, flush=True))
"""


@pytest.mark.slow
def test_all_that_a_server_writes_to_stderr_is_json(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", SERVER, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        at = process.stdout.readline().strip()
        with httpx.Client(base_url=at, trust_env=False, timeout=LONG) as client:
            assert client.post("/decide", json=asked("one")).status_code == 200
            assert client.get("/report").status_code == 200
    finally:
        process.terminate()
        _, rest = process.communicate(timeout=LONG)
    assert [json.loads(z)["route"] for z in rest.splitlines()] == ["/decide", "/report"]


def test_the_command_takes_the_kind_of_lines(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr("evenhand.live.http.start.serve_files", lambda *z: given.append(z[3].log))
    monkeypatch.delenv("EVENHAND_TOKEN", raising=False)
    start = ["serve", "x.toml", "--store", "memory://"]
    assert (main([*start, "--log", "json"]), main(start)) == (0, 0)
    assert given == ["json", None]
    with pytest.raises(InvalidInput, match="log: expected"), to_stderr("xml"):
        pass


def test_no_line_of_a_request_is_made_twice(tmp_path):
    made = app(opened(tmp_path))
    assert not server(made).config.access_log
    assert server(made, access_log=True).config.access_log
