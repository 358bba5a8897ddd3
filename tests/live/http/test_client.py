"""The client for Python against a running server: the same key again, until there is an answer."""

import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import numpy as np
import pytest

from evenhand.client import Client, Deciding, Decision, Erased, NoAnswer, Observing, RequestRefused, requests
from evenhand.core.errors import InvalidInput
from evenhand.live import open_campaign
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.http import app
from evenhand.live.log.events import read
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_many_campaigns import NAMES, campaigns
from tests.live.http.test_tokens import entry, write
from tests.live.http_campaign import CASE, events, opened, serving
from tests.replay.shop import rows, write as write_problem

TOKEN = "a secret of this test"


@pytest.fixture
def campaign(tmp_path):
    return opened(tmp_path)


@pytest.fixture
def slept(monkeypatch):
    """The seconds that clients wait, which pass at once."""
    found = []
    monkeypatch.setattr(requests, "sleep", found.append)
    return found


def test_a_decision_and_its_outcome(campaign):
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        found = client.decide(CASE, "one", offered=["letter"])
        assert isinstance(found, Decision)
        assert (found.action, found.probability, found.actions, found.repeated) == ("letter", 1.0, ("letter",), False)
        again = client.decide(CASE, "one", offered=["letter"])
        assert (again.id, again.repeated) == (found.id, True)
        assert client.observe("one", {"answer": 1}) is True
        assert client.observe(found.id, {"answer": 1}) is False
        assert client.observe(found.id, {"answer": 0}, revise=True) is True
        for which in (found.id, "one"):
            assert client.find(which)["state"] == "revised"
        other = client.decide(CASE, "a key & more?")
        assert client.find("a key & more?")["id"] == other.id
        assert (client.cancel("a key & more?"), client.cancel(other.id)) == (True, False)
        assert client.report()["campaign"] == "shop"


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda c: c.observe({"visit": 1}, 2), r"^decision: expected its number or its key, before the outcomes"),
        (lambda c: c.observe("order-1", 1.0), r"^outcomes: expected numbers by name, after the decision, got 1.0"),
        (
            lambda c: c.decide("order-1", {"age": 33}),
            r"^case: expected values by the names of features, before the key",
        ),
        (lambda c: c.observe_unit({"sale": 1}, "no. 7", "k"), r"^outcomes: expected numbers by name, after the unit"),
        (
            lambda c: c.decide_many([Deciding(CASE, "k"), CASE]),
            r"^entries\[1\]: expected entries of the class Deciding, got \{",
        ),
        (
            lambda c: c.observe_many([("k", {"answer": 1})]),
            r"^entries\[0\]: expected entries of the class Observing",
        ),
        (
            lambda c: c.switch("less.toml", why="less", by="anna"),
            r"^problem: expected the text of a problem file, as by Path\(...\).read_text\(\), got 'less.toml'",
        ),
    ],
)
def test_arguments_in_another_order_are_named_before_anything_is_sent(ask, said):
    with Client("http://127.0.0.1:9") as client, pytest.raises(InvalidInput, match=said):
        ask(client)


def test_lists_have_an_answer_or_an_error_for_each_entry(campaign, slept):
    cases = [Deciding(CASE, "one", offered=["letter"]), Deciding({"zone": "land"}, "two"), Deciding(CASE, "three")]
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        first, second, third = client.decide_many(cases)
        assert (first.key, first.action, third.key, third.repeated) == ("one", "letter", "three", False)
        assert isinstance(first, Decision)
        assert first.actions == ("letter",)
        assert isinstance(second, RequestRefused)
        assert (second.status, second.field) == (422, "age")
        assert [z.repeated for z in client.decide_many([cases[0], cases[2]])] == [True, True]
        reported = [Observing("one", {"answer": 1}), Observing("nobody", {"answer": 1}), Observing(first.id, {})]
        new, unknown, empty = client.observe_many(reported)
        assert (new, unknown.status, empty.field) == (True, 404, "outcomes['answer']")
        revised = [Observing(first.id, {"answer": 1}), Observing("one", {"answer": 0}, revise=True)]
        assert client.observe_many(revised) == [False, True]
        assert (client.decide_many([]), client.observe_many([])) == ([], [])
    assert len(events(campaign)) == 2
    assert [len(events(campaign, kind)) for kind in ("observed", "revised")] == [1, 1]
    assert slept == []


