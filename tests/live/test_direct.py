"""What `serve` runs answers as `app` does, whether or not a request gets to its routes."""

from __future__ import annotations

import gc
import re

import pytest
from starlette.applications import Starlette

from evenhand.live.http import app
from evenhand.live.http.app import shell
from evenhand.live.http.server import serve, server
from evenhand.live.log.events import read
from tests.live.served import CASE, asked, opened, serving
from tests.live.test_several import campaigns

HOSTS = ("127.0.0.1", "localhost")
JSON = {"content-type": "application/json"}
SAID = {"by": "anna", "why": "the letters are late"}
VERBS = (  # of each kind one that is answered and one that is refused
    ("/decide", asked("one")),
    ("/decide", [asked("two"), {"key": "three"}, asked("one")]),
    ("/decide", asked("four", case={**CASE, "age": "old"})),
    ("/observe", {"key": "one", "outcomes": {"answer": 1}}),
    ("/observe", {"key": "nobody", "outcomes": {"answer": 1}}),
    ("/cancel", [{"key": "two"}, {"id": 9}]),
    ("/pause", SAID),
    ("/decide", asked("five")),
    ("/change", {**SAID, "patience": -1}),
    ("/change", {**SAID, "patience": 60}),
    ("/resume", SAID),
    ("/end", SAID),
    ("/decide", asked("six")),
)
OTHERS = (  # whatever may go wrong before a verb is parsed, and what is none
    ("POST", "/decide", b"{", {}),
    ("POST", "/decide", b"[" * 99, {}),
    ("POST", "/decide", b"{}", {"content-type": "text/plain"}),
    ("POST", "/decide", b"{}", {"host": "elsewhere.example"}),
    ("POST", "/decide", b"{}", {"origin": "http://elsewhere.example"}),
    ("POST", "/decide", b"x" * 1_000_001, {}),
    ("POST", "/decide/", b"{}", {}),
    ("POST", "/campaigns/nobody/decide", b"{}", {}),
    ("POST", "/campaigns/shop/campaigns/shop/decide", b"{}", {}),
    ("POST", "/nowhere", b"{}", {}),
    ("PUT", "/decide", b"{}", {}),
    ("GET", "/decide", b"", {}),
    ("GET", "/decisions?key=one", b"", {}),
    ("GET", "/openapi.json", b"", {}),
    ("GET", "/healthz", b"", {}),
)
TIMES = ("at", "since", "deadline")
OWN = ("date", "x-request-id")  # headers that differ between any two answers


def told(client, method, path, body, headers):
    """The status, headers and body of an answer."""
    said = client.request(method, path, content=body, headers={**JSON, **headers})
    return said.status_code, sorted((n, v) for n, v in said.headers.items() if n not in OWN), said.content


def each_way(campaigns_of, folder, **more):
    """A client of what `app` builds and one of what `serve` runs, each of campaigns of its own."""
    made = []
    for name, build in (("app", app), ("shell", shell)):
        own = folder / name
        own.mkdir()
        made.append(build(campaigns_of(own), hosts=HOSTS, **more))
    return made


@pytest.mark.parametrize("below", ["", "/campaigns/shop"])
def test_both_answer_verbs_alike(tmp_path, below):
    one, other = each_way(opened, tmp_path, token=None, known=False)
    with serving(one) as first, serving(other) as second:
        for path, body in VERBS:
            answers = [client.post(below + path, json=body) for client in (first, second)]
            assert [z.status_code for z in answers] == [answers[0].status_code] * 2, (path, body)
            bodies = [timeless(z.json()) for z in answers]
            assert bodies[0] == bodies[1], (path, body)


def timeless(found):
    """An answer without the times at which it was given, and at which a campaign ended."""
    if isinstance(found, str):
        return re.sub(r"since [-\d]+ [:\d]+ UTC", "since then", found)
    if isinstance(found, list):
        return [timeless(z) for z in found]
    return {n: timeless(z) for n, z in found.items() if n not in TIMES} if isinstance(found, dict) else found


@pytest.mark.parametrize("token", [None, "a long enough secret"])
def test_both_refuse_alike_and_send_the_same_headers(tmp_path, token):
    one, other = each_way(opened, tmp_path, token=token, known=False)
    bearer = {} if token is None else {"authorization": f"Bearer {token}"}
    with serving(one) as first, serving(other) as second:
        for method, path, body, headers in OTHERS:
            for own in ({}, bearer):
                found = [told(client, method, path, body, {**headers, **own}) for client in (first, second)]
                assert found[0] == found[1], (method, path, headers)
        assert first.post("/decide", json=asked("one")).status_code == (401 if token else 200)


def test_verbs_get_to_the_campaign_that_the_path_names(tmp_path):
    both = campaigns(tmp_path)
    with serving(shell(both, token=None, hosts=HOSTS, known=False)) as client:
        assert client.post("/decide", json=asked("one")).status_code == 404
        for campaign, at in zip(both, ("shop", "a%20post%20%26%20%3Cb%3E"), strict=True):
            assert client.post(f"/campaigns/{at}/decide", json=asked(f"of {at}")).status_code == 200
            last = next(iter(reversed(list(campaign.events()))))
            assert (last.key, read(last)["case"]) == (f"of {at}", CASE)


def test_only_what_is_no_verb_gets_to_the_routes(tmp_path, monkeypatch):
    seen = []
    call = Starlette.__call__

    async def noted(self, scope, receive, send):
        if scope["type"] == "http":
            seen.append(scope["path"])
        await call(self, scope, receive, send)

    monkeypatch.setattr(Starlette, "__call__", noted)
    with serving(shell(opened(tmp_path), token=None, hosts=HOSTS, known=False)) as client:
        for path, body in VERBS:
            client.post(path, json=body)
        client.get("/healthz")
        client.get("/decide")
    assert seen == ["/healthz", "/decide"]


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


def test_no_line_of_a_request_is_made_twice(tmp_path):
    made = shell(opened(tmp_path), token=None, hosts=HOSTS, known=False)
    assert not server(made).config.access_log
    assert server(made, access_log=True).config.access_log
