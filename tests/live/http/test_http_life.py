"""A campaign is paused, resumed, ended and changed over HTTP, while clients ask and outcomes arrive."""

import threading
import time

import pytest

import evenhand as eh
from evenhand.live.http import app, service
from tests.live.http_campaign import asked, opened, serving
from tests.polling import until

ANNA = {"by": "anna <b>", "why": "the printer is broken"}


@pytest.fixture
def campaign(tmp_path):
    return opened(tmp_path)


@pytest.fixture
def client(campaign, monkeypatch):
    monkeypatch.setattr(service, "_KEPT", 0.0)
    with serving(app(campaign)) as found:
        yield found


def test_a_paused_server_is_ready_for_outcomes_and_says_until_when_to_wait(client):
    number = client.post("/decide", json=asked("one", offered=["letter"])).json()["id"]
    said = client.post("/pause", json=ANNA)
    assert (said.status_code, said.json()["new"]) == (200, True)
    assert {name: said.json()["life"][name] for name in ("state", "by", "why")} == {"state": "paused", **ANNA}
    assert client.post("/pause", json=ANNA).json()["new"] is False
    said = client.post("/decide", json=asked("two"))
    assert (said.status_code, said.headers["retry-after"]) == (503, "30")
    assert "is paused by anna <b> since " in said.json()["error"]
    assert "UTC: the printer is broken" in said.json()["error"]
    some = client.post("/decide", json=[asked("one", offered=["letter"]), asked("two")])
    assert [z.get("status", 200) for z in some.json()] == [200, 503]
    assert some.json()[0]["repeated"] is True
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}}).json() == {"new": True}
    assert client.get("/healthz").json() == {"ok": True}
    said = client.get("/readyz")
    assert (said.status_code, said.json()) == (200, {"ready": True, "state": "paused"})
    assert "anna" not in said.text  # who asks for it needs no token
    assert "evenhand_paused 1.0\n" in client.get("/metrics").text
    assert "evenhand_ended 0.0\n" in client.get("/metrics").text
    assert client.get("/report").json()["life"]["why"] == ANNA["why"]
    page = client.get("/").text
    assert '<p class="life">Paused by anna &lt;b&gt; since ' in page
    assert "UTC: the printer is broken</p>" in page
    assert client.post("/resume", json=ANNA).json()["life"]["state"] == "running"
    assert client.post("/decide", json=asked("two")).json()["repeated"] is False
    assert client.get("/readyz").json() == {"ready": True}
    assert "evenhand_paused 0.0\n" in client.get("/metrics").text
    assert '<p class="life">' not in client.get("/").text


def test_an_end_is_final(client):
    number = client.post("/decide", json=asked("one", offered=["letter"])).json()["id"]
    assert client.post("/end", json=ANNA).json()["life"]["state"] == "ended"
    for path, body in (("/decide", asked("two")), ("/resume", ANNA), ("/pause", ANNA)):
        said = client.post(path, json=body)
        assert (said.status_code, "retry-after" in said.headers) == (410, False)
        assert "cannot be " in said.json()["error"]
    assert client.post("/decide", json=asked("one", offered=["letter"])).json()["repeated"] is True
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}}).json() == {"new": True}
    assert client.post("/end", json=ANNA).json()["new"] is False
    assert client.get("/readyz").json() == {"ready": True, "state": "ended"}
    assert "evenhand_ended 1.0\n" in client.get("/metrics").text


def test_settings_change(client, campaign):
    said = client.post("/change", json={**ANNA, "patience": 60, "on_expiry": "release"}).json()
    assert (said["new"], said["life"]["patience"], said["life"]["on_expiry"]) == (True, 60, "release")
    assert client.post("/change", json={**ANNA, "patience": 60}).json()["new"] is False
    told = client.post("/decide", json=asked("one")).json()
    assert told["deadline"] - told["at"] == 60_000_000
    assert [event.kind for event in campaign.events()] == ["opened", "changed", "decided"]


