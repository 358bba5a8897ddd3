"""A campaign behind HTTP to which something happens: a budget with room for one more letter, and all that is known."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

from evenhand.live import Campaign
from evenhand.live.http import app
from evenhand.live.stores._clock import Watch
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http_campaign import serving
from tests.live.ledger import Ledger
from tests.live.schedules import WORST, plain, unerased
from tests.live.store_failures import Striking
from tests.polling import LONG

TOTAL, PATIENCE = 8.0, 1000.0
SECRET = "a secret of this test"

KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
import uvicorn
from evenhand.live import Campaign
from evenhand.live.http import app
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http.faults import policy

path, moment, mode = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Mortal(SqliteStore):
    @contextmanager
    def write(self, campaign):
        with super().write(campaign) as log:
            before = log.last
            yield log
            if log.last > before and moment == "before the commit":
                die()
        if log.last > before and moment == "after the commit":
            die()

made = app(Campaign.open(Mortal(path), "one", policy(), on_expiry=mode))

async def mortal(scope, receive, send):
    async def answer(message):
        if moment == "before the reply" and scope["path"] == "/decide":
            die()
        await send(message)
    await made(scope, receive, answer)

server = uvicorn.Server(uvicorn.Config(mortal, port=0, log_level="critical"))
startup = server.startup
async def started(sockets=None):
    await startup(sockets)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
server.startup = started
server.run()
"""


def policy(name="faults"):
    """Draws actions within the budget."""
    return plain(name, TOTAL, 1000)


class Limited(SqliteStore):
    """A file with a setting for all of its connections, such as that it is full."""

    setting = ""

    @property
    def _db(self):
        found = super()._db
        if self.setting:
            found.execute(self.setting)
        return found


class World:
    """One campaign: a decision that was observed, one that waits and one that was cancelled; all are letters.

    Of 8 units one is spent and 3 are held, so that one more letter fits, and not two.
    """

    def __init__(self, folder, monkeypatch, mode="hold"):
        self.folder, self.mode = folder, mode
        self.clock, self.passed = [time.time_ns() // 1000], [0]
        monkeypatch.setattr("evenhand.live.stores.sqlite.clock", lambda: self.clock[0])
        folder.mkdir()
        self.store = Striking(Limited(folder / "log.db", timeout=0.2))
        self.store.inner._watch = Watch(passed=lambda: self.passed[0])
        self.campaign = self.opened()
        self.replies = {}
        self.client: httpx.Client

    @contextmanager
    def served(self):
        """Serve it."""
        with serving(app(self.campaign)) as self.client:
            self.gone = self.letter("gone").json()["id"]
            assert self.cancel(self.gone).json() == {"new": True}
            self.seen, self.waits = (self.letter(key).json()["id"] for key in ("seen", "waits"))
            assert self.observe(self.seen, {"answer": 1, "cents": 1}).json() == {"new": True}
            yield self

    def opened(self, store=None):
        """A worker of its own."""
        both = policy("next"), policy()
        return Campaign.open(store or self.store, "one", both, patience=PATIENCE, on_expiry=self.mode)

    def overdue(self):
        """Wait until outcomes are overdue."""
        for time_ in (self.clock, self.passed):
            time_[0] += int(PATIENCE * 1e6) + 1

    def letter(self, key, client=None):
        """Ask for a letter; nothing is played where none fits."""
        body = {"key": key, "case": {"age": 33}, "offered": ["letter"]}
        said = (client or self.client).post("/decide", json=body)
        if said.status_code == 200:
            told = {**said.json(), "repeated": False}
            assert self.replies.setdefault(key, told) == told, "the same key has the same reply"
        return said

    def observe(self, number, outcomes, revise=False):
        return self.client.post("/observe", json={"id": number, "outcomes": outcomes, "revise": revise})

    def cancel(self, number):
        return self.client.post("/cancel", json={"id": number})

    def erase(self, key):
        """Erase a decision, at another server, which has a token."""
        with serving(app(self.opened(self.store.inner), token=SECRET)) as client:
            body = {"keys": [key], "by": "anna", "why": "it is asked for"}
            said = client.post("/erase", json=body, headers={"Authorization": f"Bearer {SECRET}"})
        if said.status_code != 409:  # the key is gone, also where the file is not clean yet
            self.replies.pop(key, None)
        return said

    def change(self, verb, why="the printer is broken"):
        """Pause, resume or end the campaign."""
        return self.client.post(f"/{verb}", json={"by": "anna", "why": why})

    def send(self, text, path="/observe"):
        """A body as text, in which WAITS is the decision that waits."""
        return self.client.post(path, content=text.replace("WAITS", str(self.waits)))

    def log(self):
        return list(self.store.inner.scan("one"))

    def kill(self, moment):
        """Ask a server for a letter that is killed at a moment, then another one, with the same key."""
        code = [sys.executable, "-c", KILLED, str(self.folder / "log.db"), moment, self.mode]
        before = len(self.log())
        with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as process:
            try:
                url = f"http://127.0.0.1:{int(process.stdout.readline())}"
                client = httpx.Client(base_url=url, trust_env=False, verify=False, timeout=60)
                with client, pytest.raises(httpx.TransportError):
                    self.letter("killed", client)
                assert process.wait(LONG) == -9
            finally:
                process.kill()
        assert len(self.log()) - before == (moment != "before the commit")
        return self.letter("killed")

    def budget(self, campaign=None):
        """What is spent and held, as told over HTTP or by a worker."""
        if campaign is None:
            (told,) = self.client.get("/report").json()["budgets"].values()
            return told["spent"], told["held"], told["left"]
        (account,) = campaign.status().accounts.values()
        return account.spent, account.held, account.left

    def check(self, before, new):
        """Require that nothing is lost and nothing overspent, that all workers agree, and that the server goes on."""
        spent, held, left = self.budget()
        after = self.log()
        assert unerased(before, after), "what was in the log is lost"
        kinds = [event.kind for event in after[len(before) :]]
        assert tuple(kind for kind in kinds if kind != "refolded") == new  # corrections are learned in between
        assert [event.seq for event in after] == list(range(1, len(after) + 1))
        ledger = Ledger(self.mode, TOTAL, WORST, 1.0, PATIENCE)
        for event in after[1:]:
            ledger._take(event)  # which refuses a decision that may overspend
        assert (spent, held) == pytest.approx((ledger.spent(), ledger.held()))
        assert left == pytest.approx(TOTAL - spent - held)
        assert self.budget(self.opened()) == pytest.approx((spent, held, left)), "a new worker has another budget"
        for key in list(self.replies):
            assert self.letter(key).json()["repeated"] is True, "what was answered is lost"
        assert [event for event in self.log()[len(after) :] if event.kind != "refolded"] == []
        goes_on = self.letter("afterwards")
        if new[:1] == ("ended",):
            assert goes_on.status_code == 410
            return
        goes_on = goes_on.json()
        assert goes_on["action"] == ("letter" if left >= WORST else None)
