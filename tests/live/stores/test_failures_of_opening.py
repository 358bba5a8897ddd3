"""A store that is opened by its URL is closed where opening a campaign or a pool in it fails; a given one is not."""

import pytest

import evenhand as eh
from evenhand.live import Conflict, Pool, Unknown, open_leased
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.fold.test_switch import OLD
from tests.live.lease_worlds import PROBLEM

OTHER = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A place with a campaign that has budgets of its own, one of Python, and a pool."""
    return Place(tmp_path, monkeypatch)


class Place:
    def __init__(self, folder, monkeypatch):
        self.url, self.file, self.changed = f"sqlite:///{folder}/log.db", folder / "problem.toml", folder / "other.toml"
        self.file.write_text(PROBLEM)
        self.changed.write_text(PROBLEM.replace('["age"]', '["age", "height"]'))
        with eh.live.open_campaign(self.url, "north", self.file, on_expiry="fallback"):
            pass
        with eh.Campaign.open(self.url, "shop", OLD):
            pass
        self.pool = Pool.begin("memory://", "all", {"cents": 60.0}, rounds=200)
        with Pool.begin(self.url, "own", {"cents": 60.0}, rounds=200):
            pass
        self.closed, close = [], SqliteStore.close
        monkeypatch.setattr(SqliteStore, "close", lambda store: (self.closed.append(store), close(store)))

    def fail(self, how, store):
        """Fail to open something in a store."""
        cases = {
            "leased": lambda: open_leased(self.pool, store, "north", self.file, terms={"on_expiry": "fallback"}),
            "file": lambda: eh.live.open_campaign(store, "north", self.changed),
            "switch": lambda: eh.live.switch_campaign(store, "nobody", self.file),
            "python": lambda: eh.Campaign.open(store, "shop", eh.uniform(OTHER, 1)),
            "pool": lambda: Pool.open(store, "nobody"),
            "new pool": lambda: Pool.begin(store, "own", {"cents": 50.0}, rounds=200),
        }
        with pytest.raises((Conflict, Unknown)):
            cases[how]()


HOW = ["leased", "file", "switch", "python", "pool", "new pool"]


@pytest.mark.parametrize("how", HOW)
def test_a_store_that_was_opened_here_is_closed(place, how):
    place.fail(how, place.url)
    assert len(place.closed) == 1


@pytest.mark.parametrize("how", HOW)
def test_a_store_that_was_given_stays_open(place, how):
    store = connect(place.url)
    place.fail(how, store)
    assert place.closed == []
    assert "north" in store.campaigns()
    store.close()
