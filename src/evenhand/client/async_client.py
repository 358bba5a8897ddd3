"""The HTTP client for programs that run in an event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from evenhand.client.client import Decision, address, place_of, read_decision
from evenhand.client.entries import (
    Deciding,
    Observing,
    Outcomes,
    Refusal,
    bodies,
    decision_field,
    event_fields,
    fields_with_values,
    refusal,
)
from evenhand.client.requests import AsyncSender


class AsyncClient:
    """Asks a campaign over HTTP as `Client` does, while the event loop runs on.

    It has the requests of a service. Changes of a campaign, such as `pause`, are those of `Client` and of the command
    line. A task that is cancelled leaves a request that may have taken effect: the same key has the same decision.

    Args:
        url, campaign, token, tries, timeout, reach: as of `Client`.

    Raises:
        InvalidInput, RequestRefused, NoAnswer: as for `Client`.

    >>> AsyncClient("http://127.0.0.1:8000", campaign="email").url
    'http://127.0.0.1:8000/campaigns/email/'
    """

    def __init__(
        self,
        url: str,
        *,
        campaign: str | None = None,
        token: str | None = None,
        tries: int = 6,
        timeout: float = 10.0,
        reach: float = 30.0,
    ) -> None:
        self.url = address(url, campaign)
        self._sender = AsyncSender(self.url, token, tries, timeout, reach)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.close()

    async def decide(
        self,
        case: Mapping[str, Any],
        key: str,
        *,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Decision:
        """Ask for a decision; arguments are those of `Client.decide`."""
        return read_decision(await self._sender.send("POST", "decide", Deciding(case, key, offered, known).body()))

    async def decide_many(self, asked: Sequence[Deciding]) -> list[Decision | Refusal]:
        """Ask for decisions in one request, as `Client.decide_many` does."""
        answers = await self._sender.send_each("decide", bodies(asked, Deciding))
        return [refusal(answer) or read_decision(answer) for answer in answers]

    async def observe(
        self, decision: int | str, outcomes: Outcomes | Sequence[Outcomes | None], *, revise: bool = False
    ) -> bool:
        """Report the outcomes of a decision, by its number or its key; returns whether they are new to the server."""
        return await self._is_new("observe", Observing(decision, outcomes, revise).body())

    async def observe_unit(
        self, unit: str | int, outcomes: Mapping[str, float], key: str, *, at: datetime | None = None
    ) -> int | None:
        """Report an event of a unit, as `Client.observe_unit` does; returns the decision that it counts for, if any."""
        found = (await self._sender.send("POST", "observe", event_fields(unit, outcomes, key, at)))["id"]
        return None if found is None else int(found)

    async def observe_many(self, observed: Sequence[Observing]) -> list[bool | Refusal]:
        """Report the outcomes of decisions in one request, as `Client.observe_many` does."""
        answers = await self._sender.send_each("observe", bodies(observed, Observing))
        return [refusal(answer) or bool(answer["new"]) for answer in answers]

    async def cancel(self, decision: int | str) -> bool:
        """Cancel a decision that did not take effect, by its number or its key; returns whether that is new."""
        return await self._is_new("cancel", decision_field(decision))

    async def find(self, decision: int | str) -> dict[str, Any]:
        """Return a decision with its case, its state and its events, by its number or its key."""
        return await self._sender.send("GET", place_of(decision))

    async def report(self) -> dict[str, Any]:
        """Return the report of the campaign."""
        return await self._sender.send("GET", "report")

    async def _is_new(self, route: str, asked: Mapping[str, Any]) -> bool:
        return bool((await self._sender.send("POST", route, fields_with_values(asked)))["new"])
