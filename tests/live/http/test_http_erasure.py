"""Decisions are erased over HTTP: said again, a request is answered again; what is refused changes nothing."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest

import evenhand as eh
from evenhand.core.errors import CannotErase
from evenhand.live import Campaign, Conflict
from evenhand.live.campaigns.tokens import ROLES, Token, Tokens, hash_of
from evenhand.live.http import app
from evenhand.live.http.changes import MOST
from evenhand.live.log.events import is_erased, read
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http.test_many_campaigns import OTHER, campaigns
from tests.live.http_campaign import SHOP, asked, events, opened, serving
from tests.rows import for_each

SECRET = "a secret of this test"
TOLD = {"by": "support", "why": "case 1204"}
NONE = {"erased": 0, "waiting": 0, "unknown": [], "segments": []}


@pytest.fixture
def campaign(tmp_path):
    """Two decisions with their outcomes, and one that waits."""
    found = opened(tmp_path)
    for key in ("one", "two", "waits"):
        decision = found.decide(asked(key)["case"], key, offered=["letter"])
        if key != "waits":
            found.observe(decision.id, {"answer": 1})
    return found


@pytest.fixture
def client(campaign):
    with serving(app(campaign, token=SECRET)) as found:
        found.headers["Authorization"] = f"Bearer {SECRET}"
        yield found


def erased(campaign):
    """The numbers of erased decisions."""
    return [event.seq for event in events(campaign) if is_erased(event)]


def test_an_erasure_is_in_the_log_with_who_and_why_and_other_servers_go_on(client, campaign, tmp_path):
    other = opened(tmp_path)
    before = client.get("/report").json()
    said = client.post("/erase", json={"keys": ["one", "two", "one"], **TOLD})
    assert (said.status_code, said.json()) == (200, {**NONE, "erased": 2})
    assert erased(campaign) == [2, 4]
    (event,) = events(campaign, "erased")
    assert {name: read(event)[name] for name in ("by", "why", "decisions")} == {**TOLD, "decisions": [2, 4]}
    assert client.get("/decisions?key=one").status_code == 404
    assert client.get("/decisions/2").json()["state"] == "erased"
    after = client.get("/report").json()
    assert after["budgets"] == before["budgets"]
    assert other.decide(asked("new")["case"], "new", offered=["letter"]).id == 8
    assert client.post("/decide", json=asked("new", offered=["letter"])).json()["repeated"] is True


def test_said_again_it_is_answered_again(client, campaign):
    """Nobody can tell an erased key from one that never was, so both are named as unknown."""
    body = {"keys": ["one", "nobody"], **TOLD}
    assert client.post("/erase", json=body).json() == {**NONE, "erased": 1, "unknown": ["nobody"]}
    said = client.post("/erase", json=body)
    assert (said.status_code, said.json()) == (200, {**NONE, "unknown": ["one", "nobody"]})
    assert len(events(campaign, "erased")) == 1


def test_two_at_once_erase_a_key_once(client, campaign, monkeypatch):
    """The other one comes after this one has looked for the keys."""
    true = Campaign.erase

    def later(self, keys, **more):
        monkeypatch.setattr(Campaign, "erase", true)
        true(self, ["one"], by="another")
        return true(self, keys, **more)

    monkeypatch.setattr(Campaign, "erase", later)
    assert client.post("/erase", json={"keys": ["one", "two"], **TOLD}).json() == {
        **NONE,
        "erased": 1,
        "unknown": ["one"],
    }
    assert [read(event)["decisions"] for event in events(campaign, "erased")] == [[2], [4]]


def test_a_file_that_another_program_reads_is_cleaned_when_the_same_is_said_again(client, campaign, tmp_path):
    path = tmp_path / "log.db"
    body = {"keys": ["one"], **TOLD}
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM events").fetchone()
        said = client.post("/erase", json=body)
        assert (said.status_code, said.headers["retry-after"]) == (503, "1")
        assert erased(campaign) == [2]
        other.execute("ROLLBACK")
    assert client.post("/erase", json=body).json() == {**NONE, "unknown": ["one"]}
    assert path.with_name("log.db-wal").stat().st_size == 0
    assert client.post("/erase", json=TOLD).json() == NONE  # which cleans the file once more


def test_all_before_a_date(client, campaign):
    assert client.post("/erase", json={"before": "2026-01-01", **TOLD}).json() == NONE
    later = datetime.now(UTC) + timedelta(days=1)
    for to_come in (later, datetime.now(UTC).date() + timedelta(days=1)):
        said = client.post("/erase", json={"before": to_come.isoformat(), **TOLD})
        assert (said.status_code, said.json()["field"]) == (422, "before")
        assert "a date or time in the past" in said.json()["error"]
    assert not erased(campaign)
    now = datetime.now(timezone(timedelta(hours=2))).isoformat()
    said = client.post("/erase", json={"before": now, **TOLD})
    assert said.json() == {**NONE, "erased": 2, "waiting": 1}
    assert erased(campaign) == [2, 4]
    assert client.post("/erase", json={"before": now, **TOLD}).json() == {**NONE, "waiting": 1}


def test_what_waits_is_refused_and_nothing_is_erased(client, campaign):
    said = client.post("/erase", json={"keys": ["one", "waits"], **TOLD})
    assert said.status_code == 409
    assert "waits for its outcome: observe or cancel it first" in said.json()["error"]
    assert not erased(campaign)


@for_each(
    ("body", "field"),
    [
        ([], "body"),
        ([{"keys": ["one"], **TOLD}], "body"),
        ({"keys": ["one"], "by": "anna"}, "why"),
        ({"keys": ["one"], "why": "so"}, "by"),
        ({"keys": ["one"], **TOLD, "why": "two\nlines"}, "why"),
        ({"keys": ["one"], **TOLD, "whyy": "so"}, "whyy"),
        ({"keys": "one", **TOLD}, "keys"),
        ({"keys": [], **TOLD}, "keys"),
        ({"keys": None, **TOLD}, "keys"),
        ({"keys": ["one", ""], **TOLD}, "keys[1]"),
        ({"keys": ["one", 5], **TOLD}, "keys[1]"),
        ({"keys": [str(i) for i in range(MOST + 1)], **TOLD}, "keys"),
        ({"keys": ["one"], "before": "2026-01-01", **TOLD}, "before"),
        ({"before": "yesterday", **TOLD}, "before"),
        ({"before": 20260101, **TOLD}, "before"),
        ({"before": "2026-13-01", **TOLD}, "before"),
    ],
)
def test_a_request_that_cannot_be_read_names_its_field(client, campaign, body, field):
    said = client.post("/erase", json=body)
    assert (said.status_code, said.json()["field"]) == (422, field)
    assert not erased(campaign)


def test_as_many_keys_as_are_allowed(client):
    keys = [f"{i}" for i in range(MOST - 1)]
    said = client.post("/erase", json={"keys": [*keys, "one"], **TOLD}).json()
    assert said == {**NONE, "erased": 1, "unknown": keys}


def test_a_policy_that_cannot_erase_is_a_conflict(client, campaign, monkeypatch):
    def refuse(*given):
        raise CannotErase("a model keeps cases in a form of its own")

    monkeypatch.setattr("evenhand.live.worker.erasure.forget", refuse)
    said = client.post("/erase", json={"keys": ["one"], **TOLD})
    assert (said.status_code, said.json()) == (409, {"error": "a model keeps cases in a form of its own"})
    monkeypatch.undo()
    assert not erased(campaign)
    assert client.post("/erase", json={"keys": ["one"], **TOLD}).json()["erased"] == 1


def test_a_server_without_a_token_erases_nothing(campaign):
    with serving(app(campaign)) as client:
        said = client.post("/erase", json={"keys": ["one"], **TOLD})
    assert said.status_code == 403
    assert "only a server with a token erases decisions: set EVENHAND_TOKEN" in said.json()["error"]
    assert "an app of your own states `switches` or `erases`" in said.json()["error"]
    assert not erased(campaign)


def test_the_name_of_a_token_is_who_asks(campaign, tmp_path):
    path = tmp_path / "tokens.toml"
    path.touch(0o600)
    path.write_text(Token(name="anna", sha256=hash_of("secret of anna"), roles=ROLES).entry())
    with serving(app(campaign, token=Tokens(path))) as client:
        client.headers["Authorization"] = "Bearer secret of anna"
        said = client.post("/erase", json={"keys": ["one"], **TOLD})
        assert (said.status_code, said.json()["field"]) == (422, "by")
        assert client.post("/erase", json={"keys": ["one"], "why": "so"}).json()["erased"] == 1
        about = client.get("/openapi.json").json()["paths"]["/erase"]["post"]
    assert read(events(campaign, "erased")[0])["by"] == "anna"
    assert about["requestBody"]["content"]["application/json"]["schema"]["required"] == ["why"]


def test_of_several_campaigns_one_is_erased_from(tmp_path):
    shop, post = campaigns(tmp_path)
    for campaign in (shop, post):
        campaign.observe(campaign.decide(asked("one")["case"], "one", offered=["letter"]).id, {"answer": 1})
    with serving(app([shop, post], token=SECRET)) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        body = {"keys": ["one"], **TOLD}
        assert client.post("/erase", json=body).status_code == 404
        assert client.post(f"/campaigns/{OTHER}/erase", json=body).json() == {**NONE, "erased": 1}
    assert (erased(shop), erased(post)) == ([], [2])


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_erasures_under_load_lose_no_request(kind, tmp_path, request):
    """4 clients ask 2 servers; one of these erases meanwhile. The files are cleaned while the servers are at work."""
    place = f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else request.getfixturevalue("url")
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    team = [Campaign.open(connect(place), "shop", policy) for _ in range(2)]
    done, codes = threading.Event(), []

    def ask(client, who):
        count = 0
        while not done.is_set() or count < 5:
            key, count = f"{who} {count}", count + 1
            for path, body in (("/decide", asked(key)), ("/cancel", {"key": key}), ("/report", None)):
                while True:
                    said = client.post(path, json=body) if body else client.get(path)
                    codes.append((path, said.status_code))
                    if said.status_code != 503:
                        break
                    time.sleep(0.02)

    with serving(app(team[0], token=SECRET)) as one, serving(app(team[1], token=SECRET)) as other:
        for client in (one, other):
            client.headers["Authorization"] = f"Bearer {SECRET}"
        threads = [threading.Thread(target=ask, args=((one, other)[i % 2], i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for n in range(3):
            keys = [f"{who} {n}" for who in range(4)]
            while any(one.get("/decisions", params={"key": key}).json().get("state") != "cancelled" for key in keys):
                time.sleep(0.02)
            while (said := one.post("/erase", json={"keys": keys, **TOLD})).status_code == 503:
                time.sleep(0.02)  # it is erased in the log, and somebody reads the file
            assert said.status_code == 200
        done.set()
        for thread in threads:
            thread.join()
    assert {code for _, code in codes} <= {200, 503}
    assert len(erased(team[0])) == 12
    assert eh.live.audit(connect(place), "shop", [policy]).clean


def test_the_api_describes_it(client):
    said = client.get("/openapi.json").json()
    about = said["paths"]["/erase"]["post"]
    content = about["requestBody"]["content"]["application/json"]
    assert set(content["schema"]["properties"]) == {"keys", "units", "before", "by", "why"}
    assert content["schema"]["required"] == ["by", "why"]
    assert content["schema"]["properties"]["keys"]["maxItems"] == MOST
    assert client.post("/erase", json=content["example"]).json() == {**NONE, "unknown": content["example"]["keys"]}
    answer = about["responses"]["200"]["content"]["application/json"]["schema"]
    assert set(answer["required"]) == set(answer["properties"]) == set(NONE)
    assert "error" in json.dumps(about["responses"]["default"])
    assert said["security"] == [{"token": []}]


def test_an_erased_decision_takes_no_other_outcome(client, campaign):
    client.post("/erase", json={"keys": ["one"], **TOLD})
    with pytest.raises(Conflict, match="was erased"):
        campaign.observe(2, {"answer": 0}, revise=True)
    again = Campaign.open(SqliteStore(campaign.store._path), "shop", campaign.policy)
    assert again.status() == campaign.status()
