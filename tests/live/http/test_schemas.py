"""The description of the API, derived from the problem: what it says fits what the server takes and answers."""

import re

import pytest

import evenhand as eh
from evenhand.live import Campaign, open_campaign
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.http import app
from evenhand.problem import Unit
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_many_campaigns import campaigns
from tests.live.http.test_tokens import entry, write as file
from tests.live.http_campaign import CASE, opened, serving
from tests.replay.shop import rows, write


def body(said, path):
    """The schemas of one body, and of one answer."""
    about = said["paths"][path]["post"]
    answer = about["responses"]["200"]["content"]["application/json"]["schema"]["oneOf"][0]
    return about["requestBody"]["content"]["application/json"]["schema"]["oneOf"][0]["properties"], answer


def test_names_ranges_and_levels_are_those_of_the_problem(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        said = client.get("/openapi.json").json()
        decision = client.post("/decide", json={"key": "a", "case": CASE, "offered": ["letter"]}).json()
        below = client.post("/observe", json={"key": "a", "outcomes": {"answer": -0.1}})
        assert below.status_code == 422
    asked, answer = body(said, "/decide")
    assert asked["case"]["required"] == ["age", "zone"]
    assert "usually from 20 to 60" in asked["case"]["properties"]["age"]["description"]
    assert asked["case"]["properties"]["zone"] == {"type": "string", "enum": ["town", "land"]}
    assert "required" not in asked["features"]
    assert asked["offered"]["items"]["enum"] == ["none", "letter"]
    assert list(asked["known"]["properties"]) == ["cents"]
    assert set(answer["properties"]) == set(decision)
    asked, answer = body(said, "/observe")
    outcome = {"type": ["number", "null"], "minimum": 0.0, "maximum": 1.0}
    assert asked["outcomes"]["oneOf"][0]["properties"] == {"answer": outcome}
    assert answer["properties"]["new"] == {"type": "boolean"}
    assert set(answer["properties"]) == {"new", "id"}  # the latter of events of a unit
    assert "error" in str(said["paths"]["/cancel"]["post"]["responses"]["default"])
    assert "security" not in said


def test_columns_of_a_problem_file(tmp_path):
    _, problem = write(tmp_path, rows(300), STATED)
    with serving(app(open_campaign("memory://", "post", problem))) as client:
        case = body(client.get("/openapi.json").json(), "/decide")[0]["case"]
        assert set(case["required"]) == set(case["properties"])
        assert "usually from" in case["properties"]["age"]["description"]
        assert {"north", "south"} <= set(case["properties"]["town"]["enum"])
        stated = {"age": 33, "town": "north"}
        assert set(stated) == set(case["required"])
        assert client.post("/decide", json={"key": "a", "case": stated}).status_code == 200


def test_a_case_states_its_unit():
    shop = eh.Problem(
        actions=("none", "letter"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("answer"),),
        maximize="answer",
        horizon=9,
        unit=Unit("customer", sticky=3),
    )
    with serving(app(Campaign.open("memory://", "shop", eh.resolving(shop)))) as client:
        about = client.get("/openapi.json").json()["paths"]["/decide"]["post"]["requestBody"]["content"]
        example = about["application/json"]["example"]
        assert example["case"].keys() == {"age", "customer"}
        assert client.post("/decide", json=example).status_code == 200


def test_a_level_that_others_count_as_is_no_limit():
    shop = eh.Problem(
        actions=("no", "yes"),
        features=(eh.Categorical("from", ("web", "shop"), other="web"), eh.Categorical("to", ("a", "b"))),
        outcomes=(eh.Outcome("won", high=5.0),),
        maximize="won",
        horizon=9,
    )
    campaign = Campaign.open("memory://", "shop", eh.resolving(shop, eh.PerAction.of(shop)))
    with serving(app(campaign)) as client:
        found = body(client.get("/openapi.json").json(), "/decide")[0]["case"]["properties"]
        assert client.post("/decide", json={"key": "a", "case": {"from": "fax", "to": "b"}}).status_code == 200
    assert found == {
        "from": {"type": "string", "examples": ["web", "shop"]},
        "to": {"type": "string", "enum": ["a", "b"]},
    }


def test_names_follow_a_switch():
    shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    more = eh.Problem(actions=("no", "yes", "maybe"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    campaign = Campaign.open("memory://", "shop", eh.uniform(shop, 1))
    with serving(app(campaign)) as client:
        for policy in (campaign.policy, eh.uniform(more, 1)):
            if policy is not campaign.policy:
                campaign.switch(policy)
            asked, _ = body(client.get("/openapi.json").json(), "/decide")
            assert asked["offered"]["items"]["enum"] == list(policy.problem.actions)


@pytest.mark.parametrize("named", [True, False])
def test_what_changes_a_campaign(tmp_path, named):
    """With a file of tokens, these say who asks."""
    secret = "secret of somebody"
    token = Tokens(file(tmp_path, entry("somebody"))) if named else secret
    campaign = open_campaign("memory://", "post", write(tmp_path, rows(300), STATED)[1])
    by, why = {} if named else {"by": "anna"}, {"why": "so"}
    with serving(app(campaign, token=token)) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        said = client.get("/openapi.json").json()
        paused = client.post("/pause", json={**by, **why})
        switched = client.post("/switch", json={"problem": STATED.replace("rate = 0.3", "rate = 0.2"), **by, **why})
    assert (paused.status_code, switched.status_code) == (200, 200)
    for path in ("/pause", "/resume", "/end", "/change"):
        content = said["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert content["schema"]["oneOf"][0]["required"] == [*by, "why"]
    _, answer = body(said, "/pause")
    assert set(answer["properties"]) == set(paused.json())
    assert set(answer["properties"]["life"]["properties"]) == set(paused.json()["life"])
    answer = said["paths"]["/switch"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert set(answer["properties"]) == set(switched.json())


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("below", ["", "/campaigns/shop"])
def test_the_token_is_a_security_scheme(tmp_path, single, below):
    """Also where a campaign is described by itself, as clients of one of several read it."""
    both = campaigns(tmp_path)
    secret = "a secret of this test"
    with serving(app(both[0] if single else both, token=secret)) as client:
        said = client.get(f"{below}/openapi.json", headers={"Authorization": f"Bearer {secret}"}).json()
        assert client.get(f"{below}/healthz").status_code == (401 if below else 200)
    assert said["security"] == [{"token": []}]
    assert said["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert said["paths"]["/healthz"]["get"].get("security") == (None if below else [])
    assert "security" not in said["paths"]["/metrics"]["get"]


def test_the_fields_that_are_taken_are_those_of_the_description(tmp_path):
    secret = "a secret of this test"
    with serving(app(opened(tmp_path), token=secret)) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        for path, methods in client.get("/openapi.json").json()["paths"].items():
            if "post" in methods:
                schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
                error = client.post(path, json={"nobody": 1}).json()["error"]
                taken = re.fullmatch(r"nobody: expected one of the fields (.*), got an unknown one.*", error)[1]
                assert set(taken.split(", ")) == set(schema.get("oneOf", [schema])[0]["properties"]), path
