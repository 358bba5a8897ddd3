"""Tokens with roles, campaigns and quotas over HTTP, in a file that is read again when it changes."""

import json
import logging
import os
import socket

import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import open_campaign
from evenhand.live.campaigns import tokens
from evenhand.live.campaigns.tokens import ANYONE, ROLES, Token, Tokens, hash_of, read_file
from evenhand.live.http import app, serve
from evenhand.live.http.places import NEEDED, OTHER, Places
from evenhand.live.http.quotas import Quotas
from tests.live.campaigns.test_files import STATED
from tests.live.http_campaign import asked, opened, serving
from tests.polling import Clock
from tests.replay.shop import rows, write as problem
from tests.rows import for_each

SINGLE = "a secret of this test"
BODIES = {"/decide": asked("a"), "/observe": {"id": 2, "outcomes": {"answer": 1}}, "/cancel": {"id": 2}}
READ = ("/", "/docs", "/report", "/metrics", "/decisions?key=a", "/decisions/2", "/decisions/2/page")
CHANGE = ("/pause", "/resume", "/end", "/change", "/switch", "/erase")


def entry(name, **more):
    """An entry of a file; its token is the secret of its name."""
    return Token(name=name, sha256=hash_of(f"secret of {name}"), **{"roles": ROLES, **more}).entry()


def write(folder, *entries, mode=0o600):
    """A token file, which takes the place of an earlier one at once."""
    path, part = folder / "tokens.toml", folder / "part"
    part.write_text("\n\n".join(entries))
    part.chmod(mode)
    part.replace(path)
    return path


def bearer(name):
    return {"Authorization": f"Bearer secret of {name}"}


def ask(client, path, name, body=None):
    """The status of a request with the token of a name."""
    body = BODIES.get(path, {}) if body is None else body
    said = client.post(path, json=body, headers=bearer(name)) if path in (*BODIES, *CHANGE) else None
    return said or client.get(path, headers=bearer(name))


@pytest.fixture(scope="module")
def client(campaign, tmp_path_factory):
    path = write(
        tmp_path_factory.mktemp("file"),
        *(entry(role, roles=(role,)) for role in ROLES),
        entry("till", roles=("decide", "observe")),
        entry("here", campaigns=("shop",)),
        entry("elsewhere", campaigns=("other", "another")),
    )
    with serving(app(campaign, token=Tokens(path, SINGLE))) as found:
        yield found


@for_each("path", [*BODIES, *READ, *CHANGE])
def test_each_route_needs_its_role(client, path):
    needed = {"/decide": "decide", "/observe": "observe", "/cancel": "observe"}.get(path)
    needed = needed or ("change" if path in CHANGE else "read")
    for role in ROLES:
        said = ask(client, path, role)
        if role == needed:
            assert said.status_code not in (401, 403)
        else:
            assert said.status_code == 403
            assert f"the token {role!r} has no role {needed!r}" in said.json()["error"]


def test_roles_add_up(client):
    for path in BODIES:
        assert ask(client, path, "till").status_code in (200, 409)
    assert ask(client, "/report", "till").status_code == 403


def test_what_says_nothing_of_the_campaign_needs_no_role(client):
    for path in ("/openapi.json", "/static/page.css", "/healthz", "/readyz"):
        assert ask(client, path, "observe").status_code == 200
    assert client.get("/healthz").status_code == 200
    assert client.get("/openapi.json").status_code == 401


@pytest.mark.parametrize("path", ["/decide%0A", "/decide/", "/nowhere", "/report%0a", "/campaigns/x/y"])
def test_a_path_that_is_not_listed_lets_nobody_around_a_role(client, path):
    """Such as one with a line break at its end, which the routes of the framework match as well."""
    said = client.post(path, json=asked("around"), headers=bearer("read"))
    assert said.status_code == 404
    assert client.get("/decisions?key=around", headers=bearer("read")).status_code == 404


def test_every_route_of_the_app_is_listed(campaign):
    made = app(campaign)
    paths = {route.path for route in made.routes}
    assert {"/decide", "/report", "/readyz"} <= paths
    assert paths <= set(NEEDED)
    assert Places(["shop"]).find("/decide/x").route == OTHER


