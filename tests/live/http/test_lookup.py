"""In process, a decision is named by its number or by its key, as over HTTP."""

import json

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live import Unknown
from evenhand.live.http import app
from tests.live.http_campaign import CASE, opened, serving


def test_outcomes_and_cancellations_take_a_key(tmp_path):
    campaign = opened(tmp_path)
    for key in ("one", "2"):  # a key of digits is a key
        campaign.decide(CASE, key, offered=["letter"])
    assert (campaign.observe("one", {"answer": 1}), campaign.observe("one", {"answer": 1})) == (True, False)
    assert campaign.observe("one", {"answer": 0}, revise=True) is True
    assert (campaign.cancel("2"), campaign.cancel(3)) == (True, False)
    assert [campaign.find(which)["state"] for which in ("one", 2, "2", 3)] == ["revised"] * 2 + ["cancelled"] * 2
    for call in (lambda key: campaign.observe(key, {"answer": 1}), campaign.cancel, campaign.find):
        with pytest.raises(Unknown, match="no decision with the key 'nobody' in campaign 'shop'"):
            call("nobody")
        with pytest.raises(InvalidInput, match="key: expected a text"):
            call("")
    assert [event.ref for event in campaign.events() if event.kind == "observed"] == [2]
    done = campaign.many([lambda verbs: verbs.observe("2", {"answer": 1}), lambda verbs: verbs.cancel("2")])
    assert (type(done[0]).__name__, done[1]) == ("Conflict", False)


def test_what_is_found_is_what_http_says(tmp_path):
    campaign = opened(tmp_path)
    number = campaign.decide(CASE, "one").id
    with serving(app(campaign)) as client:
        assert client.get("/decisions?key=one").json() == json.loads(json.dumps(campaign.find("one")))
    assert campaign.find("one") == campaign.find(number)
