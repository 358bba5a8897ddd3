"""Seals move old events out of the store of a running campaign; decisions, reports and audits stay as they were."""

import base64
import re
import sqlite3 as plain
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli.commands import main
from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live import Busy, Conflict, Place
from evenhand.live.campaigns import seals
from evenhand.live.campaigns.backups import backup, restore
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.corrections import Books, SwitchFold
from evenhand.live.fold.recomputation import _State
from evenhand.live.fold.snapshots import dump
from evenhand.live.log.events import is_erased, read
from evenhand.live.log.proof import prove
from evenhand.live.stores import sqlite
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.batches import Deciding
from evenhand.live.worker.requests import Verbs
from tests.live.schedules import same_fold
from tests.live.seal_worlds import live

DEPLOY = Path(__file__).parents[3] / "deploy" / "problem.toml"
SHOP = eh.Problem(
    actions=("none", "letter"),
    features=(eh.Numeric("age", 20, 80),),
    outcomes=(eh.Outcome("visit"), eh.Outcome("cents", known={"letter": 80})),
    maximize="visit",
    subject_to=(eh.Budget("cents", total=4000, hard=True),),
    horizon=200,
)
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)


def decide(campaign, numbers, answered=True):
    for i in numbers:
        said = campaign.decide({"age": 20 + 7 * i % 60}, key=f"{i}")
        if answered:
            campaign.observe(said.id, {"visit": i % 2})


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_ten_events_sealed_at_five(kind, tmp_path, request):
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    store = connect(url)
    campaign = eh.Campaign.open(store, "shop", POLICY)
    decide(campaign, range(4))  # events 2 to 9, an outcome after each decision
    decide(campaign, [4], answered=False)  # event 10
    events, report = list(store.scan("shop")), campaign.report()
    found = campaign.seal(tmp_path, by="ada", why="size", before=6)
    assert str(found) == "events 1 to 5 moved to shop-1-5.segment, 2 decisions"
    assert [(e.seq, e.kind) for e in store.scan("shop")] == [
        (1, "opened"), (6, "decided"), (7, "observed"), (8, "decided"), (9, "observed"), (10, "decided"),
        (11, "sealed")]  # fmt: skip
    segment = connect_to_read(f"sqlite:///{tmp_path}/shop-1-5.segment")
    assert list(segment.scan("shop")) == events[:5]
    body = read(list(store.scan("shop"))[-1])
    assert (body["first"], body["last"], body["hash"]) == (1, 5, events[4].hash.hex())
    assert (body["events"], body["decisions"], body["by"], body["why"]) == (5, 2, "ada", "size")
    assert campaign.report() == report == eh.Campaign.open(store, "shop", POLICY).report()
    assert prove(store, "shop", campaign.head()).faults == ()
    audit = eh.live.audit(store, "shop", [POLICY])
    assert (audit.clean, audit.decisions, audit.sealed) == (True, 3, 2)
    audit = eh.live.audit(Place(store, tmp_path), "shop", [POLICY])
    assert (audit.clean, audit.decisions, audit.sealed, audit.faults) == (True, 5, 0, ())
    assert list(campaign.events(tmp_path))[:10] == events
    with pytest.raises(Conflict, match=r"the log of 'shop' begins in segment shop-1-5.segment"):
        list(campaign.events())


@pytest.fixture
def shop(tmp_path):
    """A campaign of 30 decisions with outcomes, two of which wait, in a file."""
    store = connect(f"sqlite:///{tmp_path}/log.db")
    campaign = eh.Campaign.open(store, "shop", POLICY)
    decide(campaign, range(28))
    decide(campaign, [28, 29], answered=False)
    return campaign


def seal(campaign, tmp_path, before):
    return campaign.seal(tmp_path, by="ada", why="size", before=before)


@pytest.mark.parametrize("seed", range(8))
def test_a_sealed_campaign_is_as_one_that_is_not(seed, tmp_path):
    assert live(seed, tmp_path, steps=100).seals


