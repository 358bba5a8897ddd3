"""Opens and settles the lease of a campaign."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.files import open_with_settings
from evenhand.live.campaigns.problem_files import last_encoding
from evenhand.live.campaigns.upkeep import update_thread
from evenhand.live.fold.column_encoder import ColumnEncoder, FilePolicy, with_totals_of
from evenhand.live.fold.fold import Fold
from evenhand.live.fold.lease import Lease, lease_of, units
from evenhand.live.fold.phases import Phase
from evenhand.live.fold.switch import Switch
from evenhand.live.leases.ledger import Copy, Ledger, Report, moves
from evenhand.live.leases.pool import Pool
from evenhand.live.log.events import Conflict
from evenhand.live.log.store import Store
from evenhand.live.stores.opening import open_or_use


def settle_lease(campaign: Campaign, pool: Pool) -> bool:
    """Settle the lease of a campaign with its pool once; returns whether the total of the campaign changed.

    Each step is an event of one log, and reads what the other log says. Killed in between, or beaten by another worker
    of the same campaign, whoever calls next continues from the counters.

    Raises:
        InvalidInput: the campaign has no lease.
        Conflict: it is one of another pool, or of another log of the same name.
        Busy: one of the two stores cannot be written.
    """
    report = campaign._worker.look(_report)
    if report is None:
        raise InvalidInput(
            "campaign", "one that leases its budgets from a pool", f"{campaign.name!r}, which has its own"
        )
    ledger = pool.settle(campaign.name, report)
    behind = ledger.lines[campaign.name].seq
    if behind > report.seq:  # another worker was later, or the log is an older copy, which was restored
        again = campaign._worker.look(_report)
        assert again is not None
        if again.seq < behind:
            report, ledger = again, pool.settle(campaign.name, again, behind=behind)
    after = later(campaign.name, report, ledger)
    if after == report.lease or not switch_totals(campaign, after):
        return False
    now = campaign._worker.look(_report)
    assert now is not None  # a lease is never lost
    pool.settle(campaign.name, now)  # so that others can have at once what was returned
    return True


def later(campaign: str, report: Report, ledger: Ledger) -> Lease:
    """Return the lease after all grants, or else after the return of units that the campaign does not need.

    Args:
        campaign: its name.
        report: its last one.
        ledger: the books after that report.
    """
    lease, line = report.lease, ledger.lines[campaign]
    taken = {n: max(z, line.granted[n]) for n, z in lease.taken.items()}
    # The pool may have collected more than an older copy of this log has returned, after it was restored. What that
    # copy used or holds stays with it until it is settled.
    spare = {n: z - units(report.used[n], lease.exponents[n]) - 1 for n, z in taken.items()}
    returned = {n: max(z, min(line.collected[n], spare[n])) for n, z in lease.returned.items()}
    lease = replace(lease, taken=taken, returned=returned)
    if lease != report.lease:
        return lease
    owed = ledger.excess(campaign, lease)
    left = {n: z - units(report.used[n], lease.exponents[n]) for n, z in lease.held.items()}
    return replace(lease, returned={n: z + moves(owed[n], left[n]) for n, z in lease.returned.items()})


def switch_totals(campaign: Campaign, lease: Lease) -> bool:
    """Switch a campaign to the totals of a later lease; returns False where another worker was first."""
    phase = campaign._worker.fold.phase
    encoder = phase.encoder
    assert isinstance(encoder, ColumnEncoder)  # which has a lease
    now = lease_of(encoder)
    assert now is not None
    if lease == now:  # another thread did it, since the report
        return False
    falls = any(units < now.held[name] for name, units in lease.held.items())
    try:
        policy, coded = with_totals_of(FilePolicy(phase.policy, encoder), lease)
    except (InfeasibleProblem, InvalidInput):
        if falls:  # such as below what a floor or a holdout needs: it stays
            return False
        raise
    with suppress(Conflict):
        campaign._worker.switch(Switch(phase=Phase(policy, coded), expected=phase.mark, why="lease"))
        return True
    return False


def _report(fold: Fold) -> Report | None:
    """Return the report of a campaign, None if it has no lease."""
    lease = lease_of(fold.encoder)
    if lease is None:
        return None
    rounds, horizon, ends = int(fold.state.t[0]), fold.policy.problem.horizon, fold.life.state == "ended"
    return Report(
        seq=fold.seq,
        lease=lease,
        used=use_of(fold, lease.taken),
        rounds=rounds,
        left=0 if ends else max(horizon - rounds, 0),
        horizon=max(horizon, rounds),
        restores=[Copy(z.shift, z.number, own) for z, own in zip(fold.ids.restores, fold.ids.used, strict=True)],
        ended=ends,
    )


def use_of(fold: Fold, names: Mapping[str, Any]) -> dict[str, float]:
    """Return the use by a campaign, spent or held, of the budgets that it leases."""
    accounts = fold.policy.status(fold.state).accounts
    return {name: max(accounts[name].total - accounts[name].left, 0.0) for name in names}


def open_leased(
    pool: Pool,
    store: str | Store,
    name: str,
    problem_path: str | Path | None = None,
    *,
    log_path: str | Path | None = None,
    learn: bool | float = True,
    terms: Mapping[str, Any] | None = None,
    switch: bool = False,
) -> Campaign:
    """Open a campaign of a problem file whose budgets are leased from a pool, and settle its lease.

    The totals of these budgets are those of the lease, whatever the problem file states; its horizon says how many
    rounds the campaign expects.

    Args:
        pool: grants the parts.
        store, name, problem_path, log_path, learn: as for `open_campaign`.
        terms: of a new campaign: `seed`, `patience` and `on_expiry`.
        switch: whether the campaign continues with a problem file that it never had.

    Raises:
        InvalidInput, Conflict, Busy: as for `open_campaign` and `settle_lease`; or the campaign exists, and has
            budgets of its own.
    """
    with open_or_use(store) as place:
        new = pool.ledger().lease(secrets.token_hex(8)) if last_encoding(place, name) is None else None
        made = open_with_settings(
            place,
            name,
            problem_path,
            log_path=log_path,
            learn=learn,
            stated=terms or {},
            lease=new,
            switch=switch,
        )
        if lease_of(made.encoder) is None:
            raise Conflict(f"campaign {name!r} has budgets of its own, and leases none")
        while settle_lease(made, pool):  # until it has all that it can have
            pass
    return made if place is store else Campaign(made._worker, made.terms, owner=True)


@dataclass(frozen=True)
class LeaseUpdate:
    """A campaign whose lease is brought up to date."""

    campaign: Campaign
    pool: Pool

    @property
    def name(self) -> str:
        return self.campaign.name

    def refresh(self) -> bool:
        """Settle the lease; returns whether it changed, so that there may be more to settle."""
        return settle_lease(self.campaign, self.pool)


def settlement_thread(campaigns: Iterable[Campaign], pool: Pool | None) -> AbstractContextManager[None]:
    """Settle leases every few seconds, in a thread of its own that ends with the block; do nothing without a pool."""
    return nullcontext() if pool is None else update_thread([LeaseUpdate(z, pool) for z in campaigns])
