"""After a restore no id of a decision is given out twice, what was lost is refused, and servers of the lost log end."""

import asyncio
import json
import shutil
from contextlib import closing

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.client import Client, Observing, RequestRefused
from evenhand.live import Busy, Conflict, Damaged, Lost, Unknown
from evenhand.live.http import app
from evenhand.live.http.service import Readiness
from evenhand.live.log.events import read
from evenhand.live.log.ids import Ids, Restored
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.batches import Deciding
from tests.live.http_campaign import CASE, asked, opened, serving
from tests.live.restores import run
from tests.live.schedules import same_fold
from tests.live.servers import asked as asked_by_hand

COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
POLICY = eh.uniform(COIN, 1)
SIGNED = {"by": "ada", "why": "disk lost"}


def backed_up(folder, store=None):
    """A campaign, a backup of it, and what was decided before and after that."""
    campaign = eh.Campaign.open(store or MemoryStore(), "c", POLICY)
    early = campaign.decide({}, key="early")
    eh.live.backup(campaign.store, folder / "copy.db")
    return campaign, early, campaign.decide({}, key="late")


def restored(folder, store=None):
    store = store or MemoryStore()
    eh.live.restore(folder / "copy.db", store, **SIGNED)
    return eh.Campaign.open(store, "c", POLICY)


def test_random_restores_enter_no_outcome_of_a_lost_decision():
    found = run(40)
    assert min(found[z] for z in ("accepted", "outcomes", "refused as lost", "id: there", "key: not there")) > 0


def test_an_outcome_of_a_lost_decision_is_not_that_of_another(tmp_path):
    first, copy, second = f"sqlite:///{tmp_path}/a.db", tmp_path / "copy.db", f"sqlite:///{tmp_path}/b.db"
    with eh.Campaign.open(first, "c", POLICY) as campaign:
        early = campaign.decide({}, key="early")
        eh.live.backup(first, copy)
        lost = campaign.decide({}, key="order of A")
    eh.live.restore(copy, second, by="ada", why="disk lost")
    with eh.Campaign.open(second, "c", POLICY) as campaign:
        new = campaign.decide({}, key="order of B")
        with pytest.raises(Unknown, match=f"decision {lost.id} was lost in the restore of"):
            campaign.observe(lost.id, {"gain": 1})
        assert campaign.find("order of B")["state"] == "waiting"
        assert campaign.observe(new.id, {"gain": 0})
        assert campaign.observe(early.id, {"gain": 1})


def test_every_way_by_which_ids_enter_knows_them(tmp_path):
    _, early, lost = backed_up(tmp_path)
    campaign = restored(tmp_path)
    new = campaign.decide({}, key="new")
    for verb in (campaign.cancel, campaign.find, campaign.explain, campaign.why):
        with pytest.raises(Lost, match=f"decision {lost.id} was lost in the restore of 20.* event 2, of 20"):
            verb(lost.id)
        with pytest.raises(Unknown, match=f"no decision {new.id + 1} in campaign 'c'; the log was restored on 20"):
            verb(new.id + 1)
    for odd in (0, -1, 1.5, True, None, 2**63):
        with pytest.raises(Unknown):
            campaign.observe(odd, {"gain": 1})
    with pytest.raises(
        Unknown, match=r"key 'late' in campaign 'c'; the log was restored on 20.*event 2, of .* missing"
    ):
        campaign.find("late")
    assert campaign.explain(new.id) == campaign.why(new.id).text
    assert "probability 0.500" in campaign.explain(early.id)
    assert campaign.find(new.id)["id"] == new.id == campaign.find("new")["id"]
    assert campaign.cancel(new.id)
    with pytest.raises(Conflict, match=f"decision {new.id} was cancelled"):
        campaign.observe("new", {"gain": 1})
    *_, last = campaign.events()
    assert [e["number"] for e in campaign.find("new")["events"]] == [last.seq]


