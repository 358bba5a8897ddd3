"""The horizontal axis of the courses of a campaign: time where its problem has it or it runs for days, else rounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from evenhand.live.dashboard.charts import HorizontalAxis
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.tally import Tally
from evenhand.policy.status import Status
from evenhand.problem.clock import Clock

_DAY = 86_400_000_000  # microseconds


def began(campaign: CampaignView) -> int:
    """Return when a campaign was opened, in microseconds since 1970."""
    first = next(iter(campaign.store.scan(campaign.name)), None)
    assert first is not None  # it was opened
    return first.at


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The places at which the spans of a tally end.

    Args:
        clock: of the times at which they are, from the one at 0 on; None if the axis counts rounds.
        ends: the place of the end of every span; the last one is now.
        rounds: the rounds decided by then.
        last: the end of the run; expected at the present rate of rounds where only their number is stated, and now
            where decisions came after it.
    """

    clock: Clock | None
    ends: list[float]
    rounds: list[float]
    last: float

    @staticmethod
    def of(campaign: CampaignView, status: Status, tally: Tally) -> Axis:
        """Return the axis of a campaign at present."""
        problem, spans = campaign.policy.problem, tally.spans.all
        rounds = [float(x) for x in accumulate(span.rounds for span in spans)]
        if problem.until is not None and problem.clock.since is not None:
            clock = problem.clock
            ends = [max(clock.of_micros(span.at) or 0.0, 0.0) for span in spans]
            last = max(clock.last, *ends) if tally.counts["after_horizon"] else clock.last
            return Axis(clock=clock, ends=[min(end, last) for end in ends], rounds=rounds, last=last)
        first = began(campaign)
        if spans and spans[-1].at - first > _DAY:
            days = [(span.at - first) / _DAY for span in spans]
            last = max(days[-1] * status.horizon / max(rounds[-1], 1.0), days[-1])
            clock = Clock(datetime.fromtimestamp(first / 1e6, UTC), last)
            return Axis(clock=clock, ends=days, rounds=rounds, last=last)
        return Axis(clock=None, ends=rounds, rounds=rounds, last=max([float(status.horizon), *rounds[-1:]]))

    @property
    def start(self) -> datetime | None:
        """The time at 0; None if the axis counts rounds."""
        return None if self.clock is None else self.clock.since

    @property
    def here(self) -> float:
        """The place of the latest event."""
        return self.ends[-1] if self.ends else 0.0

    @property
    def unit(self) -> str:
        """The heading of a column of places."""
        if self.clock is None or self.start is None:
            return "rounds"
        return "time" if self.clock.zone is None else f"time in {self.clock.zone}"

    @property
    def table_title(self) -> str:
        """The title of a table of a course."""
        return "Over the rounds" if self.start is None else "Over time"

    def horizontal(self, last: float | None = None) -> HorizontalAxis:
        """Return the axis of a chart, up to now or up to another end."""
        return HorizontalAxis(last=self.here if last is None else last, start=self.start)

    def format(self, x: float) -> str:
        """Write a place in a table."""
        return f"{x:,.0f}" if self.clock is None else self.clock.format(x)

    def about(self, x: float) -> str:
        """Write a place that is an estimate, in words."""
        return f"at round {x:,.0f}" if self.clock is None else f"about {self.clock.format(x).partition(' ')[0]}"
