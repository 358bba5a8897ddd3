"""Decisions that wait take little memory and little of a snapshot, and are what they were, bit for bit."""

import io
import tracemalloc

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.records import Decision
from evenhand.live.dashboard import alarms as told
from evenhand.live.dashboard.alarms import alarms
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold import snapshots
from evenhand.live.fold.backlog import Backlog
from evenhand.live.fold.snapshots import dump, restore
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.policy.saving import flatten
from tests.live.http_campaign import CASE, SHOP, asked, opened, serving
from tests.states import same_bits

POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)


def made(number, features=9, carried=0):
    """A decision with numbers of all kinds."""
    luck = np.random.default_rng(number)
    one = np.array([1.0])
    return Decision(
        np.array([number, 2**62 - number, -5]),
        *(np.array([[-1]]), np.array([[np.nan]]), one, -0.0 * one, one, number * one),
        *(luck.normal(size=(1, 1, features)), np.zeros((1, 1, 1)), np.zeros((1, 1, 0), int), np.ones((1, 0))),
        *(luck.normal(size=(1, 2, 1, 1)), np.array([[np.inf, -0.0]]), luck.random((1, carried))),
    )


def same(one, other):
    for z, y in zip(one[:14], other[:14], strict=True):
        same_bits(z, y)
        assert y.flags.carray  # kernels are compiled for what may be written to


@pytest.mark.parametrize("again", [lambda z: z, Backlog.copy, lambda z: Backlog.of(z.arrays())])
def test_decisions_come_back_bit_for_bit_in_their_order(again):
    """Of several shapes, such as before and after actions were appended."""
    waiting, all_made = Backlog(), {10 * i: made(i, carried=3 * (i % 2)) for i in range(1, 40)}
    for ref, decision in all_made.items():
        waiting.add(ref, decision, due=5000 - ref, unit=-(2**63) if ref % 20 else None)
    waiting.expire(50, "hold")
    waiting.drop(60)
    waiting.drop(70)
    found = again(waiting)
    if found is not waiting:
        waiting.drop(90)
    assert found.of_unit(-(2**63)) == tuple(ref for ref in all_made if ref % 20 and ref != 70)
    assert (found.unit(90), found.unit(100), found.of_unit(7)) == (-(2**63), None, ())
    assert list(found) == [ref for ref in all_made if ref not in (60, 70)]
    assert (found.fate(50), found.fate(80), found.due(50)) == ("hold", None, 4950)
    assert found.count_overdue(4700) == sum(5000 - ref <= 4700 for ref in found)
    assert found.overdue(4609) is None
    assert [found.overdue(4630) for _ in range(4)] == [390, 380, 370, None]
    for ref in found:
        same(all_made[ref], found.decision(ref, ("a",)))
        assert found.decision(ref, ("a",)).names == ("a",)  # also of the latest, which a compiled fold adds without
    found.hasten(4000)
    assert [found.overdue(4000) for _ in range(5)] == [10, 20, 30, 40, 80]


def test_a_copy_changes_apart():
    one = Backlog()
    one.add(1, made(1), due=7)
    other = one.copy()
    other.expire(1, "release")
    other.add(2, made(2, carried=2), due=8)
    one.add(3, made(3, carried=5), due=9)
    assert (one.fate(1), other.fate(1), list(one), list(other)) == (None, "release", [1, 3], [1, 2])
    same(made(2, carried=2), other.decision(2, ()))
    same(made(3, carried=5), one.decision(3, ()))


def test_a_waiting_decision_takes_500_bytes_of_memory_and_of_a_snapshot():
    """With a copy of the fold in memory, which shares the records."""
    empty = Backlog()
    each = [made(i) for i in range(1, 5_001)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i, decision in enumerate(each):
            empty.add(10**6 + i, decision, due=1_900_000_000 * 10**6 + i)
        taken = tracemalloc.get_traced_memory()[0] - before
        copied = empty.copy()
        with_copy = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(copied) == 5_000
    assert with_copy < 500 * 5_000
    assert empty.bytes == pytest.approx(taken, rel=0.05)
    assert sum(z.nbytes for z in empty.arrays().values()) < 250 * 5_000
    for ref in list(empty):
        empty.drop(ref)
    assert empty.bytes < 100 * 5_000  # the tables shrink as later decisions come


def test_a_snapshot_is_a_sixth_of_its_records():
    campaign, luck = eh.Campaign.open(MemoryStore(), "shop", POLICY, patience=1e6), np.random.default_rng(0)
    for i in range(600):
        campaign.decide(CASE | {"age": float(luck.uniform(20, 60))}, key=f"{i}")
    fold = campaign._worker.fold
    blob, records = dump(fold), fold.pending.arrays()
    assert len(blob) < sum(z.nbytes for z in records.values()) / 6 + sum(z.nbytes for _, z in flatten(fold.state)) / 2
    with np.load(io.BytesIO(blob)) as file:
        arrays = {key: file[key] for key in file.files if not key.startswith("pending")}
    whole = io.BytesIO()
    np.savez(whole, **arrays, **records)
    for kept in (blob, whole.getvalue()):
        again = campaign._worker.folding.fresh()
        restore(again, kept)
        assert again.pending._rows == fold.pending._rows
        assert again.pending._due == sorted(fold.pending._due)


def damaged(name, change):
    campaign = eh.Campaign.open(MemoryStore(), "shop", POLICY)
    for i in range(3):
        campaign.decide(CASE, key=f"{i}")
    fold = campaign._worker.fold
    with np.load(io.BytesIO(dump(fold))) as file:
        arrays = {key: file[key] for key in file.files}
    arrays[name] = change(arrays[name])
    file = io.BytesIO()
    np.savez(file, **arrays)
    return campaign._worker.folding.fresh(), file.getvalue()


def other_form(planes):
    planes[8] = 7  # the lowest byte of the number of the form, after the eight of when it is due
    return planes


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pending.0.ref", lambda z: z[1:]),
        ("pending.0.planes", lambda z: z[:, 1:]),
        ("pending.0.planes", lambda z: z[1:]),
        ("pending.0", lambda z: z["due"]),
        ("pending.0.planes", other_form),
        (".receipts.tokens", lambda z: z[:2]),
    ],
)
def test_records_that_are_none_are_no_snapshot(name, change):
    with pytest.raises(snapshots.BrokenSnapshot):
        restore(*damaged(name, change))


def test_what_waits_is_a_metric_and_from_a_size_on_an_alarm(monkeypatch, tmp_path):
    with serving(app(opened(tmp_path))) as client:
        for i in range(5):
            client.post("/decide", json=asked(f"{i}"))
        text = client.get("/metrics").text
        (taken,) = [float(line.split()[1]) for line in text.splitlines() if line.startswith("evenhand_waiting_bytes ")]
        assert 500 < taken < 20_000
        assert 'evenhand_alarm{name="memory"} 0.0' in text
        monkeypatch.setattr(told, "WAITING", taken - 1)
        assert 'evenhand_alarm{name="memory"} 1.0' in client.get("/metrics").text


def test_the_alarm_says_how_many_wait_and_what_they_take(monkeypatch):
    campaign = eh.Campaign.open(MemoryStore(), "shop", POLICY)
    for i in range(3):
        campaign.decide(CASE, key=f"{i}")
    tally, status = Tally(campaign), campaign.status()
    tally.update()
    assert alarms(campaign, status, tally) == []
    monkeypatch.setattr(told, "WAITING", campaign.waiting_bytes - 1)
    (said,) = alarms(campaign, status, tally)
    assert said.startswith(f"{status.waiting} decisions that wait for outcomes take 0 MB of memory")
