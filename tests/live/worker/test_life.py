"""A campaign is paused, resumed, ended and changed by events of its log; outcomes arrive in every state."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live import Conflict, Ended, Paused, Unknown
from evenhand.live.dashboard.tally import Tally
from evenhand.live.log.life import Life
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.policy.saving import flatten
from tests.live.schedules import same_fold
from tests.polling import Clock

SHOP = eh.Problem(
    actions=("none", "call"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(eh.Outcome("answer", free=("none",)), eh.Outcome("cents", high=9.0, free=("none",), fallback=2.0)),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=400),),
    horizon=200,
)
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
ANNA = {"by": "anna", "why": "the printer is broken"}
SECOND = 10**6


def opened(store, **terms):
    return eh.Campaign.open(store, "shop", POLICY, **{"patience": 10, **terms})


def call(campaign, key):
    """A call, whose worst case is 9."""
    return campaign.decide({"age": 33}, key=key, offered=["call"])


def kinds(campaign):
    return [event.kind for event in campaign.events() if event.kind != "refolded"]


def budget(campaign):
    account = campaign.status().accounts["cents"]
    return account.spent, account.held


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_a_worker_refuses_at_its_next_request_what_another_one_paused(kind, tmp_path, request):
    urls = {"memory": lambda: "memory://", "sqlite": lambda: f"sqlite:///{tmp_path}/log.db"}
    store = connect(urls[kind]() if kind in urls else request.getfixturevalue("url"))
    one, other = opened(store), opened(store)
    waits, seen = (call(other, key) for key in ("waits", "seen"))
    assert one.pause(**ANNA) is True
    assert one.pause(by="bert", why="as well") is False
    said = r"campaign 'shop' is paused by anna since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: the printer is broken"
    with pytest.raises(Paused, match=said):
        call(other, "new")
    again = call(other, "waits")
    assert (again.repeated, again.id, again.action) == (True, waits.id, "call")
    with pytest.raises(Conflict, match="another case"):
        other.decide({"age": 34}, key="waits", offered=["call"])
    assert other.observe(seen.id, {"answer": 1, "cents": 3}) is True
    assert other.observe(seen.id, {"answer": 1, "cents": 4}, revise=True) is True
    assert other.cancel(waits.id) is True
    assert other.resume(**ANNA) is True
    assert one.resume(**ANNA) is False
    last = call(one, "new")
    assert one.end(by="anna", why="christmas is over") is True
    assert other.end(**ANNA) is False
    with pytest.raises(Ended, match=r"is ended by anna since .*: christmas is over; it makes no more decisions"):
        call(other, "newer")
    for verb, word in (("resume", "resumed"), ("pause", "paused")):
        with pytest.raises(Ended, match=f"cannot be {word}"):
            getattr(other, verb)(**ANNA)
    assert other.observe(last.id, {"answer": 0, "cents": 1}) is True
    assert call(other, "new").repeated
    assert kinds(one) == [
        *("opened", "decided", "decided", "paused", "observed", "revised", "cancelled", "resumed", "decided"),
        *("ended", "observed"),
    ]
    assert other.life == one.life == Life(
        patience=10, on_expiry="hold", state="ended", by="anna", why="christmas is over",
        since=next(e.at for e in one.events() if e.kind == "ended"),
    )  # fmt: skip
    same_fold(one, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_a_paused_campaign_expires_and_says_so():
    clock = Clock(10**9)
    campaign = opened(MemoryStore(clock), on_expiry="release")
    assert campaign.status().life == ""
    call(campaign, "one")
    campaign.pause(**ANNA)
    assert campaign.status().life == "paused by anna since 1970-01-01 00:16:40 UTC: the printer is broken"
    assert campaign.status().life in str(campaign.status())
    clock.now += 11 * SECOND
    campaign.refresh()
    assert kinds(campaign)[-1] == "expired"
    assert budget(campaign) == (0.0, 0.0)
    assert campaign.report()["life"] == {
        **ANNA, "state": "paused", "since": 10**9, "patience": 10, "on_expiry": "release", "after": "nothing",
        "retention": "off", "rule": 0,
    }  # fmt: skip


def test_patience_holds_for_decisions_from_then_on():
    clock = Clock(10**9)
    campaign = opened(MemoryStore(clock))
    before = call(campaign, "before")
    assert campaign.change(patience=3, by="anna", why="answers come sooner") is True
    assert campaign.change(patience=3.0, on_expiry="hold", by="anna", why="twice") is False
    after = call(campaign, "after")
    assert (before.deadline - clock.now, after.deadline - clock.now) == (10 * SECOND, 3 * SECOND)
    clock.now += 4 * SECOND
    campaign.refresh()
    assert [(e.kind, e.ref) for e in campaign.events()][-1] == ("expired", after.id)
    assert kinds(campaign).count("expired") == 1
    assert opened(campaign.store).life.patience == 3


@pytest.mark.parametrize("snapshots", [False, True])
def test_an_expiry_is_treated_as_is_said_at_its_time(snapshots):
    """Each of three decisions expires under another setting, and its late outcome takes back what was entered then."""
    clock = Clock(10**9)
    campaign = opened(MemoryStore(clock), on_expiry="hold")
    other = opened(campaign.store)
    told = []
    for i, fate in enumerate(("hold", "fallback", "release", "hold")):
        campaign.change(on_expiry=fate, by="anna", why="as budgets are jammed")
        told.append(call(campaign, f"{i}"))
        clock.now += 11 * SECOND
        campaign.refresh()
        if snapshots:
            campaign.snapshot()
    bodies = [e.body for e in campaign.events() if e.kind == "expired"]
    assert bodies == ["{}", '{"on_expiry":"fallback"}', '{"on_expiry":"release"}', "{}"]
    assert budget(campaign) == (2.0, 18.0)
    with pytest.raises(Conflict, match="settled when it expired"):
        campaign.cancel(told[1].id)
    tally = Tally(campaign)
    tally.update()
    assert (tally.counts["held"], tally.counts["overdue"]) == (2, 4)
    assert tally.spent("cents")[-1] == 2.0
    for who, said, spent, held in zip(
        (other, campaign, other, campaign), told, (7, 10, 15, 20), (9, 9, 9, 0), strict=True
    ):
        assert who.observe(said.id, {"answer": 1, "cents": 5}) is True
        assert budget(campaign) == budget(other) == (spent, held)
        same_fold(campaign, other)
        same_fold(campaign, opened(campaign.store))
    tally.update()
    assert (tally.counts["held"], tally.counts["overdue"], tally.counts["late"]) == (0, 0, 4)
    assert tally.spent("cents")[-1] == 20.0
    assert [alarm for alarm in campaign.report()["alarms"] if "was released" in alarm] == [
        "1 outcome came after the held amount was released: hard budgets may be overspent by it."
    ]
    campaign.relearn()
    assert "refolded" in {event.kind for event in campaign.events()}
    other.refresh()
    for one in (other, opened(campaign.store)):
        same_fold(campaign, one)
    assert eh.live.audit(campaign.store, "shop", [POLICY]).clean


def test_what_comes_after_an_expiry_of_another_setting_is_learned():
    """Prices and the model are in the end those of a campaign in which nothing expired."""
    states = []
    for fate in ("hold", "fallback", "release"):
        clock = Clock(10**9)
        campaign = opened(MemoryStore(clock), on_expiry="hold")
        campaign.change(on_expiry=fate, by="anna", why="to compare") if fate != "hold" else None
        told = [call(campaign, f"{i}") for i in range(8)]
        clock.now += 11 * SECOND
        for i, said in enumerate(told):
            campaign.observe(said.id, {"answer": i % 2, "cents": 4})
        campaign.relearn()
        assert ("refolded" in {event.kind for event in campaign.events()}) is (fate != "hold")
        states.append(dict(flatten(campaign._worker.fold.state)))
    for state in states[1:]:
        for path, z in states[0].items():
            if path != ".receipts.tokens":
                assert np.array_equal(z, state[path], equal_nan=z.dtype.kind == "f"), path


def test_after_the_horizon_nothing_is_played_or_the_campaign_is_over():
    """Keys that were decided before get their reply; a cancelled round makes room; a longer horizon goes on."""
    shop = replace(SHOP, horizon=2)
    policy = eh.uniform(shop, 4)
    campaign = eh.Campaign.open(MemoryStore(), "shop", policy)
    told = [campaign.decide({"age": 33}, key=f"{i}") for i in range(3)]
    assert [said.action is None for said in told] == [False, False, True]
    campaign.change(after="stop", by="anna", why="clients should know")
    with pytest.raises(Ended, match="campaign 'shop' is over: its horizon of 2 rounds is reached"):
        campaign.decide({"age": 33}, key="3")
    assert kinds(campaign)[-1] == "changed"
    assert campaign.decide({"age": 33}, key="2").repeated
    assert campaign.observe(told[0].id, {"answer": 0, "cents": 0}) is True
    campaign.switch(eh.uniform(replace(SHOP, horizon=3), 4))
    assert campaign.decide({"age": 33}, key="3").action is not None
    with pytest.raises(Ended, match="horizon of 3 rounds"):
        campaign.decide({"age": 33}, key="4")


def test_after_its_last_day_a_campaign_is_over_and_not_after_more_cases_than_were_forecast():
    clock = Clock(10**9)
    shop = replace(SHOP, horizon=2, since="1970-01-01", until="1970-01-02", subject_to=())
    campaign = eh.Campaign.open(MemoryStore(clock), "shop", eh.uniform(shop, 4))
    campaign.change(after="stop", by="anna", why="clients should know")
    for i in range(4):
        assert campaign.decide({"age": 33}, key=f"{i}").action is not None
    clock.now = 86_400 * SECOND
    with pytest.raises(Ended, match="campaign 'shop' is over: its end, 1970-01-02, has passed"):
        campaign.decide({"age": 33}, key="late")
    campaign.change(after="nothing", by="anna", why="to see")
    assert campaign.decide({"age": 33}, key="late").action is None


def test_a_switch_keeps_the_life():
    clock = Clock(10**9)
    campaign = opened(MemoryStore(clock))
    campaign.change(on_expiry="release", patience=3, **ANNA)
    call(campaign, "one")
    campaign.pause(**ANNA)
    policy = eh.pgd(SHOP, eh.PerAction.of(SHOP))
    campaign.switch(policy)
    assert (campaign.life.state, campaign.life.patience, campaign.life.on_expiry) == ("paused", 3, "release")
    clock.now += 4 * SECOND
    assert budget(campaign) == (0.0, 0.0)
    assert eh.live.audit(campaign.store, "shop", [POLICY, policy]).clean


def test_a_kind_that_a_later_version_wrote_is_named(monkeypatch):
    campaign = opened("memory://")
    monkeypatch.setattr("evenhand.live.log.events.KINDS", ("later",))
    with campaign.store.write("shop") as log:
        log.append("later", "{}")
    with pytest.raises(Conflict, match="event 2 is of kind 'later', which this version of evenhand does not know"):
        call(campaign, "one")


def test_commands_change_a_campaign_whose_workers_run(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/log.db"
    campaign = opened(url)
    who = ["--by", "anna", "--why", "the printer is broken"]

    def said(*words):
        code = main([words[0], url, *words[1:], *who])
        out = capsys.readouterr()
        return code, out.out + out.err

    code, text = said("pause")
    assert code == 0
    assert text.startswith("shop: paused by anna since ")
    assert text.endswith("UTC: the printer is broken; patience 10 s, on expiry hold, after the horizon nothing\n")
    with pytest.raises(Paused):
        call(campaign, "one")
    assert said("pause", "shop")[1].endswith("(as before)\n")
    assert "shop: running by anna" in said("resume")[1]
    call(campaign, "one")
    assert "patience 60 s, on expiry release" in said("change", "--patience", "60", "--on-expiry", "release")[1]
    assert campaign.life.patience == 60
    assert "shop: ended by anna" in said("end")[1]
    code, text = said("resume")
    assert code != 0
    assert "cannot be resumed" in text
    code, text = said("change")
    assert code != 0
    assert "change: expected a value for one of" in text
    with pytest.raises(SystemExit):
        main(["pause", url, "--by", "anna"])
    assert main(["pause", f"sqlite:///{tmp_path}/none.db", *who]) != 0
    assert not Path(tmp_path / "none.db").exists()
    assert eh.live.audit(url, "shop", [POLICY]).clean


def test_a_campaign_that_has_ended_is_archived(tmp_path, capsys, monkeypatch):
    """Once nothing waits: an expired decision does not, whatever becomes of what it reserves."""
    url, clock = f"sqlite:///{tmp_path}/log.db", Clock(10**9)
    monkeypatch.setattr("evenhand.live.stores.sqlite.clock", clock)
    eh.Campaign.open(url, "other", POLICY).decide({"age": 33}, key="one")
    campaign = opened(url, patience=10)
    words = ["archive", url, "shop", str(tmp_path / "shop.archive")]

    def refused(text):
        assert main(words) != 0
        assert text in capsys.readouterr().err
        assert not list(tmp_path.glob("*shop.archive*"))

    call(campaign, "one")
    campaign.observe(call(campaign, "two").id, {"answer": 1, "cents": 1})
    campaign.cancel(call(campaign, "three").id)
    refused("campaign 'shop' is running: only one that has ended is archived")
    campaign.end(by="anna", why="christmas is over")
    refused("waits for outcomes of 1 decision, the first of them 2: observe or cancel them, or let a server expire")
    clock.now += 11 * SECOND
    campaign.refresh()
    assert main(words) == 0
    head = campaign.head()
    assert capsys.readouterr().out == f"written: {tmp_path}/shop.archive\nshop: head {head}\n"
    kept = tmp_path / "shop.archive"
    assert kept.stat().st_mode & 0o777 == 0o400
    assert [file.name for file in tmp_path.glob("*shop.archive*")] == ["shop.archive"]
    found = eh.live.audit(f"sqlite:///{kept}", "shop", [POLICY], head=head)
    assert found.clean
    assert eh.live.restore(kept, MemoryStore(), by="ada", why="disk lost")["shop"].seq == head.seq + 1
    assert main(words) != 0
    assert "one that does not exist yet" in capsys.readouterr().err
    with pytest.raises(Unknown):
        eh.live.archive(url, tmp_path / "none", "none")


def test_a_command_of_another_version_changes_nothing(tmp_path, capsys, monkeypatch):
    url = f"sqlite:///{tmp_path}/log.db"
    campaign = opened(url)
    with campaign.store.write("shop") as log:
        log.append("upgraded", json.dumps({"versions": {"evenhand": "99.0"}}))
    assert main(["pause", url, "--by", "anna", "--why", "so"]) != 0
    assert "evenhand 99.0 decides for the campaign" in capsys.readouterr().err
    assert kinds(campaign) == ["opened", "upgraded"]
