"""An erasure takes keys and cases out of the log and its files, and leaves hashes, sums, outcomes and workers."""

import io
import json
import os
import signal
import sqlite3
from base64 import b64decode
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import CannotErase, InvalidInput
from evenhand.live import Busy, Conflict, Unknown
from evenhand.live.log.events import encode, is_erased, read
from evenhand.live.log.proof import Head, prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.worker.worker import Worker
from tests.live.http_campaign import CASE, SHOP
from tests.live.schedules import same_fold

PROBLEM = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 0, 100), eh.Categorical("channel", ("web", "phone"))),
    groups=(eh.Groups("zone", ("town", "farm")),),
    outcomes=(
        eh.Outcome("answer"),
        eh.Outcome("cents", known={"letter": 80, "call": 300}),
        eh.Outcome("minutes", high=60, free=("none",)),
    ),
    maximize="answer",
    subject_to=(
        eh.Budget("cents", total=60_000, hard=True),
        eh.Budget("minutes", total=9000, hard=True),
        eh.Parity("cents", by="zone", tolerance=50.0),
    ),
    horizon=1000,
)
POLICY = eh.resolving(PROBLEM, eh.PerAction.of(PROBLEM), warmup=8)
KINDS = ("memory", "sqlite", "postgresql")
SECRET = "the secret customer"


def place(kind, tmp_path, request):
    return connect(
        {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    )


def case(i):
    return {"age": 20 + i * 0.377, "channel": ("web", "phone")[i % 2], "zone": ("town", "farm")[i % 3 == 0]}


def lived(store, count=60, on_expiry="release"):
    """Decisions whose outcomes came, but for some that wait; every ninth is a secret customer's."""
    campaign = eh.Campaign.open(store, "shop", POLICY, on_expiry=on_expiry)
    go_on(campaign, range(count))
    return campaign


def go_on(campaign, numbers):
    for i in numbers:
        own = {"age": 31.4159265358979 + i * 0.17} if i % 9 == 4 else {}
        known = {"cents": {"letter": 76.54321 + i, "call": 250}} if i % 9 == 4 else None
        said = campaign.decide(case(i) | own, key=f"{SECRET} {i:03}" if i % 9 == 4 else f"{i}", known=known)
        if i % 7 and said.action is not None:
            minutes = float(i % 5) if said.action != "none" else 0.0
            stated = {"answer": i % 2, "minutes": minutes}
            campaign.observe(said.id, {name: stated[name] for name in campaign.policy.problem.observed})


def secrets(campaign):
    """The keys of the secret customer's decisions that do not wait."""
    return [
        e.key for e in campaign.events() if e.kind == "decided" and SECRET in (e.key or "") and settled(campaign, e)
    ]


def settled(campaign, event):
    return any(e.kind == "observed" for e in campaign.store.about("shop", event.seq)) or not read(event)["n"]


def sums(campaign):
    """What an erasure must not change."""
    found = campaign.report()
    return {
        name: found[name] for name in ("rounds", "waiting", "averages", "budgets", "standings", "actions", "observed")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_keys_and_cases_are_gone_and_sums_hashes_and_workers_stay(kind, tmp_path, request):
    store = place(kind, tmp_path, request)
    campaign = lived(store)
    other = eh.Campaign.open(store, "shop", POLICY)
    other.snapshot()
    keys, before, head = secrets(campaign), sums(campaign), campaign.head()
    assert len(keys) >= 5
    found = campaign.erase(keys, by="a clerk", why="asked to")
    assert sorted(found.decisions) == sorted(z.seq for z in store.scan("shop") if is_erased(z))
    assert str(found) == f"{len(keys)} erased"
    for event in store.scan("shop"):
        if event.seq in found.decisions:
            assert (event.key, event.own, event.salt) == (None, None, None)
            assert set(read(event)) <= {"a", "by", "due", "f", "k", "n", "p", "r", "t"}
    last = list(store.scan("shop"))[-1]
    assert (last.kind, read(last)["by"], read(last)["why"]) == ("erased", "a clerk", "asked to")
    assert prove(store, "shop", head).faults == ()  # the chain is the one that it was
    assert sums(campaign) == before
    whole = eh.Campaign.open(store, "shop", POLICY)
    for one in (campaign, other):  # the other learns of it from the log
        one.refresh()
        same_fold(one, whole)
    go_on(other, range(60, 90))
    campaign.refresh()
    same_fold(campaign, other)
    audit = eh.live.audit(store, "shop", [POLICY], head=head)
    assert audit.clean
    assert (audit.decisions, audit.erased) == (90, len(keys))
    first = min(found.decisions)
    decided = [e.seq for e in store.scan("shop", kinds=("decided",))]
    assert audit.between == sum(first < seq < last.seq for seq in decided) - len(keys) + 1
    assert f"{len(keys)} decisions erased; {audit.between} others before the last erasure cannot" in str(audit)


def test_an_audit_finds_what_was_changed_before_and_after_an_erasure():
    store = MemoryStore()
    campaign = lived(store)
    campaign.erase(secrets(campaign)[1:2])
    go_on(campaign, range(60, 80))
    erased = next(e.seq for e in store.scan("shop") if is_erased(e))
    decided = list(store.scan("shop", kinds=("decided",)))
    for event in (decided[2], decided[-3]):
        assert (event.seq < erased) == (event is decided[2])
        other = MemoryStore()
        other.adopt([("shop", store.scan("shop"))])
        body = read(event) | {"p": [0.123]}
        other._books["shop"].events[event.seq - 1] = event._replace(body=encode(body))
        found = eh.live.audit(other, "shop", [POLICY])
        assert found.first == event.seq
        assert found.faults == (f"event {event.seq} is not what was written: its hash differs",)


def bytes_of(folder, name="log.db"):
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()) if file.name.startswith(name))


