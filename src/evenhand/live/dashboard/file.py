"""The dashboard as one file."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import MissingExtra
from evenhand.core.files import replacement
from evenhand.core.validate import on_disk
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.fold.event_schema import naming_damage


def write_file(campaign: CampaignView, path: str | Path) -> None:
    """Write the dashboard of a campaign as one self-contained HTML file, which appears complete or not at all.

    Raises:
        InvalidInput: the file cannot be written.
        MissingExtra: Jinja is not installed.
    """
    try:
        from evenhand.live.dashboard.page import render_file  # which needs Jinja
    except ImportError as error:
        raise MissingExtra("pages", "live") from error
    named = naming_damage(campaign.store, campaign.name)
    with on_disk("path", "a file that can be written"), replacement(Path(path), 0o600) as part, named:
        part.write_text(render_file(campaign), encoding="utf-8")
