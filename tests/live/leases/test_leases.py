"""Campaigns that lease their budgets from a pool."""

import json
import threading
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Conflict, Damaged, Ended, Pool, Unknown, open_leased, settle_lease
from evenhand.live.campaigns.commands import audit_files, sole_campaign
from evenhand.live.fold.first_event import is_pool
from evenhand.live.fold.lease import lease_of
from evenhand.live.leases.settlement import settlement_thread, switch_totals
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from tests.live.lease_worlds import PROBLEM, check_campaign, check_pool, check_together
from tests.polling import until

TERMS = {"on_expiry": "fallback"}
FILE = PROBLEM.replace("horizon = 5000", "horizon = 100")
SHARED = {"totals": {"cents": 60.0}, "rounds": 200}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


class World:
    def __init__(self, folder):
        self.file = folder / "problem.toml"
        self.file.write_text(FILE)
        self.stores = {"north": MemoryStore(), "south": MemoryStore(), "pool": MemoryStore()}
        self.pool = Pool.begin(self.stores["pool"], "all", **SHARED)

    def opened(self, name):
        return open_leased(self.pool, self.stores[name], name, self.file, terms=TERMS)

    def check(self, names=("north", "south")):
        """The books of raw logs; returns what each campaign has."""
        logs = {name: list(self.stores[name].scan(name)) for name in names}
        pool = list(self.stores["pool"].scan("all"))
        moves = {}
        for name, log in logs.items():
            unit = 2.0 ** json.loads(log[0].body)["encoding"]["lease"]["exponents"]["cents"]
            _, seen = check_pool(pool, unit, 60.0)
            _, moves[name] = check_campaign(log, seen[name])
        check_together(list(moves.values()), 60.0)
        return {name: each[-1].held for name, each in moves.items()}


def lived(campaign, count, first=0):
    for i in range(first, first + count):
        reply = campaign.decide({"age": 20 + i % 40}, key=str(i))
        if reply.action is not None:
            campaign.observe(reply.id, {"answer": i % 2, "cents": 3 if reply.action == "letter" else 0})


def test_groups_have_leases_of_their_own(world):
    """A budget of a group is leased by the name of its row; one of all groups together is none that could be."""
    tiers = '[groups.tier]\nshares = { free = 0.7, pro = 0.3 }\n\n[[budget]]\noutcome = "cents"\nby = "tier"\n'
    grouped = FILE.replace('[[budget]]\noutcome = "cents"\nrate = 1\n', tiers + "total = { free = 20, pro = 30 }\n")
    world.file.write_text(grouped)
    with pytest.raises(InvalidInput, match=r"one budget of 'cents' over the whole run, .* got 0 of them"):
        world.opened("north")
    totals = {"cents tier=free": 20.0, "cents tier=pro": 30.0}
    world.pool = Pool.begin(world.stores["pool"], "tiers", totals, rounds=200)
    campaigns, used = [world.opened(name) for name in ("north", "south")], dict.fromkeys(totals, 0)
    for i in range(100):
        tier = "pro" if i % 3 == 0 else "free"
        said = campaigns[i % 2].decide({"age": 20 + i % 40, "tier": tier}, key=str(i))
        if said.action is not None:
            cents = 3 if said.action == "letter" else 0
            used[f"cents tier={tier}"] += cents
            campaigns[i % 2].observe(said.id, {"answer": i % 2, "cents": cents})
        if i % 10 == 9:
            for campaign in campaigns:
                settle_lease(campaign, world.pool)
    for name, total in totals.items():
        lent = sum(campaign.status().accounts[name].total for campaign in campaigns)
        assert lent + world.pool.ledger().free(name) <= total + 1e-9
        assert 0.7 * total <= used[name] <= total


