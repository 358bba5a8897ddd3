"""The switches of a campaign, for whoever reads its log."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.live.events import Event, read
from evenhand.live.stores.base import Readable

BOOKS = "books"  # how a policy adopts that goes on with the sums of a state, and learns again


class Switched(NamedTuple):
    """A switch to another policy."""

    number: int  # of the event
    at: int  # microseconds since 1970
    policy: str  # its name
    adopts: bool | str  # whether the policy adopted the state, or "books"; the log was folded anew else
    because: str | None  # why it could not
    by: str | None
    why: str | None
    unlearned: int | None = None  # decisions with outcomes of which a policy that adopted the books could not learn

    @staticmethod
    def of(event: Event) -> Switched:
        """Read an event `switched`."""
        body = read(event)
        return Switched(
            event.seq,
            event.at,
            str(body.get("name", "")),
            body.get("adopts", False),
            *(body.get(z) for z in ("because", "by", "why", "unlearned")),
        )

    def __str__(self) -> str:
        by = f" by {printed(self.by)}" if self.by else ""
        why = f" ({printed(self.why)})" if self.why else ""
        how = f"it adopted {self.told}" if self.adopts else "the log was folded anew"
        return f"event {self.number}: switched to policy {self.policy!r}{by}{why}; {how}"

    @property
    def told(self) -> str:
        """What the policy took over, in words."""
        if self.adopts == BOOKS:
            return f"the books, and learned again, but not from {self.unlearned:,} decisions"
        return "the state" if self.adopts else "the log, folded anew"


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
