"""Ctrl-C in the middle of a verb: nothing is held, and the same object goes on."""

import os
import signal
import sqlite3
import threading
import time

import pytest

import evenhand as eh
from evenhand.live.stores.sqlite import SqliteStore

COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)


def test_ctrl_c_while_the_file_is_locked_leaves_no_transaction_open(tmp_path):
    store, policy = SqliteStore(tmp_path / "log.db"), eh.uniform(COIN, 1)
    campaign = eh.Campaign.open(store, "coins", policy)
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)  # noticed when SQLite has its lock and returns
        time.sleep(0.2)
        other.execute("ROLLBACK")

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        campaign.decide({}, key="first")
    thread.join()
    assert not store._db.in_transaction
    assert campaign.decide({}, key="first").id == 2
    assert eh.live.audit(store, "coins", [policy]).clean


def test_a_transaction_that_was_left_open_is_rolled_back_first(tmp_path):
    store, policy = SqliteStore(tmp_path / "log.db"), eh.uniform(COIN, 1)
    campaign = eh.Campaign.open(store, "coins", policy)
    store._db.execute("BEGIN IMMEDIATE")
    assert campaign.decide({}, key="first").id == 2
    assert SqliteStore(tmp_path / "log.db").campaigns() == ["coins"]
