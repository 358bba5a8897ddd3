"""A campaign behind HTTP, as tests ask it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import httpx

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.http.server import server as made_server
from evenhand.live.stores.sqlite import SqliteStore

SHOP = eh.Problem(
    actions=("none", "letter"),
    features=(eh.Numeric("age", 20, 60),),
    horizon=1000,
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=8000), eh.Parity("cents", by="zone", tolerance=40.0)),
    groups=(eh.Groups("zone", ("town", "land")),),
)
CASE = {"age": 33, "zone": "land"}


def opened(folder, patience=86_400.0, timeout=1.5):
    """A campaign in a file."""
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    return Campaign.open(SqliteStore(folder / "log.db", timeout=timeout), "shop", policy, patience=patience)


def asked(key, **more):
    """The body of a decision."""
    return {"key": key, "case": CASE, **more}


def events(campaign, kind="decided"):
    """All events of a kind."""
    return [event for event in campaign.events() if event.kind == kind]


@contextmanager
def serving(made, most=None):
    """A client of an app that runs in a thread of its own, at a port that is free."""
    server = made_server(made, most, port=0, log_level="critical", lifespan="auto")
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False, timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
