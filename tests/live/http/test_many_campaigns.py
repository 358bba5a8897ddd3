"""Several campaigns behind one server, each below its name."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette

import evenhand as eh
from evenhand.cli import main
from evenhand.client import Client, RequestRefused
from evenhand.core.errors import InvalidInput
from evenhand.live import Campaign
from evenhand.live.campaigns.tokens import Token, Tokens, hash_of
from evenhand.live.http import app, service
from evenhand.live.http.places import NEEDED
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_serve import server
from tests.live.http.test_tokens import bearer, entry, write
from tests.live.http_campaign import SHOP, asked, events, opened, serving
from tests.replay.shop import rows, write as write_problem

NAMES = ("shop", "a post & <b>")
OTHER = "a%20post%20%26%20%3Cb%3E"


def campaigns(folder):
    """Two campaigns in one file."""
    store = SqliteStore(folder / "log.db", timeout=0.2)
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    return [Campaign.open(store, name, policy, on_expiry="release") for name in NAMES]


@pytest.fixture
def both(tmp_path):
    return campaigns(tmp_path)


@pytest.fixture
def client(both):
    with serving(app(both)) as found:
        yield found


class Addresses(HTMLParser):
    """All that a page links to or loads."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


def test_each_campaign_has_all_routes_below_its_name(client, both):
    for at, campaign in zip(("shop", OTHER), both, strict=True):
        said = client.post(f"/campaigns/{at}/decide", json=asked("one", offered=["letter"]))
        assert said.status_code == 200
        number = said.json()["id"]
        assert [event.seq for event in events(campaign)] == [number]
        body = {"key": "one", "outcomes": {"answer": 1}}
        assert client.post(f"/campaigns/{at}/observe", json=body).json() == {"new": True}
        assert client.post(f"/campaigns/{at}/cancel", json={"key": "one"}).status_code == 409
        for path in ("report", "metrics", "decisions?key=one", f"decisions/{number}", f"decisions/{number}/page", ""):
            assert client.get(f"/campaigns/{at}/{path}").status_code == 200, path
        for path in ("healthz", "readyz", "openapi.json", "static/page.css"):
            assert client.get(f"/campaigns/{at}/{path}").status_code == 200, path
        assert client.get(f"/campaigns/{at}/report").json()["campaign"] == campaign.name


def test_what_is_of_no_campaign_is_not_there(client):
    for path in ("/decide", "/observe", "/cancel"):
        assert client.post(path, json=asked("one")).status_code == 404
    for path in ("/report", "/decisions/2", "/campaigns/none/report", "/campaigns/", "/campaigns//report"):
        assert client.get(path).status_code == 404
    assert client.get("/campaigns/shop/campaigns/shop/report").status_code == 404
    names = ", ".join(map(repr, NAMES))
    assert client.get("/campaigns/none/report").json() == {"error": f"no such campaign; NAME is one of {names}"}
    several = f"not found: this server has several campaigns, each below /campaigns/NAME/; NAME is one of {names}"
    assert client.post("/decide", json=asked("one")).json() == {"error": several}
    assert client.delete("/metrics").json() == {"error": "method not allowed"}


def test_a_token_is_told_the_names_of_its_own_campaigns_alone(both, tmp_path):
    file, secret = tmp_path / "tokens.toml", "a secret of this test"
    found = Token(name="till", sha256=hash_of(secret), roles=("decide",), campaigns=("shop",))
    file.write_text(found.entry())
    file.chmod(0o600)
    with serving(app(both, token=Tokens(file))) as client:
        said = client.post("/decide", json=asked("one"), headers={"Authorization": f"Bearer {secret}"})
    assert said.status_code == 404
    assert said.json()["error"].endswith("; NAME is one of 'shop'")


def test_a_client_that_names_no_campaign_is_told_their_names(client):
    with Client(str(client.base_url)) as asking, pytest.raises(RequestRefused, match="NAME is one of 'shop', 'a post"):
        asking.decide({"age": 33, "zone": "land"}, "one")


