"""A worker that starts by a wrong clock writes nothing; a log that is ahead of its clock is set back by an event."""

import json
from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Campaign, Conflict, Unknown, audit, set_clock
from evenhand.live.http import app
from evenhand.live.log.events import digest, encode, read
from evenhand.live.log.proof import prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.clocks import accept_clock
from tests.live.schedules import plain, same_fold
from tests.live.served import CASE, opened as shop, serving
from tests.live.test_span_charts import DAY, SHOP, START

SECOND, HOUR, PATIENCE = 10**6, 3600 * 10**6, 3600.0


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
    campaign.change(patience=60.0, by="anna", why="enough")
    letter(campaign, "b")
    clock[0] -= DAY
    event = set_clock(SqliteStore(path), "one", why="it was a day ahead")
    assert read(event)["due"] == event.at + 60 * SECOND
    assert opened(path).observe(number, {"answer": 1, "cents": 1})


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


def wrong(path, clock, on_expiry="hold", ahead=6 * DAY):
    """A campaign that a worker with a wrong clock went on with: two decisions expired, and two were made."""
    first = [letter(opened(path, on_expiry), key).id for key in "ab"]
    clock[0] += ahead
    campaign = opened(path)
    second = [letter(campaign, key).id for key in "cd"]
    assert kinds(campaign) == ["opened", "decided", "decided", "expired", "expired", "decided", "decided"]
    clock[0] -= ahead - 60 * SECOND
    return first, second


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_the_way_back_is_in_the_log(tmp_path, clock, on_expiry):
    path = tmp_path / "log.db"
    first, second = wrong(path, clock, on_expiry)
    campaign, other = opened(path), opened(path)
    letter(campaign, "e")
    assert list(campaign.events())[-1].at > clock[0]
    assert campaign.ahead == 6 * 86_400 - 60
    event = set_clock(f"sqlite:///{path}", "one", why="the battery was empty", who="operator")
    assert event.at == clock[0]
    body = read(event)
    assert (body["why"], body["who"], body["from"] - event.at) == (
        "the battery was empty",
        "operator",
        6 * DAY - 60 * SECOND,
    )
    with pytest.raises(Conflict, match="already follows the clock"):
        set_clock(f"sqlite:///{path}", "one", why="again")
    for each in (campaign, other):
        each.refresh()
        assert each.ahead == 0.0
    for number in first:  # which expired wrongly
        assert campaign.observe(number, {"answer": 1, "cents": 2})
    snapshot = campaign.snapshot()
    clock[0] += 10 * SECOND
    assert letter(other, "f").at == clock[0]
    account = other.status().accounts["cents"]
    assert (account.spent, account.held) == (4.0, 4 * 3.0)
    clock[0] += int(PATIENCE * 1e6) - 10 * SECOND  # since the clock was set back; after 60 years else
    store = SqliteStore(path)
    store._watch = campaign.store._watch = other.store._watch = type(store._watch)()
    again = opened(path)
    again.refresh()
    expired = [e.ref for e in again.events() if e.kind == "expired"]
    assert expired[2:] == [*second, second[-1] + 1]
    assert snapshot > 0
    whole = opened(path)
    whole._worker.fold = fold = whole._worker.folding.begun()
    fold.fold(whole.store.scan("one"))
    same_fold(whole, again)
    found = audit(SqliteStore(path), "one", [plain("clocks", total=100.0, horizon=1000)])
    assert found.clean, f"{found}"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_every_store_has_the_way_back(kind, tmp_path, clock, request):
    if kind == "postgres":
        pytest.importorskip("psycopg")
        from evenhand.live.stores.postgresql import PostgresStore

        store = PostgresStore(request.getfixturevalue("url"))
        with store.write("one") as log:
            log.append("opened", encode({"patience": 60.0, "on_expiry": "hold"}))
            log.now += HOUR
            log.append("switched", "{}")
    else:
        store = MemoryStore(lambda: clock[0]) if kind == "memory" else SqliteStore(tmp_path / "log.db")
        with store.write("one") as log:
            log.append("opened", encode({"patience": 60.0, "on_expiry": "hold"}))
        clock[0] += HOUR // 10
        with store.write("one") as log:
            log.append("switched", "{}")
        clock[0] -= HOUR // 10
    with store.write("one") as log:
        before = log.append("switched", "{}")
    event = set_clock(store, "one", why="it was wrong")
    assert event.at < before.at
    with store.write("one") as log:
        assert event.at <= log.now < before.at
        log.append("switched", "{}")
    assert prove(store, "one").faults == ()
    assert [e.seq for e in store.scan("one")] == [1, 2, 3, 4, 5]


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