def test_the_name_of_a_token_is_who_asks_for_a_change(tmp_path):
    """Nobody can sign with the name of another; the token of all may be anybody's, and states who it is."""
    _, file = problem(tmp_path, rows(300), STATED)
    campaign = open_campaign("memory://", "post", file)
    less = {"problem": STATED.replace("rate = 0.3", "rate = 0.2"), "why": "less"}
    path = write(tmp_path, entry("anna", roles=("change",)))
    with serving(app(campaign, token=Tokens(path, SINGLE))) as client:
        for change, body in (("/pause", {"why": "so"}), ("/change", {"why": "so", "patience": 60}), ("/switch", less)):
            said = ask(client, change, "anna", {**body, "by": "bob"})
            assert (said.status_code, said.json()["field"]) == (422, "by")
            assert "expected 'anna', the name of the token, or nothing" in said.json()["error"]
        assert len(list(campaign.events())) == 1
        said = ask(client, "/pause", "anna", [{"why": "so", "by": None}, {"why": "so"}, 5]).json()
        assert [z.get("field") for z in said] == ["by", None, "body"]
        assert said[1]["life"]["by"] == "anna"
        assert ask(client, "/resume", "anna", {"why": "so", "by": "anna"}).json()["life"]["by"] == "anna"
        assert ask(client, "/switch", "anna", less).json()["by"] == "anna"
        shared = {"Authorization": f"Bearer {SINGLE}"}
        assert client.post("/pause", json={"why": "so"}, headers=shared).json()["field"] == "by"
        said = client.post("/pause", json={"why": "so", "by": "bob"}, headers=shared)
        assert said.json()["life"]["by"] == "bob"
    found = [event.body for event in campaign.events() if event.kind in ("paused", "resumed", "switched")]
    assert [json.loads(text)["by"] for text in found] == ["anna", "anna", "anna", "bob"]


@pytest.mark.parametrize("name", ["anyone", "EVENHAND_TOKEN"])
def test_a_name_that_says_nothing_of_its_holder_is_none_for_an_entry(tmp_path, name):
    with pytest.raises(InvalidInput, match=rf"tokens\.{name}: expected another name"):
        read_file(write(tmp_path, entry(name)))


def test_a_token_is_for_its_campaigns(client):
    assert ask(client, "/report", "here").status_code == 200
    said = ask(client, "/report", "elsewhere")
    assert (said.status_code, said.json()["error"]) == (403, "the token 'elsewhere' is not for this campaign")


def test_the_single_token_still_does_everything(client):
    headers = {"Authorization": f"Bearer {SINGLE}"}
    for path in READ:
        assert client.get(path, headers=headers).status_code in (200, 404)
    for path, body in BODIES.items():
        assert client.post(path, json=body, headers=headers).status_code in (200, 409)
    assert client.get("/nowhere", headers=headers).json() == {"error": "not found"}


def test_unknown_tokens_are_refused(client):
    for sent in ("secret of nobody", hash_of("secret of till"), "x"):
        assert client.get("/report", headers={"Authorization": f"Bearer {sent}"}).status_code == 401