def snapshots(store):
    return [blob for (blob,) in store._db.execute("SELECT blob FROM snapshots WHERE mark NOT LIKE 'tally%'")]


def unpacked(blob):
    """The bytes of the arrays of a snapshot, of which those of records are in planes."""
    with np.load(io.BytesIO(blob)) as file:
        return b"".join(file[name].T.tobytes() for name in file.files)


def test_the_bytes_are_gone_from_the_file_its_wal_and_snapshots(tmp_path):
    store = place("sqlite", tmp_path, None)
    campaign = lived(store, 300)
    other = eh.Campaign.open(store, "shop", POLICY)
    for i in range(300, 340):
        other.snapshot()
        go_on(campaign, range(i, i + 1))
    keys = secrets(campaign)
    numbers = [e for e in store.scan("shop") if e.key in keys]
    traces = [key.encode() for key in keys]
    traces += [repr(read(e)["case"]["age"]).encode() for e in numbers]  # 31.4159... in JSON
    traces += [repr(read(e)["known"]["cents"]["letter"])[:8].encode() + b"," for e in numbers]
    encoded = [POLICY.encode(read(e)["case"]).features[0, 0] for e in numbers]
    traces += [x[i].tobytes() for x in encoded for i in range(len(x)) if abs(x[i]) not in (0.0, 1.0, 2.0)]
    assert len(traces) > 3 * len(keys)
    before, kept = bytes_of(tmp_path), snapshots(store)
    whole = before + b"".join(map(unpacked, kept))
    assert sum(trace in whole for trace in traces) > 2 * len(keys)
    pieces = [blob[at : at + 40] for blob in kept for at in range(500, len(blob) - 40, 500)]
    assert sum(piece in before for piece in pieces) > len(kept)
    campaign.erase(keys)
    assert prove(store, "shop").faults == ()
    after = bytes_of(tmp_path)
    assert [trace for trace in (*traces, *pieces) if trace in after] == []
    campaign.snapshot()
    other.refresh()
    other.snapshot()
    state = next(read(e)["state"] for e in store.scan("shop", kinds=("erased",)))
    found = bytes_of(tmp_path) + b"".join(map(unpacked, (b64decode(state), *snapshots(store))))
    assert [trace for trace in traces if trace in found] == []
    store.close()
    assert [trace for trace in traces if trace in bytes_of(tmp_path)] == []


def test_a_plan_goes_on_where_all_that_it_planned_with_is_erased():
    """A switch that adopts plans at once, with the contexts so far."""
    store, policy = MemoryStore(), eh.resolving(SHOP, eh.PerAction.of(SHOP))
    campaign = eh.Campaign.open(store, "shop", policy)
    keys = [f"{i}" for i in range(3)]
    for key in keys:
        campaign.observe(campaign.decide(CASE, key=key).id, {"answer": 1})
    campaign.erase(keys)
    campaign.switch(replace(policy, problem=replace(SHOP, horizon=900)), why="less time")
    assert campaign.decide(CASE, key="next").action in SHOP.actions
    same_fold(campaign, eh.Campaign.open(store, "shop", [policy, campaign.policy]))


