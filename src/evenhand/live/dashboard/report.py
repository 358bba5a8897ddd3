"""The report of a campaign as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from evenhand.live.dashboard.alarms import alarms
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.cases import ranged_features
from evenhand.live.fold.event_schema import naming_damage
from evenhand.policy.status import Status

KINDS = {
    "observed": "Decisions whose outcomes came.",
    "late": "Decisions whose outcomes came after they had expired.",
    "expired": "Decisions whose outcomes were overdue.",
    "cancelled": "Decisions that were taken back.",
    "revised": "Outcomes that were replaced.",
    "after_horizon": "Decisions after the horizon that played something.",
}


def report(campaign: CampaignView) -> dict[str, Any]:
    """Report on a campaign after reading its whole log."""
    with naming_damage(campaign.store, campaign.name):
        status, tally = campaign.status(), Tally(campaign)
        tally.update()
        return to_json(campaign, status, tally)


def to_json(campaign: CampaignView, status: Status, tally: Tally) -> dict[str, Any]:
    """Convert a status and a tally to JSON; missing numbers become null."""
    found: dict[str, Any] = _finite(asdict(replace(status, profile=None)))
    del found["profile"]  # arrays, of which the plan is made
    for name, standing in status.standings.items():
        found["standings"][name] |= {"kept": standing.kept, "verdict": standing.verdict}
    found["budgets"] = found.pop("accounts")
    actions = {"": tally.played[None]} if tally.played[None] else {}
    actions |= {name: tally.played[name] for name in campaign.policy.problem.actions}
    return {
        "campaign": campaign.name,
        "policy": campaign.policy.name,
        **found,
        "life": tally.life.to_dict(),
        "retention": campaign.retention if tally.life.retention != "off" else None,
        **{kind: tally.counts[kind] for kind in KINDS},
        "delay": {"median": tally.delays.quantile(0.5), "90%": tally.delays.quantile(0.9)},
        "reference": tally.reference()[0],
        "alarms": alarms(campaign, status, tally),
        "actions": actions,
        "ahead": campaign.ahead,
        "certain": tally.certain(),
        "clipped": {name: tally.clipped.counts[name] for name in ranged_features(campaign.encoder)},
        "mark": campaign.policy.fingerprint(),
        "restores": [{**z._asdict(), "said": str(z)} for z in tally.ids.restores],
        "uncounted": tally.uncounted,
        "switches": [z._asdict() for z in tally.switches],
    }


def _finite(value: Any) -> Any:
    """Replace numbers that JSON cannot represent by None, and tuples by lists, also inside mappings."""
    if isinstance(value, dict):
        return {name: _finite(z) for name, z in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(z) for z in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