def test_after_its_horizon_a_campaign_that_stops_there_is_over():
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=2)
    campaign = eh.Campaign.open("memory://", "coins", eh.uniform(coin, 1))
    with serving(app(campaign)) as client:
        assert client.post("/change", json={**ANNA, "after": "stop"}).json()["life"]["after"] == "stop"
        said = [client.post("/decide", json={"key": f"{i}", "case": {}}) for i in range(3)]
        assert [z.status_code for z in said] == [200, 200, 410]
        assert said[2].json()["error"] == "campaign 'coins' is over: its horizon of 2 rounds is reached"
        assert client.post("/decide", json={"key": "1", "case": {}}).json()["repeated"] is True
        assert client.post("/observe", json={"key": "1", "outcomes": {"gain": 1}}).json() == {"new": True}
        assert client.post("/change", json={**ANNA, "after": "nothing"}).status_code == 200
        assert client.post("/decide", json={"key": "2", "case": {}}).json()["action"] is None


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/pause", {"by": "anna"}, "why"),
        ("/pause", {**ANNA, "patience": 5}, "patience"),
        ("/resume", {"by": ["anna"], "why": "so"}, "by"),
        ("/end", [], None),
        ("/end", 5, "body"),
        ("/change", ANNA, "change"),
        ("/change", {**ANNA, "patience": None}, "change"),
        ("/change", {**ANNA, "patience": -1}, "patience"),
        ("/change", {**ANNA, "on_expiry": ["hold"]}, "on_expiry"),
        ("/change", {**ANNA, "on_expiry": {}}, "on_expiry"),
    ],
)
def test_a_request_that_cannot_be_read_names_its_field(client, campaign, path, body, field):
    said = client.post(path, json=body)
    assert (said.status_code, said.json().get("field") if field else None) == (422 if field else 200, field)
    assert [event.kind for event in campaign.events()] == ["opened"]


def test_the_api_describes_the_verbs(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path in ("/pause", "/resume", "/end", "/change"):
        one, many = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
        assert one["required"] == ["by", "why"]
        assert many["items"] == {"anyOf": [one, {}]}
        assert ("patience" in one["properties"]) is (path == "/change")


def test_a_pause_under_load_loses_no_request(tmp_path):
    """8 clients ask 2 servers; one of these pauses and resumes meanwhile. Each request is answered in the end."""
    team = [opened(tmp_path), opened(tmp_path)]
    done, paused, told, lock = threading.Event(), threading.Event(), [], threading.Lock()

    def ask(client, who):
        count = 0
        while not done.is_set() or count < 5:
            key, count = f"{who} {count}", count + 1
            while True:
                said = client.post("/decide", json=asked(key, offered=["letter"]))
                with lock:
                    told.append((key, said.status_code, paused.is_set(), said.json().get("action")))
                if said.status_code != 503:
                    break
                time.sleep(0.02)
            if said.status_code == 200 and said.json()["action"] is not None:
                seen = client.post("/observe", json={"key": key, "outcomes": {"answer": 1}})
                with lock:
                    told.append((key, seen.status_code, paused.is_set(), None))

    with serving(app(team[0])) as one, serving(app(team[1])) as other:
        threads = [threading.Thread(target=ask, args=((one, other)[i % 2], i)) for i in range(8)]
        for thread in threads:
            thread.start()

        def more(answers):
            most = len(told) + answers
            until(lambda: len(told) >= most)

        for _ in range(3):
            more(40)
            assert other.post("/pause", json=ANNA).json()["new"] is True
            before = {e.seq for e in team[0].events() if e.kind == "decided"}
            more(20)
            assert {e.seq for e in team[0].events() if e.kind == "decided"} == before
            assert one.post("/resume", json=ANNA).json()["new"] is True
        done.set()
        for thread in threads:
            thread.join()
    codes = {code for _, code, _, _ in told}
    assert codes == {200, 503}
    decided = [e.key for e in team[0].events() if e.kind == "decided"]
    assert sorted(decided) == sorted({key for key, *_ in told})
    assert sum(e.kind == "paused" for e in team[0].events()) == 3