def test_what_waits_stays_and_is_settled_as_before(shop, tmp_path):
    waits = list(shop._worker.fold.pending)
    found = seal(shop, tmp_path, shop.head().seq + 1)
    assert (found.stays, [e.seq for e in shop.store.scan("shop", kinds=("decided",))]) == (2, waits)
    assert shop.decide({"age": 20 + 7 * 28 % 60}, "28").id == waits[0]
    assert shop.observe("28", {"visit": 1})
    assert not shop.observe("28", {"visit": 1})
    assert shop.observe("28", {"visit": 0}, revise=True)  # it was settled after the segment
    assert shop.relearn()
    assert shop.cancel("29")
    same_fold(shop, eh.Campaign.open(shop.store, "shop", POLICY))
    assert eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY]).clean


def test_settled_decisions_and_their_keys_are_refused_by_name_of_their_segment(shop, tmp_path):
    first = 2
    seal(shop, tmp_path, 30)
    told = r"decision 2,? .*is in segment shop-1-29.segment \(events 1 to 29, sealed by ada on 20"
    for call in (
        lambda: shop.decide({"age": 20}, "0"),
        lambda: shop.observe(first, {"visit": 1}),
        lambda: shop.observe("0", {"visit": 1}, revise=True),
        lambda: shop.cancel(first),
        lambda: shop.find("0"),
        lambda: shop.explain(first),
        lambda: shop.erase(["0"], by="a clerk", why="asked to"),
    ):
        with pytest.raises(Conflict, match=told):
            call()
    batch = [Deciding({"age": 20}, f"{z}", frozen=True) for z in (0, 30, 31)]
    refused, *others = shop.many(batch)
    assert isinstance(refused, Conflict)
    assert [z.key for z in others] == ["30", "31"]


@pytest.mark.parametrize("step", ["adopt", "replace", "fsync", "dump", "unload", "scrub"])
def test_a_seal_that_ends_early_leaves_a_whole_log_and_can_be_repeated(step, shop, tmp_path, monkeypatch):
    events, report, head = list(shop.events()), shop.report(), shop.head()
    place = {
        "adopt": SqliteStore,
        "scrub": SqliteStore,
        "unload": sqlite._Log,
        "replace": Path,
        "fsync": seals.os,
        "dump": seals,
    }[step]

    def fail(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(place, step, fail)
        with pytest.raises((OSError, InvalidInput, Busy)):
            seal(shop, tmp_path, 30)
    again = eh.Campaign.open(shop.store, "shop", POLICY)
    assert again.report() == report
    if step == "scrub":  # the event was written; what it moved is in pages that nothing reads
        assert list(again.events(tmp_path))[:-1] == events
        again.erase()
        assert seal(again, tmp_path, 40).segment.first == 30
        return
    assert list(again.events()) == events
    assert seal(again, tmp_path, 30).segment.last == 29
    assert list(again.events(tmp_path))[:-1] == events
    assert eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY], head=head).clean


def test_what_is_moved_already_is_not_moved_again(shop, tmp_path):
    seal(shop, tmp_path, 30)
    head = shop.head()
    found = seal(shop, tmp_path, 30)
    assert found.segment is None
    assert "nothing to move: the first event that no segment has is 30, of " in str(found)
    assert shop.seal(tmp_path, by="ada", why="size").segment is None  # nothing is a day old
    assert shop.head() == head


