"""Opens campaigns of problem files that lease their budgets from a pool."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.live.campaign import Campaign
from evenhand.live.events import Conflict
from evenhand.live.files import open_stated
from evenhand.live.leases.lease import lease_of
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.settling import settle_lease
from evenhand.live.problem_files import last_encoding
from evenhand.live.stores.base import Store
from evenhand.live.stores.opening import opened


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
    with opened(store) as place:
        new = pool.ledger().lease(secrets.token_hex(8)) if last_encoding(place, name) is None else None
        made = open_stated(
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
