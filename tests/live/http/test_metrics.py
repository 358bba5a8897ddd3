"""Metrics of requests, of the process and of where campaigns stand."""

import asyncio
import itertools
import os
import re
import threading
from platform import python_version

import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.campaigns.tokens import ROLES, Token
from evenhand.live.http import app
from evenhand.live.http.answers import Refusal
from evenhand.live.http.commits import Commits
from evenhand.live.http.metrics import ENDS, Requests, metrics
from evenhand.live.http.places import Place
from evenhand.live.http.quotas import Quotas
from evenhand.live.http.service import CampaignService
from evenhand.live.log.events import Busy
from evenhand.live.stores.memory import MemoryStore
from tests.live.http_campaign import CASE, SHOP, asked, opened, serving
from tests.polling import LONG, until


def values(text, name):
    """The values of a metric by their labels."""
    found = re.findall(rf"^evenhand_{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def test_a_histogram_is_of_the_times_of_requests():
    requests = Requests(["shop"])
    for seconds in (0.0005, 0.001, 0.0011, 0.2, 99.0):
        requests.add(Place("shop", "/decide"), 200 if seconds < 1 else 503, seconds)
    text = metrics({"shop": []}, requests, Quotas())
    assert values(text, "requests_total") == {f'route="/decide",status="{z}"': n for z, n in ((200, 4), (503, 1))}
    bins = [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert list(values(text, "request_seconds_bucket").values()) == list(itertools.accumulate(bins))
    assert values(text, "request_seconds_sum") == {'route="/decide"': pytest.approx(99.2026)}


def test_requests_of_other_campaigns_and_tokens_are_left_out():
    requests, quotas = Requests(["shop", "post"]), Quotas()
    for campaign in ("shop", "post", "none", None):
        requests.add(Place(campaign, "/decide"), 200, 0.1)
    tokens = [
        Token(name=z, sha256="0" * 64, roles=ROLES, campaigns=(z,), decisions_per_minute=1) for z in ("shop", "post")
    ]
    for token in tokens:
        quotas.charge(token, 1)
        with pytest.raises(Refusal):
            quotas.charge(token, 1)
    text = metrics({"shop": []}, requests, quotas)
    own = {'campaign="shop",route="/decide",status="200"', 'route="/decide",status="200"', 'route="other",status="200"'}
    assert set(values(text, "requests_total")) == own
    assert values(text, "quota_refusals_total") == {'token="shop"': 1}


def test_refusals_are_counted_by_name_where_the_quota_of_a_token_changes():
    quotas = Quotas()
    for quota in (1, 2):
        token = Token(name="till", sha256="0" * 64, roles=ROLES, decisions_per_minute=quota)
        quotas.charge(token, quota)
        with pytest.raises(Refusal):
            quotas.charge(token, 1)
    text = metrics({"shop": []}, Requests(["shop"]), quotas)
    assert re.findall(r"^evenhand_quota_refusals_total.*$", text, re.MULTILINE) == [
        'evenhand_quota_refusals_total{token="till"} 2.0'
    ]


def test_metrics_say_what_the_process_and_the_store_use(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        client.post("/decide", json=asked("one"))
        text = client.get("/metrics").text
    assert values(text, "build_info") == {f'python="{python_version()}",version="{eh.__version__}"': 1}
    assert values(text, "unsaved_events") == {"": 2}  # the first event, and a decision
    assert values(text, "store_bytes")[""] >= 4096
    assert re.search(r"^process_resident_memory_bytes \S+$", text, re.MULTILINE)
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types))


def test_metrics_have_times_plays_age_and_queue(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        for i in range(5):
            client.post("/decide", json=asked(f"{i}", offered=["letter"]))
        client.post("/decide", json=asked("none", offered=["none"]))
        text = client.get("/metrics").text
    assert values(text, "plays_total") == {'action="none"': 1, 'action="letter"': 5}
    assert 0 <= values(text, "last_event_age_seconds")[""] < 30
    assert values(text, "queue_length") == {"": 0}
    bins = values(text, "request_seconds_bucket")
    assert list(bins) == [f'le="{z}",route="/decide"' for z in (*ENDS, "+Inf")]
    counts = list(bins.values())
    assert counts == sorted(counts)
    assert counts[-1] == values(text, "request_seconds_count")['route="/decide"'] == 6
    assert 0 < values(text, "request_seconds_sum")['route="/decide"'] < 60
    assert "# TYPE evenhand_request_seconds histogram\n" in text


def test_the_age_is_that_of_the_last_event(tmp_path, monkeypatch):
    campaign = opened(tmp_path)
    *_, last = campaign.events()
    monkeypatch.setattr("evenhand.live.http.metrics.now", lambda: last.at / 1e6 + 77.5)
    with serving(app(campaign)) as client:
        assert values(client.get("/metrics").text, "last_event_age_seconds")[""] == pytest.approx(77.5)


def test_the_age_of_the_latest_backup_is_that_of_the_newest_whole_file_of_their_folder(tmp_path):
    def age():
        return values(metrics({}, Requests([]), Quotas(), tmp_path / "backups"), "backup_age_seconds")[""]

    assert values(metrics({}, Requests([]), Quotas()), "backup_age_seconds") == {}
    assert age() == float("inf")  # there is no folder
    (folder := tmp_path / "backups").mkdir()
    assert age() == float("inf")
    for name, old in (("monday.db", 900.0), ("tuesday.db", 300.0), (".wednesday.db.7.evenhand.part", 1.0)):
        (file := folder / name).touch()
        os.utime(file, (file.stat().st_atime, file.stat().st_mtime - old))
    (folder / "of-others").mkdir()
    assert 300 <= age() < 400


def test_events_without_a_snapshot_and_corrections_that_are_not_learned_have_an_age(monkeypatch):
    clock = [2_000_000_000 * 10**6]
    campaign = Campaign.open(MemoryStore(now=lambda: clock[0]), "shop", eh.resolving(SHOP, eh.PerAction.of(SHOP)))
    served = CampaignService(campaign)

    def ages():
        monkeypatch.setattr("evenhand.live.http.metrics.now", lambda: clock[0] / 1e6)
        text = metrics({"shop": asyncio.run(served.metrics())}, Requests(["shop"]), Quotas())
        return [values(text, name)[""] for name in ("unsaved_events", "unsaved_seconds", "unlearned_seconds")]

    clock[0] += 5 * 10**6
    said = campaign.decide(CASE, key="one")
    assert ages() == [2, 5, 0]  # since the first event
    campaign.observe(said.id, {"answer": 0})
    campaign.snapshot()
    clock[0] += 10**6
    assert ages() == [0, 0, 0]
    campaign.observe(said.id, {"answer": 1}, revise=True)
    clock[0] += 7 * 10**6
    assert ages() == [1, 7, 7]
    campaign.relearn()
    clock[0] += 10**6
    assert ages() == [2, 8, 0]  # the mark as well


def test_the_queue_counts_calls_that_wait(tmp_path):
    go, inside = threading.Event(), threading.Event()

    def slow(verbs):
        inside.set()
        assert go.wait(LONG)
        return {}

    commits = Commits(opened(tmp_path))
    first = commits.submit([slow])
    assert inside.wait(LONG)
    rest = [commits.submit([lambda verbs: {}] * 3) for _ in range(2)]
    assert commits.n_waiting() == 6
    go.set()
    for job in (first, *rest):
        job.result(LONG)
    assert commits.n_waiting() == 0
    commits.close()


def test_metrics_are_answered_while_a_decision_is_explained(tmp_path, monkeypatch):
    go, inside = threading.Event(), threading.Event()
    why = Campaign.why

    def slow(self, decision):
        inside.set()
        assert go.wait(LONG)
        return why(self, decision)

    monkeypatch.setattr(Campaign, "why", slow)
    with serving(app(opened(tmp_path))) as client:
        number = client.post("/decide", json=asked("one")).json()["id"]
        pages = []
        asking = threading.Thread(target=lambda: pages.append(client.get(f"/decisions/{number}/page")))
        asking.start()
        assert inside.wait(LONG)
        try:
            assert values(client.get("/metrics", timeout=LONG / 2).text, "decisions_total") == {"": 1}
            assert client.get("/report", timeout=LONG / 2).json()["rounds"] == 1
        finally:
            go.set()
            asking.join(LONG)
        assert pages[0].status_code == 200


def test_metrics_do_not_wait_for_a_report_and_say_how_old_they_are(tmp_path, monkeypatch):
    go, inside = threading.Event(), threading.Event()

    def slow(*_):
        inside.set()
        assert go.wait(LONG)
        return {}

    monkeypatch.setattr("evenhand.live.http.routes.to_json", slow)
    with serving(app(opened(tmp_path))) as client:
        client.post("/decide", json=asked("one"))
        assert values(client.get("/metrics").text, "decisions_total") == {"": 1}
        client.post("/decide", json=asked("two"))
        asking = threading.Thread(target=lambda: client.get("/report"))
        asking.start()
        assert inside.wait(LONG)
        monkeypatch.setattr("evenhand.live.http.service.SOON", 0.01)
        try:
            text = client.get("/metrics", timeout=LONG / 2).text
            assert values(text, "decisions_total") == {"": 1}
            assert values(text, "state_age_seconds")[""] >= 0.01
        finally:
            go.set()
            asking.join(LONG)
        monkeypatch.setattr("evenhand.live.http.service.SOON", LONG)
        assert values(client.get("/metrics").text, "decisions_total") == {"": 2}


def test_metrics_of_a_store_that_fails_are_no_earlier_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.service.SOON", 0.0)
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        assert client.get("/metrics").status_code == 200

        def busy(_):
            raise Busy("the disk is full")

        status = Campaign.status
        monkeypatch.setattr(Campaign, "status", busy)
        until(lambda: client.get("/metrics").status_code == 503)
        assert client.get("/metrics").status_code == 503
        monkeypatch.setattr(Campaign, "status", status)
        assert client.get("/metrics").status_code == 200  # not the earlier error