def test_a_paused_campaign_leaves_the_others_alone(client, both):
    said = client.post("/campaigns/shop/pause", json={"by": "anna", "why": "no printer"})
    assert (said.status_code, said.json()["life"]["state"]) == (200, "paused")
    assert client.post("/campaigns/shop/decide", json=asked("one")).status_code == 503
    assert client.post(f"/campaigns/{OTHER}/decide", json=asked("one")).status_code == 200
    assert events(both[1], "paused") == []
    rows = re.findall(r"<tr>.*?</tr>", client.get("/").text, re.S)[1:]
    assert [re.search("paused|running", row)[0] for row in rows] == ["paused", "running"]
    counted = client.get("/metrics").text
    assert 'evenhand_paused{campaign="shop"} 1.0\n' in counted
    assert f'evenhand_paused{{campaign="{NAMES[1]}"}} 0.0\n' in counted
    said = client.get("/readyz")
    assert (said.status_code, said.json()) == (200, {"ready": True, "states": {"shop": "paused"}})
    assert client.post("/pause", json={"by": "anna", "why": "no printer"}).status_code == 404


def test_the_server_lists_its_campaigns(client):
    listed = client.get("/campaigns").json()
    assert listed == [
        {"name": name, "path": f"campaigns/{at}/"} for name, at in zip(NAMES, ("shop", OTHER), strict=True)
    ]
    for one in listed:
        assert client.get(f"/{one['path']}report").json()["campaign"] == one["name"]
    found = Addresses(client.get("/").text).found
    assert {"campaigns/shop/", f"campaigns/{OTHER}/"} <= set(found)
    assert "<b>" not in client.get("/").text


def test_a_campaign_without_its_slash_is_sent_there(client):
    said = client.get(f"/campaigns/{OTHER}")
    assert (said.status_code, said.headers["location"]) == (307, f"{OTHER}/")
    assert client.get(f"/campaigns/{OTHER}", follow_redirects=True).url.path == f"/campaigns/{NAMES[1]}/"


@pytest.mark.parametrize("single", [True, False])
def test_every_link_works_behind_a_prefix(both, single):
    outer = Starlette()
    outer.mount("/some/where", app(both[0] if single else both))
    seen = set()
    with serving(outer) as client:
        client.post("/some/where/campaigns/shop/decide", json=asked("one"))
        todo = ["/some/where/", "/some/where/campaigns/shop/"]
        while todo:
            path = todo.pop()
            said = client.get(path)
            assert said.status_code == 200, path
            seen.add(path)
            assert path.startswith("/some/where/")
            if said.headers["content-type"].startswith("text/html"):
                links = [urljoin(path, z) for z in Addresses(said.text).found]
                assert links
                todo += [z for z in links if z not in seen]
        assert client.get("/some/where/healthz").status_code == 200
        counted = client.get("/some/where/metrics").text
    assert 'route="/decisions/{number}/page",status="200"' in counted
    assert any(re.search(r"/campaigns/shop/decisions/\d+/page$", z) for z in seen)
    assert any(z.endswith("page.css") for z in seen)


def test_descriptions_say_where_their_paths_begin(both):
    """Generated clients begin at the root of the host otherwise, where no campaign is."""
    outer = Starlette()
    outer.mount("/some/where", app(both))
    with serving(outer) as client:
        for below in ("/some/where", f"/some/where/campaigns/{OTHER}"):
            said = client.get(f"{below}/openapi.json").json()
            assert said["servers"] == [{"url": below}]
            assert client.get(f"{said['servers'][0]['url']}/healthz").status_code == 200
    with serving(app(both)) as client:
        assert "servers" not in client.get("/openapi.json").json()


