"""An erasure beside pauses, changed terms, clocks that were wrong, kept tallies, and what was learned from a log."""

from contextlib import closing

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live import Campaign
from evenhand.live.campaigns.files import open_campaign
from evenhand.live.dashboard import tally as of_tally
from evenhand.live.log.events import is_erased, read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from tests.live.campaigns.test_training import decided, files as files
from tests.live.dashboard.test_tally_snapshots import kept, read as tallied, whole, written
from tests.live.log.test_erasure import SECRET, go_on, lived, secrets
from tests.live.schedules import plain, same_fold

SECOND, DAY = 10**6, 86_400 * 10**6
START = 1_790_000_000 * SECOND


def tall(store, now, patience=3600.0):
    """A campaign in which some decisions wait, some have their outcome, and some expired."""
    policy = plain("beside", total=1000.0, horizon=1000)
    campaign = Campaign.open(store, "one", policy, patience=patience, on_expiry="release")
    for i in range(30):
        said = campaign.decide({"age": 20 + i}, key=f"{i}", offered=["letter"])
        now[0] += 60 * SECOND
        if i % 3:
            campaign.observe(said.id, {"answer": 1, "cents": 2})
    return campaign


def closed(campaign):
    """The keys of what has its outcome."""
    seen = {e.ref for e in campaign.events() if e.kind == "observed"}
    return [e.key for e in campaign.events() if e.seq in seen and e.key]


@pytest.mark.parametrize("state", ["running", "paused", "ended"])
def test_a_fold_that_begins_at_an_erasure_has_the_life_of_one_that_lived(state):
    now = [START]
    store = MemoryStore(now=lambda: now[0])
    campaign = tall(store, now)
    campaign.change(by="anna", why="it takes longer", patience=200_000.0, on_expiry="hold", after="stop")
    campaign.decide({"age": 33}, key="later", offered=["letter"])
    now[0] += 40 * DAY // 24  # the first ones expire, and wait under "hold"
    campaign.refresh()
    assert "expired" in {e.kind for e in campaign.events()}
    if state != "running":
        campaign.pause(by="anna", why="the printer is broken")
    if state == "ended":
        campaign.end(by="bert", why="it is over")
    other = Campaign.open(store, "one", campaign.policy)
    before = campaign.life
    assert len(campaign.erase(closed(campaign)[:7], by="a clerk").decisions) == 7
    assert campaign.life == before
    assert (before.state, before.patience, before.on_expiry, before.after) == (state, 200_000.0, "hold", "stop")
    assert not store._kept.get(("one", campaign.policy.fingerprint()))
    again = Campaign.open(store, "one", campaign.policy)
    other.refresh()
    for one in (campaign, other):
        same_fold(one, again)
        assert one._worker.fold.pending._due
        assert sorted(one._worker.fold.pending._due) == sorted(again._worker.fold.pending._due)
    if state == "paused":
        other.resume(by="anna", why="repaired")
    if state != "ended":
        other.decide({"age": 40}, key="new", offered=["letter"])
    now[0] += 3 * DAY
    for one in (campaign, other, again):
        one.refresh()
    for one in (campaign, other):
        same_fold(one, again)
    assert eh.live.audit(store, "one", [campaign.policy]).clean


def test_no_tally_that_is_kept_survives_an_erasure(monkeypatch):
    monkeypatch.setattr(of_tally, "EVERY", 20)
    store = MemoryStore()
    campaign = lived(store, 45)
    lived_on = tallied(campaign)
    assert kept(campaign)
    assert SECRET.encode() in written(campaign, lived_on) or any(SECRET in z.key for z in lived_on.recent.lines())
    other = of_tally.Tally(campaign)
    other.update()
    campaign.erase(secrets(campaign))
    assert not kept(campaign)
    go_on(campaign, range(45, 60))
    for one in (lived_on, other):
        one.update()
        assert written(campaign, one) == written(campaign, whole(campaign, monkeypatch))
    late = secrets(campaign)
    assert kept(campaign)
    assert written(campaign, tallied(campaign)) == written(campaign, lived_on)
    campaign.erase(late)
    assert not kept(campaign)
    lived_on.update()
    assert not any(SECRET in z.key for z in lived_on.recent.lines() if z.state == "erased")
    assert written(campaign, lived_on) == written(campaign, whole(campaign, monkeypatch))


def test_a_tally_of_another_process_that_reads_an_erasure_keeps_nothing_of_before(monkeypatch):
    """Its first events are read before the erasure, and the others after it."""
    monkeypatch.setattr(of_tally, "EVERY", 20)
    store = MemoryStore()
    campaign = lived(store, 45)
    other, scan, blobs = of_tally.Tally(campaign), store.scan, []
    keys = secrets(campaign)

    def scanning(name, after=0, kinds=()):
        for event in scan(name, after, kinds):
            yield event
            if not kinds and event.seq == 40 and keys:
                erased, keys[:] = list(keys), []
                campaign.erase(erased)
                yield from scan(name, event.seq)
                return

    keep = store.keep
    monkeypatch.setattr(store, "scan", scanning)
    monkeypatch.setattr(store, "keep", lambda *said, **named: (blobs.append(said), keep(*said, **named)))
    other.update()
    monkeypatch.setattr(store, "scan", scan)
    assert not keys
    assert len(blobs) == 1
    assert written(campaign, other) == written(campaign, whole(campaign, monkeypatch))


def test_what_was_learned_from_a_log_goes_with_the_first_erasure(files, capsys):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        decided(campaign)
        found = campaign.erase(["3"], by="a clerk")
        assert len(found.decisions) == 1
        (taught,) = [read(e)["taught"] for e in campaign.store.scan("post", kinds=("opened",))]
        assert not campaign.store.snapshots("post", f"taught {campaign.policy.fingerprint()} {taught}")
        later = decided(campaign, 12, 3)
    with open_campaign(store, "post", file) as campaign:  # which begins with the state of the erasure
        again = [campaign.decide({"age": 20 + i, "town": "north"}, key=f"{i}") for i in (12, 13, 14)]
        assert [said.action for said in again] == [action for action, _ in later]
        assert not campaign.store.snapshots("post", f"taught {campaign.policy.fingerprint()} {taught}")
    capsys.readouterr()
    assert main(["audit", store]) == 2
    assert "open it with the same one" in capsys.readouterr().err
    assert main(["audit", store, "--log", str(log)]) == 0
    with closing(connect(store)) as place:
        assert sum(is_erased(e) for e in place.scan("post")) == 1
