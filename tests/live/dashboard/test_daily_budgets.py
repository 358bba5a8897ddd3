"""What is said of a budget per day, whose allowance is used up or held long before the total is."""

from datetime import UTC, datetime, timedelta

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live.dashboard.page import head_line, head_tiles
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from tests.live.dashboard.test_contrast import readings
from tests.live.http_campaign import serving
from tests.live.minutes import PER_DAY

NOON = int(datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp()) * 10**6
DAY = 86_400 * 10**6
TODAY = "from 2026-11-24 to 2026-11-25"


class Calls:
    """A campaign of calls, and the time."""

    def __init__(self, folder, text=PER_DAY, url=None):
        self.now, self.file = [NOON], folder / "problem.toml"
        self.file.write_text(text)
        self.store = MemoryStore(lambda: self.now[0]) if url is None else url
        self.campaign = eh.live.open_campaign(self.store, "calls", self.file, patience=1e8)
        self.made = 0

    def call(self):
        self.made += 1
        return self.campaign.decide({}, key=f"{self.made}", offered=["call"])

    def alarms(self):
        return self.campaign.report()["alarms"]


@pytest.fixture
def calls(tmp_path):
    return Calls(tmp_path)


def test_an_allowance_that_waits_for_outcomes_is_jammed(calls):
    first = calls.call()
    assert calls.alarms() == []
    for _ in range(3):
        assert calls.call().action is None
    told = f"minutes: jammed. 60 is held for outstanding outcomes and 40 is left {TODAY}; in 3 of the last 4 decisions"
    (said,) = calls.alarms()
    assert said.startswith(told)
    assert calls.campaign.status().accounts["minutes"].left == 940.0  # of all days
    with serving(app(calls.campaign)) as client:
        found = client.get("/metrics").text
    assert 'evenhand_budget_left_now{budget="minutes"} 40.0\n' in found
    assert 'evenhand_alarm{name="jammed"} 1.0\n' in found
    calls.campaign.observe(first.id, {"answer": 1, "minutes": 5})
    assert calls.alarms() == []


def test_what_an_earlier_day_holds_does_not_jam_today(calls):
    calls.call()
    calls.now[0] += DAY
    for _ in range(2):
        calls.campaign.observe(calls.call().id, {"answer": 1, "minutes": 40})
    assert calls.call().action is None  # 80 of today's 100 are spent, and nothing waits
    account = calls.campaign.status().accounts["minutes"]
    assert (account.held, account.tightest.held, account.left_now) == (60.0, 0.0, 20.0)
    assert calls.alarms() == []


def test_a_daily_budget_that_is_lowered_below_what_today_used_says_so(calls):
    for minutes in (40, 45):
        calls.campaign.observe(calls.call().id, {"answer": 1, "minutes": minutes})
    text, who = PER_DAY.replace("total = 100", "total = 60"), {"by": "Ada", "why": "so"}
    with serving(app(calls.campaign, token="a long enough secret")) as client:
        client.headers["Authorization"] = "Bearer a long enough secret"
        assert calls.alarms() == []
        said = client.post("/switch", json={"problem": text, **who}).json()
    used = f"85 of 60 is spent and held {TODAY}, so that nothing that uses it is played until then"
    assert said["used_up"] == [f"budget minutes: {used}"]
    assert calls.alarms() == [f"minutes: overspent. 85 of 60 is spent {TODAY}, 25 too much."]
    calls.now[0] += DAY
    assert calls.call().action == "call"
    assert calls.alarms() == []


def test_the_head_says_how_long_after_the_stated_start_a_campaign_began(calls, tmp_path):
    assert ", began 2026-11-24 12:00:00 UTC" in head_line(readings(calls.campaign))
    assert "after" not in head_line(readings(calls.campaign))
    late = Calls(tmp_path, PER_DAY.replace("2026-11-24", "2026-11-04"))
    told = ", began 2026-11-24 12:00:00 UTC, 20 days after 2026-11-04, of which nothing was spent"
    assert told in head_line(readings(late.campaign))


def test_the_command_says_so_as_well(tmp_path, capsys):
    first = datetime.now(UTC).date() - timedelta(days=1)
    text = PER_DAY.replace("2026-11-24", f"{first}").replace("2026-12-04", f"{first + timedelta(days=9)}")
    calls = Calls(tmp_path, text, f"sqlite:///{tmp_path}/calls.db")
    calls.campaign.observe(calls.call().id, {"answer": 1, "minutes": 60})
    calls.file.write_text(calls.file.read_text().replace("total = 100", "total = 60"))
    assert main(["switch", calls.store, str(calls.file), "--by", "Ada", "--why", "so"]) == 0
    assert "note: budget minutes: 60 of 60 is spent and held from " in capsys.readouterr().err


def test_the_head_names_the_budget_whose_allowance_is_the_tightest(tmp_path):
    points = '[outcomes.credits]\nknown = { call = 9 }\n\n[[budget]]\noutcome = "credits"\ntotal = 50\nhard = true\n'
    calls = Calls(tmp_path, PER_DAY.replace("[[budget]]", f"{points}\n[[budget]]", 1))
    calls.campaign.observe(calls.call().id, {"answer": 1, "minutes": 60})
    tile = head_tiles(readings(calls.campaign), [])[1]
    assert tile.name == "credits against plan (of 2 budgets)"
    assert tile.note.endswith("; minutes: 40 of 100 left until 2026-11-25")
