"""A store in PostgreSQL keeps to the contract, for any number of processes and threads."""

import json
import subprocess
import sys
import threading
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Campaign, Conflict
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.logs import Query
from evenhand.replay import read_log
from tests.live.schedules import WORST, learned, plain
from tests.live.servers import asked
from tests.polling import LONG, until
from tests.replay import shop

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [plain, learned])
def test_a_campaign_decides_as_in_memory(url, make, seed):
    told = []
    for place in (connect(url), MemoryStore()):
        campaign = Campaign.open(place, "one", make(), seed=seed)
        replies = [campaign.decide({"age": 20 + 5 * i}, key=f"key {i}") for i in range(8)]
        for reply in replies[::2]:
            if reply.action is not None:
                campaign.observe(reply.id, {"answer": 0, "cents": 0})
        replies += [campaign.decide({"age": 33}, key=f"late {i}") for i in range(8)]
        told.append([(r.id, r.action, r.probability, r.explanation) for r in replies])
        told[-1].append(str(campaign.status()))
    assert told[0] == told[1]


def spend(url, name, ready):
    """Decide as fast as another process does."""
    campaign = Campaign.open(url, "last", plain("last", WORST, 10**6))
    ready.wait(LONG)
    for i in range(25):
        campaign.decide({"age": 33}, key=f"{name} {i}")


