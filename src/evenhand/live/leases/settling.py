"""Settles the lease of a campaign with its pool: takes in what was granted, and returns what is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.coded import Coded, Stated, leased
from evenhand.live.events import Conflict
from evenhand.live.fold import Fold
from evenhand.live.leases.lease import Lease, lease_of
from evenhand.live.leases.ledger import Copy, Ledger, Report
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.shares import moves
from evenhand.live.leases.units import units
from evenhand.live.phases import Phase
from evenhand.live.switching import Switch


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
    if after == report.lease or not switched(campaign, after):
        return False
    now = campaign._worker.look(_report)
    assert now is not None  # a lease is never lost
    pool.settle(campaign.name, now)  # so that others can have at once what was returned
    return True


def later(campaign: str, report: Report, ledger: Ledger) -> Lease:
    """Return the lease after all grants, or else after the return of what the campaign does not need.

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
    owed = ledger.owed(campaign, lease)
    left = {n: z - units(report.used[n], lease.exponents[n]) for n, z in lease.held.items()}
    return replace(lease, returned={n: z + moves(owed[n], left[n]) for n, z in lease.returned.items()})


def switched(campaign: Campaign, lease: Lease) -> bool:
    """Switch a campaign to the totals of a later lease; returns False where another worker was first."""
    phase = campaign._worker.fold.phase
    encoder = phase.encoder
    assert isinstance(encoder, Coded)  # which has a lease
    now = lease_of(encoder)
    assert now is not None
    if lease == now:  # another thread did it, since the report
        return False
    falls = any(units < now.held[name] for name, units in lease.held.items())
    try:
        policy, coded = leased(Stated(phase.policy, encoder), lease)
    except (InfeasibleProblem, InvalidInput):
        if falls:  # such as below what a floor or a holdout needs: it stays
            return False
        raise
    with suppress(Conflict):
        campaign._worker.switch(Switch(phase=Phase(policy, coded), expected=phase.mark, why="lease"))
        return True
    return False


def _report(fold: Fold) -> Report | None:
    """Return where a campaign stands, None if it has no lease."""
    lease = lease_of(fold.encoder)
    if lease is None:
        return None
    rounds, horizon, ends = int(fold.state.t[0]), fold.policy.problem.horizon, fold.life.state == "ended"
    return Report(
        seq=fold.seq,
        lease=lease,
        used=used(fold, lease.taken),
        rounds=rounds,
        left=0 if ends else max(horizon - rounds, 0),
        horizon=max(horizon, rounds),
        restores=[Copy(z.shift, z.number, own) for z, own in zip(fold.ids.restores, fold.ids.used, strict=True)],
        ended=ends,
    )


def used(fold: Fold, names: Mapping[str, Any]) -> dict[str, float]:
    """Return what a campaign used, spent or held, of the budgets that it leases."""
    accounts = fold.policy.status(fold.state).accounts
    return {name: max(accounts[name].total - accounts[name].left, 0.0) for name in names}
