"""A clock that jumps forward is refused, also at a start; one that goes back, and a quiet campaign, are not."""

from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.live import Busy, Campaign, Conflict, accept_clock, audit
from evenhand.live.http import app
from evenhand.live.log.events import digest, encode, read
from evenhand.live.log.proof import prove
from evenhand.live.stores import sqlite
from evenhand.live.stores._clock import Watch, monotonic
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http_campaign import CASE, opened as shop, serving
from tests.live.schedules import plain, same_fold

SECOND, HOUR, DAY, PATIENCE = 10**6, 3600 * 10**6, 86_400 * 10**6, 3600.0


class Times:
    """A clock on the wall, and the time that passed."""

    def __init__(self):
        self.wall, self.passed = 1000 * DAY, 5 * DAY
        self.watch = Watch(passed=lambda: self.passed)

    def wait(self, time, jump=0):
        self.passed += time
        self.wall += time + jump
        return self

    def checked(self, last=0):
        return self.watch.check(self.wall, last)


def test_a_quiet_week_is_no_jump():
    times = Times()
    assert times.checked() == times.wall
    assert times.wait(7 * DAY).checked() == times.wall
    assert times.wait(0, jump=500 * SECOND).checked() == times.wall


def test_a_jump_is_refused_until_the_clock_is_right_again():
    times = Times()
    times.checked()
    times.wait(SECOND, jump=HOUR)
    for _ in range(3):
        with pytest.raises(Busy, match="jumped by 3600 seconds"):
            times.checked()
        times.wait(SECOND)
    assert times.wait(SECOND, jump=-HOUR).checked() == times.wall


def test_a_worker_that_was_restarted_accepts_a_jump_and_so_do_others_once_it_wrote():
    times = Times()
    times.checked()
    times.wait(SECOND, jump=HOUR)
    other = Watch(passed=lambda: times.passed)
    wrote = other.check(times.wall, 0)
    assert times.wait(SECOND).checked(last=wrote) == times.wall
    assert times.wait(SECOND).checked() == times.wall


def test_a_clock_that_goes_back_may_go_forward_again():
    times = Times()
    last = times.checked()
    assert times.wait(SECOND, jump=-HOUR).checked(last) == last
    assert times.wait(SECOND, jump=HOUR).checked(last) == times.wall


def test_what_passes_is_counted_from_some_moment_on():
    assert 0 <= monotonic() <= monotonic()


def test_a_jump_of_the_clock_lets_nothing_expire(tmp_path, monkeypatch):
    times = Times()
    monkeypatch.setattr(sqlite, "clock", lambda: times.wall)
    store = SqliteStore(tmp_path / "log.db")
    store._watch = times.watch
    campaign = eh.Campaign.open(store, "one", plain(), patience=60)
    campaign.decide({"age": 33}, key="a")
    times.wait(SECOND, jump=HOUR)
    with pytest.raises(Busy, match="jumped"):
        campaign.decide({"age": 33}, key="b")
    assert [e.kind for e in campaign.events()] == ["opened", "decided"]
    times.wait(SECOND, jump=-HOUR)
    assert campaign.decide({"age": 33}, key="b").id == 3


def test_what_is_overdue_expires_in_bounded_numbers(monkeypatch):
    monkeypatch.setattr("evenhand.live.worker.worker._EXPIRIES", 4)
    now = [10**6]
    store = MemoryStore(now=lambda: now[0])
    campaign = eh.Campaign.open(store, "one", plain(), patience=60)
    found = [campaign.decide({"age": 33}, key=str(i)) for i in range(14)]
    waiting = sum(reply.action is not None for reply in found)
    now[0] += HOUR
    numbers = []
    for _ in range(6):
        campaign.refresh()
        numbers.append(sum(e.kind == "expired" for e in campaign.events()))
    assert numbers[:2] == [4, 8]
    assert numbers[-1] == waiting > 8
    same_fold(campaign, eh.Campaign.open(store, "one", plain()))


@pytest.fixture
def clock(monkeypatch):
    """The clock of all stores in files."""
    found = [1_790_000_000 * SECOND]
    monkeypatch.setattr("evenhand.live.stores.sqlite.clock", lambda: found[0])
    return found


def opened(path, on_expiry="hold"):
    """A worker of a process of its own."""
    policy = plain("clocks", total=100.0, horizon=1000)
    return Campaign.open(SqliteStore(path), "one", policy, patience=PATIENCE, on_expiry=on_expiry)