def test_campaigns_share_a_total(world):
    """What one of them does not use the other one has, and an audit makes every decision again."""
    north, south = world.opened("north"), world.opened("south")
    assert world.check() == pytest.approx({"north": 30, "south": 30})
    lived(north, 20)
    north.end(by="Ada", why="christmas")
    assert settle_lease(north, world.pool)
    assert not settle_lease(north, world.pool)
    assert not switch_totals(north, lease_of(north.encoder)), "what another thread has settled meanwhile"
    used = north.status().accounts["cents"].spent
    assert world.check()["north"] == pytest.approx(used)
    assert settle_lease(south, world.pool)
    assert world.check()["south"] == pytest.approx(60 - used)
    assert world.pool.ledger().free("cents") == pytest.approx(0, abs=1e-9)
    lived(south, 100)
    assert south.status().accounts["cents"].spent > 30
    world.check()
    for name in ("north", "south"):
        assert audit_files(url_of(world, name), name).clean
    with pytest.raises(Ended):
        north.decide({"age": 20}, key="late")


def url_of(world, name):
    """A file with the log of a store in memory."""
    path = world.file.parent / f"{name}.db"
    eh.live.backup(world.stores[name], path)
    return f"sqlite:///{path}"


def test_other_workers_go_on_with_the_lease_of_the_log(world):
    one, two = world.opened("north"), world.opened("north")
    world.opened("south").end(by="Ada", why="so")
    settle_lease(eh.live.open_campaign(world.stores["south"], "south", world.file), world.pool)
    assert settle_lease(one, world.pool)
    assert not settle_lease(two, world.pool)
    assert two.status().accounts["cents"].total == one.status().accounts["cents"].total == pytest.approx(60)
    lived(two, 5)
    again = world.opened("north")
    assert again.status() == two.status()
    assert again.report()["budgets"] == one.report()["budgets"]