def test_one_campaign_has_its_routes_twice(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        first = client.post("/decide", json=asked("one")).json()
        assert client.post("/campaigns/shop/decide", json=asked("one")).json() == {**first, "repeated": True}
        assert client.get("/campaigns").json() == [{"name": "shop", "path": "campaigns/shop/"}]
        assert client.get("/campaigns/other/report").status_code == 404
        counted = client.get("/metrics").text
        assert 'evenhand_requests_total{route="/decide",status="200"} 2.0\n' in counted
        assert "campaign=" not in counted
        assert client.get("/campaigns/shop/metrics").text.splitlines()[:3] == counted.splitlines()[:3]
        assert "/campaigns" not in str(client.get("/openapi.json").json()["paths"])


def test_metrics_say_of_which_campaign(client):
    for i in range(3):
        client.post("/campaigns/shop/decide", json=asked(f"{i}", offered=["letter"]))
    client.get("/campaigns/none/report")
    client.get(f"/campaigns/{OTHER}/report")
    client.get("/healthz")
    text = client.get("/metrics").text
    assert 'evenhand_decisions_total{campaign="shop"} 3.0\n' in text
    assert f'evenhand_decisions_total{{campaign="{NAMES[1]}"}} 0.0\n' in text
    assert 'evenhand_budget_held{budget="cents",campaign="shop"}' in text
    assert 'evenhand_requests_total{campaign="shop",route="/decide",status="200"} 3.0\n' in text
    assert 'evenhand_requests_total{route="other",status="404"} 1.0\n' in text
    assert 'evenhand_requests_total{route="/healthz",status="200"} 1.0\n' in text
    kinds = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(kinds) == len(set(kinds))  # all values of a metric stand together
    family = ""
    for line in text.splitlines():
        family = line.split()[2] if line.startswith("#") else family
        assert line.split()[2 if line.startswith("#") else 0].startswith(family)
    own = client.get("/campaigns/shop/metrics").text
    assert 'evenhand_decisions_total{campaign="shop"} 3.0\n' in own
    assert "a post" not in own


def test_the_document_of_a_server_names_no_campaign(client):
    said = client.get("/openapi.json").text
    assert [name for name in NAMES if name in said] == []


def test_readiness_names_the_campaign(both):
    with serving(app(both)) as client:
        assert client.get("/readyz").json() == {"ready": True}
        other = Campaign.open(both[1].store, NAMES[1], both[1].policy)
        other.switch(eh.uniform(SHOP, SHOP.n_features))
        while (said := client.get("/readyz")).status_code == 200:
            pass  # an answer counts for a second
        assert said.status_code == 503
        assert said.json()["reason"].startswith(f"{NAMES[1]}: the campaign was switched")
        assert "shop" not in said.json()["reason"]
        assert client.get("/campaigns/shop/readyz").status_code == 200
        assert client.get(f"/campaigns/{OTHER}/readyz").status_code == 503
        assert client.post("/campaigns/shop/decide", json=asked("one")).status_code == 200


def test_readiness_says_which_campaigns_do_not_decide(client, both, monkeypatch):
    """Outcomes have to arrive at them, so the server is ready."""
    monkeypatch.setattr(service, "_KEPT", 0.0)
    both[0].pause(by="anna", why="no printer")
    both[1].end(by="anna", why="it is over")
    said = client.get("/readyz")
    assert (said.status_code, said.json()) == (200, {"ready": True, "states": {"shop": "paused", NAMES[1]: "ended"}})
    assert client.get("/campaigns/shop/readyz").json() == {"ready": True, "state": "paused"}
    both[0].resume(by="anna", why="a new one")
    assert client.get("/readyz").json()["states"] == {NAMES[1]: "ended"}


def test_a_token_sees_its_own_campaigns_only(both, tmp_path):
    path = write(tmp_path, entry("one", campaigns=("shop",)), entry("all"), entry("none", campaigns=("else",)))
    with serving(app(both, token=Tokens(path))) as client:
        assert [len(client.get("/campaigns", headers=bearer(z)).json()) for z in ("one", "all", "none")] == [1, 2, 0]
        client.post("/campaigns/shop/decide", json=asked("one"), headers=bearer("one"))
        for at in (OTHER, "nowhere"):
            for method, route in (
                ("POST", "decide"),
                ("GET", "report"),
                ("GET", "healthz"),
                ("GET", "static/page.css"),
            ):
                said = client.request(method, f"/campaigns/{at}/{route}", headers=bearer("one"))
                assert (said.status_code, said.json()["error"]) == (403, "the token 'one' is not for this campaign")
        client.get(f"/campaigns/{OTHER}/report", headers=bearer("all"))
        for route in ("/metrics", "/"):
            assert "a post" not in client.get(route, headers=bearer("one")).text
            assert "a post" in client.get(route, headers=bearer("all")).text
        assert client.get("/campaigns/shop/healthz").status_code == 401
        around = client.post(f"/campaigns/shop/campaigns/{OTHER}/decide", json=asked("x"), headers=bearer("one"))
        assert around.status_code == 404
    assert events(both[1]) == []


def test_an_error_of_the_server_says_nothing_of_its_code(both, monkeypatch):
    def broken(*given, **more):
        raise RuntimeError("a detail of the code")

    with serving(app(both)) as client:
        monkeypatch.setattr(both[0], "status", broken)
        for path in ("/campaigns/shop/report", "/", "/metrics"):
            said = client.get(path)
            assert (said.status_code, "an error of the server" in said.json()["error"]) == (500, True)
            assert "detail" not in said.text
        assert client.get(f"/campaigns/{OTHER}/report").status_code == 200


def test_every_route_of_the_server_is_listed(both):
    assert {route.path for route in app(both).routes} <= set(NEEDED)


def test_a_quota_is_of_all_campaigns(both, tmp_path):
    path = write(tmp_path, Token(name="till", sha256=hash_of("secret of till"), roles=("decide",),
                                 decisions_per_minute=1).entry())  # fmt: skip
    with serving(app(both, token=Tokens(path))) as client:
        said = [client.post(f"/campaigns/{z}/decide", json=asked("a"), headers=bearer("till")) for z in ("shop", OTHER)]
    assert [z.status_code for z in said] == [200, 429]


@pytest.mark.parametrize("names", [("a", "a"), ("a/b", "a"), ("..", "a"), ()])
def test_names_that_cannot_be_in_addresses_are_refused(names):
    policy = eh.uniform(SHOP, SHOP.n_features)
    found = [Campaign.open("memory://", name, policy) for name in names]
    with pytest.raises(InvalidInput, match="campaigns: expected"):
        app(found)


@pytest.mark.slow
def test_the_command_serves_several_files_in_one_store(tmp_path):
    _, file = write_problem(tmp_path, rows(300), STATED)
    other = file.with_name("other.toml")
    other.write_text(STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    case = {"key": "1", "features": {"age": 33}, "groups": {"town": "north"}}
    for found in ("new campaign, 0", "found 2 events, 1"):
        with server(file, other, "--store", store, campaigns=2) as client:
            lines = [rf"{name}: [^;]*; {found} of 300 decided\n" for name in ("problem", "other")]
            assert re.fullmatch("".join(lines), client.said)
            for name in ("problem", "other"):
                assert client.post(f"/campaigns/{name}/decide", json=case).status_code == 200
    assert main(["audit", store, "other"]) == 0
    with server(file, "--store", store, "--existing") as client:
        assert client.said.startswith("problem: ")


def test_what_several_files_are_refused_for(tmp_path, capsys):
    _, file = write_problem(tmp_path, rows(300), STATED)
    start = ["serve", str(file), str(file), "--store", "memory://"]
    for more, told in (
        ([], "a name for each problem file"),
        (["--campaign", "a"], "a name for each problem file"),
        (["--campaign", "a", "--campaign", "a"], "all of them different"),
        (["--campaign", "a", "--campaign", "b", "--learn-from", "x.csv"], "for a single campaign"),
    ):
        with pytest.raises(SystemExit):
            main([*start, *more])
        assert told in capsys.readouterr().err