def test_a_segment_that_is_missing_changed_or_another_is_named(shop, tmp_path):
    for end in (21, 41):
        seal(shop, tmp_path, end)
    one, other = (tmp_path / f"shop-{z}.segment" for z in ("1-20", "21-40"))
    kept = {path: path.read_bytes() for path in (one, other)}
    head = shop.head()

    def audit():
        return eh.live.audit(Place(f"sqlite:///{tmp_path}/log.db", tmp_path), "shop", [POLICY], head=head)

    assert audit().clean
    one.unlink()
    with pytest.raises(MissingFile, match=r"segments: expected a folder with the segment shop-1-20.segment \(events 1"):
        audit()
    one.write_bytes(kept[other])
    assert "is not the segment shop-1-20.segment" in audit().faults[0]
    one.write_bytes(kept[one])
    for change, told in (
        ("UPDATE events SET body = replace(body, ':', ': ') WHERE seq = 8", "event 8 is not what was written"),
        ("UPDATE events SET own = replace(own, 'age', 'agE') WHERE seq = 8", "event 8 is not what was written"),
        ("DELETE FROM events WHERE seq = 9", "the events after 8 cannot be read: event 9 is missing in segment"),
    ):
        one.chmod(0o600)
        with closing(plain.connect(one, isolation_level=None)) as db:
            for trigger in ("no_update", "no_delete"):
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("PRAGMA foreign_keys=OFF")
            assert db.execute(change).rowcount == 1
        assert told in "\n".join(audit().faults)
        assert prove(connect_to_read(f"sqlite:///{one}"), "shop").faults  # alone
        one.write_bytes(kept[one])
    assert audit().clean


def test_a_state_that_is_not_what_the_segment_folds_to_is_found(shop, tmp_path):
    seal(shop, tmp_path, 30)
    *_, event = shop.store.scan("shop")
    kept = read(event)
    other = dump(shop._worker.folding.at(31))  # a state with one outcome more
    assert base64.b64decode(kept["state"]) != other
    states = {29: _State(event.seq, other)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("evenhand.live.fold.recomputation._states", lambda *_: states)
        found = eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY])
    assert found.faults == (f"seal {event.seq} keeps another state than the log folds to",)


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_a_sealed_store_is_backed_up_and_restored(to, shop, tmp_path, request):
    seal(shop, tmp_path, 30)
    file = tmp_path / "copy.backup"
    backup(f"sqlite:///{tmp_path}/log.db", file)
    place = connect(f"sqlite:///{tmp_path}/again.db" if to == "sqlite" else request.getfixturevalue("url"))
    restore(file, place, by="ada", why="disk lost")
    again = eh.Campaign.open(place, "shop", POLICY)
    with pytest.raises(Conflict, match=r"key '0' was used for decision 2, which is in segment shop-1-29.segment"):
        again.decide({"age": 20}, "0")
    decide(again, range(40, 50))
    seal(again, tmp_path, 50)
    assert eh.live.audit(Place(place, tmp_path), "shop", [POLICY]).clean
    last = tmp_path / "last.backup"
    backup(place, last)  # of PostgreSQL event by event
    assert len(list(connect_to_read(f"sqlite:///{last}").digests())) > 14


@pytest.mark.parametrize("before", [True, False])
def test_erasures_before_and_after_a_seal(before, shop, tmp_path):
    if before:
        shop.erase(["3", "4"], by="a clerk", why="asked to")
        found = seal(shop, tmp_path, shop.head().seq + 1)
        segment = connect_to_read(f"sqlite:///{tmp_path}/{found.segment.file}")
        assert [e.key for e in segment.scan("shop", kinds=("decided",))][3:6] == [None, None, "5"]
        assert all(is_erased(e) for e in segment.scan("shop", kinds=("erased",)))  # states stay in the store
    else:
        seal(shop, tmp_path, 30)
        shop.erase(["20", "21"], by="a clerk", why="asked to")
        found = shop.erase(before=datetime.now(UTC), by="a clerk", why="a year")
        assert "those in shop-1-29.segment are erased by deleting these files" in str(found)
    report = shop.report()
    again = eh.Campaign.open(shop.store, "shop", POLICY)
    same_fold(shop, again)
    assert again.report() == report
    decide(again, range(40, 50))
    assert eh.live.audit(shop.store, "shop", [POLICY]).clean
    assert eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY]).clean
    seal(again, tmp_path, again.head().seq)
    same_fold(again, eh.Campaign.open(shop.store, "shop", POLICY))
    assert eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY]).clean