def letter(campaign, key):
    return campaign.decide({"age": 33}, key=key, offered=["letter"])


def kinds(campaign):
    return [event.kind for event in campaign.events()]


@pytest.mark.parametrize("ahead", [8 * DAY, 60 * 365 * DAY])
def test_a_worker_that_starts_by_a_clock_far_ahead_writes_nothing(tmp_path, clock, ahead):
    path = tmp_path / "log.db"
    number = letter(opened(path), "a").id
    store = SqliteStore(path)
    clock[0] += ahead
    for _ in range(2):
        with pytest.raises(Busy, match=r"days after the last event of 'one', and 1 decision would expire by it: set"):
            Campaign.open(store, "one", plain("clocks", total=100.0, horizon=1000))
    assert kinds(opened_at(clock, path, -ahead)) == ["opened", "decided"]
    campaign = Campaign.open(store, "one", plain("clocks", total=100.0, horizon=1000))
    assert campaign.observe(number, {"answer": 1, "cents": 1})
    clock[0] += ahead  # and it is still no reading of this store that was right
    with pytest.raises(Busy, match="jumped"):
        campaign.refresh()


def opened_at(clock, path, moved):
    clock[0] += moved
    return opened(path)


def test_clocks_go_by_the_patience_that_was_changed(tmp_path, clock):
    path = tmp_path / "log.db"
    campaign = opened(path)
    campaign.change(patience=20 * DAY / SECOND, by="anna", why="returns take long")
    number = letter(campaign, "a").id
    clock[0] += 19 * DAY  # longer than a week, and not than what waits
    campaign = opened(path)
    assert kinds(campaign) == ["opened", "changed", "decided"]
    assert campaign.observe(number, {"answer": 1, "cents": 1})
    campaign.change(patience=60.0, by="anna", why="enough")
    letter(campaign, "b")
    clock[0] += 8 * DAY
    event = accept_clock(SqliteStore(path), "one")
    assert read(event)["due"] == event.at + 60 * SECOND


def test_a_campaign_that_stood_still_for_a_month_goes_on(tmp_path, clock):
    path = tmp_path / "log.db"
    opened(path).observe(letter(opened(path), "a").id, {"answer": 1, "cents": 1})
    assert letter(opened_at(clock, path, 31 * DAY), "b").id == 4
    waits = letter(opened(path), "c")  # nothing far: a week
    assert waits.id == 5
    assert kinds(opened_at(clock, path, 7 * DAY))[-1] == "decided"
    opened(path).refresh()
    assert kinds(opened(path))[-2:] == ["expired", "expired"]
    with pytest.raises(Busy, match="93 days after the last event of 'one': set it right"):
        opened_at(clock, path, 93 * DAY)


def test_a_long_patience_waits_for_no_clock(tmp_path, clock):
    policy = plain("clocks", total=100.0, horizon=1000)
    letter(Campaign.open(SqliteStore(tmp_path / "log.db"), "one", policy, patience=30 * 86_400.0), "a")
    clock[0] += 20 * DAY
    assert Campaign.open(SqliteStore(tmp_path / "log.db"), "one", policy).status().waiting == 1


def test_a_clock_is_accepted(tmp_path, clock):
    path = tmp_path / "log.db"
    assert accept_clock(f"sqlite:///{path}", "one") is None
    letter(opened(path), "a")
    assert accept_clock(f"sqlite:///{path}", "one") is None
    clock[0] += 30 * DAY
    event = accept_clock(f"sqlite:///{path}", "one")
    assert (event.kind, event.at, read(event)["why"]) == ("clock", clock[0], "accepted at the start")
    campaign = opened(path)
    campaign.refresh()
    assert kinds(campaign) == ["opened", "decided", "clock", "expired"]


def test_a_new_version_asks_before_it_takes_over(tmp_path, clock, monkeypatch):
    path = tmp_path / "log.db"
    letter(opened(path), "a")
    for module in ("worker.worker", "log.versions", "fold.snapshots"):
        monkeypatch.setattr(f"evenhand.live.{module}.__version__", "99.0")
    clock[0] += 8 * DAY
    with pytest.raises(Busy, match="8 days after the last event of 'one', and 1 decision would expire by it: set"):
        opened(path)
    assert [e.kind for e in SqliteStore(path).scan("one")] == ["opened", "decided"]
    assert kinds(opened_at(clock, path, -8 * DAY)) == ["opened", "decided", "upgraded"]


