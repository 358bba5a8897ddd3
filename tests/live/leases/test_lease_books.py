"""The books of pools and leases: by hand, and in random orders of grants, returns, stale reports and lost steps."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.live.fold.lease import amount, exponent, units
from evenhand.live.leases.ledger import Ledger, Need, Report, body_of, line_in, share
from evenhand.live.leases.settlement import later
from evenhand.live.log.events import Conflict

TOTALS = {"cents": 800.0}
ROUNDS = 100  # of each campaign


def test_a_pool_of_two_by_hand():
    """800 for 400 rounds: 2 per round, and a part that another campaign does not need."""
    ledger = Ledger(name="all", id="a0", totals=TOTALS, rounds=200)
    north, south = ledger.lease("n"), ledger.lease("s")
    unit = 2.0 ** north.exponents["cents"]
    ledger = ledger.with_line(
        "north",
        ledger.settle("north", Report(seq=1, lease=north, used={"cents": 0.0}, rounds=0, left=100, horizon=100)),
    )
    assert ledger.free("cents") == pytest.approx(400)
    assert north.totals["cents"] < 1e-9
    north = later("north", Report(seq=1, lease=north, used={"cents": 0.0}, rounds=0, left=100, horizon=100), ledger)
    assert north.totals["cents"] == pytest.approx(400)
    # Asked again, with or without what was granted, it gets nothing more.
    for lease in (ledger.lease("n"), north):
        again = ledger.settle("north", Report(seq=1, lease=lease, used={"cents": 0.0}, rounds=0, left=100, horizon=100))
        assert again.granted == ledger.lines["north"].granted
    ledger = ledger.with_line(
        "south",
        ledger.settle("south", Report(seq=1, lease=south, used={"cents": 0.0}, rounds=0, left=100, horizon=100)),
    )
    assert abs(ledger.free("cents")) <= unit
    # The end of north: it used 100, and returns 300, which are collected once they are in its log.
    over = Report(seq=9, lease=north, used={"cents": 100.0}, rounds=50, left=0, horizon=100)
    ledger = ledger.with_line("north", ledger.settle("north", over))
    back = later("north", over, ledger)
    assert back.totals["cents"] == pytest.approx(100)
    assert abs(ledger.free("cents")) <= unit, "nothing is collected before it is returned"
    for _ in range(2):  # once, however often it is read
        ledger = ledger.with_line("north", ledger.settle("north", replace(over, seq=10, lease=back)))
        assert ledger.free("cents") == pytest.approx(300)


def test_parts_add_up_and_follow_rounds():
    each = {"a": Need(0.0, 0, 100, 100), "b": Need(0.0, 0, 300, 300)}
    assert share(800.0, 400, each, "a") == 200.0
    assert share(800.0, 400, each, "b") == 600.0
    assert share(800.0, 800, each, "a") == 100.0, "rounds that no campaign reported keep their part"
    ended = each | {"c": Need(80.0, 10, 0, 10)}
    assert share(800.0, 10, ended, "c") == 80.0
    assert share(800.0, 10, ended, "a") == pytest.approx(720 / 4)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=6))
def test_parts_are_the_total_unless_more_was_used(needs):
    each = {str(i): Need(*need, need[1] + need[2]) for i, need in enumerate(needs)}
    used = sum(need.used for need in each.values())
    parts = [share(500.0, 0, each, name) for name in each]
    assert all(part >= need.used for part, need in zip(parts, each.values(), strict=True))
    if any(need.left for need in each.values()):
        assert sum(parts) == pytest.approx(max(500.0, used))


@given(st.floats(1e-6, 1e12), st.floats(0, 1))
def test_amounts_are_whole_units(total, part):
    unit = exponent(total)
    assert 2**39 <= units(total, unit) <= 2**40
    assert amount(units(part * total, unit), unit) <= max(part * total, 2.0 ** (unit - 20))


class World:
    """A pool and campaigns whose steps can be lost in between, as processes are killed.

    What each should have is arbitrary, as books have to be right whatever the sizes are.
    """

    def __init__(self, count):
        self.pool = Ledger(name="all", id="a0", totals=TOTALS, rounds=count * ROUNDS)
        self.leases = {str(i): self.pool.lease(str(i)) for i in range(count)}
        self.used = dict.fromkeys(self.leases, 0.0)
        self.rounds = dict.fromkeys(self.leases, 0)
        self.seq = dict.fromkeys(self.leases, 1)
        self.ended = set()
        self.stale = []
        self.wanted = dict.fromkeys(self.leases, 400.0)

    def wants(self, total, rounds, each, campaign):
        """In place of `share`."""
        return max(self.wanted[campaign], each[campaign].used) if each[campaign].left else each[campaign].used

    def report(self, name):
        left = 0 if name in self.ended else max(ROUNDS - self.rounds[name], 0)
        made = Report(seq=self.seq[name], lease=self.leases[name], used={"cents": self.used[name]},
                      rounds=self.rounds[name], left=left, horizon=ROUNDS)  # fmt: skip
        self.stale.append((name, made))
        return made

    def at_pool(self, name, report):
        self.pool = self.pool.with_line(name, line_in(body_of(name, self.pool.settle(name, report)))[1])

    def at_campaign(self, name, report):
        """Switch to a later lease, as `Switch.settles` lets it."""
        if name not in self.pool.lines:
            return
        after, before = later(name, report, self.pool), self.leases[name]
        if not after.follows(before):
            return
        if after.totals["cents"] < before.totals["cents"] and after.totals["cents"] < self.used[name]:
            return
        self.leases[name] = after
        self.seq[name] += 1

    def spend(self, name, part):
        self.used[name] += part * max(self.leases[name].totals["cents"] - self.used[name], 0.0)
        self.rounds[name] += 7
        self.seq[name] += 1

    def check(self):
        whole = units(TOTALS["cents"], exponent(TOTALS["cents"]))
        assert sum(lease.held["cents"] for lease in self.leases.values()) <= whole
        assert self.pool._free("cents") >= 0
        for name, lease in self.leases.items():
            assert self.used[name] <= lease.totals["cents"] * (1 + 1e-12)
            if name in self.pool.lines:
                line = self.pool.lines[name]
                assert line.granted["cents"] >= lease.taken["cents"]
                assert line.collected["cents"] <= lease.returned["cents"]


STEPS = st.tuples(
    st.sampled_from(["spend", "want", "pool", "both", "both", "campaign", "stale pool", "stale campaign", "end"]),
    st.integers(0, 2),
    st.floats(0, 1),
)


@settings(max_examples=100)
@given(st.lists(STEPS, min_size=10, max_size=40))
def test_no_order_of_steps_spends_twice_or_loses(steps):
    """Each half of a settlement may be lost, come late, or come twice."""
    world = World(3)
    with patch("evenhand.live.leases.ledger.share", world.wants):
        check_steps(world, steps)


def check_steps(world, steps):
    for kind, i, part in steps:
        name = str(i)
        if kind == "spend":
            world.spend(name, part)
        elif kind == "want":
            world.wanted[name] = part * TOTALS["cents"]
        elif kind in ("pool", "both"):
            report = world.report(name)
            world.at_pool(name, report)
            if kind == "both":
                world.at_campaign(name, report)
        elif kind == "campaign":
            world.at_campaign(name, world.report(name))
        elif kind == "end":
            world.ended.add(name)
        elif world.stale:
            other, report = world.stale[int(part * (len(world.stale) - 1))]
            (world.at_pool if kind == "stale pool" else world.at_campaign)(other, report)
        world.check()
    world.ended.update(world.leases)
    for _ in range(4):
        for name in world.leases:
            world.at_pool(name, world.report(name))
            world.at_campaign(name, world.report(name))
            world.check()
    unit = 2.0 ** exponent(TOTALS["cents"])
    for name, lease in world.leases.items():
        line = world.pool.lines[name]
        assert (line.granted, line.collected) == (lease.taken, lease.returned)
        assert lease.held["cents"] * unit <= world.used[name] + 2 * unit
    held = sum(lease.held["cents"] for lease in world.leases.values())
    assert world.pool._free("cents") + held == units(TOTALS["cents"], exponent(TOTALS["cents"]))


def test_another_log_of_the_name_gets_nothing():
    ledger = Ledger(name="all", id="a0", totals=TOTALS, rounds=100)
    report = Report(seq=1, lease=ledger.lease("first"), used={"cents": 0.0}, rounds=0, left=100, horizon=100)
    ledger = ledger.with_line("north", ledger.settle("north", report))
    with pytest.raises(Conflict, match="another log of a campaign 'north', of 1 events"):
        ledger.settle("north", replace(report, lease=ledger.lease("second")))
    for field, other in (("pool", "other"), ("pool_id", "b1"), ("exponents", {"cents": 3})):
        with pytest.raises(Conflict, match=r"leases from a pool '(all|other)' that is not this one"):
            ledger.settle("north", replace(report, lease=replace(ledger.lease("first"), **{field: other})))


def test_counters_of_a_lease_never_fall():
    lease = Ledger(name="all", id="a0", totals=TOTALS, rounds=100).lease("a")
    more, less = replace(lease, taken={"cents": 9}), replace(lease, returned={"cents": 1})
    assert more.follows(lease)
    assert less.follows(lease)
    assert not any((lease.follows(more), lease.follows(less), more.follows(less), less.follows(more)))
    assert not replace(more, pool="other").follows(lease)
    assert not replace(more, id="other").follows(lease)


def test_a_log_that_was_restored_goes_on_from_what_the_pool_knows():
    ledger = Ledger(name="all", id="a0", totals=TOTALS, rounds=100)
    new = Report(seq=1, lease=ledger.lease("a"), used={"cents": 0.0}, rounds=0, left=100, horizon=100)
    ledger = ledger.with_line("north", ledger.settle("north", new))
    lease = later("north", new, ledger)
    less = replace(lease, returned={"cents": lease.taken["cents"] // 2})
    ledger = ledger.with_line("north", ledger.settle("north", replace(new, seq=5, lease=less, left=0)))
    older = replace(new, lease=lease, seq=2)
    ledger = ledger.with_line("north", ledger.settle("north", older))
    assert later("north", older, ledger).returned == ledger.lines["north"].collected
    # Where it holds more than the pool left it, it keeps that alone, and the rest once that is settled.
    holds = replace(older, used={"cents": 0.75 * lease.totals["cents"]})
    kept = later("north", holds, ledger)
    assert holds.used["cents"] < kept.totals["cents"] < holds.used["cents"] + 1e-6
    settled = later("north", replace(holds, lease=kept, used={"cents": 0.0}), ledger)
    assert settled.returned == ledger.lines["north"].collected


def test_a_pool_that_was_restored_books_what_a_campaign_took_since():
    """Also where another one was granted the same meanwhile: the pool has less than nothing then, and grants none."""
    older = Ledger(name="all", id="a0", totals=TOTALS, rounds=0)

    def stands(lease):
        return Report(seq=2, lease=lease, used={"cents": 0.0}, rounds=0, left=100, horizon=100)

    first = older.with_line("north", older.settle("north", stands(older.lease("n"))))
    north = later("north", stands(older.lease("n")), first)
    assert north.totals["cents"] == pytest.approx(800)
    ledger = older.with_line("south", older.settle("south", stands(older.lease("s"))))
    assert abs(ledger.free("cents")) < 1e-6
    line = ledger.settle("north", stands(north))
    assert line.granted == north.taken
    assert ledger.with_line("north", line).free("cents") == pytest.approx(-800)