DAY = 86_400 * 10**6


def test_retention_leaves_what_a_segment_has(tmp_path):
    clock = [2_000_000_000 * 10**6]
    store = MemoryStore(now=lambda: clock[0])
    shop = eh.Campaign.open(store, "shop", POLICY, patience=9e8)
    decide(shop, [0], answered=False)  # it waits, so that the store has it as well
    decide(shop, range(1, 10))
    clock[0] += 2 * DAY
    shop.seal(tmp_path, by="ada", why="size")
    shop.observe("0", {"visit": 1})
    decide(shop, range(10, 20))
    shop.change(retention=1, by="ada", why="the law")
    clock[0] += 2 * DAY
    while shop.refresh():
        pass
    assert sum(is_erased(e) for e in store.scan("shop", kinds=("decided",))) == 10
    assert eh.live.audit(Place(store, tmp_path), "shop", [POLICY]).clean


def test_the_page_of_a_restored_log_reads_its_streak(tmp_path):
    """The ids of its decisions are no numbers of events."""
    rich = replace(SHOP, subject_to=(eh.Budget("cents", total=40_000, hard=True),))
    policy = eh.resolving(rich, eh.PerAction.of(rich, eh.Ridge), warmup=6)
    store, again = MemoryStore(), MemoryStore()
    shop = eh.Campaign.open(store, "shop", policy)

    def live(shop, numbers):
        for i in numbers:
            said = shop.decide({"age": 20 + 7 * i % 60}, key=f"{i}")
            shop.observe(said.id, {"visit": float(said.action == "letter" and i % 5 == 0)})

    live(shop, range(60))
    backup(store, tmp_path / "shop.backup")
    restore(tmp_path / "shop.backup", again, by="ada", why="disk lost")
    shop = eh.Campaign.open(again, "shop", policy)
    live(shop, range(60, 64))
    assert any("all of the last" in alarm for alarm in shop.report()["alarms"])


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_a_person_is_erased_in_a_segment(kind, tmp_path, request, monkeypatch):
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    store = connect(url)
    shop, asked = eh.Campaign.open(store, "shop", POLICY), {"by": "a clerk", "why": "asked to"}
    decide(shop, range(20))
    found = seal(shop, tmp_path, 30).segment
    path, report = tmp_path / found.file, shop.report()
    with pytest.raises(Conflict, match=r"key '3', is in segment shop-1-29.segment .*: state the folder"):
        shop.erase(["3"], **asked)
    with pytest.raises(MissingFile, match=r"a folder with the segment shop-1-29\.segment"):
        shop.erase(["3"], **asked, segments=tmp_path / "none")
    monkeypatch.setattr("evenhand.live.worker.erasure.clean_segments", lambda *_: None)  # as if it was killed there
    assert len(shop.erase(["3", "17"], **asked, segments=tmp_path).decisions) == 2
    monkeypatch.undo()
    assert any("was erased, and is there" in z for z in prove(Place(store, tmp_path).open(), "shop").faults)
    shop.erase(segments=tmp_path)  # goes on
    with closing(connect_to_read(f"sqlite:///{path}")) as segment:
        gone = [e for e in segment.scan("shop", kinds=("decided",)) if is_erased(e)]
        assert [(e.seq, e.key) for e in gone] == [(8, None)]
        assert prove(segment, "shop").faults == ()
    assert b'"age":41' not in path.read_bytes()  # the case of key 3 alone
    assert path.stat().st_mode & 0o777 == 0o400
    assert [z for z in tmp_path.iterdir() if z.name.startswith(".")] == []
    with pytest.raises(eh.live.Unknown, match="no decision with the key '3'"):
        shop.erase(["3"], **asked, segments=tmp_path)
    for place in (store, Place(store, tmp_path)):
        assert eh.live.audit(place, "shop", [POLICY]).clean
    again = eh.Campaign.open(store, "shop", POLICY)
    same_fold(shop, again)
    assert {**again.report(), "erased": 0} == {**report, "erased": 0}
    again.save_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '<td data-head="key">4</td>' in page
    assert '<td data-head="key">3</td>' not in page
    assert again.decide({"age": 41}, "3").id == again.head().seq  # forgotten, as that of any other erased decision
    seal(again, tmp_path, again.head().seq)
    assert eh.live.audit(Place(store, tmp_path), "shop", [POLICY]).clean


