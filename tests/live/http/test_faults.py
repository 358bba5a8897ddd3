"""The table of faults: what a client is told, what becomes of the log, and that nothing is lost or overspent."""

import fcntl
import re
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import CannotErase
from evenhand.live import Busy, Campaign
from evenhand.live.campaigns.backups import backup, restore
from evenhand.live.campaigns.files import open_campaign
from evenhand.live.campaigns.tokens import ROLES, Token, Tokens, hash_of
from evenhand.live.http import app
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.live.http.faults import World, policy
from tests.live.http.test_http_security import raw
from tests.live.http_campaign import asked, opened, serving
from tests.live.store_failures import Struck
from tests.polling import until

TOKEN = "a secret of this test"
HALF = b"POST /decide HTTP/1.1\r\nHost:"
WRONG = b"GET /report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-wrong-wrong-wrong\r\n\r\n" * 50
HALF_BODY = HALF + b" localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n{"
PAGE = Path(__file__).parents[3] / "docs" / "live-faults.md"


@dataclass(frozen=True)
class Fault:
    """One row: what happens, and what the client is told at last."""

    name: str
    provoke: Callable[[World], Any]  # the last response, or the status
    status: int
    new: tuple[str, ...] = ()  # what the log has more
    says: dict[str, Any] = field(default_factory=dict)
    mode: str = "hold"


def two_workers(world):
    """Ask two servers on one store for the last letter, at once."""
    gate = threading.Barrier(2)

    def ask(client):
        gate.wait()
        return world.letter(f"{client.base_url}", client)

    with serving(app(world.opened())) as other, ThreadPoolExecutor(2) as threads:
        said = list(threads.map(ask, (world.client, other)))
    assert sorted(str(z.json()["action"]) for z in said) == ["None", "letter"]
    return said[0]


def switched(world):
    """Another worker switches the campaign while the server decides, and back again."""
    other = world.opened()
    other.switch(policy("next"), why="a trial")
    assert world.client.get("/readyz").status_code == 200
    said = world.letter("meanwhile")
    assert world.client.get("/report").json()["policy"] == "next"
    other.refresh()
    other.switch(policy())
    return said


def late(world):
    """An outcome after its decision expired, which counts as it is."""
    world.overdue()
    assert world.budget()[1] == (3.0 if world.mode == "hold" else 0.0)
    return world.observe(world.waits, {"answer": 1, "cents": 2})


def released(world):
    """An outcome of a decision whose budget others have spent meanwhile: the books say so."""
    world.overdue()
    for key in ("one", "two"):
        assert world.observe(world.letter(key).json()["id"], {"answer": 1, "cents": 3}).status_code == 200
    assert world.budget() == (7.0, 0.0, 1.0)
    said = world.observe(world.waits, {"answer": 1, "cents": 3})
    assert world.budget() == (10.0, 0.0, -2.0)
    assert any("overspent" in alarm for alarm in world.client.get("/report").json()["alarms"])
    assert world.letter("three").json()["action"] is None
    return said


def paused(world):
    """A decision is asked for while the campaign is paused; what was decided is told again."""
    assert world.change("pause").json()["new"] is True
    said = world.letter("new")
    assert world.letter("seen").json()["repeated"] is True
    assert world.change("resume").json()["new"] is True
    return said


def twice_paused(world):
    """Two operators pause; the first of them is in the log."""
    world.change("pause")
    said = world.change("pause", why="as well")
    world.change("resume")
    return said


def ended(world):
    """A decision is asked for when no more are made."""
    assert world.change("end").json()["new"] is True
    return world.letter("new")


def seen_while(verb, *after):
    """An outcome arrives while no decisions are made."""

    def provoke(world):
        world.change(verb)
        said = world.observe(world.waits, {"answer": 1, "cents": 2})
        for word in after:
            world.change(word)
        return said

    return provoke


def never(world):
    """No outcome comes."""
    world.overdue()
    said = world.client.get(f"/decisions/{world.waits}")
    assert world.budget() == (1.0, 3.0, 4.0)
    return said


def revised(world):
    said = world.observe(world.seen, {"answer": 1, "cents": 3}, revise=True)
    assert world.budget()[0] == 3.0
    return said


