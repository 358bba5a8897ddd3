"""The HTTP client, with a method for each request to a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal
from urllib.parse import quote

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
from evenhand.client.requests import Sender
from evenhand.core.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A decision: `action` and `probability` are those of the first play.

    None marks an empty place or an unknown probability. Times are microseconds since 1970; the outcome is overdue at
    the `deadline`.
    """

    id: int
    key: str
    action: str | None
    probability: float | None
    actions: tuple[str | None, ...]
    probabilities: tuple[float | None, ...]
    explanation: str
    deadline: int
    at: int
    repeated: bool
    warnings: tuple[str, ...] = ()  # of what was answered, but probably was not meant so


@dataclass(frozen=True, kw_only=True)
class Erased:
    """The result of an erasure, in numbers of decisions.

    A key that was erased before has no decision, even if an earlier try erased it and its answer got lost.
    """

    erased: int
    waiting: int  # before the date, which were left as they wait for their outcomes
    unknown: tuple[str, ...]  # keys or units that have no decision
    segments: tuple[str, ...] = ()  # files with decisions before the date, which are erased by deleting these


class Client:
    """Asks a campaign over HTTP for decisions, and reports outcomes.

    Every request may be sent again: a key has one decision, and an outcome, a pause or an erasure counts once. So
    requests are repeated, the same each time, where the connection breaks or the server answers that it is busy (429,
    502, 503, 504).

    Args:
        url: of the server, such as "http://127.0.0.1:8000".
        campaign: the name of the campaign, where the server has several.
        token: sent as `Authorization: Bearer TOKEN`.
        tries: the most times that a request is sent.
        timeout: seconds until a try counts as broken.
        reach: seconds for which a server that accepts no connection is tried, such as while it is started again; these
            are no tries. With `tries=1` there is one.

    Raises:
        InvalidInput: the URL does not begin with http:// or https://; by the methods, if a value is none that JSON has.
        RequestRefused: by the methods, if the server refuses a request.
        NoAnswer: by the methods, after the last try.

    >>> with Client("http://127.0.0.1:8000", token="a long enough secret") as client:
    ...     client.url
    'http://127.0.0.1:8000/'
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
        self._sender = Sender(self.url, token, tries, timeout, reach)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def decide(
        self,
        case: Mapping[str, Any],
        key: str,
        *,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Decision:
        """Ask for a decision.

        Args:
            case: the features and groups by name.
            key: chosen by the client, such as the number of an order; the same key has the same decision.
            offered: the actions that may be played; None for all.
            known: known outcomes of this case, where the server accepts them.
        """
        return read_decision(self._sender.send("POST", "decide", Deciding(case, key, offered, known).body()))

    def decide_many(self, asked: Sequence[Deciding]) -> list[Decision | Refusal]:
        """Ask for decisions in one request, which is one transaction of the server.

        The whole list is sent again like any request. Its entries are answered once: an error of one of them is
        returned in its place, and does not touch the others.

        Args:
            asked: at most 1,000 entries, in a body of at most a megabyte.

        Returns:
            For each entry, in the same order, its decision; or a `RequestRefused`; or a `NoAnswer` where the entry may
            be sent again later, as the campaign is paused.

        Raises:
            RequestRefused: the server refuses the list as a whole, for example as it is longer.
            NoAnswer: after the last try.
        """
        answers = self._sender.send_each("decide", bodies(asked, Deciding))
        return [refusal(answer) or read_decision(answer) for answer in answers]

    def observe(
        self, decision: int | str, outcomes: Outcomes | Sequence[Outcomes | None], *, revise: bool = False
    ) -> bool:
        """Report the outcomes of a decision, by its number or its key; returns whether they are new to the server.

        After a try whose answer got lost they are not new.
        """
        return self._is_new("observe", Observing(decision, outcomes, revise).body())

    def observe_unit(
        self, unit: str | int, outcomes: Mapping[str, float], key: str, *, at: datetime | None = None
    ) -> int | None:
        """Report an event of a unit, such as a purchase, by a key; returns the decision that it counts for, if any.

        Args:
            unit: its name, as cases state it.
            outcomes: the amounts of one or several outcomes, which add up.
            key: of the event, by which it counts once.
            at: when it happened, in UTC if it has no zone; by default when the server gets it.
        """
        found = self._sender.send("POST", "observe", event_fields(unit, outcomes, key, at))["id"]
        return None if found is None else int(found)

    def observe_many(self, observed: Sequence[Observing]) -> list[bool | Refusal]:
        """Report the outcomes of decisions in one request; errors are those of `decide_many`.

        Returns:
            For each entry, in the same order, whether its outcomes are new to the server; or its error.
        """
        answers = self._sender.send_each("observe", bodies(observed, Observing))
        return [refusal(answer) or bool(answer["new"]) for answer in answers]

    def cancel(self, decision: int | str) -> bool:
        """Cancel a decision that did not take effect, by its number or its key; returns whether that is new."""
        return self._is_new("cancel", decision_field(decision))

    def find(self, decision: int | str) -> dict[str, Any]:
        """Return a decision with its case, its state and its events, by its number or its key."""
        return self._sender.send("GET", place_of(decision))

    def report(self) -> dict[str, Any]:
        """Return the report of the campaign."""
        return self._sender.send("GET", "report")

    def pause(self, *, why: str, by: str | None = None) -> bool:
        """Make no decisions until `resume`; returns False if the campaign is paused already.

        Args:
            why: the reason, for the log.
            by: who asks for it, for the log; a token of a file says so by its name.
        """
        return self._is_new("pause", {"why": why, "by": by})

    def resume(self, *, why: str, by: str | None = None) -> bool:
        """Resume decisions after `pause`; returns False if the campaign already runs."""
        return self._is_new("resume", {"why": why, "by": by})

    def end(self, *, why: str, by: str | None = None) -> bool:
        """Stop making decisions for good; returns False if the campaign has ended already."""
        return self._is_new("end", {"why": why, "by": by})

    def change(
        self,
        *,
        why: str,
        by: str | None = None,
        patience: float | None = None,
        on_expiry: Literal["hold", "fallback", "release"] | None = None,
        after: Literal["nothing", "stop", "go on"] | None = None,
        retention: float | Literal["off"] | None = None,
    ) -> bool:
        """Change settings from now on, as `Campaign.change` does; returns False if they already have these values.

        Args:
            why, by: as for `pause`.
            patience: seconds until an outcome is overdue, for decisions from now on.
            on_expiry: what happens to budgets that overdue decisions hold.
            after: whether nothing is played, nothing is decided, or decisions go on after the horizon.
            retention: the days after which cases and keys are erased, or "off".
        """
        asked = {"why": why, "by": by, "patience": patience, "on_expiry": on_expiry, "after": after}
        asked["retention"] = retention
        return self._is_new("change", asked)

    def switch(self, problem: str, *, why: str, by: str | None = None, expected: str | None = None) -> dict[str, Any]:
        """Continue with another problem file, and return what the log records of it.

        Args:
            problem: the text of the file.
            why, by: as for `pause`.
            expected: the `mark` of a report, from which this switches.

        Raises:
            InvalidInput: `problem` has no line with a key, as the path of a file has none.
        """
        if not isinstance(problem, str) or "=" not in problem:
            raise InvalidInput("problem", "the text of a problem file, as by Path(...).read_text()", repr(problem))
        asked = {"problem": problem, "why": why, "by": by, "expected": expected}
        return self._sender.send("POST", "switch", fields_with_values(asked))

    def erase(
        self,
        keys: Sequence[str] | None = None,
        *,
        units: Sequence[str | int] | None = None,
        before: date | None = None,
        why: str,
        by: str | None = None,
    ) -> Erased:
        """Remove cases and keys of decisions from the log, and from the files of the store.

        A long log may take longer than the `timeout` of a try: another try then does what is left.

        Args:
            keys: of at most 1,000 decisions; none is erased if one of them waits for its outcome.
            units: at most 1,000 names, such as those of customers, all of whose decisions are erased; as for keys.
            before: a date or a time, in UTC if it has no zone: all decisions before it, but for those that wait.
                Without keys, units and date, the files are cleaned of what was erased before.
            why, by: as for `pause`; no personal data of the erased.
        """
        date_text = None if before is None else before.isoformat()
        asked = {"keys": keys, "units": units, "before": date_text, "why": why, "by": by}
        found = self._sender.send("POST", "erase", fields_with_values(asked))
        return Erased(
            erased=int(found["erased"]),
            waiting=int(found["waiting"]),
            unknown=tuple(found["unknown"]),
            segments=tuple(found["segments"]),
        )

    def _is_new(self, route: str, asked: Mapping[str, Any]) -> bool:
        return bool(self._sender.send("POST", route, fields_with_values(asked))["new"])


def address(url: str, campaign: str | None) -> str:
    """Return the address of the routes of a campaign, which ends with a slash.

    Raises:
        InvalidInput: the URL has another scheme.
    """
    if not url.startswith(("http://", "https://")):
        raise InvalidInput("url", "one that begins with http:// or https://", repr(url))
    inside = "" if campaign is None else f"campaigns/{quote(campaign, safe='')}/"
    return f"{url.rstrip('/')}/{inside}"


def place_of(decision: int | str) -> str:
    """Return the route of a decision, by its number or its key."""
    return f"decisions/{decision}" if isinstance(decision, int) else f"decisions?key={quote(decision, safe='')}"


def read_decision(found: Mapping[str, Any]) -> Decision:
    """Read an answer to a request for a decision."""
    found = {"warnings": (), **found}  # earlier servers state none
    lists = {name: tuple(found[name]) for name in ("actions", "probabilities", "warnings")}
    return Decision(**{name: lists.get(name, found[name]) for name in Decision.__dataclass_fields__})