def test_every_way_by_which_ids_leave_says_them(tmp_path):
    backed_up(tmp_path)
    campaign = restored(tmp_path)
    many = campaign.many([Deciding({}, f"key {i}", frozen=True) for i in range(5)])
    ids = [2, *(z.id for z in many)]
    assert ids[-1] - ids[1] == 4
    assert max(ids) < 10**15, "spreadsheets keep 15 digits"
    assert list(campaign.decisions()["id"]) == ids
    eh.live.campaigns.exports.export(campaign.store, "c", tmp_path / "out.jsonl")
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == ids
    campaign.save_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(f">{z}<" in page for z in ids)
    assert "decisions after event 2, of 20" in page
    with campaign.store.write("c"):
        for z in ids:
            campaign._worker.fold.ids.number(z, campaign._worker.fold.seq)
    campaign.observe(ids[3], {"gain": 1})
    assert campaign.observe(ids[3], {"gain": 0}, revise=True)
    assert campaign.erase(["key 2"], **SIGNED).decisions == (ids[3],)
    with pytest.raises(Conflict, match=f"decision {ids[1]}, of the key 'key 0', waits"):
        campaign.erase(["key 0"], **SIGNED)
    campaign.end(**SIGNED)
    with pytest.raises(Conflict, match="waits for outcomes of 5 decisions, the first of them 2:"):
        eh.live.archive(campaign.store, tmp_path / "old.db", "c")
    campaign.observe(2, {"gain": 1})
    with pytest.raises(Conflict, match=f"waits for outcomes of 4 decisions, the first of them {ids[1]}:"):
        eh.live.archive(campaign.store, tmp_path / "old.db", "c")


def test_reports_metrics_and_audits_say_that_decisions_may_be_missing(tmp_path):
    before, _, _ = backed_up(tmp_path)
    assert before.report()["restores"] == []
    campaign = restored(tmp_path)
    (found,) = campaign.report()["restores"]
    assert {"number": 3, "by": "ada", "why": "disk lost"}.items() <= found.items()
    assert found["said"].endswith(": decisions after event 2, of " + found["said"].partition("event 2, of ")[2])
    audit = eh.live.audit(campaign.store, "c", [POLICY])
    assert audit.clean
    assert str(audit.restores[0]) == found["said"] in str(audit)
    with serving(app(campaign)) as client:
        assert "evenhand_restores 1" in client.get("/metrics").text
        assert "restored: decisions after event 2, of" in client.get("/").text


def test_a_copy_that_is_restored_twice_is_two_logs(tmp_path):
    backed_up(tmp_path)
    one, two = restored(tmp_path), restored(tmp_path)
    ids = [campaign.decide({}, key="same").id for campaign in (one, two)]
    assert ids[0] != ids[1]
    for campaign, other in zip((one, two), reversed(ids), strict=True):
        with pytest.raises(Lost):
            campaign.observe(other, {"gain": 1})
    one.observe(ids[0], {"gain": 1})
    eh.live.backup(one.store, tmp_path / "again.db")
    last = one.decide({}, key="lost as well")
    third = MemoryStore()
    eh.live.restore(tmp_path / "again.db", third, by="bea", why="a move")
    with closing(eh.Campaign.open(third, "c", POLICY)) as campaign:
        assert campaign.find(ids[0])["outcomes"] == {"gain": 1}
        with pytest.raises(Lost, match=f"decision {last.id} was lost .* what came after event 5,"):
            campaign.find(last.id)
        same_fold(campaign, eh.Campaign.open(third, "c", POLICY))
        campaign.snapshot()
        same_fold(campaign, eh.Campaign.open(third, "c", POLICY))
        assert eh.live.audit(third, "c", [POLICY]).clean


def test_a_restore_does_not_vouch_for_the_clock(tmp_path, capsys):
    """Else a wrong clock where it is restored would let all expire that waits."""
    now = [10**15]
    store = MemoryStore(now=lambda: now[0])
    backed_up(tmp_path, store)
    again = MemoryStore(now=lambda: now[0] + 60 * 86_400 * 10**6)
    with pytest.raises(Busy, match="60 days after the last event of 'c', and 1 decision would expire by it"):
        restored(tmp_path, again)
    url = f"sqlite:///{tmp_path}/again.db"
    assert main(["restore", str(tmp_path / "copy.db"), url, "--by", "ada", "--why", "disk lost"]) == 0
    note = list(connect(url).scan("c"))[-1]
    assert (note.at, read(note)["time"] > 10**15) == (10**15, True)