SIMPLE = eh.Problem(
    actions=PROBLEM.actions,
    features=PROBLEM.features,
    groups=PROBLEM.groups,
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 300})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=60_000, hard=True),),
    horizon=1000,
)


def test_pages_that_long_bodies_leave_are_cleaned(tmp_path):
    store = place("sqlite", tmp_path, None)
    store._db.execute("PRAGMA secure_delete=OFF").fetchall()  # which some builds of SQLite have on
    with store.write("one") as log:
        log.append("opened", "{}")
        for i in range(30):
            log.append("decided", "{}", key=f"{SECRET} {i}", own=encode({"case": f"{SECRET} {i} " * 400}))
        last = log.append("erased", encode({"decisions": list(range(2, 32)), "before": None}))
        log.erase(range(2, 32))
    assert last.seq == 32
    store.scrub()
    assert SECRET.encode() not in bytes_of(tmp_path)
    assert prove(store, "one").faults == ()


RECIPES = {
    "resolving": POLICY,
    "pgd": eh.pgd(PROBLEM, eh.PerAction.of(PROBLEM), warmup=4, hard=True),
    "primal_lp": eh.recipes.primal_lp(PROBLEM, eh.PerAction.of(PROBLEM)),
    "logistic": eh.resolving(
        SIMPLE, eh.PerAction(inner=eh.models.BayesianLogistic(n_features=3, buffer=16), actions=3)
    ),
    "one logistic": eh.resolving(SIMPLE, eh.models.BayesianLogistic(n_features=9)),
    "generalized": eh.resolving(SIMPLE, eh.models.Logistic(n_features=9, buffer=16)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_no_state_keeps_a_number_of_an_erased_case(name):
    from evenhand.policy.saving import flatten

    policy = RECIPES[name]
    campaign = eh.Campaign.open("memory://", "shop", policy)
    go_on(campaign, range(100))
    keys = secrets(campaign)
    ages = [policy.encode(read(e)["case"]).features[0, 0] for e in campaign.events() if e.key in keys]
    odd = {float(z) for x in ages for z in x if abs(z) not in (0.0, 1.0, 2.0)}
    assert len(odd) == len(keys)
    past = getattr(campaign._worker.fold.state.model, "past", None)
    before = 0.0 if past is None else past.kept.sum()
    campaign.erase(keys)
    if name == "one logistic":  # which has folded nothing: exactly theirs are taken out
        assert before - campaign._worker.fold.state.model.past.kept.sum() == len(keys)
    for path, z in flatten(campaign._worker.fold.state):
        assert not odd & set(z.ravel().tolist()), path
    go_on(campaign, range(100, 120))


def test_everything_but_what_waits_can_be_erased_and_the_campaign_goes_on():
    store = MemoryStore()
    campaign = lived(store)
    found = campaign.erase(before=datetime.now(UTC))
    assert found.waiting == campaign.status().waiting > 0
    assert len(found.decisions) + found.waiting == 60
    assert campaign.erase(before=datetime.now(UTC)).decisions == ()
    assert campaign._worker.fold.state.goals[1].history.kept.max() <= found.waiting
    go_on(campaign, range(60, 90))
    again = eh.Campaign.open(store, "shop", POLICY)
    same_fold(campaign, again)
    assert eh.live.audit(store, "shop", [POLICY]).clean
    assert campaign.erase(before=date(2020, 1, 1)).decisions == ()
    assert sum(e.kind == "erased" for e in campaign.events()) == 1  # nothing was to be erased: no event


def test_a_date_to_come_is_refused_by_the_time_of_the_store():
    present = int(datetime(2001, 2, 3, 4, tzinfo=UTC).timestamp() * 1e6)
    campaign = lived(MemoryStore(now=lambda: present), 10)
    before = list(campaign.events())
    for to_come in (date(2001, 2, 4), datetime(2001, 2, 3, 4, 1, 1), datetime.now(UTC)):
        with pytest.raises(InvalidInput, match="before: expected a date or time in the past"):
            campaign.erase(before=to_come)
    assert list(campaign.events()) == before
    assert campaign.erase(before=datetime(2001, 2, 3, 4)).decisions == ()
    ahead = lived(MemoryStore(now=lambda: present), 10)
    assert ahead.erase(before=datetime(2001, 2, 3, 4, 0, 1)).decisions  # by the clock of a client, a second ahead
    assert campaign.erase(before=date(2001, 2, 3)).decisions == ()


def test_what_waits_is_refused_by_name_and_nothing_is_erased():
    campaign = lived(MemoryStore(), 30)
    key = next(e.key for e in campaign.events() if e.kind == "decided" and e.seq in campaign._worker.fold.pending)
    before = list(campaign.events())
    with pytest.raises(Conflict, match=f"of the key '{key}', waits for its outcome: observe or cancel it first"):
        campaign.erase([*secrets(campaign), key])
    with pytest.raises(Unknown, match="no decision with the key 'nobody'"):
        campaign.erase([*secrets(campaign), "nobody"])
    assert list(campaign.events()) == before
    campaign.cancel(next(e.seq for e in before if e.key == key))
    assert len(campaign.erase([key]).decisions) == 1


def test_what_is_said_of_an_erased_decision():
    store = MemoryStore()
    campaign = lived(store)
    key, *_ = secrets(campaign)
    number = next(e.seq for e in campaign.events() if e.key == key)
    (told,) = [read(e)["y"] for e in store.about("shop", number) if e.kind == "observed"]
    campaign.erase([key])
    assert not campaign.observe(number, told)  # as it was said before
    with pytest.raises(Conflict, match=f"decision {number} was erased: its outcome can no longer be entered"):
        campaign.observe(number, {"answer": 1, "minutes": 59.0}, revise=True)
    with pytest.raises(Conflict, match="has its outcome"):
        campaign.cancel(number)
    with pytest.raises(Conflict, match=f"decision {number} was erased"):
        campaign.explain(number)
    later = next(e.seq for e in campaign.events() if e.kind == "decided" and e.seq > number)
    with pytest.raises(Conflict, match=f"decision {number} was erased: no state between it and the erasure"):
        campaign.explain(later)
    with pytest.raises(Unknown):
        campaign.erase([key])
    assert campaign.decide(case(0), key=key).id > later  # the key is a new one
    other = replace(PROBLEM, groups=(eh.Groups("zone", ("town", "farm", "city")),))
    with pytest.raises(Conflict, match=r"and the policy cannot adopt the state: .*; nor its books: .*problem.columns"):
        campaign.switch(eh.uniform(other, 9))
    campaign.switch(replace(POLICY, problem=replace(PROBLEM, horizon=900)), why="less time")  # which adopts
    go_on(campaign, range(60, 70))
    policies = [POLICY, campaign.policy]
    assert eh.live.audit(store, "shop", policies).clean
    store._kept.clear()
    same_fold(campaign, eh.Campaign.open(store, "shop", policies))


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_corrections_of_earlier_decisions_are_in_the_budgets_and_of_later_ones_are_learned(on_expiry, monkeypatch):
    monkeypatch.setattr(Worker, "every", 25)
    store = MemoryStore()
    campaign = lived(store, on_expiry=on_expiry)
    other = eh.Campaign.open(store, "shop", POLICY)
    old = [e.ref for e in campaign.events() if e.kind == "observed"][:20]
    campaign.erase(secrets(campaign))
    alive = [ref for ref in old if not is_erased(store.about("shop", ref)[0])]
    before = campaign.status().accounts["minutes"].spent
    told = {ref: read(store.about("shop", ref)[1])["y"]["minutes"] for ref in alive}
    played = {ref: read(store.about("shop", ref)[0])["a"][0] for ref in alive}
    for ref in alive:
        campaign.observe(ref, {"answer": 0, "minutes": told[ref] + 2.0 * (played[ref] > 0)}, revise=True)
    moved = 2.0 * sum(a > 0 for a in played.values())
    assert campaign.status().accounts["minutes"].spent == pytest.approx(before + moved)
    assert not campaign.relearn()  # nothing of them is learned any more
    go_on(campaign, range(60, 120))
    new = [e.ref for e in campaign.events() if e.kind == "observed" and e.ref > store.about("shop", old[0])[0].seq][
        -20:
    ]
    new = [ref for ref in new if ref > max(e.seq for e in store.scan("shop", kinds=("erased",)))]
    for ref in new[::3]:
        minutes = 4.5 * (read(store.about("shop", ref)[0])["a"][0] > 0)
        campaign.observe(ref, {"answer": 1, "minutes": minutes}, revise=True)
    assert campaign.relearn()
    go_on(other, range(120, 130))
    store._kept.clear()
    again = eh.Campaign.open(store, "shop", POLICY)
    for one in (campaign, other):
        one.refresh()
        same_fold(one, again)
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_exports_frames_and_pages_say_erased(tmp_path):
    from evenhand.live.campaigns.exports import export
    from evenhand.live.dashboard.tally import Tally

    store = MemoryStore()
    campaign = lived(store, 45)
    tally = Tally(campaign)
    tally.update()
    keys = secrets(campaign)
    numbers = campaign.erase(keys).decisions
    tally.update()
    fresh = Tally(campaign)
    fresh.update()
    for one in (tally, fresh):
        lines = {line.number: line for line in one.recent.lines()}
        shown = [lines[n] for n in numbers if n in lines]
        assert shown
        assert all((line.key, line.state) == ("", "erased") for line in shown)
    assert fresh.spent("cents") == tally.spent("cents")
    assert SECRET not in json.dumps(campaign.report())
    campaign.save_report(tmp_path / "page.html")
    assert SECRET not in (tmp_path / "page.html").read_text()
    frame = campaign.decisions().set_index("id")
    row = frame.loc[numbers[0]]
    assert (row["key"], row["state"]) == ("", "erased")
    assert row[["age", "channel", "zone"]].isna().all()
    assert row["outcome answer"] in (0.0, 1.0)
    count = export(store, "shop", tmp_path / "all.csv")
    assert count == 45
    assert SECRET not in (tmp_path / "all.csv").read_text()
    assert export(store, "shop", tmp_path / "seen.vw", outcome="answer") == sum(frame["state"] == "observed")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_tables_let_nothing_else_through(kind, tmp_path, request):
    store = place(kind, tmp_path, request)
    campaign = lived(store, 20)
    (key, *_) = secrets(campaign)

    def run(statement):
        if kind == "sqlite":
            with closing(sqlite3.connect(tmp_path / "log.db")) as db:
                db.execute(statement.format("events"))
                db.commit()
        else:
            from tests.live.servers import asked

            with asked(request.getfixturevalue("url")) as db:
                db.execute(statement.format("evenhand_events"))

    def check(*statements):
        for statement in statements:
            with pytest.raises(Exception, match="append only"):
                run(statement)

    whole = "UPDATE {} SET key = NULL, own = NULL, salt = NULL"
    check(f"{whole} WHERE seq = 2")  # no erasure is under way
    campaign.erase([key])
    before = list(store.scan("shop"))
    check(
        "UPDATE {} SET key = NULL WHERE seq = 2",
        "UPDATE {} SET own = '{{}}' WHERE seq = 2",
        f"{whole}, body = '{{{{}}}}' WHERE seq = 2",
        f"{whole}, seal = hash WHERE seq = 2",
        f"{whole}, at = at + 1 WHERE seq = 2",
        f"{whole} WHERE seq = 1",  # it never had a personal part
        "DELETE FROM {} WHERE seq = 2",
    )
    assert list(store.scan("shop")) == before
    campaign.decide(case(1), key="next")
    check(f"{whole} WHERE seq = 2")


def test_a_personal_part_that_is_missing_or_changed_is_found(tmp_path):
    store = MemoryStore()
    campaign = lived(store, 20)
    campaign.erase(secrets(campaign)[:1])
    events = store._books["shop"].events
    kept = list(events)
    events[1] = events[1]._replace(key=None, own=None, salt=None)
    assert prove(store, "shop").faults == ("the personal part of event 2 is missing, and no erasure names it",)
    assert not eh.live.audit(store, "shop", [POLICY]).clean
    for change in ({"own": kept[1].own.replace("web", "phone")}, {"salt": bytes(16)}, {"key": "x"}, {"own": None}):
        events[1] = kept[1]._replace(**change)
        assert prove(store, "shop").faults[0] == "event 2 is not what was written: its hash differs"
    events[:] = kept
    number = next(e.seq for e in kept if is_erased(e))
    events[number - 1] = kept[number - 1]._replace(own="{}", salt=b"x", key="x")
    assert f"the personal part of event {number} was erased, and is there" in prove(store, "shop").faults


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("at", ["before", "within", "after", "cleaning"])
def test_killed_during_an_erasure_all_or_nothing_is_erased(kind, at, tmp_path, request):
    if kind == "postgresql" and at == "cleaning":
        pytest.skip("its files are the server's")
    url = f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else request.getfixturevalue("url")
    store = connect(url)
    campaign = lived(store, 30)
    keys, before = secrets(campaign), sums(campaign)
    store.close()
    child = os.fork()
    if child == 0:
        try:
            own = connect(url)
            one = eh.Campaign.open(own, "shop", POLICY)
            module = __import__(f"evenhand.live.stores.{kind}", fromlist=["_Log"])
            erase, die = module._Log.erase, lambda *_: os.kill(os.getpid(), signal.SIGKILL)

            def struck(log, events):
                if at == "before":
                    die()
                erase(log, events)
                if at == "within":
                    die()
                if at == "after":  # the commit
                    one._worker._keep_at_times = die

            module._Log.erase = struck
            if at == "cleaning":
                type(own).scrub = die
            one.erase(keys)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    store = connect(url)
    campaign = eh.Campaign.open(store, "shop", POLICY)
    erased = [e.seq for e in store.scan("shop") if is_erased(e)]
    assert len(erased) == (0 if at in ("before", "within") else len(keys))
    assert prove(store, "shop").faults == ()
    assert sums(campaign) == before
    if erased:
        campaign.erase()  # cleans the file again
    else:
        campaign.erase(keys)
    assert sums(campaign) == before
    if kind == "sqlite":
        assert all(key.encode() not in bytes_of(tmp_path) for key in keys)
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_a_reader_that_keeps_old_pages_is_told_of(tmp_path):
    store = place("sqlite", tmp_path, None)
    campaign = lived(store, 30)
    keys = secrets(campaign)
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(Busy):
            campaign.erase(keys)
    assert not secrets(campaign)  # it is erased in the log
    campaign.erase()
    assert all(key.encode() not in bytes_of(tmp_path) for key in keys)


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_of_earlier_events_is_not_taken_any_more(kind, tmp_path, request):
    from evenhand.live.fold.snapshots import dump

    store = place(kind, tmp_path, request)
    campaign = lived(store, 30)
    fold = campaign._worker.fold
    number, blob = fold.seq, dump(fold)
    store.keep("shop", campaign._worker.mark, number - 5, blob)
    campaign.erase(secrets(campaign))
    assert list(store.snapshots("shop", campaign._worker.mark)) == []
    store.keep("shop", campaign._worker.mark, number, blob)  # a worker that was slow
    assert list(store.snapshots("shop", campaign._worker.mark)) == []
    assert campaign.snapshot() > 0
    assert len(store.snapshots("shop", campaign._worker.mark)) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])  # copied event by event, and as a file
