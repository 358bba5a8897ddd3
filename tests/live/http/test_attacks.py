"""No client stops a server, lifts a limit or makes others wait: bodies, connections, tokens, turns, service."""

import base64
import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Campaign
from evenhand.live.http import app, service
from evenhand.live.http.bodies import parse, plain
from evenhand.live.http.commits import Commits
from evenhand.live.http.server import server
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import _Log
from tests.live.http_campaign import CASE, SHOP, asked, events, opened, serving
from tests.polling import LONG, until

TOKEN = "a secret of this test"


def names(number):
    return b"{" + b",".join(b'"%d":1' % i for i in range(number)) + b',"z":1,"z":1}'


@pytest.mark.parametrize(("number", "told"), [(900, "a name that is stated once"), (20_000, "at most 1,000 fields")])
def test_many_names_cost_little(client, number, told):
    """Little more than JSON of that length: hundreds of times as much where every name is counted among all."""
    said = client.post("/decide", content=names(number))
    assert (said.status_code, told in said.text) == (422, True)

    def cost(read):
        before = time.thread_time()
        with suppress(InvalidInput):
            read(names(number))
        return time.thread_time() - before

    assert min(cost(parse) for _ in range(5)) < 30 * min(cost(json.loads) for _ in range(5))


def test_texts_that_look_like_names_are_none():
    texts = {f"{i}": '":' * 400 for i in range(5)} | {"ends with \\": 1}
    assert parse(json.dumps(texts).encode()) == texts
    with pytest.raises(InvalidInput, match="at most 1,000 fields, got an object of 1,001"):
        parse(b" " + json.dumps({f"{i}": i for i in range(1001)}).encode())


def test_names_and_values_may_begin_with_colons():
    most = {f":{i}": f":{i}" for i in range(999)}
    assert parse(json.dumps({"case": most}).encode()) == {"case": most}
    plain({"case": most})


def test_fields_are_counted_in_all_objects_of_a_body(client):
    for content in ({f"{i}": i for i in range(1000)}, {f":{i}": f":{i}" for i in range(1000)}):
        said = client.post("/decide", json={"key": "many", "case": content})
        assert (said.status_code, "at most 1,000 fields" in said.text) == (422, True)
    said = client.post("/decide", json={"key": "fewer", "case": {f"{i}": ":x" for i in range(600)}})
    assert (said.status_code, "1,000 fields" in said.text) == (422, False)  # names that the problem does not have


def test_a_name_that_is_stated_twice_is_the_first_one_that_is_repeated():
    with pytest.raises(InvalidInput, match="'b': expected a name that is stated once"):
        parse(b'{"a": 1, "b": 1, "c": 1, "b": 1, "a": 1}')


