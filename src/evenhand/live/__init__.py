"""Campaigns: live decisions by any number of workers on one event log, from which all state is derived."""

from evenhand.core import registry
from evenhand.live.campaigns.async_campaign import AsyncCampaign as AsyncCampaign
from evenhand.live.campaigns.audits import Audit as Audit, audit as audit
from evenhand.live.campaigns.backups import archive as archive, backup as backup, restore as restore
from evenhand.live.campaigns.campaign import Campaign as Campaign
from evenhand.live.campaigns.commands import served as served
from evenhand.live.campaigns.decisions import Decided as Decided, decisions as decisions
from evenhand.live.campaigns.files import open_campaign as open_campaign, switch_campaign as switch_campaign
from evenhand.live.leases.pool import Pool as Pool
from evenhand.live.leases.settlement import open_leased as open_leased, settle_lease as settle_lease
from evenhand.live.log.events import Busy as Busy, Conflict as Conflict, Damaged as Damaged, Unknown as Unknown
from evenhand.live.log.ids import Lost as Lost
from evenhand.live.log.life import Ended as Ended, Life as Life, Paused as Paused
from evenhand.live.log.replies import Reply as Reply
from evenhand.live.stores.opening import Place as Place
from evenhand.live.worker.clocks import accept_clock as accept_clock

__all__ = registry.public(__name__)