def test_a_list_that_is_too_long_is_refused_as_a_whole(campaign):
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        with pytest.raises(RequestRefused, match="at most 1,000") as error:
            client.decide_many([Deciding(CASE, f"{i}") for i in range(1001)])
        assert error.value.status == 422
    assert events(campaign) == []


def test_entries_of_a_paused_campaign_say_that_they_may_be_sent_again(campaign, slept):
    campaign.decide(CASE, "one")
    campaign.pause(by="anna", why="no printer")
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        before, new = client.decide_many([Deciding(CASE, "one"), Deciding(CASE, "two")])
        assert (before.repeated, type(new)) == (True, NoAnswer)
        assert str(new).startswith("status 503, ")
        assert str(new).endswith(": no printer")
        campaign.end(by="anna", why="no printer")
        (ended,) = client.decide_many([Deciding(CASE, "two")])
        assert (type(ended), ended.status) == (RequestRefused, 410)
    assert slept == []


def test_entries_that_are_frozen_are_decided_at_one_state(campaign):
    for i in range(60):
        campaign.observe(campaign.decide(CASE, f"before {i}").id, {"answer": 1})
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        for frozen in (True, False):
            client.decide_many([Deciding(CASE, f"{frozen} {i}", frozen=frozen) for i in range(3)])
    states = [read(event).get("as_of") for event in events(campaign)[-6:]]
    assert len(set(states[:3])) == 1
    assert states[0] is not None
    assert states[3:] == [None] * 3


def test_a_pause_is_waited_for_and_told(campaign, slept):
    campaign.pause(by="anna", why="no printer")
    with serving(app(campaign)) as server, Client(str(server.base_url), tries=3) as client:
        with pytest.raises(NoAnswer, match=r"at 3 tries; .* status 503, .* is paused by anna since .*: no printer$"):
            client.decide(CASE, "one")
        assert slept == [30.0, 30.0]
        campaign.end(by="anna", why="no printer")
        with pytest.raises(RequestRefused, match="cannot be resumed") as error:
            client.decide(CASE, "one")
        assert error.value.status == 410


def test_a_campaign_of_several_and_a_token(tmp_path):
    both = campaigns(tmp_path)
    made = app(both, token=Tokens(write(tmp_path, entry("till"), entry("page", roles=("read",)))))
    with serving(made) as server:
        url = f"{server.base_url}/"
        with Client(url, campaign=NAMES[1], token="secret of till") as client:
            assert client.decide(CASE, "one").key == "one"
        with Client(url, campaign=NAMES[1], token="secret of page") as client:
            with pytest.raises(RequestRefused, match="no role 'decide'") as error:
                client.decide(CASE, "two")
            assert error.value.status == 403
    assert [len(events(z)) for z in both] == [0, 1]


def test_what_is_refused_is_not_asked_again(campaign, slept):
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        with pytest.raises(RequestRefused, match=r"age: expected a finite number.*422") as error:
            client.decide({**CASE, "age": "old"}, "one")
        assert (error.value.status, error.value.field) == (422, "age")
        with pytest.raises(RequestRefused) as error:
            client.find("nobody")
        assert error.value.status == 404
    assert slept == []


