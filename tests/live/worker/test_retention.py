"""Retention as a rule: servers erase what is older, some at a time and once a day, and say how it stands."""

import os
import signal
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import CannotErase
from evenhand.live import Campaign, Conflict
from evenhand.live.http import app
from evenhand.live.log.events import is_erased, read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.live.worker import erasure
from evenhand.models import Sklearn
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_of_files import write
from tests.live.http_campaign import serving
from tests.live.log.test_erasure import POLICY, PROBLEM, case
from tests.live.schedules import same_fold
from tests.polling import until

DAY = 86_400 * 10**6
ANNA = {"by": "anna", "why": "the law"}


class World:
    """A campaign whose clock is set by hand, of 10 decisions a day."""

    def __init__(self):
        self.now, self.n = 10**15, 0
        self.store = MemoryStore(lambda: self.now)
        self.campaign = self.opened()

    def opened(self):
        return Campaign.open(self.store, "shop", POLICY, patience=9e8, on_expiry="hold")

    def live(self, days, waits=()):
        for _ in range(10 * days):
            self.now += DAY // 10
            said = self.campaign.decide(case(self.n), key=f"{self.n}")
            if self.n not in waits and said.action is not None:
                self.settle(said)
            self.n += 1

    def settle(self, said, answer=1.0):
        y = {"answer": answer, "minutes": 1.0 * (said.action != "none")}
        self.campaign.observe(said.id, y)

    def refresh(self, campaign=None):
        while (campaign or self.campaign).refresh():
            pass

    @property
    def erased(self):
        return [e.key is None for e in self.store.scan("shop", kinds=("decided",)) if is_erased(e)]

    @property
    def runs(self):
        return [read(e._replace(own=None)) for e in self.store.scan("shop", kinds=("erased",))]


def test_what_is_older_is_erased_once_a_day_and_the_event_names_the_rule():
    world = World()
    world.live(8)
    status = world.campaign.status()
    assert world.campaign.retention is None
    assert world.campaign.change(retention=5, **ANNA)
    assert not world.campaign.change(retention=5.0, **ANNA)
    rule = world.campaign.life.rule
    found = world.campaign.retention
    assert (found["days"], found["rule"], found["last"], found["waiting"]) == (5.0, rule, None, 0)
    assert found["due"] == 29
    world.refresh()
    assert len(world.erased) == 29
    (run,) = world.runs
    assert (run["by"], run["why"]) == ("retention", f"event {rule}: erased after 5 days")
    after = world.campaign.status()
    assert (after.accounts, after.averages, after.rounds) == (status.accounts, status.averages, status.rounds)
    for _ in range(23):  # an hour each
        world.now += DAY // 24
        world.refresh()
    assert len(world.runs) == 1
    assert world.campaign.retention["due"] == 10
    world.now += DAY // 24
    world.refresh()
    assert (len(world.runs), len(world.erased)) == (2, 39)
    assert world.campaign.report()["retention"]["due"] == 0
    assert world.campaign.change(retention="off", **ANNA)
    assert world.campaign.retention is None
    world.now += 30 * DAY
    world.refresh()
    assert len(world.runs) == 2
    same_fold(world.campaign, world.opened())
    assert eh.live.audit(world.store, "shop", [POLICY]).clean


def test_the_next_run_is_when_it_says():
    world = World()
    world.live(8)
    world.campaign.change(retention=5, **ANNA)
    world.refresh()
    then = world.campaign.retention["next"]
    world.now = int(datetime.strptime(then, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC).timestamp() * 1e6) - 10**6
    world.refresh()
    assert len(world.runs) == 1
    world.now += 2 * 10**6 + erasure._LOOKS
    world.refresh()
    assert len(world.runs) == 2


