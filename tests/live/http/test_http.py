"""What clients may ask over HTTP, and what they are told."""

import gc
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenhand.live.http import app, serve
from tests.live.http_campaign import CASE, asked, events, opened, serving


@pytest.fixture
def campaign(tmp_path):
    return opened(tmp_path)


@pytest.fixture
def client(campaign):
    with serving(app(campaign)) as found:
        yield found


def test_a_decision_has_its_outcome_once(client):
    said = client.post("/decide", json=asked("one"))
    assert said.status_code == 200
    body = said.json()
    assert {"id", "action", "actions", "probability", "probabilities", "explanation", "deadline"} <= set(body)
    assert body["repeated"] is False
    assert body["action"] in ("none", "letter")
    assert client.post("/decide", json=asked("one")).json() == {**body, "repeated": True}
    outcome = {"id": body["id"], "outcomes": {"answer": 1}}
    assert client.post("/observe", json=outcome).json() == {"new": True}
    assert client.post("/observe", json=outcome).json() == {"new": False}
    other = client.post("/observe", json={"id": body["id"], "outcomes": {"answer": 0}})
    assert other.status_code == 409
    assert "revise" in other.json()["error"]
    revised = {"id": body["id"], "outcomes": {"answer": 0}, "revise": True}
    assert client.post("/observe", json=revised).json() == {"new": True}
    found = client.get(f"/decisions/{body['id']}").json()
    assert found["case"] == CASE
    assert found["outcomes"] == {"answer": 0}
    assert [e["kind"] for e in found["events"]] == ["observed", "revised"]
    assert {k: found[k] for k in body} == body


def test_a_case_may_come_in_pieces(client):
    whole = client.post("/decide", json=asked("one")).json()
    pieces = {"key": "one", "features": {"age": 33}, "groups": {"zone": "land"}}
    assert client.post("/decide", json=pieces).json() == {**whole, "repeated": True}
    twice = client.post("/decide", json={"key": "two", "features": {"age": 33}, "case": {"age": 34}})
    assert (twice.status_code, twice.json()["field"]) == (422, "features.age")


def test_what_is_on_offer_is_what_is_played(campaign):
    with serving(app(campaign, known=True)) as client:
        said = client.post("/decide", json=asked("one", offered=["letter"], known={"cents": {"letter": 70}})).json()
    assert said["action"] == "letter"


def test_a_decision_is_cancelled_once(client):
    number = client.post("/decide", json=asked("one", offered=["letter"])).json()["id"]
    assert client.post("/cancel", json={"id": number}).json() == {"new": True}
    assert client.post("/cancel", json={"id": number}).json() == {"new": False}
    assert client.post("/observe", json={"id": number, "outcomes": {"answer": 1}}).status_code == 409
    assert client.get(f"/decisions/{number}").json()["state"] == "cancelled"


def test_another_case_under_the_same_key_is_a_conflict(client):
    client.post("/decide", json=asked("one"))
    said = client.post("/decide", json={"key": "one", "case": {**CASE, "age": 34}})
    assert (said.status_code, said.json()) == (409, {"error": "key 'one' was used for another case"})


@pytest.mark.parametrize("number", ["1", "99", "-1", "x", "9" * 30, "%00", "1e3"])
def test_unknown_decisions(client, number):
    said = client.get(f"/decisions/{number}")
    assert said.status_code == 404
    assert "no decision" in said.json()["error"]


@pytest.mark.parametrize("path", ["/observe", "/cancel"])
@pytest.mark.parametrize("number", [1, 99, 0, -1, 2**63 - 1])
def test_verbs_about_unknown_decisions(client, path, number):
    body = {"id": number} | ({"outcomes": {"answer": 1}} if path == "/observe" else {})
    assert client.post(path, json=body).status_code == 404


def test_a_batch_is_one_transaction_with_an_answer_each(client, campaign):
    said = client.post("/decide", json=[asked("a"), asked("b"), {"key": "c"}, asked("a"), asked("b", offered=[])])
    assert said.status_code == 200
    a, b, wrong, again, other = said.json()
    assert b["id"] == a["id"] + 1
    assert again == {**a, "repeated": True}
    assert (wrong["status"], wrong["field"]) == (422, "case")
    assert other["status"] == 409
    assert len({e.at for e in events(campaign)}) == 1
    numbers = [a["id"], b["id"], 77]
    said = client.post("/observe", json=[{"id": n, "outcomes": {"answer": 1}} for n in numbers]).json()
    assert said[:2] == [{"new": True}, {"new": True}]
    assert said[2]["status"] == 404
    assert [z.get("status") for z in client.post("/cancel", json=[{"id": n} for n in numbers]).json()] == [
        409,
        409,
        404,
    ]
    assert client.post("/decide", json=[]).json() == []
    assert client.post("/cancel", json=[{"id": 1}] * 1001).status_code == 422


def test_one_key_asked_for_by_many_at_once_is_one_decision(client, campaign):
    gate = threading.Barrier(8)

    def ask(_):
        gate.wait()
        return client.post("/decide", json=asked("same")).json()

    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(ask, range(8)))
    assert len({z["id"] for z in said}) == 1
    assert sorted(z["repeated"] for z in said) == [False] + [True] * 7
    assert len(events(campaign)) == 1


