"""The switches of a campaign, for whoever reads its log."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.live.events import Event, read
from evenhand.live.stores.base import Readable


class Switched(NamedTuple):
    """A switch to another policy."""

    number: int  # of the event
    at: int  # microseconds since 1970
    policy: str  # its name
    adopts: bool  # whether the policy adopted the state; the log was folded anew else
    because: str | None  # why it could not
    by: str | None
    why: str | None

    @staticmethod
    def of(event: Event) -> Switched:
        """Read an event `switched`."""
        body = read(event)
        return Switched(
            event.seq,
            event.at,
            str(body.get("name", "")),
            bool(body.get("adopts", False)),
            *(body.get(z) for z in ("because", "by", "why")),
        )

    def __str__(self) -> str:
        by = f" by {printed(self.by)}" if self.by else ""
        why = f" ({printed(self.why)})" if self.why else ""
        how = "it adopted the state" if self.adopts else "the log was folded anew"
        return f"event {self.number}: switched to policy {self.policy!r}{by}{why}; {how}"


def printed(text: str) -> str:
    """Escape what is not printable, such as new lines, which earlier versions took.

    >>> printed("Ada\\nevent 99"), printed("Jürgen")
    ('Ada\\\\nevent 99', 'Jürgen')
    """
    return "".join(z if z.isprintable() else repr(z)[1:-1] for z in text)


def policies(store: Readable, campaign: str) -> dict[str, str]:
    """Return the names of all policies that decided, by their fingerprints."""
    begun = (read(event) for event in store.scan(campaign, kinds=("opened", "switched")))
    return {body.get("first") or body["mark"]: str(body.get("name", "")) for body in begun}


def switches(store: Readable, campaign: str) -> list[Switched]:
    """Return the switches of a campaign, in order."""
    return [Switched.of(event) for event in store.scan(campaign, kinds=("switched",))]