def test_what_waits_stays_until_its_outcome_came():
    world = World()
    world.live(8, waits=(3, 17))
    world.campaign.change(retention=5, **ANNA)
    world.refresh()
    found = world.campaign.retention
    assert (found["due"], found["waiting"], len(world.erased)) == (0, 2, 27)
    for _ in range(3):
        world.now += DAY
        world.refresh()
    assert world.campaign.retention["waiting"] == 2
    (said,) = [e for e in world.store.scan("shop", kinds=("decided",)) if e.key == "3"]
    world.campaign.cancel(said.seq)
    before = len(world.runs)
    world.now += DAY
    world.refresh()
    assert len(world.runs) == before + 1
    assert is_erased(next(iter(world.store.about("shop", said.seq))))
    assert world.campaign.retention["waiting"] == 1
    assert world.runs[-1]["from"] < world.n * 2, "the second one is still looked at"


@pytest.mark.parametrize("meanwhile", [False, True], ids=["before", "meanwhile"])
def test_what_is_in_a_segment_stays_as_it_is_there(meanwhile, tmp_path, monkeypatch):
    """Also a decision that the store has as well, because it waited when the segment was made."""
    world, other = World(), None
    world.live(days=2, waits=(4,))
    world.campaign.change(retention=1, **ANNA)

    def move(*_):
        other.seal(tmp_path, before=other.head().seq + 1, **ANNA)
        other.observe("4", {"answer": 1.0, "minutes": 0.0})

    if meanwhile:
        other, chosen = world.opened(), erasure.erase_some
        monkeypatch.setattr(erasure, "erase_some", lambda *args: (move(), chosen(*args)))
    else:
        other = world.campaign
        move()
    world.refresh()
    assert world.erased == []
    assert eh.live.audit(eh.live.Place(world.store, tmp_path), "shop", [POLICY]).clean
    assert world.campaign.retention["due"] == 0


def test_a_run_is_in_turns_and_goes_on_elsewhere_after_a_kill(monkeypatch):
    """Each turn is one event; another worker, or a new one, erases the rest of the run and nothing twice."""
    monkeypatch.setattr(erasure, "TURN", 10)
    world = World()
    world.live(9)
    world.campaign.change(retention=4, **ANNA)
    assert world.campaign.refresh()
    assert len(world.erased) == 10
    other = world.opened()  # the first worker is gone
    world.refresh(other)
    assert len(world.erased) == 49
    refs = [ref for run in world.runs for ref in run["decisions"]]
    assert len(refs) == len(set(refs)) == 49
    assert [run["more"] for run in world.runs] == [True] * 4 + [False]
    assert len({run["until"] for run in world.runs}) == 1
    world.refresh()
    assert len(world.runs) == 5
    same_fold(world.campaign, other)


def test_many_do_not_wait_for_the_day_to_be_over(monkeypatch):
    monkeypatch.setattr(erasure, "TURN", 4)
    monkeypatch.setattr(erasure, "MANY", 8)
    world = World()
    world.live(8)
    world.campaign.change(retention=5, **ANNA)
    world.refresh()
    before = len(world.erased)
    world.now += DAY // 2
    world.refresh()
    assert len(world.erased) == before
    world.now += DAY // 10 * 4
    world.refresh()
    assert len(world.erased) == before + 9


def test_a_rule_that_nobody_could_carry_out_is_refused():
    from sklearn.linear_model import SGDRegressor

    other = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    model = Sklearn(n_features=2, estimator=SGDRegressor(), mode="partial_fit")
    campaign = Campaign.open(MemoryStore(), "coin", eh.uniform(other, 2))
    assert campaign.change(retention=9, **ANNA)
    campaign = Campaign.open(MemoryStore(), "coin", eh.ucb(other, model, warmup=2))
    before = list(campaign.events())
    with pytest.raises(CannotErase, match="retention: the state that an erasure keeps cannot be written"):
        campaign.change(retention=9, **ANNA)
    assert list(campaign.events()) == before


def test_what_cannot_be_erased_is_an_alarm(monkeypatch):
    world = World()
    world.live(8)
    world.campaign.change(retention=5, **ANNA)
    assert not alarms(world)
    with monkeypatch.context() as other:
        from evenhand.planning.history import HistoryState

        def refuse(self, context, plays):
            raise CannotErase("it cannot")

        other.setattr(HistoryState, "forget", refuse)
        with pytest.raises(CannotErase):
            world.campaign.refresh()
        assert alarms(world) == ["Cases cannot be erased after 5 days: CannotErase: it cannot."]
    world.now += DAY
    world.refresh()
    assert not alarms(world)
    world.now += 4 * DAY  # and no server runs
    (told,) = alarms(world)
    assert told.startswith("40 decisions should have been erased, the oldest 4 days ago.")