def test_only_a_lease_changes_leased_totals(world):
    north = world.opened("north")
    lived(north, 10)
    lease = lease_of(north.encoder)
    world.file.write_text(FILE.replace("rate = 1", "rate = 3").replace("warmup = 0", "warmup = 0\nevery = 7"))
    switched_to = eh.live.switch_campaign(world.stores["north"], "north", world.file, by="Ada", why="a margin")
    assert lease_of(switched_to.encoder) == lease
    assert switched_to.status().accounts["cents"].total == lease.totals["cents"]
    more = eh.live.fold.column_encoder.of_file(eh.live.fold.column_encoder.Text("problem.toml", FILE)).policy
    with pytest.raises(InvalidInput, match="the total 30 that the campaign leases from the pool 'all'"):
        switched_to.switch(more, by="Ada", why="more")
    used = switched_to.status().accounts["cents"]
    assert used.spent > 0
    below = replace(lease, returned={"cents": lease.taken["cents"] - 1})
    assert not switch_totals(switched_to, below), "what is spent is not given back"
    assert switch_totals(switched_to, replace(lease, returned={"cents": lease.taken["cents"] // 4}))
    assert not switch_totals(switched_to, lease), "counters of another worker, which were read before"
    world.check(["north"])


def test_what_waits_is_not_returned(world):
    north = world.opened("north")
    held = [north.decide({"age": 20 + i}, key=str(i)) for i in range(10)]
    letters = sum(reply.action == "letter" for reply in held)
    assert letters > 0
    north.end(by="Ada", why="so")
    settle_lease(north, world.pool)
    assert world.check(["north"])["north"] == pytest.approx(3 * letters)
    for reply in held:
        north.observe(reply.id, {"answer": 0, "cents": 1 if reply.action == "letter" else 0})
    settle_lease(north, world.pool)
    assert world.check(["north"])["north"] == pytest.approx(letters)


class Killed(BaseException):
    """In place of SIGKILL."""


class Mortal(MemoryStore):
    """Stops for good before or after a commit, the count of which is left."""

    left, after = 10**9, False

    def write(self, campaign):
        return _Mortal(self, super().write(campaign))


class _Mortal:
    def __init__(self, store, within):
        self._store, self._within = store, within

    def __enter__(self):
        self._log = self._within.__enter__()
        self._last = self._log.last
        return self._log

    def __exit__(self, *error):
        if error[0] is None and self._log.last > self._last:
            Mortal.left -= 1
            if Mortal.left < 0:
                if Mortal.after:
                    self._within.__exit__(None, None, None)
                else:
                    self._within.__exit__(Killed, Killed(), None)
                raise Killed
        return self._within.__exit__(*error)


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after the commit"])
def test_a_kill_at_any_write_neither_loses_nor_doubles(tmp_path, monkeypatch, after):
    """Killed at the first write, the second, ...: whoever comes next settles all, to the last unit."""
    for moment in range(40):
        world = World(tmp_path)
        world.stores = {name: Mortal() for name in world.stores}
        world.pool = Pool.begin(world.stores["pool"], "all", **SHARED)
        monkeypatch.setattr(Mortal, "after", after)
        monkeypatch.setattr(Mortal, "left", moment)
        killed = False
        try:
            life(world)
        except Killed:
            killed = True
        monkeypatch.setattr(Mortal, "left", 10**9)
        each = [world.opened(name) for name in ("north", "south")]
        world.check()
        for campaign in each:
            campaign.end(by="test", why="the end")
            while settle_lease(campaign, world.pool):
                pass
        world.check()
        leases, ledger = [lease_of(z.encoder) for z in each], world.pool.ledger()
        for campaign, lease in zip(each, leases, strict=True):
            line = ledger.lines[campaign.name]
            assert (line.granted, line.collected) == (lease.taken, lease.returned)
        unit = 2.0 ** leases[0].exponents["cents"]
        assert ledger.free("cents") + sum(lease.held["cents"] for lease in leases) * unit == 60.0
        if not killed:
            break
    assert not killed, "all moments were tried"
    assert moment > 10


def life(world):
    north, south = world.opened("north"), world.opened("south")
    lived(north, 2)
    lease = lease_of(north.encoder)
    switch_totals(north, replace(lease, returned={"cents": lease.taken["cents"] // 3}))
    settle_lease(north, world.pool)
    settle_lease(south, world.pool)
    north.end(by="test", why="so")
    settle_lease(north, world.pool)
    settle_lease(south, world.pool)


def test_a_pool_that_is_away_leaves_campaigns_to_what_they_have(world, monkeypatch):
    north = world.opened("north")
    with monkeypatch.context() as away:
        away.setattr(world.stores["pool"], "write", _busy)
        with pytest.raises(Busy):
            settle_lease(north, world.pool)
        lived(north, 100)
    assert 0 < north.status().accounts["cents"].spent <= 30
    world.check(["north"])


def _busy(campaign):
    raise Busy("the store is away")


def test_a_server_settles_now_and_then(world, monkeypatch):
    north, south = world.opened("north"), world.opened("south")
    north.end(by="Ada", why="so")
    settle_lease(north, world.pool)
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.INTERVAL", 0.01)
    with settlement_thread([south], world.pool):
        until(lambda: south.status().accounts["cents"].total > 59)
    assert world.check()["south"] == pytest.approx(60)
    assert "evenhand upkeep" not in [thread.name for thread in threading.enumerate()]
    with settlement_thread([south], None):
        pass


def test_bad_input_is_refused(world, tmp_path):
    with pytest.raises(InvalidInput, match=r"totals.cents: expected a finite number above 0, got -1"):
        Pool.begin("memory://", "all", {"cents": -1}, rounds=5)
    with pytest.raises(InvalidInput, match="totals: expected a total by outcome, got none"):
        Pool.begin("memory://", "all", {}, rounds=5)
    with pytest.raises(Conflict, match="pool 'all' has"):
        Pool.begin(world.stores["pool"], "all", {"cents": 61}, rounds=200)
    with pytest.raises(Unknown, match="no pool 'other'; the store has"):
        Pool.open(world.stores["pool"], "other")
    own = eh.live.open_campaign(world.stores["south"], "south", world.file, on_expiry="fallback")
    with pytest.raises(InvalidInput, match="one that leases its budgets from a pool, got 'south', which has its own"):
        settle_lease(own, world.pool)
    with pytest.raises(Conflict, match="campaign 'south' has budgets of its own, and leases none"):
        world.opened("south")
    with pytest.raises(InvalidInput, match="'all', which is a pool of leases"):
        eh.live.open_campaign(world.stores["pool"], "all", world.file)
    for of_campaigns in (
        lambda store: eh.live.audit(store, "all", []),
        lambda store: eh.live.archive(store, tmp_path / "all.db", "all"),
        lambda store: eh.live.accept_clock(store, "all"),
    ):
        with pytest.raises(InvalidInput, match="'all', which is a pool of leases"):
            of_campaigns(world.stores["pool"])
    with pytest.raises(Conflict, match="'south' is a campaign, and no pool"):
        Pool.begin(world.stores["south"], "south", **SHARED)
    world.file.write_text(FILE.replace('"cents"', '"answer"'))
    with pytest.raises(InvalidInput, match="one budget of 'cents' over the whole run"):
        world.opened("north")
    world.file.write_text(FILE.replace("hard = true", "hard = false"))
    with pytest.raises(InvalidInput, match="one that is kept hard, as a lease is"):
        world.opened("north")
    assert list(world.stores["north"].campaigns()) == []


def test_another_pool_of_the_name_grants_nothing(world):
    """As by the command line all pools have one name, unless it is stated."""
    north = world.opened("north")
    again = Pool.begin(MemoryStore(), "all", **SHARED)
    assert Pool.begin(world.stores["pool"], "all", **SHARED).ledger() == world.pool.ledger()
    with pytest.raises(Conflict, match="campaign 'north' leases from a pool 'all' that is not this one"):
        settle_lease(north, again)
    assert again.ledger().lines == {}


def test_a_switch_with_another_log_keeps_the_lease(world, tmp_path):
    file, logs = tmp_path / "coded.toml", [tmp_path / f"{i}.csv" for i in range(2)]
    file.write_text(FILE.replace("[features.ranges]\nage = [20, 60]\n", ""))
    for log, oldest in zip(logs, (60, 70), strict=True):
        log.write_text(f"age,sent,answer,cents\n20,,0,0\n{oldest},L,1,2\n")
    store = world.stores["north"]
    north = open_leased(world.pool, store, "north", file, log_path=logs[0], learn=False, terms=TERMS)
    lived(north, 5)
    file.write_text(file.read_text().replace("warmup = 0", "warmup = 0\nevery = 7"))
    made = eh.live.switch_campaign(store, "north", file, log_path=logs[1], learn=False, by="Ada", why="older people")
    assert lease_of(made.encoder) == lease_of(north.encoder)
    assert made.status().accounts["cents"].total == pytest.approx(30)


def test_what_was_used_after_a_backup_stays_used(world, tmp_path):
    """The log forgets it, the pool does not: nobody else gets it, and what is left is not lost with it."""
    north = world.opened("north")
    lived(north, 2)
    eh.live.backup(world.stores["north"], tmp_path / "north.db")
    before = north.status().accounts["cents"].spent
    lived(north, 30, first=2)
    settle_lease(north, world.pool)
    spent = north.status().accounts["cents"].spent
    assert spent > before
    world.stores["north"] = MemoryStore()
    eh.live.restore(tmp_path / "north.db", world.stores["north"], by="ada", why="disk lost")
    again = world.opened("north")
    account = again.status().accounts["cents"]
    assert account.spent == before
    assert account.total + world.pool.ledger().free("cents") == pytest.approx(60 - (spent - before))
    assert not settle_lease(again, world.pool)
    assert "27 used after a backup that was restored" in str(world.pool.ledger())
    again.end(by="Ada", why="so")
    settle_lease(again, world.pool)
    assert world.pool.ledger().free("cents") == pytest.approx(60 - spent)


def test_a_server_of_the_lost_log_gets_nothing_more(world, tmp_path):
    """The pool is a store that both reach: it knows which log was restored, however many events both have."""
    lost = world.opened("north")
    lived(lost, 2)
    settle_lease(lost, world.pool)
    eh.live.backup(world.stores["north"], tmp_path / "north.db")
    lived(lost, 20, first=2)
    settle_lease(lost, world.pool)
    world.stores["north"] = MemoryStore()
    eh.live.restore(tmp_path / "north.db", world.stores["north"], by="ada", why="disk lost")
    again = eh.live.open_campaign(world.stores["north"], "north", world.file)
    for i in range(100, 140):  # beyond what the pool knows of the lost one
        again.cancel(again.decide({"age": 20}, key=str(i)).id)
    used = [z.status().accounts["cents"].spent for z in (lost, again)]
    assert used[1] < used[0]
    settle_lease(again, world.pool)
    assert f"{used[0] - used[1]:g} used after a backup that was restored" in str(world.pool.ledger())
    lived(lost, 60, first=30)
    with pytest.raises(Conflict, match="'north' that was restored since: end the servers of this one, which was lost"):
        settle_lease(lost, world.pool)
    settle_lease(again, world.pool)
    assert world.pool.ledger().free("cents") >= 0


def test_a_restored_pool_grants_nothing_until_all_have_said_what_they_took(world, tmp_path):
    """It would grant one campaign what another one has taken in since the backup."""
    north, south = world.opened("north"), world.opened("south")
    eh.live.backup(world.stores["pool"], tmp_path / "pool.db")
    lived(north, 10)
    north.end(by="Ada", why="so")
    settle_lease(north, world.pool)
    settle_lease(south, world.pool)
    assert south.status().accounts["cents"].total > 30
    world.stores["pool"] = MemoryStore()
    eh.live.restore(tmp_path / "pool.db", world.stores["pool"], by="ada", why="disk lost")
    pool = Pool.open(world.stores["pool"])
    assert pool.ledger().silent == {"north", "south"}
    west = open_leased(pool, MemoryStore(), "west", world.file, terms=TERMS)
    settle_lease(north, pool)
    settle_lease(west, pool)
    assert pool.ledger().silent == {"south"}
    assert west.status().accounts["cents"].total == pytest.approx(0, abs=1e-9)
    settle_lease(south, pool)
    while settle_lease(west, pool):
        settle_lease(south, pool)
    assert pool.ledger().silent == frozenset()
    each = [z.status().accounts["cents"].total for z in (north, south, west)]
    assert sum(each) <= 60 + 1e-6
    assert pool.ledger().free("cents") == pytest.approx(60 - sum(each), abs=1e-6)


def test_a_pool_that_was_put_back_by_a_copy_is_noticed(world):
    north = world.opened("north")
    world.pool.store = MemoryStore()
    with world.pool.store.write("all") as log:
        log.append("leased", next(world.stores["pool"].scan("all")).body)
    with pytest.raises(Damaged, match="another log of 'all', or an earlier copy"):
        settle_lease(north, world.pool)


def test_a_second_log_of_a_name_gets_nothing(world):
    world.opened("north")
    with pytest.raises(Conflict, match="another log of a campaign 'north'"):
        open_leased(world.pool, MemoryStore(), "north", world.file, terms=TERMS)


def test_a_pool_and_its_campaigns_may_have_one_store(tmp_path, capsys):
    """Which is backed up as one; commands take the pool for no campaign."""
    (tmp_path / "problem.toml").write_text(FILE)
    url = f"sqlite:///{tmp_path}/all.db"
    assert main(["pool", url, "--name", "all", "--total", "cents=60", "--rounds", "200"]) == 0
    with Pool.open(url) as pool, open_leased(pool, url, "north", tmp_path / "problem.toml", terms=TERMS) as north:
        lived(north, 3)
    store = connect(url)
    assert is_pool(store, "all")
    assert sole_campaign(store, None) == "north"
    eh.live.backup(url, tmp_path / "copy.db")
    eh.live.restore(tmp_path / "copy.db", f"sqlite:///{tmp_path}/again.db", by="ada", why="disk lost")
    capsys.readouterr()
    assert main(["pool", f"sqlite:///{tmp_path}/again.db"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("pool all: 200 rounds expected\ncents: 30 of 60 free\n  north: 30 leased, ")
    assert main(["audit", url]) == 0
    assert main(["audit", url, "--problem", str(tmp_path / "problem.toml")]) == 0
    assert main(["pool", url, "--total", "cents", "--rounds", "9"]) != 0


def test_a_leased_campaign_that_begins_is_called_new(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.live.http.start.serve", lambda *_, **__: None)
    file, pool, store = tmp_path / "north.toml", f"sqlite:///{tmp_path}/pool.db", f"sqlite:///{tmp_path}/north.db"
    file.write_text(FILE)
    Pool.begin(pool, "all", {"cents": 60.0}, rounds=100).close()
    for begins in ("new campaign", "found "):
        assert main(["serve", str(file), "--store", store, "--lease", pool, "--on-expiry", "fallback"]) == 0
        assert begins in capsys.readouterr().out.splitlines()[0]
