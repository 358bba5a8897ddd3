"""A campaign in a program that runs in an event loop: each call waits for the disk in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.fold.attribution import Attribution
from evenhand.live.fold.cases import Case
from evenhand.live.log.replies import Reply
from evenhand.live.worker.requests import Outcomes
from evenhand.policy.status import Status

T = TypeVar("T")


class AsyncCampaign:
    """Makes the calls of a campaign in threads, so that the event loop runs on while the log is written.

    Calls that wait at the same time share transactions, as those of threads do. A call that is cancelled runs to its
    end in its thread, and counts: the same key gets the same reply.

    Args:
        campaign: an open one, which is closed at the end of `async with`.

    Raises:
        InvalidInput: `campaign` is none, such as the URL of a store.

    >>> import asyncio
    >>> import evenhand as eh
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> async def play():
    ...     async with AsyncCampaign(Campaign.open("memory://", "coins", eh.uniform(coin, 1))) as coins:
    ...         replies = await asyncio.gather(*(coins.decide({}, key=str(i)) for i in range(3)))
    ...         return [await coins.observe(reply.id, {"gain": 1}) for reply in replies]
    >>> asyncio.run(play())
    [True, True, True]
    """

    def __init__(self, campaign: Campaign) -> None:
        if not isinstance(campaign, Campaign):
            raise InvalidInput("campaign", "an open Campaign, as open_campaign returns", repr(campaign))
        self.campaign = campaign

    async def __aenter__(self) -> AsyncCampaign:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.call(Campaign.close)

    async def call(self, verb: Callable[[Campaign], T]) -> T:
        """Make any other call in a thread, such as `await shop.call(lambda z: z.pause(by="us", why="stock"))`."""
        import asyncio  # which takes long, and runs in such a program anyway

        return await asyncio.to_thread(verb, self.campaign)

    async def decide(
        self,
        case: Case,
        key: str,
        *,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Reply:
        """Decide a case, once per key, as `Campaign.decide` does."""
        return await self.call(lambda z: z.decide(case, key, offered=offered, known=known))

    async def observe(self, decision: int | str, outcomes: Outcomes, *, revise: bool = False) -> bool:
        """Record the outcomes of a decision, as `Campaign.observe` does."""
        return await self.call(lambda z: z.observe(decision, outcomes, revise=revise))

    async def observe_unit(
        self, unit: str | int, outcomes: Mapping[str, float], key: str, *, at: datetime | None = None
    ) -> Attribution:
        """Add an event of a unit to an outcome, once per key, as `Campaign.observe_unit` does."""
        return await self.call(lambda z: z.observe_unit(unit, outcomes, key, at=at))

    async def cancel(self, decision: int | str) -> bool:
        """Cancel a decision that was not carried out, as `Campaign.cancel` does."""
        return await self.call(lambda z: z.cancel(decision))

    async def find(self, decision: int | str) -> dict[str, Any]:
        """Return a decision with its case, its state and all its events, by its number or its key."""
        return await self.call(lambda z: z.find(decision))

    async def status(self) -> Status:
        """Return the current status of the campaign."""
        return await self.call(Campaign.status)
