"""A campaign in an app of one's own: the answers, errors and descriptions are those of the app of evenhand."""

import threading

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException

from evenhand.core.errors import InvalidInput
from evenhand.live import open_campaign
from evenhand.live.http import add_errors, add_links, app, router
from tests.live.campaigns.test_files import STATED
from tests.live.http_campaign import asked, events, opened, serving
from tests.replay.shop import rows, write

SECRET = "known to this test"
SAID = {"x-secret": SECRET}


def knows(x_secret: str = Header("")):
    if x_secret != SECRET:
        raise HTTPException(403, "who are you?")


def mine(campaign, **settings):
    """The app of a user, with a route, a rule and an error of its own."""
    made = FastAPI()
    made.include_router(router(campaign, **settings), prefix="/shop", dependencies=[Depends(knows)], tags=["shop"])
    add_errors(made)
    add_links(made)

    @made.get("/hello")
    def hello():
        return {"hello": "you"}

    return made


def test_the_answers_are_those_of_the_app(tmp_path):
    """Both ask workers of one campaign."""
    with serving(mine(opened(tmp_path))) as client, serving(app(opened(tmp_path))) as other:
        client.headers.update(SAID)
        decision = client.post("/shop/decide", json=asked("a")).json()
        assert {**decision, "repeated": True} == other.post("/decide", json=asked("a")).json()
        outcomes = {"key": "a", "outcomes": {"answer": 1}}
        assert client.post("/shop/observe", json=outcomes).json() == {"new": True}
        assert other.post("/observe", json=outcomes).json() == {"new": False}
        for path in (f"/decisions/{decision['id']}", "/decisions?key=a", "/healthz", "/readyz"):
            assert client.get(f"/shop{path}").json() == other.get(path).json()
        report = client.get("/shop/report").json()
        assert set(report) == set(other.get("/report").json())
        assert report["rounds"] == 1
        assert "evenhand_decisions_total 1" in client.get("/shop/metrics").text
        assert client.head("/shop/readyz").status_code == 200
        assert client.post("/shop/pause", json={"by": "anna", "why": "so"}).json()["life"]["by"] == "anna"
        assert client.post("/shop/decide", json=asked("b")).headers["retry-after"] == "30"
        assert client.get("/hello").json() == {"hello": "you"}


def test_the_errors_are_those_of_the_app(tmp_path):
    bodies = {
        "/decide": [
            {"key": "a"},
            {"key": "a", "case": {"age": "x"}},
            [asked("a"), {"key": 1}],
            "no object",
            [1] * 1001,
        ],
        "/observe": [{"id": 99, "outcomes": {"answer": 1}}, {"outcomes": {}}],
        "/cancel": [{"key": "unknown"}],
        "/pause": [{"by": "anna"}],
        "/switch": [{"problem": "x"}],
        "/erase": [{"keys": ["a"]}],
    }
    with serving(mine(opened(tmp_path))) as client, serving(app(opened(tmp_path))) as other:
        client.headers.update(SAID)
        for path, each in bodies.items():
            for body in each:
                found, expected = client.post(f"/shop{path}", json=body), other.post(path, json=body)
                assert found.status_code == expected.status_code
                if found.status_code != 200:
                    assert found.json() == expected.json()
        for path in ("/decisions/99", "/decisions/x", "/decisions?key=unknown", "/decisions"):
            found, expected = client.get(f"/shop{path}"), other.get(path)
            assert (found.status_code, found.json()) == (expected.status_code, expected.json())
            assert found.status_code in (404, 422)
        found = client.post("/shop/decide", content=b"{}", headers={"content-type": "text/plain"})
        assert (found.status_code, set(found.json())) == (415, {"error"})
        assert client.post("/shop/decide", content=b"{").status_code == 400
        assert client.get("/nowhere").json() == {"detail": "Not Found"}  # as the app of the user says it


def test_a_dependency_refuses(tmp_path):
    campaign = opened(tmp_path)
    with serving(mine(campaign)) as client:
        for found in (client.post("/shop/decide", json=asked("a")), client.get("/shop/report")):
            assert (found.status_code, found.json()) == (403, {"detail": "who are you?"})
        assert not events(campaign)


