"""The campaigns of a server, each with the threads and counts that serve it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple, TypeVar

from prometheus_client import Metric

from evenhand.core.pauses import short_turns
from evenhand.live.campaign import Campaign
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http.commits import Commits
from evenhand.live.http.metrics import metrics, standing
from evenhand.live.http.quotas import Quotas
from evenhand.live.http.readiness import Readiness
from evenhand.live.http.requests import Requests
from evenhand.live.http.upkeep import Upkeep, keeping_up
from evenhand.policy.status import Status

T = TypeVar("T")
SOON = 0.075  # seconds for which metrics wait for the state of a campaign, if they know an earlier one


class _Seen(NamedTuple):
    """The state of a campaign at a time, or why it could not be read."""

    families: Sequence[Metric]
    at: float
    error: Exception | None = None

    def aged(self) -> list[Metric]:
        """Return the state with its age."""
        age = Metric("evenhand_state_age_seconds", "Seconds since the state of the campaign was read.", "gauge")
        age.add_sample(age.name, {}, monotonic() - self.at)
        return [*self.families, age]


class Served:
    """One campaign behind HTTP.

    Args:
        campaign: the campaign; it may have other workers.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.commits, self.tally = campaign, Commits(campaign), Tally(campaign)
        self.readiness = Readiness(campaign)
        self._reader = ThreadPoolExecutor(1, "evenhand reports")  # reports wait for the campaign's lock anyway
        self._explainer = ThreadPoolExecutor(1, "evenhand explanations")  # each may fold 10,000 events again
        self._look: Future[_Seen] | None = None
        self._seen: _Seen | None = None
        self.upkeep = Upkeep(lambda: self._reader.submit(_beside, self.tally.update))

    async def reading(self, call: Callable[[], T]) -> T:
        """Call in the thread for reports."""
        return await asyncio.wrap_future(self._reader.submit(_beside, call))

    async def explaining(self, call: Callable[[], T]) -> T:
        """Call in the thread for explanations."""
        return await asyncio.wrap_future(self._explainer.submit(_beside, call))

    def stand(self) -> Status:
        """Return the status, after which the tally is up to date."""
        status = self.campaign.status()  # first, since it expires overdue decisions
        self.tally.update()
        return status

    async def standing(self) -> list[Metric]:
        """Return the state of the campaign, for metrics; an earlier one while a page or an erasure takes long."""
        if self._look is None or self._look.done():
            self._look = self._reader.submit(_beside, self._see)
        known = self._seen is not None and self._seen.error is None
        await asyncio.wait([asyncio.wrap_future(self._look)], timeout=SOON if known else None)
        assert self._seen is not None
        if self._seen.error is not None:
            raise self._seen.error
        return self._seen.aged()

    def _see(self) -> _Seen:
        """Read the state of the campaign."""
        begun = monotonic()
        try:
            each = standing(self.campaign, self.stand(), self.tally, self.commits.waiting())
            self._seen = _Seen(list(each), begun)
        except Exception as error:  # which whoever asks is told
            self._seen = _Seen((), begun, error)
        return self._seen


def _beside(call: Callable[[], T]) -> T:
    """Call what takes long while others decide."""
    with short_turns():
        return call()


class Hall:
    """All campaigns of a server.

    Args:
        campaigns: with names that differ.
    """

    def __init__(self, campaigns: Sequence[Campaign]) -> None:
        self.each = {campaign.name: Served(campaign) for campaign in campaigns}
        self.requests, self.quotas = Requests(list(self.each)), Quotas()

    async def metrics(self, names: Iterable[str]) -> str:
        """Format the metrics of some campaigns."""
        each = [(name, self.each[name]) for name in names]
        standings = await asyncio.gather(*(served.standing() for _, served in each))
        return metrics({name: z for (name, _), z in zip(each, standings, strict=True)}, self.requests, self.quotas)

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Keep the campaigns up to date while an app runs, and finish the waiting requests at its end."""
        with keeping_up(served.campaign for served in self.each.values()):
            yield
        for served in self.each.values():
            served.commits.close()
