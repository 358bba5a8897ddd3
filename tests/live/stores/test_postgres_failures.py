"""A store in PostgreSQL is `Busy` where its server, a lock or a connection is not there, and goes on afterwards."""

import socket
import sys
import time
from contextlib import suppress

import pytest

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.live import Busy, Campaign
from evenhand.live.stores._clock import Watch
from evenhand.live.stores.opening import connect
from tests.live.schedules import plain
from tests.live.servers import asked, running

psycopg = pytest.importorskip("psycopg")
from evenhand.live.stores.postgresql import PostgresStore  # noqa: E402 - needs psycopg


def end_sessions(url):
    """End all sessions of the server, as its operator does."""
    with asked(url) as db:
        others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        db.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")


def test_a_session_that_ends_in_a_transaction_is_busy_and_the_next_verb_has_a_new_one(store, url):
    def append(ended_before_commit):
        with store.write("one") as log:
            log.append("switched", "{}")
            end_sessions(url)
            if not ended_before_commit:
                log.append("switched", "{}")

    with pytest.raises(Busy):
        append(ended_before_commit=False)
    with store.write("one") as log:
        assert log.last == 1
        log.append("switched", "{}")
    with pytest.raises(Busy):
        append(ended_before_commit=True)
    assert len(list(store.scan("one"))) == 2


def test_a_worker_goes_on_after_its_session_ended(url):
    campaign = Campaign.open(url, "one", plain())
    campaign.decide({"age": 33}, key="a")
    end_sessions(url)
    with pytest.raises(Busy, match="same key"):
        campaign.decide({"age": 33}, key="b")
    assert campaign.decide({"age": 33}, key="b").id == 3


def test_a_server_that_stopped_is_busy_at_once_and_decides_nothing():
    with running() as server:
        campaign = Campaign.open(server.get_uri(), "one", plain())
        campaign.decide({"age": 33}, key="a")
        server.stop()
        for _ in range(2):
            with pytest.raises(Busy):
                campaign.decide({"age": 33}, key="b")
        with pytest.raises(Busy):
            connect(server.get_uri())
        server.start()
        reply = campaign.decide({"age": 33}, key="b")
        assert (reply.id, reply.repeated) == (3, False)
        assert [e.key for e in campaign.events()] == [None, "a", "b"]


def test_a_lock_that_another_transaction_holds_is_busy(store, url):
    with asked(url) as db:
        db.execute("BEGIN")
        db.execute("SELECT 1 FROM evenhand_heads WHERE campaign = 'one' FOR UPDATE")
        began = time.monotonic()
        with pytest.raises(Busy, match="lock timeout"), store.write("one") as log:
            log.append("switched", "{}")
        assert time.monotonic() - began > 0.2
        with store.write("other") as log:  # campaigns do not wait for each other
            log.append("opened", "{}")
        db.execute("ROLLBACK")
    with store.write("one") as log:
        assert log.last == 1


def test_a_reply_to_a_commit_that_is_lost_is_busy_and_the_same_key_finds_the_decision(url, monkeypatch):
    from evenhand.live.stores import postgresql as postgres

    campaign, commit = Campaign.open(url, "one", plain()), postgres._Log.commit

    def lost(log, before):
        commit(log, before)
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(postgres._Log, "commit", lost)
    with pytest.raises(Busy):
        campaign.decide({"age": 33}, key="a")
    monkeypatch.undo()
    assert campaign.decide({"age": 33}, key="a").repeated
    assert campaign.decide({"age": 33}, key="b").id == 3


def test_a_transaction_that_failed_is_not_taken_for_committed(store):
    with pytest.raises(Busy, match="transaction failed"), store.write("one") as log, suppress(psycopg.Error):
        log._db.execute("SELECT 1 / 0 FROM nowhere")
    assert len(list(store.scan("one"))) == 1


def test_a_transaction_within_another_one_of_the_thread_is_busy(store):
    with store.write("one") as log:
        with pytest.raises(Busy, match="in a transaction"), store.write("two"):
            pass
        log.append("switched", "{}")
    assert len(list(store.scan("one"))) == 2


def test_a_clock_of_the_server_that_jumps_is_busy(store, url):
    passed = iter((4000 * 10**6, 0))  # as seen from here, the other clock is ahead
    store._watch = Watch(passed=lambda: next(passed))
    with asked(url) as db:  # the last event is old
        db.execute("UPDATE evenhand_heads SET at = at - 7200000000")
    with store.write("one"):
        pass
    with pytest.raises(Busy, match=r"jumped by (4000|3999) seconds"), store.write("one"):
        pass


@pytest.mark.parametrize(
    "bad",
    [
        "postgresql://me:secret@127.0.0.1:1/x?connect_timeout=2",
        "postgresql://me:secret@127.0.0.1:port/x",
        "postgresql://me:sec ret@[::1/x",
        "postgresql://127.0.0.1:1/x?password=secret&nothing=1",
        "postgresql+driver://me:secret@127.0.0.1/x",
        "mysql://127.0.0.1/x?password=secret",
    ],
)
def test_no_error_has_a_password(bad):
    with pytest.raises((Busy, InvalidInput)) as found:
        connect(bad)
    error = found.value
    while error is not None:
        assert "secret" not in f"{error!r} {error}"
        assert "sec ret" not in f"{error!r} {error}"
        error = error.__cause__


def test_a_database_of_another_encoding_is_refused(server):
    with asked(server.get_uri()) as db:
        db.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(InvalidInput, match="UTF8, got SQL_ASCII"):
        connect(server.get_uri(database="plain"))


def test_a_server_that_never_answers_is_busy_within_bounds():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Busy, match="timeout"):
        PostgresStore(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x", timeout=2)


def test_an_unknown_kind_of_store_is_told_which_there_are():
    with pytest.raises(InvalidInput, match="sqlite:///FILE, postgresql://HOST/DATABASE or memory://"):
        connect("redis:there")


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in ("postgresql", "_postgresql_sessions"):
        monkeypatch.delitem(sys.modules, f"evenhand.live.stores.{name}", raising=False)
    with pytest.raises(MissingExtra, match=r"evenhand\[postgresql\]"):
        connect("postgresql:///x")