def test_the_store_stays_small_and_its_file_shrinks(tmp_path):
    store = connect(f"sqlite:///{tmp_path}/log.db")
    campaign, sizes = eh.Campaign.open(store, "shop", POLICY), []
    for start in range(0, 1500, 500):
        campaign.many(
            [partial(Verbs.decide, case={"age": 30}, key=f"a long key {i}") for i in range(start, start + 500)]
        )
        for ref in list(campaign._worker.fold.pending):
            campaign.observe(ref, {"visit": 1})
        before = store.size()
        seal(campaign, tmp_path, campaign.head().seq - 20)
        sizes.append((before, store.size()))
    digests = sum(1 for _ in store.digests())
    assert digests > 1400
    assert all(after < before / 2 for before, after in sizes)
    assert sizes[-1][1] - sizes[0][1] < 60 * 1000  # a digest of each key, and nothing else, grows


RIDGE = eh.resolving(SHOP, eh.PerAction.of(SHOP, eh.Ridge), warmup=4, name="ridge")


def raced(monkeypatch, kind, once):
    """Let something happen after the first part of a switch that is made beside requests."""
    first, times = kind.go_on, []

    def go_on(self):
        first(self)
        times.append(1)
        if len(times) == 1:
            once()

    monkeypatch.setattr(kind, "go_on", go_on)


@pytest.mark.parametrize("kind", [SwitchFold, Books])
@pytest.mark.parametrize("meanwhile", ["sealed", "erased"])
def test_a_switch_that_others_seal_or_erase_beside(kind, meanwhile, tmp_path, monkeypatch):
    store = MemoryStore()
    shop = eh.Campaign.open(store, "shop", POLICY)
    decide(shop, range(10))
    if kind is Books:
        shop.erase(["3"], by="a clerk", why="asked to")
        decide(shop, range(10, 20))
    other, third = (eh.Campaign.open(store, "shop", z) for z in (POLICY, [RIDGE, POLICY]))
    erased = partial(other.erase, ["5"], by="a clerk", why="asked to")
    raced(monkeypatch, kind, partial(seal, other, tmp_path, 15) if meanwhile == "sealed" else erased)
    shop.switch(RIDGE, by="ada", why="a race")
    third.decide({"age": 20}, key="one more")
    store._kept.clear()
    same_fold(third, eh.Campaign.open(store, "shop", [POLICY, RIDGE]))
    for place in (store, Place(store, tmp_path)):
        assert eh.live.audit(place, "shop", [POLICY, RIDGE]).clean


def test_a_seal_that_another_policy_learns_beside_is_planned_again(tmp_path, monkeypatch):
    store = MemoryStore()
    shop = eh.Campaign.open(store, "shop", POLICY)
    decide(shop, range(10))
    seal(shop, tmp_path, 8)
    decide(shop, range(10, 20))
    shop, other = (eh.Campaign.open(store, "shop", z) for z in ([RIDGE, POLICY], POLICY))
    written, times = seals._draft, []

    @contextmanager
    def slow(*arguments):
        with written(*arguments) as draft:
            if not times:
                other.switch(RIDGE, by="ada", why="a race")
            times.append(1)
            yield draft

    monkeypatch.setattr(seals, "_draft", slow)
    assert str(seal(shop, tmp_path, 30)).startswith("nothing to move")
    store._kept.clear()
    eh.Campaign.open(store, "shop", [POLICY, RIDGE])
    assert eh.live.audit(store, "shop", [POLICY, RIDGE]).clean