def test_over_http_what_was_lost_is_a_404(tmp_path):
    campaign = opened(tmp_path)
    campaign.decide(CASE, key="early")
    eh.live.backup(campaign.store, tmp_path / "copy.db")
    lost = campaign.decide(CASE, key="late").id
    eh.live.restore(tmp_path / "copy.db", f"sqlite:///{tmp_path}/again.db", **SIGNED)
    again = eh.Campaign.open(f"sqlite:///{tmp_path}/again.db", "shop", campaign.policy)
    with again, serving(app(again)) as client:
        new = client.post("/decide", json=asked("late")).json()
        assert (new["repeated"], new["id"] != lost) == (False, True)
        for said in (
            client.post("/observe", json={"id": lost, "outcomes": {"answer": 1}}),
            client.post("/cancel", json={"id": lost}),
            client.get(f"/decisions/{lost}"),
            client.get(f"/decisions/{lost}/page"),
        ):
            assert (said.status_code, said.json()["state"]) == (404, "lost")
            assert f"decision {lost} was lost in the restore of" in said.json()["error"]
        both = [{"id": lost, "outcomes": {"answer": 1}}, {"id": new["id"], "outcomes": {"answer": 1}}]
        told = client.post("/observe", json=both).json()
        assert [told[0]["status"], told[0]["state"], told[1]] == [404, "lost", {"new": True}]
        with Client(str(client.base_url)) as own:
            for decision in (lost, "never"):
                with pytest.raises(RequestRefused) as refused:
                    own.observe(decision, {"answer": 1})
                assert (refused.value.status, refused.value.lost) == (404, decision == lost)
            (entry,) = own.observe_many([Observing(lost, {"answer": 1})])
            assert entry.lost
        unknown = client.get("/decisions", params={"key": "never"}).json()
        assert "may be missing" in unknown["error"]
        assert "state" not in unknown
        assert client.get(f"/decisions/{new['id']}").json()["outcomes"] == {"answer": 1}
        assert client.get(f"/decisions/{new['id']}/page").status_code == 200


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def server(request, tmp_path):
    """A campaign with a server, and what puts an older copy, or a restored one, in place of its log."""
    if request.param == "memory":
        store = MemoryStore()

        def put(copy, how):
            other = MemoryStore()
            (eh.live.restore if how else _adopted)(copy, other, **how)
            store._books = other._books
    elif request.param == "sqlite":
        store = SqliteStore(tmp_path / "log.db")

        def put(copy, how):
            if how:
                eh.live.restore(copy, f"sqlite:///{tmp_path}/new.db", **how)
            else:
                shutil.copy(copy, tmp_path / "new.db")
            for end in ("-wal", "-shm"):
                (tmp_path / f"log.db{end}").unlink(missing_ok=True)
            (tmp_path / "new.db").replace(tmp_path / "log.db")
    else:
        url = request.getfixturevalue("url")
        store = connect(url)

        def put(copy, how):
            with asked_by_hand(url) as db:
                tables = "evenhand_events, evenhand_heads, evenhand_snapshots, evenhand_digests, evenhand_schema"
                db.execute(f"DROP TABLE {tables} CASCADE")
                db.execute("DROP FUNCTION evenhand_refuse, evenhand_only_erase, evenhand_only_move CASCADE")
            with closing(connect(url)) as other:
                (eh.live.restore if how else _adopted)(copy, other, **how)

    return store, put


def _adopted(copy, store):
    """Put a copy in place without a note, as a database does that goes on with an older replica."""
    with closing(connect(f"sqlite:///{copy}")) as place:
        store.adopt((name, list(place.scan(name))) for name in place.campaigns())


def refused(campaign):
    """What a campaign says once its log was replaced; a file that was replaced is busy once."""
    for _ in range(2):
        with pytest.raises((Busy, Damaged)) as found:
            campaign.decide({}, key="after")
        if isinstance(found.value, Damaged):
            return str(found.value)
    raise AssertionError("it is busy for good")


