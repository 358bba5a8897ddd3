"""A clock that jumps forward is refused; one that goes back, and a campaign that was quiet, are not."""

import pytest

import evenhand as eh
from evenhand.live import Busy
from evenhand.live.stores import sqlite
from evenhand.live.stores._clock import Watch, monotonic
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.schedules import plain, same_fold

SECOND, HOUR, DAY = 10**6, 3600 * 10**6, 86_400 * 10**6


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