def wide():
    """A policy of other features, which adopts the books alone."""
    stated = replace(SHOP, features=(eh.Numeric("age", 0, 100),))
    return eh.resolving(stated, eh.PerAction.of(stated), warmup=4)


@pytest.mark.parametrize("what", ["a correction", "a switch"])
def test_a_start_folds_again_where_decisions_go_meanwhile(what, shop, tmp_path):
    policies = [POLICY]
    if what == "a correction":
        shop.observe("3", {"visit": 0}, revise=True)
    else:
        seal(shop, tmp_path, 30)
        policies.append(wide())
        shop.switch(policies[1], by="ada", why="more ages")
        shop.observe("28", {"visit": 1})
    place, times = connect(f"sqlite:///{tmp_path}/log.db"), []
    about, place.snapshot = place.about, lambda *_: None

    def meanwhile(*args):
        times.append(args)
        if len(times) == 1 and what == "a correction":
            seal(shop, tmp_path, shop.head().seq + 1)
        elif len(times) == 1:
            shop.erase(["28"], by="a clerk", why="asked to")
        return about(*args)

    place.about = meanwhile
    again = eh.Campaign.open(place, "shop", policies)
    assert times
    same_fold(shop, again)


def test_a_switch_to_other_features_goes_on_with_the_books_and_learns_what_no_segment_has(shop, tmp_path):
    seal(shop, tmp_path, 30)
    other, spent = wide(), shop.status().accounts["cents"]
    shop.switch(other, by="ada", why="more ages")
    assert shop.status().accounts["cents"] == spent
    number, said = shop.head().seq, read(list(shop.store.scan("shop"))[-1])
    assert said["adopts"] == "books"
    assert said["learned"] == sum(e.kind == "observed" and e.ref >= 30 for e in shop.store.scan("shop"))
    decide(shop, range(40, 50))
    assert str(seal(shop, tmp_path, number)).startswith("nothing to move")  # what it learned from would be gone
    again = eh.Campaign.open(shop.store, "shop", [POLICY, other])
    same_fold(shop, again)
    for place in (shop.store, Place(shop.store, tmp_path)):
        assert eh.live.audit(place, "shop", [POLICY, other]).clean
    seal(shop, tmp_path, shop.head().seq)
    same_fold(shop, eh.Campaign.open(shop.store, "shop", [POLICY, other]))
    assert eh.live.audit(Place(shop.store, tmp_path), "shop", [POLICY, other]).clean


def changed(**more):
    """A policy of the shop with a change."""
    problem = replace(SHOP, **more)
    return eh.resolving(problem, eh.PerAction.of(problem), warmup=4)


THREE = eh.Outcome("cents", known={"letter": 80, "card": 30})


@pytest.mark.parametrize(
    ("other", "uncounted"),
    [
        (changed(actions=("none", "letter", "card"), outcomes=(eh.Outcome("visit"), THREE)), 0),
        (changed(subject_to=()), 0),
        (changed(subject_to=(*SHOP.subject_to, eh.Budget("visit", total=300))), 0),
        (changed(horizon=300), 0),
        (changed(maximize=eh.objectives.Linear({"visit": 2.0, "cents": -0.001})), 14),
    ],
    ids=["appended", "without a budget", "another budget", "longer", "another objective"],
)
def test_counts_of_segments_stay_as_they_were_at_a_switch(other, uncounted, shop, tmp_path):
    report = shop.report()
    seal(shop, tmp_path, 30)
    shop.switch(other, by="ada", why="a change")
    for _ in range(2):
        found = shop.report()
        for name in ("observed", "delay", "certain", "clipped"):
            assert found[name] == report[name]
        assert {k: v for k, v in found["actions"].items() if v} == {k: v for k, v in report["actions"].items() if v}
        assert found["uncounted"] == uncounted
        shop = eh.Campaign.open(shop.store, "shop", [POLICY, other])
    tally = Tally(shop)
    tally.update()
    assert sum(span.plays for span in tally.spans.all).tolist() == [
        *(report["actions"][name] for name in SHOP.actions),
        *[0] * (len(other.problem.actions) - 2),
        0,
    ]
    if "cents" in tally.uses.names and not uncounted:
        assert tally.spent("cents")[-1] == shop.status().accounts["cents"].total - shop.status().accounts["cents"].left
    shop.save_report(tmp_path / "page.html")