def test_the_limit_of_open_files_caps_connections(monkeypatch):
    resource = pytest.importorskip("resource")
    for soft, most in ((1024, 896), (100, 36), (10**6, 10_000), (resource.RLIM_INFINITY, 10_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert server(None).config.limit_concurrency == most


@pytest.mark.parametrize("value", [-1e6, 0, 79, 1e15, -1e99, 80])
def test_a_client_states_no_known_outcome(client, campaign, value):
    before = len(events(campaign))
    for known in ({"cents": value}, {"cents": {"letter": value}}):
        said = client.post("/decide", json=asked(f"known {value}", known=known))
        assert (said.status_code, said.json()["field"]) == (422, "known.cents")
    assert len(events(campaign)) == before


def test_a_server_that_takes_known_outcomes_takes_them_between_those_that_are_declared(tmp_path):
    with serving(app(opened(tmp_path), known=True)) as client:
        for value in (-1e6, -0.01, 80.01, 1e15, 1e99):
            said = client.post("/decide", json=asked(f"{value}", known={"cents": {"letter": value}}))
            assert (said.status_code, said.json()["field"]) == (422, "known.cents.letter")
            assert "a number from 0 to 80" in said.json()["error"]
        for value in (0, 70, 80):
            body = asked(f"{value}", offered=["letter"], known={"cents": {"letter": value}})
            assert client.post("/decide", json=body).status_code == 200
        assert client.get("/report").json()["budgets"]["cents"]["spent"] == 150


def test_a_known_outcome_with_a_range_is_stated_within_it():
    bill = eh.Outcome("cents", known={"yes": 80}, low=0.0, high=200.0)
    shop = eh.Problem(
        actions=("no", "yes"), outcomes=(eh.Outcome("won"), bill), maximize="won", horizon=9,
        subject_to=(eh.Budget("cents", total=800),),
    )  # fmt: skip
    with serving(app(Campaign.open("memory://", "shop", eh.uniform(shop, 1)))) as client:
        for value, status in ((-1, 422), (200.5, 422), (0, 200), (200, 200)):
            body = {"key": f"{value}", "case": {}, "known": {"cents": value}}
            assert client.post("/decide", json=body).status_code == status


def test_a_use_below_zero_is_an_alarm(tmp_path):
    campaign = opened(tmp_path)
    said = campaign.decide(CASE, "credit", offered=["letter"], known={"cents": {"letter": -1e6}})  # Python may
    campaign.observe(said.id, {"answer": 1})
    with serving(app(campaign)) as client:
        alarms = client.get("/report").json()["alarms"]
        assert "cents: 1 decision stated a use below 0, which lets others get more than the total." in alarms
        assert any("is spent, which is below 0" in alarm for alarm in alarms)
        assert 'evenhand_budget_credited_total{budget="cents"} 1' in client.get("/metrics").text


def test_the_key_stands_for_the_number(client):
    number = client.post("/decide", json=asked("by key", offered=["letter"])).json()["id"]
    assert client.post("/observe", json={"key": "by key", "outcomes": {"answer": 1}}).json() == {"new": True}
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}}).json() == {"new": False}
    assert client.get("/decisions", params={"key": "by key"}).json() == client.get(f"/decisions/{number}").json()
    client.post("/decide", json=asked("goes", offered=["letter"]))
    assert client.post("/cancel", json={"key": "goes"}).json() == {"new": True}
    for path, more in (("/observe", {"outcomes": {"answer": 1}}), ("/cancel", {})):
        assert client.post(path, json={"key": "nobody", **more}).status_code == 404
        for which in ({}, {"key": "by key", "id": number}, {"key": ""}, {"key": 5}):
            assert client.post(path, json={**which, **more}).status_code == 422
    assert client.get("/decisions", params={"key": "nobody"}).status_code == 404
    for query in ("", "?key=", "?key=a&key=b", "?key=a&id=2", "?id=2"):
        assert client.get(f"/decisions{query}").status_code == 422


@pytest.mark.parametrize("outcomes", [{"answer": None}, [{"answer": None}], [None]])
def test_null_for_every_outcome_is_no_outcome(client, outcomes):
    number = client.post("/decide", json=asked(f"{outcomes}", offered=["letter"])).json()["id"]
    said = client.post("/observe", json={"id": number, "outcomes": outcomes})
    assert (said.status_code, said.json()["field"]) == (422, "outcomes")
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}}).json() == {"new": True}


def test_a_server_is_ready_until_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(service, "_KEPT", 0.0)
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        before = list(campaign.events())
        assert client.get("/readyz").json() == {"ready": True}
        assert client.head("/readyz").status_code == client.head("/healthz").status_code == 200
        assert client.get("/readyz", headers={"Host": "10.0.0.7:8000"}).status_code == 200
        assert list(campaign.events()) == before  # the trial is in no log
        assert client.post("/decide", json=asked("one")).status_code == 200

        def told(wanted):
            said = client.get("/readyz")
            assert (said.status_code, said.headers["retry-after"], said.json()["ready"]) == (503, "1", False)
            assert wanted in said.json()["reason"]
            assert str(tmp_path) not in said.text

        with monkeypatch.context() as patch:
            patch.setattr(campaign, "refresh", lambda: (_ for _ in ()).throw(Busy(f"the disk of {tmp_path}")))
            told("the store cannot be written")
        with monkeypatch.context() as patch:
            over = threading.Event()
            patch.setattr(campaign, "refresh", lambda: over.wait(LONG))
            patch.setattr(service, "PATIENCE", 0.1)
            told("behind the log")
        over.set()
        eh.Campaign.open(campaign.store, "shop", campaign.policy).switch(eh.pgd(SHOP, eh.PerAction.of(SHOP)))
        until(lambda: "behind the log" not in client.get("/readyz").json().get("reason", "behind the log"))
        told("switched to another policy of Python")
        assert client.get("/healthz").status_code == 200