def test_a_quota_is_of_decisions_and_says_when_to_ask_again(campaign, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("evenhand.live.http.quotas.monotonic", lambda: now[0])
    path = write(tmp_path, entry("till", decisions_per_minute=6), entry("other", decisions_per_minute=6))
    with serving(app(campaign, token=Tokens(path))) as client:
        assert ask(client, "/decide", "till", [asked(f"q{i}") for i in range(4)]).status_code == 200
        said = ask(client, "/decide", "till", [asked(f"q{i}") for i in range(4, 7)])
        assert (said.status_code, said.headers["retry-after"]) == (429, "10")
        assert said.json() == {"error": "the token 'till' has used its quota of 6 decisions per minute"}
        assert client.get("/decisions?key=q4", headers=bearer("till")).status_code == 404  # nothing was decided
        for i in (4, 5):
            assert ask(client, "/decide", "till", asked(f"q{i}")).status_code == 200
        assert ask(client, "/decide", "till", asked("q6")).status_code == 429
        assert ask(client, "/decide", "other", asked("q6")).status_code == 200
        assert ask(client, "/observe", "till", {"id": 99_999, "outcomes": {"answer": 1}}).status_code == 404
        now[0] += 9.9
        assert ask(client, "/decide", "till", asked("q7")).status_code == 429
        now[0] += 0.2
        assert ask(client, "/decide", "till", asked("q7")).status_code == 200
        now[0] += 10_000.0  # a quota does not pile up
        assert ask(client, "/decide", "till", [asked(f"r{i}") for i in range(6)]).status_code == 200
        assert ask(client, "/decide", "till", asked("r6")).status_code == 429
        said = ask(client, "/decide", "till", [asked(f"s{i}") for i in range(7)])
        assert (said.status_code, said.json()["field"]) == (422, "body")


def test_a_quota_that_changes_begins_anew():
    quotas, till = Quotas(), Token(name="till", sha256="0" * 64, roles=ROLES, decisions_per_minute=2)
    quotas.charge(till, 2)
    quotas.charge(Token(name="till", sha256="0" * 64, roles=ROLES, decisions_per_minute=3), 3)
    quotas.charge(ANYONE, 10**9)


def test_the_file_is_read_again_when_it_changes(campaign, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tokens, "_EVERY", 0.0)
    path = write(tmp_path, entry("old"))
    with serving(app(campaign, token=Tokens(path, SINGLE))) as client, caplog.at_level(logging.WARNING):
        assert [ask(client, "/report", z).status_code for z in ("old", "new")] == [200, 401]
        write(tmp_path, entry("new", roles=("read",)))
        assert [ask(client, "/report", z).status_code for z in ("old", "new")] == [401, 200]
        assert ask(client, "/decide", "new").status_code == 403
        assert "the tokens were read again: 1 of them" in caplog.text
        for wrong in (
            lambda: path.write_text("[tokens.new"),
            lambda: write(tmp_path, entry("old"), mode=0o640),
            lambda: write(tmp_path, entry("old").replace("read", "reed")),
            path.unlink,
        ):
            caplog.clear()
            wrong()
            assert [ask(client, "/report", z).status_code for z in ("old", "new", "new")] == [401, 200, 200]
            assert caplog.text.count("the tokens stay as they were") == 1
        write(tmp_path, "")  # all of them are revoked
        assert [ask(client, "/report", z).status_code for z in ("old", "new")] == [401, 401]
        assert client.get("/report", headers={"Authorization": f"Bearer {SINGLE}"}).status_code == 200


def test_the_file_is_looked_at_once_a_second(tmp_path, monkeypatch):
    looks, clock = [], Clock()
    monkeypatch.setattr(tokens, "monotonic", clock)
    found = Tokens(write(tmp_path, entry("old")))
    monkeypatch.setattr(Tokens, "_stamp", lambda self: looks.append(1) or self._seen)
    for _ in range(13):
        assert found.find(b"secret of old").name == "old"
        clock.now += 0.1
    assert len(looks) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_file_that_others_may_open_is_refused(tmp_path, mode):
    with pytest.raises(InvalidInput, match=f"tokens: expected a file that only its user can access.*mode {mode:o}"):
        Tokens(write(tmp_path, entry("a"), mode=mode))


GOOD = entry("a")


@for_each(
    ("text", "told"),
    [
        ("[tokens.a", "tokens: expected a TOML file"),
        (GOOD.replace("tokens.", "token."), "token: expected one of the keys tokens, got an unknown key"),
        ("tokens = 5", "tokens: expected tables"),
        ("[tokens]\na = 5", "tokens: expected tables"),
        (GOOD.replace("roles", "role"), r"tokens.a.role: .*did you mean roles\?"),
        (GOOD.replace('"read"', '"reed"'), "tokens.a.roles.*reed"),
        (GOOD.replace("sha256", "token"), "tokens.a.token: expected one of the keys sha256"),
        ('[tokens.a]\nroles = ["read"]', "tokens.a.sha256: expected"),
        (GOOD.replace(hash_of("secret of a"), "secret of a"), "tokens.a: sha256: expected 64 hex"),
        (entry("a", roles=("read",)).replace('"read"', ""), "tokens.a: roles: expected some of read"),
        (GOOD + "\ncampaigns = []", "tokens.a: campaigns: expected names"),
        (GOOD + "\ndecisions_per_minute = 0", "tokens.a: decisions_per_minute: expected a number from 1"),
        (GOOD + "\ndecisions_per_minute = 'x'", "tokens.a.decisions_per_minute: expected"),
        (GOOD.replace("tokens.a", 'tokens."a b"'), "tokens.a b: name: expected 1 to 60 letters"),
        (f"{GOOD}\n{GOOD.replace('tokens.a', 'tokens.b')}", "tokens.b: expected a token of its own, got that of a"),
    ],
)
def test_wrong_files_are_refused_by_what_is_wrong(tmp_path, text, told):
    with pytest.raises(InvalidInput, match=told) as error:
        read_file(write(tmp_path, text))
    assert "secret" not in str(error.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="tokens: expected a file that can be read"):
        Tokens(tmp_path / "none.toml")


def test_the_command_prints_a_token_and_its_entry(tmp_path, capsys, campaign):
    wanted = ["--role", "decide", "--role", "observe", "--role", "decide", "--campaign", "shop", "--per-minute", "60"]
    assert main(["token", "till", *wanted]) == 0
    told = capsys.readouterr()
    made = told.err.removeprefix("token: ").strip()
    assert made not in told.out
    path = write(tmp_path, told.out)
    assert read_file(path) == [
        Token(
            name="till",
            sha256=hash_of(made),
            roles=("decide", "observe"),
            campaigns=("shop",),
            decisions_per_minute=60.0,
        )
    ]
    with serving(app(campaign, token=Tokens(path))) as client:
        assert client.post("/decide", json=asked("t"), headers={"Authorization": f"Bearer {made}"}).status_code == 200
    assert main(["token", "a b", "--role", "read"]) == 2
    with pytest.raises(SystemExit):
        main(["token", "a"])


def test_names_of_campaigns_come_back_from_an_entry(tmp_path):
    odd = ('a "b"', "c\\d", "é", "tab\t")
    assert read_file(write(tmp_path, entry("a", campaigns=odd)))[0].campaigns == odd


def test_a_file_of_tokens_is_enough_for_other_machines(campaign, tmp_path):
    with socket.create_server(("0.0.0.0", 0)) as taken:
        at = {"host": "0.0.0.0", "port": taken.getsockname()[1]}
        with pytest.raises(InvalidInput, match="expected an address that is free"):
            serve(campaign, **at, token=Tokens(write(tmp_path, entry("a"))))
        with pytest.raises(InvalidInput, match="token"):
            serve(campaign, **at)


def test_the_command_serves_with_the_file(tmp_path, monkeypatch, capsys):
    given = []
    monkeypatch.setattr("evenhand.live.http.start.serve_files", lambda *z: given.append(z[3].token))
    monkeypatch.setenv("EVENHAND_TOKEN", SINGLE)
    path = write(tmp_path, entry("a"))
    start = ["serve", "x.toml", "--store", "memory://", "--tokens", str(path)]
    assert main(start) == 0
    assert [z.name for z in (given[0].find(b"secret of a"), given[0].find(SINGLE.encode()))] == ["a", "EVENHAND_TOKEN"]
    os.chmod(path, 0o644)
    assert main(start) == 2
    assert "chmod 600" in capsys.readouterr().err


def test_a_token_that_is_missing_and_one_that_is_wrong_are_told_apart(tmp_path):
    with serving(app(opened(tmp_path), token="a long enough secret")) as client:
        missing = client.get("/report").json()["error"]
        wrong = client.get("/report", headers={"Authorization": "Bearer another secret"}).json()["error"]
    assert missing == "the Authorization header of the request is missing: send it with a token of this server"
    assert wrong == "the Authorization header of the request has another token than those of this server"
