"""Campaigns: live decisions by any number of workers on one event log, from which all state is derived."""

from evenhand.live.campaigns.async_campaign import AsyncCampaign
from evenhand.live.campaigns.audits import Audit, audit
from evenhand.live.campaigns.backups import archive, backup, restore
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.commands import served
from evenhand.live.campaigns.decisions import Decided, decisions
from evenhand.live.campaigns.files import open_campaign, switch_campaign
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.settlement import open_leased, settle_lease
from evenhand.live.log.events import Busy, Conflict, Damaged, Unknown
from evenhand.live.log.ids import Lost
from evenhand.live.log.life import Ended, Life, Paused
from evenhand.live.log.replies import Reply
from evenhand.live.stores.opening import Place
from evenhand.live.worker.clocks import accept_clock

__all__ = [
    "AsyncCampaign",
    "Audit",
    "Busy",
    "Campaign",
    "Conflict",
    "Damaged",
    "Decided",
    "Ended",
    "Life",
    "Lost",
    "Paused",
    "Place",
    "Pool",
    "Reply",
    "Unknown",
    "accept_clock",
    "archive",
    "audit",
    "backup",
    "decisions",
    "open_campaign",
    "open_leased",
    "restore",
    "served",
    "settle_lease",
    "switch_campaign",
]
