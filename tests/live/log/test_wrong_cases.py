"""Cases that no client may state: one error names all fields that are wrong."""

import json
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.fold import cases
from evenhand.live.http import app
from evenhand.live.worker import requests
from evenhand.live.worker.batches import Deciding
from tests.live.http_campaign import serving

POST = Path(__file__).parents[3] / "deploy" / "problem.toml"
SHOP = eh.Problem(
    actions=("none", "mail"),
    features=(eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"mail": 80})),
    maximize="answer",
    groups=(eh.Groups("zone", ("town", "land")),),
    horizon=100,
)
GOOD = {"age": 33, "channel": "web", "zone": "land"}
WRONG = {"age": None, "channel": "fax", "x": 1, "zone": "sea"}
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP))
STATED = {"age": 33, "town": "north"}


def named():
    return eh.Campaign.open("memory://", "shop", POLICY)


def coded():
    return eh.live.open_campaign("memory://", "post", POST)


def fields(error):
    return [error.field, *(other.field for other in error.others)]


def test_an_error_names_all_fields_of_a_case():
    for ask in (POLICY.encode, lambda case, **more: named().decide(case, "one", **more)):
        with pytest.raises(InvalidInput) as caught:
            ask(WRONG, offered=["fly"])
        assert sorted(fields(caught.value)) == ["age", "channel", "offered", "x", "zone"]
        assert "age: expected a finite number, got None; channel: expected one of" in str(caught.value)


def test_an_error_names_all_columns_of_a_case():
    with coded() as campaign, pytest.raises(InvalidInput) as caught:
        campaign.decide({"age": "old", "town": "west", "x": 1}, "one", offered=["fly"])
    assert sorted(fields(caught.value)) == ["age", "offered", "town", "x"]


def test_an_answer_names_all_fields_of_a_case():
    with named() as campaign, serving(app(campaign)) as client:
        said = client.post("/decide", json={"key": "one", "case": WRONG, "offered": ["fly"]})
        listed = client.post("/decide", json=[{"key": "one", "case": GOOD, "offered": ["fly"]}])
    assert said.status_code == 422
    assert said.json()["field"] == said.json()["fields"][0]
    assert sorted(said.json()["fields"]) == ["age", "channel", "offered", "x", "zone"]
    assert "fields" not in listed.json()[0], "where one is wrong, it is `field`"


def test_a_row_of_a_frame_names_all_its_fields():
    with pytest.raises(InvalidInput, match=r"^row 1: age: .*; row 1: channel: "):
        POLICY.encode_frame([GOOD, GOOD | {"age": "old", "channel": "fax"}])


@pytest.mark.parametrize(("made", "good"), [(named, GOOD), (coded, STATED)])
@pytest.mark.parametrize("frozen", [False, True])
def test_true_is_no_number_and_no_action_is_offered_twice(made, good, frozen):
    wrong = Deciding(good | {"age": True}, "true", frozen=frozen)
    with made() as campaign:
        action = campaign.policy.problem.actions[1]
        twice = Deciding(good, "twice", offered=[action, action], frozen=frozen)
        sound = [Deciding(good, f"sound {i}", frozen=frozen) for i in range(2)]
        found = campaign.many([wrong, twice, *sound])
        assert [len(fields(z)) for z in found[:2]] == [1, 1]
        assert str(found[0]) == "age: expected a finite number, such as 1 for true and 0 for false, got True"
        assert str(found[1]) == f"offered: expected a collection of different actions, got {action!r} twice"
        assert campaign.status().rounds == 2


def test_what_is_wrong_in_several_ways_is_named_once_for_each_field():
    with pytest.raises(InvalidInput) as caught:
        POLICY.encode(GOOD | {"age": True, "zone": "sea"}, offered=(a for a in ["mail", "mail"]))
    assert fields(caught.value) == ["age", "zone", "offered"]


def test_a_column_of_true_and_false_has_numbers_and_other_columns_are_not_read():
    problem = eh.Problem(
        actions=("a", "b"), features=(eh.Numeric("new", 0, 1),), outcomes=(eh.Outcome("y"),), maximize="y", horizon=9
    )
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    frame = pd.DataFrame({"id": [7, 8], "new": [True, False]})
    contexts = policy.encode_frame(frame)
    assert [c.features[0, 0, 2] for c in contexts] == [1.0, -1.0]
    with pytest.raises(InvalidInput, match="id: expected one of"):
        policy.encode_frame(frame.to_dict("records"))


@pytest.mark.parametrize(("made", "good"), [(named, GOOD), (coded, STATED)])
def test_a_log_that_has_them_of_an_earlier_version_is_folded(made, good, monkeypatch):
    with made() as campaign:
        action = campaign.policy.problem.actions[1]
        with monkeypatch.context() as earlier:
            earlier.setattr(requests, "refuse", lambda *_: None)
            said = campaign.decide(good | {"age": True}, "one", offered=[action, action])
        assert json.loads(next(campaign.store.scan(campaign.name, said.id - 1)).own)["case"]["age"] is True
        assert campaign.decide(good | {"age": True}, "one", offered=[action, action]).repeated
        assert campaign.observe(said.id, dict.fromkeys(campaign.policy.problem.observed, 1))
        assert campaign.explain(said.id) is not None
        assert eh.live.audit(campaign.store, campaign.name, [campaign.policy], encoders=[campaign.encoder]).clean


def test_other_encoders_refuse_what_they_like():
    class Own:
        def context(self, case, offered, known):
            return POLICY.encode({"age": float(case["old"]), **GOOD}, offered=offered)

        def to_dict(self):
            return {}

    assert not isinstance(Own(), cases.Refuses)
    campaign = eh.Campaign.open("memory://", "shop", POLICY, encoder=Own())
    assert campaign.decide({"old": True}, "one").id == 2
