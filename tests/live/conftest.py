"""A server of PostgreSQL, counts of compiled steps and folded events, and a warning that most campaigns here give."""

import signal
from itertools import count
from pathlib import Path

import pytest

from evenhand.core.views import alike
from evenhand.live.fold.fold import Fold
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.policy.kernels import events as entering
from tests.live.servers import running, schema
from tests.polling import LONG

HERE = Path(__file__).parent
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells have it in the background; tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
_number = count()


def pytest_collection_modifyitems(items):
    """Most campaigns here hold what is overdue, and are warned of it; `test_opening` looks at the warning."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:budget .* holds its worst case for good"))


@pytest.fixture(autouse=True)
def _nothing_in_between(monkeypatch):
    """Servers do nothing on their own while a test looks; `test_upkeep` tests that they do."""
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.INTERVAL", 3600.0)
    monkeypatch.setattr("evenhand.live.http.service.SOON", LONG)  # metrics are of the present on a busy machine as well


@pytest.fixture(scope="session")
def server():
    """A server of PostgreSQL for all tests of this process."""
    with running() as found:
        yield found


@pytest.fixture
def url(server):
    """A schema of its own."""
    return schema(server, f"s{next(_number)}")


@pytest.fixture
def store(url):
    """A store in PostgreSQL with a campaign, which waits for a lock for a moment only."""
    pytest.importorskip("psycopg")
    from evenhand.live.stores.postgresql import PostgresStore

    made = PostgresStore(url, timeout=0.3)
    with made.write("one") as log:
        log.append("opened", "{}")
    return made


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request, tmp_path):
    """A store of each kind."""
    if request.param == "postgresql":
        pytest.importorskip("psycopg")
        return connect(request.getfixturevalue("url"))
    return MemoryStore() if request.param == "memory" else connect(f"sqlite:///{tmp_path}/one.db")


@pytest.fixture
def entered(monkeypatch):
    """Counts the steps that kernels entered, whose views are of the arrays that are in the state by then."""
    found, run = [], entering.StepEntry.run

    def counted(self, steps, first):
        if self._entry is not None:
            assert alike(self._views, entering.entry_views(self._policy, self._state))
        reached = run(self, steps, first)
        found.append(reached - first)
        return reached

    monkeypatch.setattr(entering.StepEntry, "run", counted)
    return found


@pytest.fixture
def folded(monkeypatch):
    """The numbers of the events that are folded."""
    found, apply = [], Fold.apply
    monkeypatch.setattr(Fold, "apply", lambda self, event, *more: (found.append(event.seq), apply(self, event, *more)))
    return found