def alarms(world):
    found = [text for text in world.campaign.report()["alarms"] if "erased" in text]
    assert (
        found == [text for text in world.opened().report()["alarms"] if "erased" in text] or "CannotErase" in found[0]
    )
    return found


def test_a_server_erases_by_itself_over_http(monkeypatch):
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.INTERVAL", 0.05)
    world = World()
    world.live(8)
    with serving(app(world.campaign)) as client:
        told = client.post("/change", json={"retention": 5, **ANNA})
        assert (told.status_code, told.json()["life"]["retention"]) == (200, 5)
        until(lambda: len(world.erased) == 29)
        assert client.get("/report").json()["retention"]["due"] == 0
        assert client.post("/change", json={"retention": "off", **ANNA}).json()["life"]["retention"] == "off"
        assert client.post("/change", json={"retention": "ever", **ANNA}).status_code == 422
        assert client.get("/report").json()["retention"] is None


def test_the_command_states_and_ends_the_rule(tmp_path, capsys):
    file, url = write(tmp_path, STATED), f"sqlite:///{tmp_path}/post.db"
    campaign = eh.live.open_campaign(url, "post", file)
    campaign.observe(campaign.decide({"age": 33, "town": "south"}, key="one").id, {"visit": 1})
    said = ["--by", "anna", "--why", "the law"]
    assert main(["change", url, "--retention", "90 days", *said]) == 0
    assert capsys.readouterr().out.strip().endswith("after the horizon nothing, cases erased after 90 days")
    assert campaign.retention["days"] == 90.0
    campaign.save_report(tmp_path / "page.html")
    assert "Cases and keys are erased after 90 days" in (tmp_path / "page.html").read_text()
    assert main(["change", url, "--retention", "off", *said]) == 0
    assert campaign.retention is None
    assert main(["change", url, "--retention", "soon", *said]) == 2
    assert 'a number of days, such as "90 days", or "off"' in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_in_the_middle_of_a_run_each_turn_is_whole(kind, tmp_path, request, monkeypatch):
    monkeypatch.setattr(erasure, "TURN", 5)
    url = f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else request.getfixturevalue("url")
    campaign = Campaign.open(url, "shop", POLICY, on_expiry="release")
    for i in range(23):
        said = campaign.decide(case(i), key=f"{i}")
        campaign.observe(said.id, {"answer": 1, "minutes": 1.0 * (said.action != "none")})
    campaign.change(retention=1e-9, **ANNA)
    campaign.close()
    for last in (1, 2, 9):
        child = os.fork()
        if child == 0:
            mine = Campaign.open(connect(url), "shop", POLICY, on_expiry="release")
            for _ in range(last):
                mine.refresh()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
    campaign = Campaign.open(url, "shop", POLICY, on_expiry="release")
    events = list(campaign.events())
    assert sum(is_erased(e) for e in events if e.kind == "decided") == 23
    assert [len(read(e._replace(own=None))["decisions"]) for e in events if e.kind == "erased"] == [5, 5, 5, 5, 3]
    assert eh.live.audit(campaign.store, "shop", [POLICY]).clean
    assert PROBLEM.horizon == 1000


def test_a_policy_that_is_missing_for_corrections_is_the_trouble_of_the_rule():
    world = World()
    world.live(1)
    later = replace(POLICY, name="later")
    world.campaign.switch(later)
    campaign = Campaign.open(world.store, "shop", later)
    decided = next(world.store.scan("shop", kinds=("observed",))).ref
    assert not campaign.refresh()
    campaign.observe(decided, {"answer": 0.0, "minutes": 0.0}, revise=True)
    campaign.change(retention=1.0, **ANNA)
    world.now += 3 * DAY
    with pytest.raises(Conflict, match="was not given"):
        campaign.refresh()
    assert not campaign.refresh()
    assert campaign.retention["trouble"].startswith("MissingPolicy: 'shop': policy ")