def test_commands_seal_audit_and_export(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/log.db"
    policy, encoder = of_file(Text("problem.toml", DEPLOY.read_text(encoding="utf-8")))
    with eh.Campaign.open(url, "letters", policy, encoder=encoder) as campaign:
        for i in range(10):
            campaign.observe(campaign.decide({"age": 20 + i, "town": "north"}, f"{i}").id, {"visit": 1})
    note = ["--by", "ada", "--why", "size"]
    assert main(["seal", url, ".", *note, "--before", "12"]) == 0
    assert "events 1 to 11 moved to letters-1-11.segment, 5 decisions" in capsys.readouterr().out
    assert main(["audit", url]) == 0
    assert "5 decisions are in segments that were not read, and were not recomputed" in capsys.readouterr().out
    assert main(["audit", url, "--segments", "."]) == 0
    assert "10 decisions" in capsys.readouterr().out
    assert main(["audit", "sqlite:///letters-1-11.segment"]) == 0
    assert "head 11:" in capsys.readouterr().out
    assert main(["export", url, "--out", "all.csv"]) == 2
    assert "letters-1-11.segment" in capsys.readouterr().err
    assert main(["export", url, "--out", "all.csv", "--segments", "."]) == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 11


def test_a_page_that_is_behind_reads_on_after_a_seal(shop, tmp_path):
    tally = Tally(shop, 9)
    tally.update()
    tally._end = None
    seal(shop, tmp_path, 30)
    for found in (tally, whole := Tally(shop)):
        found.update()
    assert (tally.counts, tally.played) == (whole.counts, whole.played)
    assert sum(tally.played.values()) == 30


def test_a_segment_of_a_lost_log_is_not_replaced(shop, tmp_path):
    other = eh.Campaign.open(connect("memory://"), "shop", POLICY, seed=8)
    decide(other, range(28))
    seal(other, tmp_path, 30)
    before = shop.head()
    with pytest.raises(InvalidInput, match=r"folder: expected one without another shop-1-29.segment"):
        seal(shop, tmp_path, 30)
    assert shop.head() == before


def test_a_long_name_is_cut_in_the_name_of_the_file(tmp_path):
    name = 60 * "ü"
    campaign = eh.Campaign.open(f"sqlite:///{tmp_path}/log.db", name, POLICY)
    decide(campaign, range(8))
    file = seal(campaign, tmp_path, 10).segment.file
    assert re.fullmatch(r"(%C3%BC){16}(%C3)-[0-9a-f]{8}-1-9\.segment", file)
    assert len(list(campaign.events(tmp_path))) == campaign.head().seq


def test_a_store_that_another_program_reads_is_cleaned_by_the_next_seal(shop, tmp_path):
    with closing(plain.connect(tmp_path / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM events").fetchall()
        with pytest.raises(Busy, match="the seal stands; the file gives its space back later: run `evenhand erase"):
            seal(shop, tmp_path, 30)
    before, head = shop.store.size(), shop.head()
    assert seal(shop, tmp_path, 30).segment is None
    assert shop.store.size() < before
    assert shop.head() == head