def test_the_description_is_that_of_the_app(tmp_path):
    with serving(mine(opened(tmp_path))) as client, serving(app(opened(tmp_path))) as other:
        said = client.get("/openapi.json").json()["paths"]
        paths = other.get("/openapi.json").json()["paths"]
    assert set(said) == {"/hello", *(f"/shop{path}" for path in paths)}
    for path, operations in paths.items():
        for method, about in operations.items():
            found = said[f"/shop{path}"][method]
            assert found["tags"] == ["shop"]
            links = about["responses"]["200"].pop("links", {})
            own = found["responses"]["200"].pop("links", {})
            assert bool(links) is (path == "/decide")
            assert {name: {**to, "operationId": ""} for name, to in own.items()} == {
                name: {**to, "operationId": ""} for name, to in links.items()
            }
            if method == "post":
                assert found["requestBody"] == about["requestBody"]
                assert found["responses"].items() >= about["responses"].items()
    case = said["/shop/decide"]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"][0]
    assert case["properties"]["case"]["properties"]["zone"]["enum"] == ["town", "land"]


def test_links_lead_to_the_routes_of_the_same_campaign(tmp_path):
    """Also where an app has two of them, ids of operations of its own, and a path that only looks like one of them."""
    made = FastAPI(generate_unique_id_function=lambda route: f"{route.path_format} of mine")
    add_links(made)
    for prefix in ("/shop", "/v1/post"):
        (tmp_path / prefix[-4:]).mkdir()
        made.include_router(router(opened(tmp_path / prefix[-4:])), prefix=prefix)

    @made.post("/own/decide")
    def decide():
        return {}

    for _ in range(2):
        paths = made.openapi()["paths"]
        assert "links" not in paths["/own/decide"]["post"]["responses"]["200"]
        for prefix in ("/shop", "/v1/post"):
            links = paths[f"{prefix}/decide"]["post"]["responses"]["200"]["links"]
            assert {name: to["operationId"] for name, to in links.items()} == {
                "observe": f"{prefix}/observe of mine",
                "cancel": f"{prefix}/cancel of mine",
                "decision": f"{prefix}/decisions/{{number}} of mine",
                "by key": f"{prefix}/decisions of mine",
            }


@pytest.mark.parametrize("switches", [False, True])
def test_another_problem_file_is_taken_where_the_app_says_so(tmp_path, switches):
    campaign = open_campaign("memory://", "post", write(tmp_path, rows(300), STATED)[1])
    changed = {"problem": STATED.replace("rate = 0.3", "rate = 0.2"), "by": "anna", "why": "so"}
    with serving(mine(campaign, switches=switches)) as client:
        found = client.post("/shop/switch", json=changed, headers=SAID)
    assert found.status_code == (200 if switches else 403)


@pytest.mark.parametrize("erases", [False, True])
def test_decisions_are_erased_where_the_app_says_so(tmp_path, erases):
    campaign = opened(tmp_path)
    campaign.observe(campaign.decide(asked("a")["case"], "a", offered=["letter"]).id, {"answer": 1})
    with serving(mine(campaign, erases=erases)) as client:
        found = client.post("/shop/erase", json={"keys": ["a"], "by": "anna", "why": "so"}, headers=SAID)
        assert client.post("/shop/switch", json={"problem": "x"}, headers=SAID).status_code == 403
    assert found.status_code == (200 if erases else 403)
    assert len(events(campaign, "erased")) == erases


def test_the_thread_ends_with_the_app(tmp_path):
    before = set(threading.enumerate())
    with serving(mine(opened(tmp_path))) as client:
        assert client.post("/shop/decide", json=asked("a"), headers=SAID).status_code == 200
        assert any(z.name == "evenhand commits" for z in set(threading.enumerate()) - before)
    assert not any(z.name == "evenhand commits" for z in set(threading.enumerate()) - before)


def test_a_router_of_what_is_no_campaign_is_refused():
    with pytest.raises(InvalidInput, match=r"^campaign: expected an open Campaign, .* got 'shop'"):
        router("shop")