def test_backups_and_archives_have_the_erasure(kind, tmp_path, request):
    store = place(kind, tmp_path, request)
    campaign = lived(store, 30)
    campaign.erase(secrets(campaign))
    go_on(campaign, range(30, 40))
    eh.live.backup(store, tmp_path / "copy.db")
    with closing(connect_to_read(f"sqlite:///{tmp_path}/copy.db")) as copy:
        assert eh.live.audit(copy, "shop", [POLICY]).clean
    again = MemoryStore()
    eh.live.restore(tmp_path / "copy.db", again, by="ada", why="disk lost")
    *_, note = again.scan("shop")
    campaign._worker.fold.apply(note)
    same_fold(eh.Campaign.open(again, "shop", POLICY), campaign)


def test_a_later_version_begins_with_the_state_of_an_erasure(monkeypatch):
    store = MemoryStore()
    campaign = lived(store, 30)
    campaign.erase(secrets(campaign))
    campaign.snapshot()
    for module in ("worker.worker", "fold.snapshots", "log.versions"):
        monkeypatch.setattr(f"evenhand.live.{module}.__version__", "99.0")
    later = eh.Campaign.open(store, "shop", POLICY)
    go_on(later, range(30, 40))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_a_state_that_cannot_forget_is_refused_by_name_and_goes_on(monkeypatch):
    from evenhand.planning.history import HistoryState

    def refuse(self, context, plays):
        self.weight[:] = -1.0  # half of the work is done
        raise CannotErase("it cannot")

    store = MemoryStore()
    campaign = lived(store, 30)
    before, keys = list(campaign.events()), secrets(campaign)
    with monkeypatch.context() as other:
        other.setattr(HistoryState, "forget", refuse)
        with pytest.raises(CannotErase, match="it cannot"):
            campaign.erase(keys)
    assert list(campaign.events()) == before
    campaign.refresh()
    same_fold(campaign, eh.Campaign.open(store, "shop", POLICY))


def test_a_head_that_was_kept_before_is_still_in_the_log():
    store = MemoryStore()
    campaign = lived(store, 30)
    heads = [Head(e.seq, e.hash) for e in store.scan("shop")]
    campaign.erase(secrets(campaign))
    assert all(prove(store, "shop", head).faults == () for head in heads)
