"""Values out of range are decided as others, counted, and raise an alarm above a share."""

from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.fold.cases import NameEncoder
from evenhand.live.http import app
from evenhand.logs.columns import Names
from evenhand.logs.units import Units
from tests.live.http_campaign import CASE, opened, serving


def asked(numbers, ages):
    return [{"key": f"{i}", "case": {**CASE, "age": age}} for i, age in zip(numbers, ages, strict=True)]


def clipped(client):
    """The alarms of values out of range; no outcome is known yet, of which there is another alarm."""
    return [alarm for alarm in client.get("/report").json()["alarms"] if not alarm.startswith("No outcome of")]


def test_values_out_of_range_are_counted_over_http(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        said = client.post("/decide", json=asked(range(120), [61, 19.5, *(118 * [20])])).json()
        assert all("id" in z for z in said)
        client.post("/decide", json=asked(range(120), [61, 19.5, *(118 * [20])]))  # repeated, and counted once
        assert client.get("/report").json()["clipped"] == {"age": 2}
        assert clipped(client) == []
        client.post("/decide", json=asked(range(120, 130), 10 * [2000]))
        report = client.get("/report").json()
        assert report["clipped"] == {"age": 12}
        told = "age: 9.2% of the latest 130 decisions stated a value out of its range, which counted as another one."
        assert clipped(client) == [told]
        assert 'evenhand_clipped{feature="age"} 12' in client.get("/metrics").text
        assert told in client.get("/").text


def test_few_decisions_raise_no_alarm(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        client.post("/decide", json=asked(range(99), 99 * [0]))
        assert clipped(client) == []
        client.post("/decide", json=asked([99], [0]))
        assert len(clipped(client)) == 1


def test_an_alarm_ends_with_its_cause(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        client.post("/decide", json=asked(range(500), 500 * [0]))
        assert len(clipped(client)) == 1
        client.post("/decide", json=asked(range(500, 1450), 950 * [33]))
        (over,) = clipped(client)  # of 1,450 decisions in 1,000 rounds
        assert over.startswith("The horizon of 1,000 rounds is reached")
        assert client.get("/report").json()["clipped"] == {"age": 500}


def test_levels_that_count_as_others_are_counted():
    channels = eh.Categorical("channel", ("web", "phone"), other="web")
    shop = eh.Problem(
        actions=("a", "b"),
        features=(eh.Numeric("age", 20, 60), channels, eh.Categorical("town", ("A", "B"))),
        outcomes=(eh.Outcome("won"),),
        maximize="won",
        horizon=9,
    )
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    campaign = Campaign.open("memory://", "shop", policy)
    for channel in ("web", "fax", "phone", "post"):
        campaign.decide({"age": 20, "channel": channel, "town": "A"}, key=channel)
    assert campaign.report()["clipped"] == {"age": 0, "channel": 2}
    strict = replace(shop, features=(replace(channels, other=None),))
    assert NameEncoder(eh.resolving(strict, eh.PerAction.of(strict))).ranged == []


def test_columns_of_a_log_are_clipped_to_its_range():
    units = Units.fit({"age": np.array([20.0, 33.0, 60.0]), "same": np.ones(3)}, {"town": Names.of(["A", "B", "B"])})
    case = {"age": 60, "same": 7, "town": "A"}
    assert units.outside(case) == []
    for age in (60.5, 19):
        assert units.outside({**case, "age": age}) == ["age"]
        nearest = {**case, "age": min(max(age, 20), 60)}
        assert np.array_equal(units.row({**case, "age": age}), units.row(nearest))