def test_what_setting_the_clock_is_refused_for(tmp_path, clock):
    path = tmp_path / "log.db"
    store = SqliteStore(path)
    with pytest.raises(Unknown, match="no campaign 'one'"):
        set_clock(store, "one", why="it was wrong")
    wrong(path, clock)
    for text in ("", " ", "a\nb", 3, "x" * 501):
        with pytest.raises(InvalidInput, match="why"):
            set_clock(store, "one", why=text)
    clock[0] = 10 * DAY
    with pytest.raises(InvalidInput, match="clock: expected one that is set, got 1970"):
        set_clock(store, "one", why="it was wrong")
    assert "clock" not in [e.kind for e in store.scan("one")]


def test_a_clock_is_not_set_where_a_later_version_decides(tmp_path, clock):
    path = tmp_path / "log.db"
    wrong(path, clock)
    store = SqliteStore(path)
    with store.write("one") as log:
        log.append("upgraded", encode({"versions": {"evenhand": "99.0"}}))
    before = list(store.scan("one"))
    with pytest.raises(Conflict, match=r"'one': evenhand 99\.0 decides for the campaign"):
        set_clock(store, "one", why="it was wrong")
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


def test_the_command_sets_it_back(tmp_path, clock, capsys):
    path = tmp_path / "log.db"
    assert main(["clock", f"sqlite:///{path}", "--reset", "--why", "it was wrong"]) == 2
    assert not path.exists()
    wrong(path, clock)
    assert main(["clock", f"sqlite:///{path}", "--reset", "--why", "it was wrong", "--by", "operator"]) == 0
    assert read(list(SqliteStore(path).scan("one"))[-1])["who"] == "operator"
    assert capsys.readouterr().out == "one: event 8 sets the log back by 518,340 seconds\n"
    assert main(["clock", f"sqlite:///{path}", "--reset", "--why", "it was wrong"]) == 2
    assert "already follows the clock" in capsys.readouterr().err


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
        set_clock(campaign.store, "shop", why="it was wrong")
        report = client.get("/report").json()
        assert (report["ahead"], report["alarms"]) == (0.0, [])
        said = client.post("/decide", json={**letter_, "key": "b"}).json()
        assert said["at"] == clock[0]
        first = client.get("/decisions?key=a").json()["id"]
        client.post("/observe", json={"id": first, "outcomes": {"answer": 1}})
        assert client.get("/report").json()["delay"]["median"] is None  # of a decision of a wrong time
        assert client.get("/").status_code == 200
    rows = json.loads(campaign.decisions().to_json(orient="records"))
    assert [row["at"] for row in rows] == [clock[0] + 3 * HOUR, clock[0]]


def test_spans_of_time_keep_their_allowances_when_the_clock_goes_back(tmp_path):
    """Two units a day: those that a wrong clock spent stay spent on that day, and others have theirs."""
    now = [START + DAY // 2]
    policy = eh.resolving(SHOP)
    store = MemoryStore(lambda: now[0])
    campaign = Campaign.open(store, "shop", policy)

    def go(times, label):
        return [campaign.decide({}, key=f"{label} {i}", offered=["go"]).action for i in range(times)]

    assert go(3, "first") == ["go", "go", None]
    now[0] += 2 * DAY
    assert go(1, "third") == ["go"]
    now[0] -= DAY
    set_clock(store, "shop", why="it was a day ahead")
    assert go(3, "second") == ["go", "go", None]
    campaign.save_report(tmp_path / "page.html")
    report = campaign.report()
    assert [use["used"] for use in report["budgets"]["cost"]["spans"]] == [2.0, 2.0]
    now[0] += DAY
    assert go(2, "last") == ["go", None]
    assert audit(store, "shop", [policy]).clean
    days = [datetime.fromtimestamp(e.at / 1e6, UTC).day for e in store.scan("shop") if e.kind == "decided"]
    assert days == [14, 14, 14, 16, 15, 15, 15, 16, 16]
