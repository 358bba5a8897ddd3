"""Workers of campaigns under one pool that are killed at random moments, whatever they were doing.

By hand: `python -m tests.live.lease_kills 300 [SEED [sqlite | postgresql]]`; a server of PostgreSQL is started for it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from evenhand.live import Busy, Pool, open_leased, settle_lease
from evenhand.live.campaigns.commands import audit_files
from evenhand.live.fold.lease import lease_of
from evenhand.live.leases.settlement import switch_totals
from evenhand.live.stores.opening import connect
from tests.live.killers import forked, kill_workers, replies, teller
from tests.live.lease_worlds import PROBLEM, TOTAL, check_campaign, check_pool, check_together
from tests.live.servers import running, schema

NAMES = ("north", "south")
WORKERS = 2  # of each campaign


def opened(folder, urls, name):
    while True:
        with suppress(Busy):
            pool = Pool.open(urls["pool"], "all")
            return pool, open_leased(pool, urls[name], name, folder / "problem.toml", terms={"on_expiry": "fallback"})


def give_back(campaign, luck):
    """Return some of what is left by chance, as no share would: the pool grants it anew."""
    lease = lease_of(campaign.encoder)
    left = campaign.status().accounts["cents"].left
    part = int(left / 2.0 ** lease.exponents["cents"] * luck.random())
    switch_totals(campaign, replace(lease, returned={"cents": lease.returned["cents"] + max(part, 0)}))


def serve(folder, urls, name, own, seed):
    """Decide, observe, and settle until killed; every reply is on disk before the next question."""
    luck, tell = random.Random(seed), teller(folder, own)
    pool, campaign = opened(folder, urls, name)
    known = []
    while True:
        try:
            n = max(int(campaign._worker.fold.state.t[0]) + luck.randrange(-3, 5), 0)
            reply = campaign.decide({"age": 20 + n % 40}, key=f"key {n}")
            tell(name, reply.id, reply.key, reply.action)
            if reply.action is not None and not reply.repeated:
                known.append((reply.id, reply.action))
            if known and luck.random() < 0.9:
                ref, action = known.pop(luck.randrange(len(known)))
                spends = action == "letter"
                campaign.observe(ref, {"answer": luck.randrange(2), "cents": luck.randrange(4) if spends else 0})
            if luck.random() < 0.2:
                give_back(campaign, luck)
            if luck.random() < 0.3:
                settle_lease(campaign, pool)
        except Busy:
            pass


def kill_many(folder, kills, urls, seed=0):
    """Kill workers at random moments, each replaced by a new one; returns what came of it in numbers."""
    luck, began = random.Random(seed), time.monotonic()
    (folder / "problem.toml").write_text(PROBLEM)
    warm_up(folder)
    Pool.begin(urls["pool"], "all", {"cents": TOTAL}, rounds=10_000).close()

    def starts(name):
        return lambda own, seed: forked(folder, own, serve, folder, urls, name, own, seed)

    team = [starts(name) for name in NAMES for _ in range(WORKERS)]
    kill_workers(folder, kills, luck, team, pauses=(0.05, 1.0))
    return {"kills": kills, **check(folder, urls), "seconds": round(time.monotonic() - began, 1)}


def check(folder, urls):
    """Compare replies with logs, and the books with each other, as the kills left them and after all was settled."""
    found = books(folder, urls)
    pool, each = Pool.open(urls["pool"], "all"), []
    for name in NAMES:
        campaign = open_leased(pool, urls[name], name, folder / "problem.toml", terms={"on_expiry": "fallback"})
        campaign.end(by="test", why="the end")
        while settle_lease(campaign, pool):
            pass
        each.append(campaign)
    ledger = pool.ledger()
    leases = [lease_of(z.encoder) for z in each]
    lines = [ledger.lines[name] for name in NAMES]
    for line, lease in zip(lines, leases, strict=True):
        assert (line.granted, line.collected) == (lease.taken, lease.returned), "something is still under way"
    after = books(folder, urls)
    unit = 2.0 ** leases[0].exponents["cents"]
    held = sum(lease.held["cents"] for lease in leases) * unit
    assert ledger.free("cents") + held == TOTAL, "exactly: nothing is lost, and nothing is there twice"
    assert after["used"] <= held <= after["used"] + 4 * unit, "campaigns kept no more than what they used"
    for name in NAMES:
        proven = audit_files(urls[name], name)
        assert proven.clean, str(proven)
    return {**found, "left in the pool": round(ledger.free("cents"), 6)}


def books(folder, urls):
    """Check the raw logs against each other."""
    logs = {name: list(connect(urls[name]).scan(name)) for name in NAMES}
    pool = list(connect(urls["pool"]).scan("all"))
    unit = 2.0 ** json.loads(logs["north"][0].body)["encoding"]["lease"]["exponents"]["cents"]
    lines, seen = check_pool(pool, unit)
    found = {name: check_campaign(logs[name], seen[name]) for name in NAMES}
    check_together([moves for _, moves in found.values()])
    own = {
        (name, e.seq): (e.key, json.loads(e.body)["a"][0]) for name in NAMES for e in logs[name] if e.kind == "decided"
    }
    told = list(replies(folder))
    for name, ref, key, action in told:
        played = {None: -1, "none": 0, "letter": 1}[action]
        assert own[name, ref] == (key, played), f"decision {ref} of {name} was replied, and is another one"
    under_way = sum(
        lines[name][0] - moves[-1].taken + moves[-1].returned - lines[name][1] for name, (_, moves) in found.items()
    )
    return {
        "replies": len(told),
        "decisions": len(own),
        "grants": sum(len({z[0] for z in seen[name]}) - 1 for name in NAMES),
        "returns": sum(len({m.returned for m in moves}) - 1 for _, moves in found.values()),
        "used": sum(used for used, _ in found.values()),
        "under way": round(under_way * unit, 6),
    }


def warm_up(folder):
    """Compile kernels before processes are forked."""
    pool = Pool.begin("memory://", "warm", {"cents": 100.0}, rounds=100)
    campaign = open_leased(pool, "memory://", "warm", folder / "problem.toml", terms={"on_expiry": "fallback"})
    for i in range(3):
        reply = campaign.decide({"age": 20}, key=str(i))
        campaign.observe(reply.id, {"answer": 0, "cents": 0})
    give_back(campaign, random.Random(0))
    settle_lease(campaign, pool)
    campaign.snapshot()


@contextmanager
def stored(kind, folder):
    """The URLs of the stores of the campaigns and of the pool."""
    if kind == "postgresql":
        with running() as server:
            url = schema(server, "leases")
            yield dict.fromkeys((*NAMES, "pool"), url)
    else:
        yield {name: f"sqlite:///{folder}/{name}.db" for name in (*NAMES, "pool")}


if __name__ == "__main__":
    count, seed, kind = [*sys.argv[1:], *("0", "sqlite")[len(sys.argv) - 2 :]]
    with TemporaryDirectory() as place, stored(kind, place) as found:
        print(json.dumps(kill_many(Path(place), int(count), found, int(seed))))