class Flaky(BaseHTTPRequestHandler):
    """Passes requests on, and fails at some of them: before them, or after they took effect."""

    protocol_version = "HTTP/1.1"
    plan: list
    seen: list
    behind: str

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append((self.path, body))
        failure = self.plan.pop(0) if self.plan else None
        if failure is None or failure == "lost":
            headers = {name: self.headers[name] for name in ("authorization",) if name in self.headers}
            said = httpx.post(self.behind + self.path, content=body, headers=headers, trust_env=False)
            status, content, more = said.status_code, said.content, {}
        elif failure != "cut":
            status, content, more = failure[0], b"{}", failure[1]
        if failure in ("lost", "cut"):
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {**more, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def through(campaign, plan, ask, tries=6, tokens=None, token=None):
    """What a client gets that fails by a plan, and what it sent."""
    with serving(app(campaign, token=tokens)) as server:
        names = {"plan": list(plan), "seen": [], "behind": str(server.base_url)}
        proxy = HTTPServer(("127.0.0.1", 0), type("Planned", (Flaky,), names))
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{proxy.server_port}", tries=tries, token=token) as client:
                return ask(client), names["seen"]
        finally:
            proxy.shutdown()
            thread.join()
            proxy.server_close()


def test_the_same_request_is_sent_until_there_is_an_answer(campaign, slept):
    plan = ["cut", (503, {"Retry-After": "1"}), "lost", (502, {}), (429, {"Retry-After": "7"})]
    found, seen = through(campaign, plan, lambda client: client.decide(CASE, "one"))
    assert len(seen) == 6
    assert len(set(seen)) == 1
    assert found.repeated is True  # the third try decided
    assert [event.seq for event in events(campaign)] == [found.id]
    assert len(slept) == 5
    assert slept[1] >= 1.0
    assert slept[4] == 7.0
    assert 0.05 <= slept[0] <= 0.1


def test_the_same_list_is_sent_until_there_is_an_answer(campaign, slept):
    cases = [Deciding(CASE, "one"), Deciding({}, "two")]
    (found, refused), seen = through(campaign, ["lost", (503, {})], lambda client: client.decide_many(cases))
    assert (len(seen), len(set(seen)), len(slept)) == (3, 1, 2)
    assert (found.repeated, refused.status) == (True, 422)
    assert [event.seq for event in events(campaign)] == [found.id]


def test_an_outcome_counts_once_though_its_answer_was_lost(campaign, slept):
    number = campaign.decide(CASE, "one").id
    new, seen = through(campaign, ["lost"], lambda client: client.observe(number, {"answer": 1}))
    assert (new, len(seen)) == (False, 2)
    assert len(events(campaign, "observed")) == 1


def test_the_last_try_ends_it(campaign, slept):
    with pytest.raises(NoAnswer, match="at 3 tries; the last one: status 503"):
        through(campaign, [(503, {})] * 3, lambda client: client.decide(CASE, "one"), tries=3)
    assert len(slept) == 2


def test_a_server_that_is_started_again_is_waited_for(tmp_path, slept, monkeypatch):
    """Connections that are refused are no tries: a server that was killed needs longer than six of them last."""
    with serving(app(opened(tmp_path))) as server:
        there = server.base_url
    sent = []
    for tries, reach, waited in ((2, 30.0, 30.0), (1, 30.0, 0.0), (6, 0.0, 0.0), (6, 5.0, 5.0)):
        slept.clear()
        with Client(str(there), tries=tries, reach=reach) as client, pytest.raises(NoAnswer, match="no connection to"):
            client.report()
        assert waited <= sum(slept) <= waited + 1.0
        assert max(slept, default=0.0) <= 1.0

    def refused(self, *said, **more):
        sent.append(said)
        if len(sent) < 20:
            raise httpx.ConnectError("[Errno 111] Connection refused")
        return httpx.Response(200, json={"campaign": "shop"})

    monkeypatch.setattr(httpx.Client, "request", refused)
    with Client("http://127.0.0.1:9", tries=2) as client:
        assert client.report() == {"campaign": "shop"}
    assert len(sent) == 20


def test_numbers_of_other_libraries_are_sent_and_others_name_their_field(campaign):
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        found = client.decide({"age": np.int64(33), "zone": "land"}, "one", offered=["letter"])
        assert client.observe(found.id, {"answer": np.float32(1)}) is True
        for case, told in (
            ({"age": np.nan, "zone": "land"}, r"^case\.age: expected a finite number, got nan"),
            ({"age": {33}, "zone": "land"}, r"^case\.age: expected a number, a text, .* got \{33\} \(set\)"),
        ):
            with pytest.raises(InvalidInput, match=told):
                client.decide(case, "two")
            with pytest.raises(InvalidInput, match=told.replace("^", r"^\[1\]\.")):
                client.decide_many([Deciding(CASE, "two"), Deciding(case, "three")])
    assert len(events(campaign)) == 1


def test_an_address_without_its_scheme_is_refused_at_once():
    with pytest.raises(
        InvalidInput, match=r"url: expected one that begins with http:// or https://, got '127\.0\.0\.1:80'"
    ):
        Client("127.0.0.1:80")


def test_a_client_needs_little():
    code = "import sys, evenhand.client; print([m for m in ('numba', 'starlette', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def kinds(campaign):
    return [event.kind for event in campaign.events()]


def test_the_life_of_a_campaign(campaign):
    with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
        assert (client.pause(why="no printer", by="anna"), client.pause(why="none", by="anna")) == (True, False)
        assert (client.resume(why="a new one", by="anna"), client.resume(why="so", by="anna")) == (True, False)
        changed = {"patience": 60.0, "on_expiry": "release", "after": "stop", "why": "so", "by": "anna"}
        assert client.change(after="go on", why="letters are left", by="anna")
        assert (client.change(**changed), client.change(**changed)) == (True, False)
        assert (client.end(why="over", by="anna"), client.end(why="over", by="anna")) == (True, False)
        with pytest.raises(RequestRefused) as error:
            client.pause(why="so")
        assert (error.value.status, error.value.field) == (422, "by")
    assert kinds(campaign) == ["opened", "paused", "resumed", "changed", "changed", "ended"]
    life = campaign.life
    assert (life.patience, life.on_expiry, life.after, life.why) == (60.0, "release", "stop", "over")


def test_a_switch_by_the_text_of_a_problem_file(tmp_path):
    campaign = open_campaign("memory://", "post", write_problem(tmp_path, rows(300), STATED)[1])
    less = STATED.replace("rate = 0.3", "rate = 0.2")
    with serving(app(campaign, token=TOKEN)) as server, Client(str(server.base_url), token=TOKEN) as client:
        mark = client.report()["mark"]
        for _ in range(2):
            said = client.switch(less, why="less", by="anna")
            assert (said["by"], said["why"], said["adopts"]) == ("anna", "less", True)
        with pytest.raises(RequestRefused) as error:
            client.switch(STATED, why="back", by="bob", expected=mark)
    assert error.value.status == 409
    assert kinds(campaign) == ["opened", "switched"]


def test_an_erasure(campaign):
    for key in ("one", "two", "three"):
        campaign.observe(campaign.decide(CASE, key, offered=["letter"]).id, {"answer": 1})
    with serving(app(campaign, token=TOKEN)) as server, Client(str(server.base_url), token=TOKEN) as client:
        found = client.erase(["one", "nobody"], why="case 1204", by="support")
        assert found == Erased(erased=1, waiting=0, unknown=("nobody",))
        with pytest.raises(RequestRefused, match="1 to 1,000 keys"):
            client.erase([], why="so", by="support")
        with pytest.raises(RequestRefused, match="before: expected none beside keys"):
            client.erase(["two"], before=date(2026, 1, 1), why="so", by="support")
        nothing = Erased(erased=0, waiting=0, unknown=())
        assert client.erase(before=date(2020, 1, 1), why="so", by="support") == nothing
        assert client.erase(why="to clean", by="support") == nothing
        with pytest.raises(RequestRefused, match="before: expected a date or time in the past"):
            client.erase(before=datetime(2100, 1, 1, 12), why="so", by="support")
        assert client.erase(before=datetime.now(UTC), why="so", by="support").erased == 2
    assert len(events(campaign, "erased")) == 2


def test_an_erasure_whose_answer_was_lost_is_answered_again(tmp_path, slept):
    """As is one that could not clean the file, which its server answers by 503."""
    path = write(tmp_path, entry("anna", roles=("change",)))
    campaign = opened(tmp_path)
    for key in ("one", "two"):
        campaign.observe(campaign.decide(CASE, key, offered=["letter"]).id, {"answer": 1})
    asked = lambda client: client.erase(["one"], why="so")  # noqa: E731
    found, seen = through(campaign, ["lost", (503, {})], asked, tokens=Tokens(path), token="secret of anna")
    assert found == Erased(erased=0, waiting=0, unknown=("one",))
    assert len(set(seen)) == 1
    assert len(seen) == 3
    assert len(events(campaign, "erased")) == 1
