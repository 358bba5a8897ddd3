"""A log goes by the clock again over HTTP, while its servers run; said again, nothing is written."""

import pytest

from evenhand.live.http import app
from evenhand.live.log.events import read
from tests.live.served import asked, events, opened, serving

SECOND = 10**6
TOLD = {"by": "anna", "why": "the clock was a year ahead"}
YEAR = 365 * 86_400 * SECOND


@pytest.fixture
def clock(monkeypatch):
    """The clock of all stores in files."""
    found = [1_790_000_000 * SECOND]
    monkeypatch.setattr("evenhand.live.stores.sqlite.clock", lambda: found[0])
    return found


@pytest.fixture
def ahead(tmp_path, clock):
    """A log with a decision that was made by a clock a year ahead, which is right now; and when the decision was."""
    clock[0] += YEAR
    opened(tmp_path).decide(asked("early")["case"], "early", offered=["letter"])
    clock[0] -= YEAR
    return clock[0] + YEAR


@pytest.mark.parametrize("path", ["", "/campaigns/shop"])
def test_a_log_that_is_ahead_is_set_back_while_its_servers_run(tmp_path, clock, ahead, path):
    one, other = opened(tmp_path), opened(tmp_path)
    with serving(app(one)) as client, serving(app(other)) as second:
        assert second.get("/report").json()["ahead"] == YEAR / SECOND
        said = client.post(f"{path}/clock", json=TOLD)
        told = {"new": True, "number": 3, "at": clock[0], "from": ahead}
        assert (said.status_code, said.json()) == (200, told)
        for each in (client, second):
            assert each.get("/report").json()["ahead"] == 0
            assert each.get("/report").json()["alarms"] == []
        assert second.post("/decide", json=asked("new")).json()["at"] == clock[0]
        assert client.post("/observe", json={"key": "early", "outcomes": {"answer": 1}}).json() == {"new": True}
    (event,) = events(one, "clock")
    assert {name: read(event)[name] for name in ("who", "why", "from")} == {
        "who": TOLD["by"],
        "why": TOLD["why"],
        "from": ahead,
    }


def test_said_again_nothing_is_written(tmp_path, clock, ahead):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        assert client.post("/clock", json=TOLD).json()["new"] is True
        said = client.post("/clock", json=TOLD)
        assert (said.status_code, said.json()) == (200, {"new": False, "number": 3, "at": clock[0], "from": clock[0]})
    assert len(events(campaign, "clock")) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([TOLD], "body"),
        ({"by": "anna"}, "why"),
        ({"why": "so"}, "by"),
        ({**TOLD, "who": "anna"}, "who"),
        ({**TOLD, "why": ""}, "why"),
        ({**TOLD, "why": "x" * 201}, "why"),
        ({**TOLD, "by": 5}, "by"),
    ],
)
def test_a_request_that_cannot_be_read_names_its_field(tmp_path, ahead, body, field):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        said = client.post("/clock", json=body)
    assert (said.status_code, said.json()["field"]) == (422, field)
    assert not events(campaign, "clock")


def test_a_store_that_is_locked_is_asked_again(tmp_path, ahead, monkeypatch):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        with campaign.store.write("shop"):
            said = client.post("/clock", json=TOLD)
        assert said.status_code == 503
        assert client.post("/clock", json=TOLD).json()["new"] is True


def test_a_campaign_that_a_later_version_decides_for_is_a_conflict(tmp_path, ahead, monkeypatch):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        monkeypatch.setattr("evenhand.live.worker.clocks.deciding", lambda *_: "999.0.0")
        said = client.post("/clock", json=TOLD)
    assert said.status_code == 409
    assert "999.0.0" in said.json()["error"]
    assert not events(campaign, "clock")


def test_the_api_describes_it(tmp_path, ahead):
    with serving(app(opened(tmp_path))) as client:
        about = client.get("/openapi.json").json()["paths"]["/clock"]["post"]
        content = about["requestBody"]["content"]["application/json"]
        said = client.post("/clock", json=content["example"]).json()
    assert content["schema"]["required"] == ["by", "why"]
    answer = about["responses"]["200"]["content"]["application/json"]["schema"]
    assert set(answer["required"]) == set(said)
