"""Calls that share a transaction write the events that each would write alone, and refuse what it would refuse."""

import sqlite3
from functools import partial

import pytest

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live import Campaign, Conflict
from evenhand.live.log.proof import prove
from evenhand.live.log.store import BulkTransaction
from evenhand.live.stores.opening import connect
from evenhand.live.worker.batches import Deciding
from tests.live.schedules import learned, plain


def calls(first, count):
    return [Deciding({"age": 20 + i % 40}, f"key {i}") for i in range(first, first + count)]


def outcomes(reply, i):
    return {"answer": i % 2 if reply.action != "none" else 0, "cents": 0}


def observing(reply, i):
    return partial(lambda verbs, ref, y: verbs.observe(ref, y), ref=reply.id, y=outcomes(reply, i))


def without_luck(events):
    """Events without times, and what is sealed with salts that are drawn by chance."""
    return [(e.seq, e.kind, e.ref, e.key, e.own, e.body.split('"due":')[0]) for e in events]


@pytest.mark.parametrize("make", [plain, learned])
def test_the_events_are_those_of_single_calls(place, make):
    many, single = Campaign.open(place, "many", make(), seed=3), Campaign.open(place, "single", make(), seed=3)
    for first in range(0, 12, 6):
        said, each = many.many(calls(first, 6)), [single.decide(z.case, z.key) for z in calls(first, 6)]
        assert [(z.id, z.action, z.probability) for z in said] == [(z.id, z.action, z.probability) for z in each]
        played = [(i, z) for i, z in enumerate(said) if z.action is not None]
        assert many.many([observing(z, i) for i, z in played]) == [True] * len(played)
        for i, z in played:
            single.observe(z.id, outcomes(z, i))
    assert without_luck(many.events())[1:] == without_luck(single.events())[1:]
    assert not prove(place, "many").faults
    again = Campaign.open(place, "many", make())
    assert str(again.status()) == str(single.status())


def test_a_key_that_was_asked_for_before_gets_its_stored_reply():
    campaign = Campaign.open("memory://", "one", plain(horizon=99, total=1000.0))
    before = campaign.many(calls(0, 3))
    other = Deciding({"age": 59}, "key 1")
    found = campaign.many([*calls(2, 2), *calls(0, 1), *calls(3, 1), other])
    assert [z.id for z in found[:4]] == [before[2].id, 5, before[0].id, 5]
    assert [z.repeated for z in found[:4]] == [True, False, True, True]
    assert isinstance(found[4], Conflict)
    assert [e.seq for e in campaign.events()] == [1, 2, 3, 4, 5]


def test_keys_that_are_not_known_beforehand_are_looked_up_one_by_one(place):
    campaign = Campaign.open(place, "one", plain(horizon=99, total=1000.0))
    campaign.many(calls(0, 2))
    same, other = {"age": 20}, {"age": 59}
    found = campaign.many([lambda z: z.decide(same, "key 0"), lambda z: z.decide(other, "key 1"), *calls(2, 1)])
    assert (found[0].id, found[0].repeated, found[2].id) == (2, True, 4)
    assert isinstance(found[1], Conflict)


def test_an_outcome_that_contradicts_one_of_the_same_transaction_is_refused():
    campaign = Campaign.open("memory://", "one", plain(horizon=99, total=1000.0))
    replies = campaign.many(calls(0, 9))
    said = next(z for z in replies if z.action == "gift")

    def observe(cents):
        return lambda verbs: verbs.observe(said.id, {"answer": 0, "cents": cents})

    first, again, other = campaign.many([observe(1), observe(1), observe(2)])
    assert (first, again) == (True, False)
    assert isinstance(other, Conflict)
    assert len(list(campaign.events())) == 11


def test_a_key_that_is_none_is_refused_alone():
    campaign = Campaign.open("memory://", "one", plain(horizon=99, total=1000.0))
    wrong = [Deciding({"age": 33}, key) for key in (5, "", "x" * 201, "a\0", "\ud800", None)]
    found = campaign.many([*calls(0, 1), *wrong, *calls(1, 1)])
    assert [z.id for z in (found[0], found[-1])] == [2, 3]
    assert all(isinstance(z, InvalidInput) for z in found[1:-1])


def test_calls_see_what_those_before_them_wrote(place):
    campaign = Campaign.open(place, "one", plain(horizon=99, total=1000.0))

    def all_of_it(verbs):
        said = verbs.decide({"age": 33}, "first")
        return said.id, [e.seq for e in verbs.log.tail(0)], verbs.log.get(said.id).key, verbs.log.find("first").seq

    found = campaign.many([*calls(0, 1), all_of_it])
    assert found[1] == (3, [1, 2, 3], "first", 3)
    observed = campaign.many([lambda verbs: verbs.observe(2, {"answer": 1, "cents": 1}), *calls(2, 1)])
    settled = campaign.many([lambda verbs: [e.seq for e in verbs.log.about(2)], *calls(3, 1)])
    assert settled[0] == ([4] if observed[0] is True else [])


def test_what_contradicts_the_log_leaves_nothing_behind(place):
    campaign = Campaign.open(place, "one", plain(horizon=99, total=1000.0))
    campaign.many(calls(0, 2))
    before = list(campaign.events())

    def contradicts():
        with place.write("one") as log:
            log.append("decided", "{}", key="other")
            log.append_all([before[1]._replace(seq=log.last + 1)])

    with pytest.raises(Conflict):
        contradicts()
    assert list(campaign.events()) == before
    assert campaign.decide({"age": 33}, "new").id == 4


def test_a_call_that_fails_after_it_wrote_takes_all_others_back(place):
    campaign = Campaign.open(place, "one", plain(horizon=99, total=1000.0))

    def fails(verbs):
        verbs.decide({"age": 33}, "first")
        raise InvalidInput("age", "another one", 33)

    with pytest.raises(EvenhandError):
        campaign.many([*calls(0, 2), fails])
    assert len(list(campaign.events())) == 1
    assert campaign.decide({"age": 33}, "key 0").id == 2


def test_more_events_than_wait_at_once(place, monkeypatch):
    monkeypatch.setattr("evenhand.live.worker.transactions._FRESH", 7)
    campaign = Campaign.open(place, "one", plain(horizon=99, total=1000.0))
    assert [z.id for z in campaign.many(calls(0, 30))] == list(range(2, 32))
    assert not prove(place, "one").faults


def test_keys_are_found_by_their_index(tmp_path):
    """A table that is read from its first event on would take seconds."""
    place = connect(f"sqlite:///{tmp_path}/one.db")
    campaign = Campaign.open(place, "one", plain())
    statements = []
    with place.write("one") as log:
        assert isinstance(log, BulkTransaction)
        log._db.set_trace_callback(statements.append)
        log.find_all(["key 0", "key 1"])
        log._db.set_trace_callback(None)
    campaign.close()
    with sqlite3.connect(tmp_path / "one.db") as db:
        plan = str(db.execute(f"EXPLAIN QUERY PLAN {statements[0]}").fetchall())
    assert "one_decision_per_key (campaign=? AND key=?)" in plan
