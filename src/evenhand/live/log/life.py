"""The life of a campaign: whether it decides, and the settings that may change. It is a fold over the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from evenhand.core.errors import EvenhandError
from evenhand.live.log.events import Event, Kind, read, time_text
from evenhand.problem.end import After

OnExpiry = Literal["hold", "fallback", "release"]
FATES: tuple[OnExpiry, ...] = ("hold", "fallback", "release")
State = Literal["running", "paused", "ended"]
SETTINGS = ("patience", "on_expiry", "after", "retention")
LIFE: tuple[Kind, ...] = ("paused", "resumed", "ended", "changed")
STATES: dict[Kind, State] = {"paused": "paused", "resumed": "running", "ended": "ended"}


class Paused(EvenhandError):
    """The campaign makes no decisions at present; outcomes still count. Ask again, with the same key."""


class Ended(EvenhandError):
    """The campaign makes no more decisions; outcomes still count."""


@dataclass(frozen=True, kw_only=True)
class Life:
    """Whether a campaign decides, and its settings, after some events.

    Args:
        patience: the seconds after which the outcome of a new decision is overdue.
        on_expiry: the fate of the hard budget that a decision reserves when it expires from now on.
        after: what is answered after the horizon: "nothing" is played, the campaign is over ("stop"), or decisions
            "go on" with what is left of budgets.
        retention: the days after which cases and keys are erased, or "off".
        rule: the event that stated it, 0 without one.
        state: "running", "paused" or "ended".
        by, why: who brought the state about, and why; empty for a campaign that was only opened.
        since: when, in microseconds since 1970.
    """

    patience: float
    on_expiry: OnExpiry
    after: After = "nothing"
    retention: float | Literal["off"] = "off"
    rule: int = 0
    state: State = "running"
    by: str = ""
    why: str = ""
    since: int = 0

    @staticmethod
    def from_event(event: Event) -> Life:
        """Read the life of a campaign from the first event of its log."""
        body = read(event)
        return Life(patience=body["patience"], on_expiry=body["on_expiry"], after=body["after"], since=event.at)

    @staticmethod
    def of(events: Iterable[Event]) -> Life:
        """Fold the first event of a log and those about its life; others are left out by the caller."""
        first, *rest = events
        found = Life.from_event(first)
        for event in rest:
            found = found.apply(event)
        return found

    def apply(self, event: Event) -> Life:
        """Return the life after an event about it.

        >>> life = Life(patience=60.0, on_expiry="hold")
        >>> life.apply(Event(7, "paused", None, None, 0, '{"by":"anna","why":"no letters"}')).summary
        'paused by anna since 1970-01-01 00:00:00 UTC: no letters'
        """
        body = read(event)
        if event.kind == "changed":
            rule = event.seq if "retention" in body else self.rule
            return replace(self, rule=rule, **{name: body[name] for name in SETTINGS if name in body})
        return replace(self, state=STATES[event.kind], by=body["by"], why=body["why"], since=event.at)

    @property
    def summary(self) -> str:
        """The state in words."""
        if not self.by:
            return self.state
        return f"{self.state} by {self.by} since {time_text(self.since)}: {self.why}"

    @property
    def retention_text(self) -> str:
        """When cases and keys are erased, in words.

        >>> Life(patience=1.0, on_expiry="hold", retention=90).retention_text
        'erased after 90 days'
        >>> Life(patience=1.0, on_expiry="hold").retention_text
        'never erased'
        """
        if self.retention == "off":
            return "never erased"
        return f"erased after {self.retention:g} day{'s' * (self.retention != 1.0)}"

    def refuse(self, campaign: str) -> None:
        """Refuse a new decision unless the campaign runs.

        Raises:
            Paused: it is paused.
            Ended: it has ended.
        """
        if self.state == "paused":
            raise Paused(f"campaign {campaign!r} is {self.summary}")
        if self.state == "ended":
            raise Ended(f"campaign {campaign!r} is {self.summary}; it makes no more decisions, and cannot be resumed")

    def to_dict(self) -> dict[str, Any]:
        """Return the life for JSON."""
        return asdict(self)


def fate_of(expired: Event, opened: OnExpiry) -> OnExpiry:
    """Return the fate of the amounts of an expired decision; its event states it where it differs from the opening.

    >>> fate_of(Event(9, "expired", 3, None, 0, "{}"), "hold")
    'hold'
    """
    found: OnExpiry = opened if expired.body == "{}" else read(expired)["on_expiry"]
    return found
