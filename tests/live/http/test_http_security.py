"""What requests are refused, and what no answer says."""

import base64
import json
import socket
from contextlib import suppress

import httpx
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live.http import app, serve
from evenhand.live.http.bodies import BYTES
from evenhand.live.worker.requests import Verbs
from tests.live.http_campaign import asked, events, opened, serving
from tests.polling import LONG
from tests.rows import for_each

TOKEN = "a secret of this test"


@pytest.fixture(scope="module")
def closed(campaign):
    with serving(app(campaign, token=TOKEN)) as found:
        yield found


def raw(client, data):
    """What the server answers to bytes, at most for a second."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=LONG) as line:
        line.sendall(data)
        return line.recv(100_000)


def refused(client, content):
    """What a body is answered, by a server that decides nothing of it and goes on."""
    before = client.get("/report").json()["rounds"]
    said = client.post("/decide", content=content)
    assert client.get("/report").json()["rounds"] == before
    return said.status_code, said.json()


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


NO_TOKEN = [None, "", TOKEN, "Bearer", "Bearer é", f"Bearer {TOKEN}x", f"Bearer  {TOKEN}"]
NO_TOKEN += ["Basic", "Basic é", f"Basic {TOKEN}"]


@pytest.mark.parametrize("sent", [*NO_TOKEN, basic(TOKEN), basic(f"{TOKEN}:"), basic(f"a:{TOKEN}x")])
def test_without_the_token_nothing_is_said(closed, sent):
    headers = {} if sent is None else {"Authorization": sent.encode()}
    for method, path in (("GET", "/report"), ("POST", "/decide"), ("GET", "/openapi.json"), ("GET", "/nowhere")):
        said = closed.request(method, path, headers=headers)
        assert said.status_code == 401
        assert said.headers["www-authenticate"].startswith("Basic realm=")  # so that a browser asks for it
    assert closed.get("/healthz").json() == {"ok": True}


@pytest.mark.parametrize("sent", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(f"anybody:{TOKEN}"), basic(f":{TOKEN}")])
def test_with_the_token_all_is_said(closed, sent):
    headers = {"Authorization": sent}
    assert closed.get("/report", headers=headers).status_code == 200
    assert closed.post("/decide", headers=headers, json=asked("with a token")).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:80@evil", "", "[::1", "127.1"])
def test_a_host_that_is_not_ours_is_refused(client, host):
    for path in ("/report", "/", "/metrics", "/decisions/2"):
        said = client.get(path, headers={"Host": host})
        assert said.status_code == 400
        assert "Host" in said.text or host == "[::1"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1"])
def test_a_host_that_is_ours(client, host):
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_two_hosts_are_refused(client):
    assert b" 400 " in raw(client, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")


def test_two_tokens_are_refused(client):
    asked = b"GET /report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"
    assert b" 400 " in raw(client, asked)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://localhost:1", "http://127.0.0.1.evil"])
def test_a_page_of_another_origin_changes_nothing(client, campaign, origin):
    before = len(events(campaign))
    said = client.post("/decide", json=asked(f"from {origin}"), headers={"Origin": origin})
    assert said.status_code == 403
    assert len(events(campaign)) == before


def test_a_page_of_our_own_may_ask(client):
    own = str(client.base_url).rstrip("/")
    assert client.post("/decide", json=asked("from here"), headers={"Origin": own}).status_code == 200


def test_a_long_body_is_refused_before_it_is_sent(client):
    head = f"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**12}\r\n\r\n"
    assert b" 413 " in raw(client, head.encode())


def test_a_long_body_in_pieces_is_refused(client):
    def pieces():
        for _ in range(3 * BYTES // 10_000):
            yield b" " * 10_000

    with suppress(httpx.WriteError):  # the server answered, and hung up while more was sent
        assert client.post("/decide", content=pieces()).status_code == 413
    assert refused(client, b" " * (BYTES + 1))[0] == 413
    assert refused(client, b" " * BYTES)[0] == 400


@pytest.mark.parametrize("depth", [33, 10_000, 400_000])
@pytest.mark.parametrize("pair", ["[]", ('{"a":', "}")])
def test_deep_json_is_refused(client, depth, pair):
    content = (pair[0] * depth + "1" + pair[1] * depth)[:BYTES]
    status, said = refused(client, content)
    assert status == 422
    assert "32 deep" in said["error"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"nope", b'"\\', b"\xff\xfe", b"{'a': 1}", b'{"a": 1,}', b"1 2", b"1" * 9_999]
)
def test_what_is_no_json(client, content):
    status, said = refused(client, content)
    assert status == 400
    assert "not JSON" in said["error"]


@pytest.mark.parametrize("content", ["1", '"text"', "null", "true", "[1]", "[[]]", "[null]"])
def test_json_that_is_no_object(client, content):
    said = client.post("/observe", content=content)
    if content.startswith("["):
        assert [z["status"] for z in said.json()] == [422]
    else:
        assert (said.status_code, said.json()["field"]) == (422, "body")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400, str(2**63)])
def test_numbers_that_are_none(client, value):
    assert refused(client, f'{{"key": "k", "case": {{"age": {value}, "zone": "land"}}}}')[0] == 422


@for_each(
    ("body", "field"),
    [
        ({**asked("k"), "cse": 1}, "cse"),
        ({"case": {}}, "key"),
        ({"key": "k"}, "case"),
        (asked(""), "key"),
        (asked("k" * 201), "key"),
        (asked("k" * 1001), "key"),
        (asked(5), "key"),
        (asked(None), "key"),
        (asked(["k"]), "key"),
        (asked("\ud800"), "key"),
        ({"key": "k", "case": 5}, "case"),
        ({"key": "k", "features": []}, "features"),
        (asked("k", offered="letter"), "offered"),
        (asked("k", offered=[1]), "offered"),
        (asked("k", offered=["lettr"]), "offered"),
        (asked("k", known=5), "known"),
        ({"key": "k", "case": {"\ud800": 1}}, None),
        ({"key": "k", "case": {"age": 33, "zone": "x" * 1001}}, "case.zone"),
        ({"key": "k", "case": {"x" * 1001: 1}}, "case"),
        ({"key": "k", "case": {f"f{i}": i for i in range(1001)}}, "body"),
        ({"key": "k", "case": {"age": [1] * 1001}}, "body"),
        ({"\ud800": 1}, "?"),
    ],
)
def test_wrong_fields_are_named(client, body, field):
    status, said = refused(client, json.dumps(body))
    assert status == 422
    assert field is None or said["field"] == field


@for_each("value", [None, True, "33", "", [], [1], {}, {"a": 1}, [[1, 2], [3, 4]], 1e308, -(2**63), "\x00"])
@for_each("name", ["age", "zone", "nobody"])
def test_no_value_of_a_case_breaks_the_server(client, name, value):
    said = client.post("/decide", json={"key": f"{name} {value}", "case": {"age": 33, "zone": "land", name: value}})
    number = (
        name == "age" and isinstance(value, int | float) and value is not True
    )  # what is outside of its range counts as its end
    assert said.status_code == (200 if number else 422), said.text


CENTS = (None, [], {"letter": "x"}, {"x": 1}, {"letter": None}, {"letter": {}})


@pytest.mark.parametrize("known", [{"x": 1}, *({"cents": z} for z in CENTS)])
def test_no_known_outcome_breaks_the_server(client, known):
    said = client.post("/decide", json=asked(f"{known}", known=known))
    assert said.status_code == 422, said.text


ANSWERS = ({"answer": z} for z in ("1", 9, [], True, {}, 1e300))
NO_OUTCOMES = ({}, [], [None], None, 5, "x", {"x": 1}, [{"answer": 1}] * 2, [{"answer": 1}, None])


@for_each("outcomes", [*ANSWERS, *NO_OUTCOMES])
def test_no_outcome_breaks_the_server(client, outcomes):
    number = client.post("/decide", json=asked(f"{outcomes}"[:200], offered=["letter"])).json()["id"]
    said = client.post("/observe", json={"id": number, "outcomes": outcomes})
    assert said.status_code in (200, 422), said.text


@pytest.mark.parametrize("number", [None, True, 1.5, "1", [1], {}, 2**63])
def test_numbers_of_decisions(client, number):
    assert client.post("/cancel", json={"id": number}).status_code == 422
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}, "revise": False}).status_code == 422


def test_a_flag_is_a_flag(client):
    assert client.post("/observe", json={"id": 2, "outcomes": {}, "revise": 1}).json()["field"] == "revise"


def test_a_name_that_is_stated_twice_is_refused(client):
    status, said = refused(client, '{"key": "a", "key": "b", "case": {}}')
    assert (status, said["field"]) == (422, "'key'")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/healthz"), ("POST", "/decide"), ("GET", "/nowhere"), ("GET", "/metrics")]
)
def test_every_answer_tells_browsers_to_run_nothing(client, method, path):
    said = client.request(method, path)
    assert said.headers["content-security-policy"] == "default-src 'self'"
    assert said.headers["x-content-type-options"] == "nosniff"
    assert said.headers["referrer-policy"] == "no-referrer"
    assert "server" not in said.headers


def test_keys_that_are_html_stay_text(client):
    key = "<script>alert(1)</script>"
    said = client.post("/decide", json=asked(key))
    assert said.json()["key"] == key
    assert said.headers["content-type"] == "application/json"
    for path in ("/report", "/metrics", "/decisions/<script>alert(1)</script>", f"/decisions/{said.json()['id']}"):
        answer = client.get(path)
        assert not answer.headers["content-type"].startswith("text/html")


def test_an_error_of_the_server_says_nothing_of_its_code(tmp_path, monkeypatch):
    campaign = opened(tmp_path)

    def broken(*given, **more):
        raise RuntimeError("a detail of the code")

    monkeypatch.setattr(Verbs, "decide_plain", broken)
    with serving(app(campaign)) as client:
        for body in (asked("one"), [asked("one"), asked("two")]):
            said = client.post("/decide", json=body)
            assert said.status_code == 500
            assert "detail" not in said.text
            assert "Traceback" not in said.text
        monkeypatch.setattr(campaign, "status", broken)
        assert client.get("/report").status_code == 500
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "shop.example"])
def test_other_machines_need_a_token(campaign, host):
    with pytest.raises(InvalidInput, match="token"):
        serve(campaign, host=host)
    with pytest.raises(InvalidInput, match="token"):
        serve(campaign, host=host, token="")


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_a_server_that_other_machines_reach_says_what_a_proxy_is_for(campaign, host, caplog):
    def ready(address):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve(campaign, host=host, port=0, token=TOKEN, ready=ready)
    said = [record.message for record in caplog.records if "deploy/Caddyfile" in record.message]
    assert [z.partition(":")[0] for z in said] == ([host] if host == "0.0.0.0" else [])


@pytest.mark.parametrize("port", [-1, 65_536, "8000", None])
def test_ports(campaign, port):
    with pytest.raises(InvalidInput, match="port"):
        serve(campaign, port=port)