def locked(world):
    other = sqlite3.connect(world.folder / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    said = world.letter("new")
    other.execute("ROLLBACK")
    other.close()
    return said


def gone(world):
    away = world.folder.with_name("away")
    world.folder.rename(away)
    said = world.letter("new")
    shutil.rmtree(world.folder, ignore_errors=True)
    away.rename(world.folder)
    return said


def stopped(world):
    """Another worker has the turn and does not go on."""
    with (world.folder / "log.db.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return world.letter("new")


def missing(world):
    """The file is renamed; nothing takes its place."""
    path = world.folder / "log.db"
    path.rename(path.with_name("away.db"))
    said = world.letter("new")
    assert not path.exists()
    path.with_name("away.db").rename(path)
    return said


def older(world):
    """A copy of before the last decision is put in place of the file, and then the file again."""
    copy, away = world.folder.with_name("copy.db"), world.folder.with_name("away")
    backup(world.store.inner, copy)
    world.letter("new")
    world.folder.rename(away)
    world.folder.mkdir()
    shutil.copy(copy, world.folder / "log.db")
    assert world.letter("other").status_code == 503, "once, as the file is another one"
    said = world.letter("other")
    shutil.rmtree(world.folder)
    away.rename(world.folder)
    until(lambda: world.letter("new").status_code == 200)
    return said


def lost(world):
    """A server has a copy that was restored from a backup of before the decision."""
    copy, again = world.folder.with_name("copy.db"), f"sqlite:///{world.folder.parent}/again.db"
    backup(world.store.inner, copy)
    number = world.letter("new").json()["id"]
    restore(copy, again, by="anna", why="the disk is lost")
    with closing(connect(again)) as store, serving(app(world.opened(store))) as client:
        return client.post("/observe", json={"id": number, "outcomes": {"answer": 1, "cents": 1}})


def damaged(world):
    """A table is missing."""
    with closing(sqlite3.connect(world.folder / "log.db")) as db:
        db.execute("ALTER TABLE events RENAME TO away")
        said = world.letter("new")
        db.execute("ALTER TABLE away RENAME TO events")
    return said


def limited(setting, back, count=1):
    """Many letters in one transaction, while a setting holds for all connections to the file."""

    def provoke(world):
        world.store.inner.setting = setting
        asked = [{"key": f"new {i}", "case": {"age": 33}, "offered": ["letter"]} for i in range(count)]
        said = world.client.post("/decide", json=asked)
        world.store.inner.setting = back
        return said

    return provoke


def struck(world):
    """A failure before and after every statement: the same key has one decision, whichever answer got lost."""
    for error in (Busy("struck"), Struck()):
        for n in range(16):
            world.store.strike(n, error)
            said, hit = world.letter(f"{error} {n}").status_code, world.store.hit
            world.store.left, world.store.hit = None, False
            assert said == (200 if not hit else 503 if isinstance(error, Busy) else 500)
            assert world.letter(f"{error} {n}").status_code == 200
    keys = [event.key for event in world.log() if event.kind == "decided"]
    assert len(keys) == len(set(keys)) == 3 + 32
    return world.letter("struck 15")


def set_back(world):
    world.clock[0] -= 10**9
    said = world.letter("new")
    assert world.log()[-1].at == world.log()[-2].at
    assert "ahead of the clock by 1,000 seconds" in str(world.client.get("/report").json()["alarms"])
    return said


def jumps(world):
    world.clock[0] += 86_400 * 10**6
    said = world.letter("new")
    world.clock[0] -= 86_400 * 10**6
    return said


def started_ahead(world):
    """A worker of another process is started while the clock is ten days ahead."""
    world.clock[0] += 10 * 86_400 * 10**6
    with pytest.raises(Busy, match=r"the clock says .*, 10 days after the last event of 'one', and 1 decision would"):
        Campaign.open(SqliteStore(world.folder / "log.db"), "one", policy())
    world.clock[0] -= 10 * 86_400 * 10**6
    return 503


def script(world):
    key = "<script>alert(1)</script>"
    said = world.letter(key)
    assert said.json()["key"] == key
    assert said.headers["content-type"] == "application/json"
    assert key not in world.client.get("/").text
    assert key not in world.client.get("/metrics").text
    return said


def costs(known):
    """A cost of 1e15 that a client states, to a campaign that has known costs."""

    def provoke(world):
        with serving(app(opened(world.folder.parent), known=known)) as client:
            said = client.post("/decide", json=asked("new", known={"cents": {"letter": 1e15}}))
            assert client.get("/report").json()["rounds"] == 0
        return said

    return provoke


def column(world):
    """A cost of 1e15 in a column of the case, to a campaign of a problem file."""
    file = world.folder.parent / "column.toml"
    file.write_text(STATED.replace("known = { a = 1, b = 1 }", 'known = { a = 1, b = 1 }\ncolumn = "postage"'))
    with serving(app(open_campaign("memory://", "post", file))) as client:
        case = {"age": 33, "town": "north", "postage": 1e15}
        said = client.post("/decide", json={"key": "new", "case": case})
        assert client.get("/report").json()["rounds"] == 0
    return said


def erased(call):
    """Erase what was observed, and then ask."""

    def provoke(world):
        assert world.erase("seen").json()["erased"] == 1
        return call(world)

    return provoke


def unclean(world):
    """Erase while another program reads the file, so that what was erased stays in it; then say the same again."""
    with closing(sqlite3.connect(world.folder / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM events").fetchone()
        assert world.erase("seen").status_code == 503
    return world.erase("seen")


def unfit(world):
    """A policy whose state has the case in a form that nobody can find."""

    def refuse(*given):
        raise CannotErase("a model keeps observations of another form")

    with pytest.MonkeyPatch.context() as other:
        other.setattr("evenhand.live.worker.erasure.forget", refuse)
        return world.erase("seen")


def crowd(sent, most=None):
    """Many connections send something that holds them up; the status for others, and 200 once these have left."""

    def provoke(world):
        with serving(app(world.campaign, token=TOKEN), most) as client:
            with ExitStack() as lines:
                for _ in range(50):
                    line = lines.enter_context(socket.create_connection((client.base_url.host, client.base_url.port)))
                    line.sendall(sent)
                status = client.get("/healthz").status_code
            until(lambda: client.get("/healthz").status_code == 200)
        return status

    return provoke


def twice(world):
    head = b"POST /cancel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
    return int(raw(world.client, head + b'9\r\n{"id": 2}\r\n0\r\n\r\n').split()[1])


def unready(world):
    """A store that takes no writes."""
    world.store.inner.setting = "PRAGMA query_only=ON"
    said = world.client.get("/readyz")
    assert world.client.get("/healthz").status_code == 200
    world.store.inner.setting = "PRAGMA query_only=OFF"
    return said


def long(world):
    head = f"POST /observe HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**8}\r\n\r\n"
    return int(raw(world.client, head.encode()).split()[1])


def from_(**headers):
    return lambda w: w.client.post("/cancel", json={"id": w.waits}, headers=headers)


def outcome(text):
    return lambda w: w.send(f'{{"id": WAITS, "outcomes": {text}}}')


def token(number, **more):
    """Ask a number of times with a token that may not do it."""

    def ask(world):
        path = world.folder.with_name("tokens.toml")
        path.touch(0o600)
        path.write_text(Token(name="till", sha256=hash_of("secret"), **{"roles": ROLES, **more}).entry())
        with serving(app(world.campaign, token=Tokens(path))) as client:
            client.headers["Authorization"] = "Bearer secret"
            return [world.letter(f"new {i}", client) for i in range(number)][-1]

    return ask


FAULTS = [
    Fault("killed before the commit", lambda w: w.kill("before the commit"), 200, ("decided",), {"repeated": False}),
    Fault("killed after the commit", lambda w: w.kill("after the commit"), 200, ("decided",), {"repeated": True}),
    Fault("killed after the commit, before the reply", lambda w: w.kill("before the reply"), 200, ("decided",),
          {"repeated": True}),
    Fault("a statement of the store fails", struck, 200, ("decided",) * 32),
    Fault("two workers at the last unit", two_workers, 200, ("decided",) * 2),
    Fault("the same key for another case",
          lambda w: w.client.post("/decide", json={"key": "seen", "case": {"age": 34}}), 409),
    Fault("the same outcome twice", lambda w: w.observe(w.seen, {"answer": 1, "cents": 1}), 200, says={"new": False}),
    Fault("another outcome", lambda w: w.observe(w.seen, {"answer": 1, "cents": 3}), 409),
    Fault("another outcome, as a revision", revised, 200, ("revised",), {"new": True}),
    Fault("an outcome of an unknown decision", lambda w: w.observe(99, {"answer": 1, "cents": 1}), 404),
    Fault("an outcome of a cancelled decision", lambda w: w.observe(w.gone, {"answer": 1, "cents": 1}), 409),
    Fault("a cancellation after the outcome", lambda w: w.cancel(w.seen), 409),
    Fault("an outcome that is late", late, 200, ("expired", "observed"), {"new": True}),
    Fault("an outcome that is late, settled by its fallback", late, 200, ("expired", "observed"), {"new": True},
          "fallback"),
    Fault("an outcome that is late, after a release", released, 200,
          ("expired", *("decided", "observed") * 2, "observed", "decided"), {"new": True}, "release"),
    Fault("an outcome that never comes", never, 200, ("expired",), {"state": "expired"}),
    Fault("an outcome of NaN", outcome('{"answer": 1, "cents": NaN}'), 422, says={"field": "body"}),
    Fault("an outcome of 1e999", outcome('{"answer": 1, "cents": 1e999}'), 422, says={"field": "outcomes.cents"}),
    Fault("an outcome below its range", outcome('{"answer": 1, "cents": -1}'), 422),
    Fault("an outcome beyond its range", outcome('{"answer": 1, "cents": 1e300}'), 422),
    Fault("an outcome of the wrong type", outcome('{"answer": 1, "cents": "1"}'), 422),
    Fault("an unknown outcome", outcome('{"answer": 1, "cents": 1, "dollars": 1}'), 422),
    Fault("a missing outcome", outcome('{"answer": 1}'), 422),
    Fault("a case of NaN", lambda w: w.send('{"key": "new", "case": {"age": NaN}}', "/decide"), 422),
    Fault("a case of the wrong type", lambda w: w.send('{"key": "new", "case": {"age": "33"}}', "/decide"), 422,
          says={"field": "age"}),
    Fault("a case with an unknown name", lambda w: w.send('{"key": "new", "case": {"age": 3, "agee": 3}}', "/decide"),
          422, says={"field": "agee"}),
    Fault("a case with a missing name", lambda w: w.send('{"key": "new", "case": {}}', "/decide"), 422,
          says={"field": "age"}),
    Fault("an unknown field", lambda w: w.send('{"id": WAITS, "outcomes": {}, "revize": true}'), 422,
          says={"field": "revize"}),
    Fault("a missing field", lambda w: w.send('{"id": WAITS}'), 422, says={"field": "outcomes"}),
    Fault("a field that is stated twice", lambda w: w.send('{"id": 1, "id": WAITS}', "/cancel"), 422),
    Fault("the campaign is switched to another policy", switched, 200, ("switched", "decided", "switched"),
          {"action": "letter"}),
    Fault("a problem file for a server without a token", lambda w: w.send('{"problem": "maximize"}', "/switch"), 403),
    Fault("the store is locked", locked, 503),
    Fault("another worker is stopped in a transaction", stopped, 503),
    Fault("the store is gone", gone, 503),
    Fault("the file is gone", missing, 503),
    Fault("an older copy is put in place of the file", older, 500, ("decided",)),
    Fault("the store is damaged", damaged, 500),
    Fault("the store is read-only", limited("PRAGMA query_only=ON", "PRAGMA query_only=OFF"), 503),
    Fault("the store is full", limited("PRAGMA max_page_count=1", "PRAGMA max_page_count=100000", 100), 503),
    Fault("the clock is set back", set_back, 200, ("decided",), {"action": "letter"}),
    Fault("the clock jumps forward", jumps, 503),
    Fault("a worker is started while the clock is far ahead", started_ahead, 503),
    Fault("a body of 100 MB", long, 413),
    Fault("a body that is no JSON", lambda w: w.send('{"id": WAITS', "/cancel"), 400),
    Fault("JSON that is nested 10,000 deep", lambda w: w.send('{"id":' * 10_000 + "1" + "}" * 10_000), 422),
    Fault("20,000 names in a body", lambda w: w.send("{" + ",".join(f'"{i}": 1' for i in range(20_000)) + "}"), 422),
    Fault("more half requests than connections", crowd(HALF, most=10), 503),
    Fault("more half bodies than connections", crowd(HALF_BODY % TOKEN.encode(), most=10), 503),
    Fault("many wrong tokens at once", crowd(WRONG), 200),
    Fault("a length that is stated in two ways", twice, 400),
    Fault("a cost of 1e15, stated by a client", costs(False), 422, says={"field": "known.cents"}),
    Fault("a cost of 1e15, where clients may state costs", costs(True), 422, says={"field": "known.cents.letter"}),
    Fault("a cost of 1e15 in a column of the case", column, 422, says={"field": "postage"}),
    Fault("null for every outcome", outcome('{"answer": null, "cents": null}'), 422, says={"field": "outcomes"}),
    Fault("null for every play", outcome("[null]"), 422, says={"field": "outcomes"}),
    Fault("an outcome under an unknown key", lambda w: w.send('{"key": "nobody", "outcomes": {"answer": 1}}'), 404),
    Fault("an outcome of a decision that a restore lost", lost, 404, ("decided",), {"state": "lost"}),
    Fault("an outcome of an erased decision", erased(lambda w: w.observe(w.seen, {"answer": 0, "cents": 2}, True)), 409,
          ("erased",)),
    Fault("an erased key", erased(lambda w: w.letter("seen")), 200, ("erased", "decided"), {"repeated": False}),
    Fault("an erased decision is looked up", erased(lambda w: w.client.get(f"/decisions/{w.seen}")), 200, ("erased",),
          {"state": "erased", "key": "", "outcomes": {"answer": 1, "cents": 1}}),
    Fault("an erasure that is said twice", erased(lambda w: w.erase("seen")), 200, ("erased",),
          {"erased": 0, "unknown": ["seen"]}),
    Fault("an erasure of a decision that waits", lambda w: w.erase("waits"), 409),
    Fault("an erasure while another program reads the file", unclean, 200, ("erased",),
          {"erased": 0, "unknown": ["seen"]}),
    Fault("an erasure that the policy cannot make", unfit, 409),
    Fault("an erasure at a server without a token",
          lambda w: w.send('{"keys": ["seen"], "by": "anna", "why": "so"}', "/erase"), 403),
    Fault("a probe while the store takes no writes", unready, 503, says={"ready": False}),
    Fault("a decision while the campaign is paused", paused, 503, ("paused", "resumed")),
    Fault("an outcome while the campaign is paused", seen_while("pause", "resume"), 200,
          ("paused", "observed", "resumed"), {"new": True}),
    Fault("a decision after the campaign has ended", ended, 410, ("ended",)),
    Fault("an outcome after the campaign has ended", seen_while("end"), 200, ("ended", "observed"), {"new": True}),
    Fault("a pause of a paused campaign", twice_paused, 200, ("paused", "resumed"), {"new": False}),
    Fault("a pause without a reason", lambda w: w.change("pause", why=""), 422, says={"field": "why"}),
    Fault("a script as a key", script, 200, ("decided",)),
    Fault("a foreign Host", from_(Host="evil.example"), 400),
    Fault("a page of another site", from_(**{"Sec-Fetch-Site": "cross-site"}), 403),
    Fault("a token without the role", token(1, roles=("read", "observe")), 403),
    Fault("more decisions than the quota of a token", token(2, decisions_per_minute=1), 429, ("decided",)),
    Fault("a form in place of JSON", from_(**{"Content-Type": "text/plain"}), 415),
    Fault("a foreign Origin", from_(Origin="http://evil.example"), 403),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_and_nothing_overspent(fault, tmp_path, monkeypatch):
    with World(tmp_path / "store", monkeypatch, fault.mode).served() as world:
        before = world.log()
        assert world.budget() == (1.0, 3.0, 4.0)
        said = fault.provoke(world)
        status = said if isinstance(said, int) else said.status_code
        assert status == fault.status, said.text
        if not isinstance(said, int):
            assert fault.says.items() <= said.json().items()
            assert str(tmp_path) not in said.text
            assert "Traceback" not in said.text
        world.check(before, fault.new)


def test_the_page_has_every_row_of_the_table():
    lines = [line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    found = {name.strip(): cells[1] for cells in lines for name in cells[0].split(";") if name.strip() != "fault"}
    assert list(found) == [fault.name for fault in FAULTS]
    for fault in FAULTS:
        assert fault.status in [int(z) for z in re.findall(r"\d{3}", found[fault.name])], fault.name
