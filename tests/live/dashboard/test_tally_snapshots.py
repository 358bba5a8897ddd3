"""A tally that is kept in the store is that of the log, bit for bit; any other is ignored."""

import hashlib

import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard import tally as of_tally, tally_snapshots
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.tally_snapshots import BrokenTally, dump, restore
from evenhand.live.http import app
from evenhand.live.stores.opening import connect_to_read
from tests.live.dashboard.worked import worked
from tests.live.http_campaign import CASE, opened, serving
from tests.polling import until


def read(campaign):
    """A tally as another process has it."""
    found = Tally(campaign)
    campaign.status()
    found.update()
    return found


def written(campaign, tally):
    """All that a tally has but for its campaign, and what follows from the policy, as bytes."""
    *_, last = campaign.events()
    return dump(tally._state, last)


def kept(campaign):
    return campaign.store.snapshots(campaign.name, f"tally {campaign.policy.fingerprint()}")


def whole(campaign, monkeypatch):
    """The tally of the whole log."""
    with monkeypatch.context() as patched:
        patched.setattr(Tally, "_load", lambda self: None)
        patched.setattr(Tally, "_keep", lambda self, last: None)
        return read(campaign)


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
@pytest.mark.parametrize("waiting", [3, 20_000])
def test_a_tally_that_goes_on_from_the_store_is_that_of_the_log(on_expiry, waiting, monkeypatch):
    """Late, revised, cancelled and expired decisions, some no longer in memory, and tallies after every 50 events."""
    monkeypatch.setattr(of_tally, "_KEPT", waiting)
    monkeypatch.setattr(of_tally, "EVERY", 50)
    campaign = worked(rounds=150, on_expiry=on_expiry)
    scan, store = campaign.store.scan, campaign.store
    *_, end = campaign.events()
    for last in range(60, end.seq, 60):
        with monkeypatch.context() as patched:
            patched.setattr(
                store,
                "scan",
                lambda name, after=0, kinds=(), last=last: (e for e in scan(name, after, kinds) if e.seq <= last),
            )
            read(campaign)
    assert len(kept(campaign)) == 2
    assert kept(campaign)[-1] > 100
    again = read(campaign)
    assert again._kept > 100
    assert written(campaign, again) == written(campaign, whole(campaign, monkeypatch))
    zone = {"age": 99, "channel": "web", "zone": "town"}
    campaign.decide(zone, key="clipped")
    again.update()
    assert again.clipped.counts["age"] == 1
    assert written(campaign, again) == written(campaign, whole(campaign, monkeypatch))


def test_a_tally_is_read_and_not_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(of_tally, "EVERY", 100)
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        client.post("/decide", json=[{"key": f"{i}", "case": CASE} for i in range(300)])
        assert "evenhand_decisions_total 300" in client.get("/metrics").text
    assert kept(campaign) == [301]
    monkeypatch.setattr(Tally, "_decided", lambda *_: pytest.fail("the log was read"))
    with serving(app(opened(tmp_path))) as client:
        assert client.get("/").status_code == 200
        assert client.get("/report").json()["rounds"] == 300
    archive = connect_to_read(f"sqlite:///{tmp_path / 'log.db'}")
    policy = campaign.policy
    assert Campaign.open(archive, "shop", policy).report()["rounds"] == 300


def test_a_tally_is_kept_though_nobody_asks_for_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(of_tally, "EVERY", 100)
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.EVERY", 100)
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        client.post("/decide", json=[{"key": f"{i}", "case": CASE} for i in range(150)])
        for i in range(200, 301):
            client.post("/decide", json={"key": f"{i}", "case": CASE})
        until(lambda: kept(campaign))
    assert kept(campaign)[0] >= 101


def test_every_policy_has_its_tally(tmp_path, monkeypatch):
    monkeypatch.setattr(of_tally, "EVERY", 10)
    campaign = opened(tmp_path)
    for i in range(30):
        campaign.decide(CASE, key=f"{i}")
    living, first = read(campaign), campaign.policy
    campaign.switch(eh.uniform(first.problem, first.problem.n_features))
    assert kept(campaign) == []
    assert read(campaign).uses is not None
    assert kept(campaign) == [32]
    campaign.store.keep(campaign.name, f"tally {campaign.policy.fingerprint()}", 32, b"", drop=[32])
    living.update()  # which goes on, as decisions count as before, and is kept for this policy
    assert kept(campaign) == [32]
    for found in (living, read(campaign)):
        assert written(campaign, found) == written(campaign, whole(campaign, monkeypatch))
    assert read(campaign)._kept == 32
    campaign.switch(first)
    assert kept(campaign) == [31]
    assert written(campaign, read(campaign)) == written(campaign, whole(campaign, monkeypatch))


@pytest.fixture
def one(tmp_path, monkeypatch):
    """A campaign with a tally in the store, and its name there."""
    monkeypatch.setattr(of_tally, "EVERY", 10)
    campaign = opened(tmp_path)
    for i in range(30):
        campaign.decide(CASE, key=f"{i}")
    read(campaign)
    return campaign, f"tally {campaign.policy.fingerprint()}"


def test_damaged_and_foreign_tallies_are_ignored(one, monkeypatch):
    campaign, mark = one
    store, name = campaign.store, campaign.name
    seq, blob = store.snapshot(name, mark)
    expected = written(campaign, whole(campaign, monkeypatch))
    events = list(campaign.events())
    state = restore(blob, events[-1].seq, events[-1].hash, of_tally._CLASSES)
    other = events[-1]._replace(hash=32 * b"x")
    with monkeypatch.context() as patched:
        patched.setattr(tally_snapshots, "TALLY", 0)
        earlier = dump(state, events[-1])
    lacking = dump({k: z for k, z in state.items() if k != "bins"}, events[-1])
    state["spans"].new = 1
    changed = dump(state, events[-1])
    flips = [blob[:i] + bytes([blob[i] ^ 1]) + blob[i + 1 :] for i in range(0, len(blob), 97)]
    for bad in (b"", blob[:-1], earlier, lacking, changed, dump(state, other), *flips):
        store.keep(name, mark, seq, bad)
        found = read(campaign)
        assert found._kept == seq  # it was made anew, and kept
        assert written(campaign, found) == expected
        assert store.snapshot(name, mark) == (seq, blob)
    store.keep(name, mark, 99, blob)  # ahead of the log
    assert written(campaign, read(campaign)) == expected


def test_an_earlier_tally_does_where_the_latest_is_damaged(one, monkeypatch):
    campaign, mark = one
    campaign.store.keep(campaign.name, mark, 35, b"damaged")
    with monkeypatch.context() as patched:
        patched.setattr(Tally, "_decided", lambda *_: pytest.fail("the log was read"))
        assert read(campaign)._kept == 31


def test_what_cannot_be_kept_is_no_tally(one):
    campaign, _ = one
    *_, last = campaign.events()
    with pytest.raises(TypeError, match="a tally has a set, which cannot be kept"):
        dump({"found": {1}}, last)
    with pytest.raises(BrokenTally, match="another log"):
        restore(dump({}, last), last.seq, b"another", {})


def test_the_number_of_a_tally_stands_for_its_fields(one):
    campaign, _ = one
    names = {kind.__name__: sorted(tally_snapshots._names(kind)) for kind in of_tally._OBJECTS}
    told = hashlib.sha256(repr((sorted(Tally._state.fget(read(campaign))), sorted(names.items()))).encode()).hexdigest()
    assert (tally_snapshots.TALLY, told[:16]) == (1, "50f4f72c3650d779"), (
        "raise TALLY, as seals of earlier versions keep tallies, and say how"
    )
