"""Settles the leases of campaigns that are served, now and then."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from evenhand.live.campaign import Campaign
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.settling import settle_lease


@dataclass(frozen=True)
class Settling:
    """A campaign whose lease is brought up to date."""

    campaign: Campaign
    pool: Pool

    @property
    def name(self) -> str:
        return self.campaign.name

    def refresh(self) -> bool:
        """Settle the lease; returns whether it changed, so that there may be more to settle."""
        return settle_lease(self.campaign, self.pool)


def settling(campaigns: Iterable[Campaign], pool: Pool | None) -> AbstractContextManager[None]:
    """Settle leases every few seconds, in a thread of its own that ends with the block; do nothing without a pool."""
    from evenhand.live.http.upkeep import keeping_up  # which needs the packages of a server

    return nullcontext() if pool is None else keeping_up([Settling(z, pool) for z in campaigns])