@pytest.mark.parametrize("how", [{}, SIGNED], ids=["copied", "restored"])
def test_a_server_notices_an_older_log_in_place_of_its_own(server, how, tmp_path):
    store, put = server
    campaign, _, late = backed_up(tmp_path, store)
    put(tmp_path / "copy.db", how)
    for _ in range(2):
        assert "another log of 'c', or an earlier copy of it, without event 3 that this process knows" in refused(
            campaign
        )
    for verb in (campaign.status, campaign.report, campaign.refresh, lambda: campaign.observe(late.id, {"gain": 1})):
        with pytest.raises(Damaged, match="without event 3"):
            verb()
    after = [e.kind for e in store.scan("c")]
    assert after == ["opened", "decided", *(["restored"] if how else [])], "nothing was written to it"
    assert eh.Campaign.open(store, "c", POLICY).decide({}, key="after").repeated is False


def test_a_server_that_knows_nothing_later_goes_on_with_what_was_restored(server, tmp_path):
    store, put = server
    campaign = eh.Campaign.open(store, "c", POLICY)
    early = campaign.decide({}, key="early")
    eh.live.backup(store, tmp_path / "copy.db")
    put(tmp_path / "copy.db", SIGNED)
    try:
        reply = campaign.decide({}, key="new")
    except Busy:  # a file that was replaced
        reply = campaign.decide({}, key="new")
    assert reply.id == eh.Campaign.open(store, "c", POLICY).decide({}, key="new").id > 10**12
    assert campaign.observe(early.id, {"gain": 1})
    assert campaign.observe(reply.id, {"gain": 1})


def test_a_probe_says_that_the_log_was_replaced(tmp_path):
    campaign, _, _ = backed_up(tmp_path)
    other = MemoryStore()
    _adopted(tmp_path / "copy.db", other)
    campaign.store._books = other._books
    assert asyncio.run(Readiness(campaign).reason()) == "the log cannot be read, or was replaced by another one"


def test_a_log_that_is_longer_and_another_one_is_refused(tmp_path):
    """As another worker went on with it: the event after the known one carries another hash."""
    campaign, _, _ = backed_up(tmp_path)
    other = MemoryStore()
    _adopted(tmp_path / "copy.db", other)
    two = eh.Campaign.open(other, "c", POLICY)
    for i in range(5):
        two.decide({}, key=f"key {i}")
    own, campaign.store._books = campaign.store._books, other._books
    before = len(list(campaign.events()))
    for _ in range(2):
        with pytest.raises(Damaged, match="without event 3 that this process knows"):
            campaign.decide({}, key="new")
    assert len(list(campaign.events())) == before
    campaign.store._books = own
    eh.Campaign.open(campaign.store, "c", POLICY).decide({}, key="of another worker")
    assert campaign.decide({}, key="new").id == 5


def test_an_id_is_lost_also_where_that_of_another_restore_is_near():
    """Of two restores of one backup, each refuses ids of the other one, however near their shifts are."""
    one, other = (Ids((Restored(3, 2, 1, shift, "ada", "disk lost"),)) for shift in (5000 * 10**6, 5999 * 10**6))
    for ids, stranger in ((one, other.of(4)), (other, one.of(4))):
        with pytest.raises(Lost, match="was lost in the restore of"):
            ids.number(stranger, last=9)
        assert ids.number(ids.of(9), last=9) == 9


@pytest.mark.parametrize("kept", [False, True], ids=["folded", "from a snapshot"])
def test_a_log_that_was_replaced_after_a_server_opened_it_is_refused(kept, tmp_path):
    """Also before its first request, as it would go on with a state of both."""
    first, _, _ = backed_up(tmp_path)
    for i in range(4):
        first.decide({}, key=f"key {i}")
    if kept:
        first.snapshot()
    campaign = eh.Campaign.open(first.store, "c", POLICY)
    other = MemoryStore()
    _adopted(tmp_path / "copy.db", other)
    two = eh.Campaign.open(other, "c", POLICY)
    for i in range(9):
        two.observe(two.decide({}, key=f"other {i}").id, {"gain": 1})
    first.store._books = other._books
    with pytest.raises(Damaged, match="without event 7 that this process knows"):
        campaign.decide({}, key="new")
    assert len(list(other.scan("c"))) == 20, "nothing was written to it"
