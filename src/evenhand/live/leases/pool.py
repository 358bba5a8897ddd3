"""Pools of leases: several stores share hard budgets; and the commands about them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import positive, whole
from evenhand.live.fold.first_event import is_pool
from evenhand.live.leases.ledger import Ledger, Report, body_of, books, differs, pool_event
from evenhand.live.log.events import Conflict, Unknown, encode, read
from evenhand.live.log.proof import Fence, end_of
from evenhand.live.log.store import CloseableStore, Store
from evenhand.live.stores.opening import connect_to_read, make_folder, open_or_use
from evenhand.live.worker.requests import check_text


class Pool:
    """Grants parts of its totals to campaigns, and collects what they return; all of it is in its log.

    An event says the counters of one campaign as they are from then on, and is written under the lock of the store.
    So a worker that is killed leaves them as they were, or as they should be, and no clock is asked.

    >>> from evenhand.live import Pool
    >>> pool = Pool.begin("memory://", "spring", {"cents": 50_000}, rounds=160_000)
    >>> pool.ledger().free("cents")
    50000.0
    """

    def __init__(self, store: Store, name: str, *, owner: bool = False) -> None:
        self.store, self.name, self._owner, self._fence = store, name, owner, Fence(name)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store if it was opened by its URL."""
        if self._owner and isinstance(self.store, CloseableStore):
            self.store.close()

    @staticmethod
    def begin(store: str | Store, name: str, totals: Mapping[str, float], *, rounds: int) -> Pool:
        """Begin a pool, or open one with the same totals and rounds.

        Args:
            store: such as "sqlite:///pool.db" or "postgresql://shop@db.example/shop".
            name: of the pool, that of no campaign of the store.
            totals: the hard budgets, by the outcome that is spent and in its units.
            rounds: the rounds that all campaigns together expect, by which the parts are sized.

        Raises:
            InvalidInput: a total is not above 0, or there is none.
            Conflict: the store has a campaign of that name, or a pool with other totals.
            Busy: the store cannot be written.
        """
        check_text("name", name)
        if not totals:
            raise InvalidInput("totals", "a total by outcome", "none")
        for outcome, total in totals.items():
            check_text("totals", outcome)
            positive(f"totals.{outcome}", total)
        whole("rounds", rounds, 1)
        stated = {"totals": {n: float(total) for n, total in sorted(totals.items())}, "rounds": int(rounds)}
        with open_or_use(store) as place, place.write(name) as log:
            if log.last == 0:
                log.append("leased", encode({"id": secrets.token_hex(8), **stated}))
            else:
                found = {field: z for field, z in read(pool_event(name, log.get(1))).items() if field != "id"}
                if found != stated:
                    raise Conflict(f"pool {name!r} has {found}, and not {stated}")
        return Pool(place, name, owner=place is not store)

    @staticmethod
    def open(store: str | Store, name: str | None = None) -> Pool:
        """Open a pool, by default the only one in the store.

        Raises:
            Unknown: there is no such pool.
            InvalidInput: there are several and none is named.
            Busy: the store cannot be read.
        """
        with open_or_use(store) as place:
            found = [n for n in place.campaigns() if is_pool(place, n)]
            if name is None and len(found) > 1:
                raise InvalidInput("pool", f"one of {found}", "none")
            if not found or (name is not None and name not in found):
                raise Unknown(f"no pool {'' if name is None else repr(name)}; the store has {found}")
        return Pool(place, name or found[0], owner=place is not store)

    def ledger(self) -> Ledger:
        """Return the books as they are now."""
        return books(self.name, self.store.scan(self.name))

    def settle(self, campaign: str, report: Report, *, behind: int = 0) -> Ledger:
        """Enter the report of a campaign, collect returned units, and grant its share; returns the books after it.

        Args:
            campaign: its name.
            report: where it stands.
            behind: the event that the pool knows of its log and that the log does not have, as it is an older copy.

        Raises:
            Conflict: as for `Ledger.settle` and `Ledger.restored`.
            Damaged: the store has an earlier copy of the log of the pool than this process knows.
            Busy: the store cannot be written.
        """
        with self.store.write(self.name) as log:
            self._fence.check(log)
            before = books(self.name, log.tail(0))
            known, silent = before.lines.get(campaign), before.silent
            is_older = known is not None and report.seq < known.seq == behind
            if is_older or (known is not None and report.chain != known.restores):
                before = before.restore(campaign, report)
            line = before.settle(campaign, report)
            if campaign in silent or differs(known, line):
                log.append("leased", encode(body_of(campaign, line)))
            end = end_of(log)
        self._fence.known = end
        return before.with_line(campaign, line)


def begin_pool(url: str, name: str, totals: Sequence[str], rounds: int) -> Ledger:
    """Begin a pool, or find one with the same totals; returns its books.

    Args:
        url: of its store.
        name: its name.
        totals: "OUTCOME=AMOUNT" each.
        rounds: as for `Pool.begin`.

    Raises:
        InvalidInput: a total is invalid, or stated twice.
        Conflict, Busy: as for `Pool.begin`.
    """
    each: dict[str, float] = {}
    for text in totals:
        outcome, _, stated = text.rpartition("=")
        try:
            total = float(stated)
        except ValueError:
            total = 0.0
        if not outcome or outcome in each or not total:
            raise InvalidInput("total", "OUTCOME=AMOUNT, each outcome once", text)
        each[outcome] = total
    make_folder(url)
    with Pool.begin(url, name, each, rounds=rounds) as pool:
        return pool.ledger()


def list_pool(url: str, name: str | None) -> Ledger:
    """Return the books of a pool; nothing is written.

    Raises:
        Unknown, InvalidInput, Busy: as for `Pool.open`; or there is no such store.
    """
    with closing(connect_to_read(url)) as store:
        return Pool.open(store, name).ledger()
