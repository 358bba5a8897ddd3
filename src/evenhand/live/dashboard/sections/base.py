"""The contract of a section of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evenhand.live.dashboard.axis import Axis
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Section
from evenhand.policy.status import Status


class Readings(NamedTuple):
    """A campaign as its page shows it, at one moment."""

    campaign: CampaignView
    status: Status
    tally: Tally
    linked: bool  # whether a server answers links

    @property
    def axis(self) -> Axis:
        """The horizontal axis of what is drawn over the rounds or over time."""
        return Axis.of(self.campaign, self.status, self.tally)


Show = Callable[[Readings], Section | None]  # None where there is nothing to show