def test_a_new_version_takes_over_by_the_patience_that_was_changed(tmp_path, clock, monkeypatch):
    path = tmp_path / "log.db"
    campaign = opened(path)
    campaign.change(patience=20 * DAY / SECOND, by="anna", why="returns take long")
    letter(campaign, "a")
    for module in ("worker.worker", "log.versions", "fold.snapshots"):
        monkeypatch.setattr(f"evenhand.live.{module}.__version__", "99.0")
    assert kinds(opened_at(clock, path, 19 * DAY)) == ["opened", "changed", "decided", "upgraded"]


def test_times_that_go_back_elsewhere_are_found():
    now = [1_790_000_000 * SECOND]
    store = MemoryStore(lambda: now[0])
    with store.write("one") as log:
        log.append("opened", "{}")
        log.append("switched", "{}")
    events = store._books["one"].events
    for kind, faults in (("switched", ("event 2 is earlier than the one before",)), ("clock", ())):
        earlier = events[1]._replace(at=events[1].at - 1, kind=kind)
        events[1] = earlier._replace(hash=digest(earlier, events[0].hash))
        assert prove(store, "one").faults == faults
        events[1] = events[1]._replace(at=events[1].at + 1)


def test_a_clock_is_not_accepted_where_a_later_version_decides(tmp_path, clock):
    path = tmp_path / "log.db"
    letter(opened(path), "a")
    store = SqliteStore(path)
    with store.write("one") as log:
        log.append("upgraded", encode({"versions": {"evenhand": "99.0"}}))
    before = list(store.scan("one"))
    clock[0] = before[-1].at + 93 * DAY
    with pytest.raises(Conflict, match=r"'one': evenhand 99\.0 decides for the campaign"):
        accept_clock(SqliteStore(path), "one")
    assert list(store.scan("one")) == before


def test_a_later_version_accepts_the_clock_of_a_log_before_it_takes_over(tmp_path, clock, monkeypatch):
    path = tmp_path / "log.db"
    opened(path)
    clock[0] += 93 * DAY
    monkeypatch.setattr("evenhand.live.log.versions.__version__", "99.0")
    assert accept_clock(SqliteStore(path), "one").kind == "clock"


def test_reports_and_pages_say_how_far_the_log_is_ahead(tmp_path, clock):
    campaign = shop(tmp_path)
    letter_ = {"key": "a", "case": CASE, "offered": ["letter"]}
    with serving(app(campaign)) as client:
        client.post("/decide", json=letter_)
        assert "evenhand_log_ahead_seconds 0.0" in client.get("/metrics").text
        clock[0] -= 3 * HOUR
        report = client.get("/report").json()
        assert report["ahead"] == 10_800
        (said,) = report["alarms"]
        assert said.startswith("The log is ahead of the clock by 10,800 seconds: until the clock has caught up, time")
        assert said in client.get("/").text
        metrics = client.get("/metrics").text
        assert "evenhand_log_ahead_seconds 10800.0" in metrics
        assert 'evenhand_alarm{name="clock"} 1' in metrics
        clock[0] += 3 * HOUR
        report = client.get("/report").json()
        assert (report["ahead"], report["alarms"]) == (0.0, [])


def test_a_log_that_was_set_back_is_read(tmp_path):
    """As versions before 0.9 could: an event `clock` alone is earlier than the one before, and hastens what waits."""
    now = [1_790_000_000 * SECOND]
    store, policy = MemoryStore(lambda: now[0]), plain("clocks", total=100.0, horizon=1000)
    campaign = Campaign.open(store, "one", policy, patience=PATIENCE)
    for key in "ab":
        campaign.observe(letter(campaign, key).id, {"answer": 1, "cents": 1})
    waits = letter(campaign, "c").id
    now[0] -= 300 * DAY
    with store.write("one") as log:
        log.now = now[0]
        log.append("clock", encode({"due": now[0] + int(PATIENCE * SECOND)}))
    for key in "de":
        campaign.observe(letter(campaign, key).id, {"answer": 1, "cents": 1})
    now[0] += 2 * DAY
    campaign.refresh()
    assert [e.ref for e in campaign.events() if e.kind == "expired"] == [waits]
    assert audit(store, "one", [policy]).clean
    assert campaign.save_report(tmp_path / "page.html") is None
    assert len(campaign.erase(before=datetime.fromtimestamp(now[0] / SECOND, UTC)).decisions) == 2
    assert campaign.seal(tmp_path, by="ada", why="size").segment.decisions == 5