@pytest.mark.slow
def test_two_processes_share_the_last_unit_of_a_budget(url):
    spawn = get_context("spawn")
    ready = spawn.Barrier(2)
    workers = [spawn.Process(target=spend, args=(url, name, ready)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    campaign = Campaign.open(url, "last", plain("last", WORST, 10**6))
    found = campaign.decisions()
    assert len(found) == 50
    (account,) = campaign.status().accounts.values()
    assert account.held == WORST
    assert found["action"].isin(["letter", "gift"]).sum() == 1


@pytest.mark.slow
def test_workers_that_are_killed_lose_nothing(url):
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.kills", "15", "0", url], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert '"kills": 15' in done.stdout


def test_one_key_from_eight_threads_has_one_decision(url):
    told, failed = [], []
    place = connect(url)
    campaigns = [Campaign.open(place, "one", plain()) for _ in range(8)]

    def ask(campaign):
        try:
            told.append(campaign.decide({"age": 33}, key="same"))
        except BaseException as error:
            failed.append(error)

    together([partial(ask, campaign) for campaign in campaigns])
    assert not failed
    assert len({reply.id for reply in told}) == 1
    assert sorted(reply.repeated for reply in told) == [False] + 7 * [True]


def together(calls):
    """Call at the same time."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_eight_that_open_an_empty_database_at_once_make_the_tables_once(url):
    made = []
    together(8 * [lambda: made.append(connect(url))])
    assert len(made) == 8
    assert [list(one.campaigns()) for one in made] == 8 * [[]]


def test_keys_are_kept_as_they_were_given(url):
    campaign = Campaign.open(url, 'it\'s "one"; --', plain())
    keys = ["it's", '"', "'; DROP TABLE evenhand_events; --", "%s %(x)s", "\\", "😀 é", "é", " key", "key", "\n"]
    first = [campaign.decide({"age": 33}, key=key) for key in keys]
    assert len({reply.id for reply in first}) == len(keys)
    assert [campaign.decide({"age": 33}, key=key).id for key in keys] == [reply.id for reply in first]
    with pytest.raises(InvalidInput, match="NUL"):
        campaign.decide({"age": 33}, key="a\0b")


def test_a_text_with_nul_is_refused_by_the_store(store):
    with pytest.raises(InvalidInput, match="NUL"), store.write("one") as log:
        log.append("decided", "{}", key="a\0b")
    assert len(list(store.scan("one"))) == 1


@pytest.mark.parametrize("forbidden", ["UPDATE {} SET body = '[]'", "DELETE FROM {}", "TRUNCATE {}"])
def test_a_log_can_only_be_appended_to(store, url, forbidden):
    with asked(url) as db, pytest.raises(psycopg.Error, match="append only"):
        db.execute(forbidden.format("evenhand_events"))
    assert len(list(store.scan("one"))) == 1


def test_a_conflict_leaves_the_rest_of_a_transaction_whole(store):
    with store.write("one") as log:
        log.append("decided", "{}", key="a")
        for kind, more in (("decided", {"key": "a"}), ("observed", {"ref": 99}), ("decided", {"ref": 2, "key": "b"})):
            with pytest.raises(Conflict):
                log.append(kind, "{}", **more)
        log.append("observed", "{}", ref=2)
    assert [e.kind for e in store.scan("one")] == ["opened", "decided", "observed"]


FORKED = """
import os, sys
from evenhand.live.stores.opening import connect
from evenhand.logs import Query
from evenhand.replay import read_log
store = connect(sys.argv[1])
with store.write("one") as log:
    log.append("opened", "{}")
    number = os.fork()
    if number == 0:  # the transaction belongs to the other process
        with store.write("two") as log:
            log.append("opened", "{}")
        os._exit(0)
    assert os.waitpid(number, 0)[1] == 0
    log.append("switched", "{}")
assert list(store.campaigns()) == ["one", "two"]
assert len(list(store.scan("one"))) == 2
"""


def test_a_process_that_was_forked_has_its_own_connection(url):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKED, url], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_threads_that_end_close_their_connections(store, url):
    def sessions():
        with asked(url) as db:
            return db.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchone()[
                0
            ]

    before = sessions()
    for _ in range(5):
        together(4 * [lambda: list(store.scan("one"))])
    until(lambda: sessions() <= before)


def test_what_was_erased_is_in_no_table_of_the_server(url):
    """Rows as they were before the erasure stay in the files of tables until these are written anew."""
    tables = ("evenhand_events", "evenhand_snapshots")
    campaign = Campaign.open(url, "one", plain("wide", 1e6, 10**6))
    for i in range(20):
        said = campaign.decide({"age": 20 + i}, key=f"Ada-Lovelace-{i}")
        campaign.observe(said.id, {"answer": 0, "cents": 0})

    def traces():
        with asked(url) as db:
            db.execute("CHECKPOINT")
            paths = [db.execute("SELECT pg_relation_filepath(%s)", (z,)).fetchone()[0] for z in tables]
            (folder,) = db.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
        return sum((Path(folder) / path).read_bytes().count(b"Ada-Lovelace") for path in paths)

    assert traces() >= 20
    campaign.erase([f"Ada-Lovelace-{i}" for i in range(20)], by="support", why="asked for")
    assert traces() == 0
    assert campaign.decide({"age": 30}, key="next").id > 0


def test_tables_that_cannot_be_written_anew_are_said_and_cleaned_later(url):
    """They are read by another session meanwhile, or belong to another role: the log has the erasure."""
    campaign = Campaign.open(connect(url), "one", plain("wide", 1e6, 10**6))
    for i in range(3):
        said = campaign.decide({"age": 20 + i}, key=f"key {i}")
        campaign.observe(said.id, {"answer": 0, "cents": 0})
    with asked(url) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM evenhand_events").fetchone()
        with pytest.raises(Busy, match="lock timeout"):
            campaign.erase(["key 0"], by="support", why="asked for")
    assert campaign.erase().decisions == ()
    with asked(url) as owner:
        (place,) = owner.execute("SELECT current_schema()").fetchone()
        role = f"clerk_{place}"
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {place} TO {role}")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO {role}")
        clerk = Campaign.open(f"{url}&user={role}", "one", plain("wide", 1e6, 10**6))
        with pytest.raises(Busy, match=r"permission denied to vacuum .*; its old rows have traces of what was erased"):
            clerk.erase(["key 1"], by="support", why="asked for")
        clerk.close()
        owner.execute(f"DROP OWNED BY {role}")
        owner.execute(f"DROP ROLE {role}")
    assert campaign.erase().decisions == ()
    erased = [json.loads(e.body)["decisions"] for e in connect(url).scan("one", kinds=("erased",))]
    assert len(erased) == 2


def test_a_query_of_a_log_is_read_as_its_file(url, tmp_path):
    """Decimal numbers and dates have types of their own in PostgreSQL, and `%` stands for itself without parameters."""
    pytest.importorskip("pyarrow")
    problem = shop.PROBLEM.replace('numeric = ["age"]', 'numeric = ["age"]\ndates = ["born"]')
    rows = [[*line, f"19{80 + i % 20}-03-0{1 + i % 9}"] for i, line in enumerate(shop.rows(300))]
    log, toml = shop.write(tmp_path, rows, problem, [*shop.HEADER, "born"])
    with psycopg.connect(url) as connection:
        connection.execute(
            "create table log (age numeric(5, 1), town text, letter text, visit int, p float8, born date)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("insert into log values (%s, %s, %s, %s, %s, %s)", rows)
        found = read_log(Query(connection, "select * from log where town like '%o%'"), toml)
        young = read_log(Query(connection, "select * from log where age < %s", [40]), toml)
    expected = read_log(log, toml)
    for name in ("units", "actions", "outcomes"):
        assert getattr(found.encoded, name)[:].tobytes() == getattr(expected.encoded, name)[:].tobytes()
    assert len(young) == sum(float(row[0]) < 40 for row in rows)
