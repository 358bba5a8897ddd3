"""Leases of logs and pools that were restored: each cent is counted once, and copies that were replaced get nothing."""

import pytest

import evenhand as eh
from evenhand.live import Conflict, Pool, open_leased, settle_lease
from evenhand.live.stores.memory import MemoryStore
from tests.live.leases.test_leases import FILE, TERMS, lived, world

__all__ = ["world"]  # a fixture
SIGNED = {"by": "ada", "why": "a move"}


def back_up(world, name, file="copy.db"):
    path = world.file.parent / file
    eh.live.backup(world.stores[name], path)
    return path


def restored(world, name, copy):
    """The store of a copy, in place of the one that there was."""
    world.stores[name] = MemoryStore()
    eh.live.restore(copy, world.stores[name], **SIGNED)
    return world.stores[name]


def held(campaign, count):
    """Decisions that wait for an outcome, as many letters as the budget has."""
    return [campaign.decide({"age": 20 + i}, key=f"held {i}") for i in range(count)]


def answered(campaign, replies):
    for reply in replies:
        if reply.action is not None:
            campaign.observe(reply.id, {"answer": 0, "cents": 0})


def used_by(campaign):
    account = campaign.status().accounts["cents"]
    return account.spent + account.held


def lost(pool):
    """What the books of a pool have as lost for north, in cents."""
    (line,) = pool.ledger().lines.values()
    return line.lost["cents"] * 2.0 ** pool.ledger().lease("").exponents["cents"]


def test_a_restore_is_in_the_books_though_no_grant_changes(world):
    before = world.opened("north")
    lived(before, 5)
    settle_lease(before, world.pool)
    restored(world, "north", back_up(world, "north"))
    again = world.opened("north")
    (restore,) = again._worker.fold.ids.restores
    assert world.pool.ledger().lines["north"].restores == [restore.shift]
    lived(before, 20, first=50)
    with pytest.raises(Conflict, match="end the servers of this one, which was lost"):
        settle_lease(before, world.pool)
    for i in range(6):
        lived(again, 4, first=100 + 4 * i)
        settle_lease(again, world.pool)
        lived(before, 4, first=100 + 4 * i)
        with pytest.raises(Conflict):
            settle_lease(before, world.pool)
    assert not settle_lease(again, world.pool)


@pytest.mark.parametrize("moment", ["after the settlement", "before the settlement", "before the backup"])
def test_a_move_loses_no_budget(world, moment):
    """What outcomes release in the copy, or released before the backup, was not spent by the log that was lost."""
    north = world.opened("north")
    waiting = held(north, 40)
    settle_lease(north, world.pool)
    assert used_by(north) == 30
    if moment == "before the backup":
        answered(north, waiting)
    store = restored(world, "north", back_up(world, "north"))
    again = eh.live.open_campaign(store, "north", world.file)
    if moment == "before the settlement":
        answered(again, waiting)
        again.snapshot()  # which knows as well what was used at the restore
        again = eh.live.open_campaign(store, "north", world.file)
    settle_lease(again, world.pool)
    if moment == "after the settlement":
        answered(again, waiting)
    settle_lease(again, world.pool)
    assert again.status().accounts["cents"].spent == 0
    assert lost(world.pool) == 0


def test_what_the_lost_log_used_is_lost_whatever_its_copy_settles_first(world):
    north = world.opened("north")
    waiting = held(north, 5)
    copy = back_up(world, "north")
    at_backup = used_by(north)
    assert at_backup > 0
    lived(north, 20)
    settle_lease(north, world.pool)
    used = used_by(north)
    again = eh.live.open_campaign(restored(world, "north", copy), "north", world.file)
    answered(again, waiting)
    settle_lease(again, world.pool)
    assert lost(world.pool) == pytest.approx(used - at_backup)


def test_a_pool_that_was_restored_waits_for_those_who_had_played_all_rounds(world):
    """As a switch to more rounds lets them take in more."""
    north, south = world.opened("north"), world.opened("south")
    lived(north, 100)
    settle_lease(north, world.pool)
    copy = back_up(world, "pool")
    world.file.write_text(FILE.replace("horizon = 100", "horizon = 200"))
    north = eh.live.switch_campaign(world.stores["north"], "north", world.file, by="Ada", why="more rounds")
    for _ in range(4):
        settle_lease(north, world.pool)
        settle_lease(south, world.pool)
    assert [round(z.status().accounts["cents"].total) for z in (north, south)] == [45, 15]
    pool = Pool(restored(world, "pool", copy), "all")
    assert pool.ledger().silent == {"north", "south"}
    world.file.write_text(FILE)
    west = open_leased(pool, MemoryStore(), "west", world.file, terms=TERMS)
    for _ in range(4):
        settle_lease(south, pool)
        settle_lease(west, pool)
    campaigns = north, south, west
    assert sum(z.status().accounts["cents"].total for z in campaigns) <= 60 + 1e-6
    for _ in range(4):
        for campaign in campaigns:
            settle_lease(campaign, pool)
    assert pool.ledger().silent == frozenset()
    assert west.status().accounts["cents"].total > 0
    assert sum(z.status().accounts["cents"].total for z in campaigns) <= 60 + 1e-6


def test_a_pool_that_was_restored_waits_for_none_that_ended(world):
    """Also where that was the only news, as all rounds were played before."""
    north = world.opened("north")
    lived(north, 100)
    settle_lease(north, world.pool)
    north.end(by="Ada", why="so")
    settle_lease(north, world.pool)
    pool = Pool(restored(world, "pool", back_up(world, "pool")), "all")
    assert pool.ledger().silent == frozenset()


def test_of_two_copies_the_first_one_gets_nothing_once_the_second_one_came(world):
    north = world.opened("north")
    lived(north, 5)
    settle_lease(north, world.pool)
    copy = back_up(world, "north")
    each = []
    for _ in range(2):
        restored(world, "north", copy)
        each.append(world.opened("north"))
    for i in range(5):
        lived(each[1], 4, first=100 + 4 * i)
        settle_lease(each[1], world.pool)
        lived(each[0], 4, first=100 + 4 * i)
        for other in (each[0], north):
            with pytest.raises(Conflict, match="was restored since"):
                settle_lease(other, world.pool)
    third = back_up(world, "north", "third.db")
    restored(world, "north", third)
    again = world.opened("north")
    with pytest.raises(Conflict):
        settle_lease(each[1], world.pool)
    settle_lease(again, world.pool)
    assert len(world.pool.ledger().lines["north"].restores) == 2
