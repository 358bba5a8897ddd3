"""A campaign that is served: its readiness, and the reports that are read from it beside requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple, TypeVar

from prometheus_client import Metric

from evenhand.core.errors import EvenhandError
from evenhand.core.garbage import short_turns
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.upkeep import Upkeep, update_thread
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.phases import MissingPolicy
from evenhand.live.http.answers import LOG
from evenhand.live.http.commits import Commits
from evenhand.live.http.metrics import Requests, campaign_metrics, metrics
from evenhand.live.http.quotas import Quotas
from evenhand.live.log.events import Busy, Conflict
from evenhand.live.log.life import State
from evenhand.policy.status import Status

PATIENCE = 2.0  # until a server that does not answer counts as behind
_KEPT = 1.0  # seconds for which an answer counts, so that probes do not load the store
_BEHIND = "the worker is behind the log, or the store is locked"
_BUSY = "the store cannot be written, or its clock jumped"


class _Undone(Exception):
    """An exception that rolls back the trial write."""


class Readiness:
    """Tries a write that is rolled back, once for all probes that ask within a second.

    Args:
        campaign: the campaign that decides.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> asyncio.run(Readiness(Campaign.open("memory://", "shop", eh.uniform(shop, 1))).reason()) is None
    True
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._thread = ThreadPoolExecutor(1, "evenhand readiness")  # apart from reports, which may take long
        self._trial: Future[str | None] | None = None
        self._until = 0.0
        self._state: State = "running"

    def state(self) -> dict[str, str]:
        """Return the state of a campaign that does not decide; outcomes have to arrive all the same."""
        return {} if self._state == "running" else {"state": self._state}

    async def reason(self) -> str | None:
        """Return why the server is not ready, None if it is."""
        if self._trial is None or (self._trial.done() and time.monotonic() > self._until):
            self._trial = self._thread.submit(self._try)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._trial)), PATIENCE)
        except TimeoutError:
            return _BEHIND

    def _try(self) -> str | None:
        campaign = self._campaign
        try:
            campaign.refresh()  # reads the log, and checks the policy and the clock
            self._state = campaign.life.state
            try:
                with campaign.store.write(campaign.name) as log:
                    log.append("decided", "{}")  # without a key, as a client may state any key
                    raise _Undone
            except _Undone:
                return None
        except MissingPolicy:
            return "the campaign was switched to another policy of Python: start the server with that one"
        except Conflict:
            return "a later version of evenhand decides for the campaign: start the server with that one"
        except Busy as error:
            LOG.warning("not ready: %s", error)
            return _BUSY
        except EvenhandError as error:
            LOG.error("not ready", exc_info=error)
            return "the log cannot be read, or was replaced by another one"
        except Exception as error:
            LOG.error("not ready", exc_info=error)
            return "an error of the server, recorded in its log"
        finally:
            self._until = time.monotonic() + _KEPT


T = TypeVar("T")
SOON = 0.075  # seconds for which metrics wait for the state of a campaign, if they know an earlier one


class _StateSample(NamedTuple):
    """The state of a campaign at a time, or why it could not be read."""

    families: Sequence[Metric]
    at: float
    error: Exception | None = None

    def metrics(self) -> list[Metric]:
        """Return the state with its age."""
        age = Metric("evenhand_state_age_seconds", "Seconds since the state of the campaign was read.", "gauge")
        age.add_sample(age.name, {}, monotonic() - self.at)
        return [*self.families, age]


class CampaignService:
    """One campaign behind HTTP.

    Args:
        campaign: the campaign; it may have other workers.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.commits, self.tally = campaign, Commits(campaign), Tally(campaign)
        self.readiness = Readiness(campaign)
        self._reader = ThreadPoolExecutor(1, "evenhand reports")  # reports wait for the campaign's lock anyway
        self._explainer = ThreadPoolExecutor(1, "evenhand explanations")  # each may fold 10,000 events again
        self._look: Future[_StateSample] | None = None
        self._seen: _StateSample | None = None
        self.upkeep = Upkeep(lambda: self._reader.submit(_call_in_short_turns, self.tally.update))

    async def read(self, call: Callable[[], T]) -> T:
        """Call in the thread for reports."""
        return await asyncio.wrap_future(self._reader.submit(_call_in_short_turns, call))

    async def explain(self, call: Callable[[], T]) -> T:
        """Call in the thread for explanations."""
        return await asyncio.wrap_future(self._explainer.submit(_call_in_short_turns, call))

    def stand(self) -> Status:
        """Return the status, after which the tally is up to date."""
        status = self.campaign.status()  # first, since it expires overdue decisions
        self.tally.update()
        return status

    async def metrics(self) -> list[Metric]:
        """Return the state of the campaign, for metrics; an earlier one while a page or an erasure takes long."""
        if self._look is None or self._look.done():
            self._look = self._reader.submit(_call_in_short_turns, self._see)
        known = self._seen is not None and self._seen.error is None
        await asyncio.wait([asyncio.wrap_future(self._look)], timeout=SOON if known else None)
        assert self._seen is not None
        if self._seen.error is not None:
            raise self._seen.error
        return self._seen.metrics()

    def _see(self) -> _StateSample:
        """Read the state of the campaign."""
        begun = monotonic()
        try:
            each = campaign_metrics(self.campaign, self.stand(), self.tally, self.commits.n_waiting())
            self._seen = _StateSample(list(each), begun)
        except Exception as error:  # which whoever asks is told
            self._seen = _StateSample((), begun, error)
        return self._seen


def _call_in_short_turns(call: Callable[[], T]) -> T:
    """Call a function that takes long, with short turns of threads so that others can decide."""
    with short_turns():
        return call()


class Hall:
    """All campaigns of a server.

    Args:
        campaigns: with names that differ.
        backups: the folder of their backups, None if it is not known.
    """

    def __init__(self, campaigns: Sequence[Campaign], backups: Path | None = None) -> None:
        self.each = {campaign.name: CampaignService(campaign) for campaign in campaigns}
        self.requests, self.quotas, self._backups = Requests(list(self.each)), Quotas(), backups

    async def metrics(self, names: Iterable[str]) -> str:
        """Format the metrics of some campaigns."""
        each = [(name, self.each[name]) for name in names]
        standings = await asyncio.gather(*(served.metrics() for _, served in each))
        found = {name: z for (name, _), z in zip(each, standings, strict=True)}
        return metrics(found, self.requests, self.quotas, self._backups)

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Keep the campaigns up to date while an app runs, and finish the waiting requests at its end."""
        with update_thread(served.campaign for served in self.each.values()):
            yield
        for served in self.each.values():
            served.commits.close()