def test_no_key_of_a_client_makes_a_server_unready(tmp_path, monkeypatch):
    monkeypatch.setattr(service, "_KEPT", 0.0)
    stated, write = [], _Log.append

    def noted(log, kind, body, *, ref=None, key=None):
        stated.append(key)
        return write(log, kind, body, ref=ref, key=key)

    with serving(app(opened(tmp_path))) as client:
        assert client.post("/decide", json=asked("readiness of a server")).status_code == 200
        assert client.get("/readyz").json() == {"ready": True}
        monkeypatch.setattr(_Log, "append", noted)
        assert client.get("/readyz").status_code == 200
    assert stated == [None]


def test_a_probe_may_ask_by_any_name_and_prometheus_by_address(client):
    for host in ("10.1.2.3:8000", "pod.cluster.example", "[fd00::7]:8000", ""):
        assert client.get("/healthz", headers={"Host": host}).json() == {"ok": True}
    for host, status in (("10.1.2.3:8000", 200), ("[fd00::7]", 200), ("evil.example", 400), ("10.1.2.3.example", 400)):
        assert client.get("/metrics", headers={"Host": host}).status_code == status
    assert client.get("/report", headers={"Host": "10.1.2.3"}).status_code == 400


def test_a_wrong_token_is_logged_and_slowed(campaign, caplog):
    with serving(app(campaign, token=TOKEN)) as client, caplog.at_level(logging.WARNING):
        before = time.monotonic()
        for _ in range(5):
            said = client.get("/report", headers={"Authorization": "Bearer a wrong one of them"})
            assert said.status_code == 401
        assert time.monotonic() - before >= 0.5
        found = [record.message for record in caplog.records if "token" in record.message]
        assert found == ["refused 1 request with a wrong token, the last one from 127.0.0.1"]
        assert "a wrong one" not in caplog.text
        assert client.get("/report").status_code == 401  # a browser asks for the token then
        basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
        assert client.get("/healthz", headers={"Authorization": f"Basic {basic}"}).status_code == 200


def test_a_short_token_is_refused(campaign):
    with pytest.raises(InvalidInput, match="token: expected at least 16 characters"):
        app(campaign, token="x" * 15)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json; charset=utf-8"}, 200),
        ({}, 200),
    ],
)
def test_a_page_of_another_site_changes_nothing(client, campaign, headers, status):
    before = len(events(campaign))
    content = f'{{"key": "{headers}", "case": {{"age": 33, "zone": "land"}}}}'.replace("'", "")
    assert client.post("/decide", content=content, headers=headers).status_code == status
    assert len(events(campaign)) == before + (status == 200)


def test_who_asks_for_much_does_not_make_others_wait():
    coin = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=100)
    commits = Commits(Campaign.open(MemoryStore(), "coin", eh.uniform(coin, 1)))
    begun, gate, order = threading.Event(), threading.Event(), []

    def first(_verbs):
        begun.set()
        gate.wait(LONG)
        return {}

    jobs = [commits.submit([first], "first")]
    assert begun.wait(LONG)
    for client in "ABCDEFGH":
        for i in range(2):
            each = [lambda _, name=f"{client}{i}": [order.append(name), {}][1]] * 1000
            jobs.append(commits.submit(each, client))
    jobs += [commits.submit([lambda _, i=i: [order.append(f"small {i}"), {}][1]], "small") for i in range(3)]
    gate.set()
    for job in jobs:
        job.result(LONG)
    assert order[:3] == ["small 0", "small 1", "small 2"]
    turns = list(dict.fromkeys(order[3:]))
    assert turns == [f"{client}{i}" for i in range(2) for client in "ABCDEFGH"]  # by turns, each in its own order
    assert [order.count(turn) for turn in turns] == [1000] * 16
    commits.close()


@pytest.mark.slow
def test_others_are_answered_meanwhile(tmp_path):
    """20,000 names and costs of 1e15, beside a client of its own."""
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        over, attacked = threading.Event(), threading.Event()

        def waits():
            found = []
            for _ in range(200):
                before = time.monotonic()
                assert client.get("/healthz").status_code == 200
                found.append(time.monotonic() - before)
                time.sleep(0.01)
            return np.quantile(found, 0.99)

        def attack():
            body = names(20_000)
            while not over.is_set():
                attacked.set()
                assert client.post("/decide", content=body).status_code == 422
                assert client.post("/decide", json=asked("cost", known={"cents": 1e15})).status_code == 422
                time.sleep(0.05)

        alone = waits()
        with ThreadPoolExecutor(1) as thread:
            attacker = thread.submit(attack)
            assert attacked.wait(LONG)
            beside = waits()
            over.set()
            attacker.result(LONG)
        assert beside < 0.5 + 20 * alone  # 0.1 on a quiet machine
