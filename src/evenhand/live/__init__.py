"""Campaigns: live decisions by any number of workers on one event log, from which all state is derived."""

from evenhand.live.auditing import Audit, audit
from evenhand.live.backups import archive, backup, restore
from evenhand.live.campaign import Campaign
from evenhand.live.clocks import set_clock
from evenhand.live.decided import Decided, decisions
from evenhand.live.events import Busy, Conflict, Damaged, Unknown
from evenhand.live.files import open_campaign, switch_campaign
from evenhand.live.ids import Lost
from evenhand.live.leases.opening import open_leased
from evenhand.live.leases.pool import Pool
from evenhand.live.leases.settling import settle_lease
from evenhand.live.life import Ended, Life, Paused
from evenhand.live.replies import Reply
from evenhand.live.standing import served
from evenhand.live.stores.opening import Place

__all__ = [
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
    "archive",
    "audit",
    "backup",
    "decisions",
    "open_campaign",
    "open_leased",
    "restore",
    "served",
    "set_clock",
    "settle_lease",
    "switch_campaign",
]