def test_a_store_that_is_locked_decides_nothing(tmp_path):
    campaign = opened(tmp_path, timeout=0.2)
    with serving(app(campaign)) as client:
        decides_nothing_while_locked(client, campaign, tmp_path)


def decides_nothing_while_locked(client, campaign, tmp_path):
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for path, body in (("/decide", asked("one")), ("/decide", [asked("one"), asked("two")]), ("/cancel", {"id": 2})):
        said = client.post(path, json=body)
        assert said.status_code == 503
        assert said.headers["retry-after"] == "1"
        assert said.json()["error"].endswith("send the request again, with the same key")
        assert str(tmp_path) not in said.text
    assert client.get("/report").status_code == 503
    assert client.get("/healthz").status_code == 200
    other.execute("ROLLBACK")
    other.close()
    assert events(campaign) == []
    assert client.post("/decide", json=asked("one")).json()["repeated"] is False


def test_the_report_says_where_the_campaign_stands(client):
    numbers = [client.post("/decide", json=asked(f"{i}", offered=["letter"])).json()["id"] for i in range(3)]
    client.post("/observe", json={"id": numbers[0], "outcomes": {"answer": 1}})
    said = client.get("/report").json()
    assert (said["rounds"], said["waiting"], said["expired"]) == (3, 2, 0)
    assert said["budgets"]["cents"]["spent"] == 240
    assert said["actions"] == {"none": 0, "letter": 3}
    assert set(said) >= {"campaign", "policy", "horizon", "averages", "standings", "prices"}
    gap = said["standings"]["cents gap by zone"]
    assert {"value", "limit", "worst", "kept"} <= set(gap)
    assert (gap["average"], gap["groups"]) == (80, {"town": None, "land": 80})
    assert [said[kind] for kind in ("observed", "late", "cancelled", "revised")] == [1, 0, 0, 0]
    assert 0 < said["delay"]["median"] < 60
    assert said["alarms"] == []


def test_a_report_before_the_first_decision(client):
    said = client.get("/report").json()
    assert (said["rounds"], said["averages"]["answer"]) == (0, None)
    assert "nan" not in client.get("/metrics").text.lower()


def test_metrics_for_prometheus(client):
    client.post("/decide", json=asked("one", offered=["letter"]))
    client.post("/decide", json={})
    client.get("/nowhere/at/all")
    said = client.get("/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = said.text.splitlines()
    for line in (
        "evenhand_decisions_total 1.0",
        "evenhand_waiting 1.0",
        "evenhand_expired_total 0.0",
        "evenhand_late_total 0.0",
        'evenhand_budget_spent{budget="cents"} 80.0',
        'evenhand_budget_total{budget="cents"} 8000.0',
        'evenhand_requests_total{route="/decide",status="200"} 1.0',
        'evenhand_requests_total{route="/decide",status="422"} 1.0',
        'evenhand_requests_total{route="other",status="404"} 1.0',
    ):
        assert line in lines


def test_outcomes_that_are_overdue_are_counted(tmp_path):
    with serving(app(opened(tmp_path, patience=1e-6))) as client:
        number = client.post("/decide", json=asked("one")).json()["id"]
        assert client.get("/report").json()["expired"] == 1
        assert client.get(f"/decisions/{number}").json()["state"] == "expired"


@pytest.mark.parametrize(("written", "status"), [("2.0", 404), ("2.5", 422), ("-0.0", 404), ("1e30", 422)])
def test_a_number_may_be_written_as_a_float(tmp_path, written, status):
    """An integer of JSON is a number without a fraction."""
    with serving(app(opened(tmp_path))) as client:
        for path, rest in {"/cancel": "", "/observe": ', "outcomes": {"answer": 1}'}.items():
            assert client.post(path, content=f'{{"id": {written}{rest}}}').status_code == status
        number = client.post("/decide", json=asked("a")).json()["id"]
        observed = client.post("/observe", content=f'{{"id": {number}.0, "outcomes": {{"answer": 1}}}}')
        assert observed.json() == {"new": True}


def test_the_description_of_the_api_loads_nothing_from_elsewhere(client):
    said = client.get("/openapi.json").json()
    assert {"/decide", "/observe", "/cancel", "/report", "/decisions/{number}", "/metrics"} <= set(said["paths"])
    assert "<script" not in client.get("/docs").text
    assert client.get("/redoc").status_code == 404


def test_other_pages_and_methods(client):
    assert (client.get("/nowhere").status_code, client.get("/nowhere").json()) == (404, {"error": "not found"})
    assert client.get("/decide").status_code == 405
    for path in ("/decide/", "/campaigns/nobody/decide", "/campaigns/shop/campaigns/shop/decide"):
        assert client.post(path, json=asked("one")).status_code == 404


def test_an_app_starts_again_after_it_ended(campaign):
    made = app(campaign)
    for i in range(2):
        with serving(made) as client:
            assert client.post("/decide", json=asked(f"{i}")).status_code == 200


def test_searches_for_garbage_leave_out_what_was_there_before_the_first_request(tmp_path):
    found = []

    def ready(address):
        found.append(gc.get_freeze_count())
        raise KeyboardInterrupt

    before = gc.get_freeze_count()
    with pytest.raises(KeyboardInterrupt):
        serve(opened(tmp_path), port=0, ready=ready)
    assert found[0] > before + 10_000
    assert gc.get_freeze_count() == 0
