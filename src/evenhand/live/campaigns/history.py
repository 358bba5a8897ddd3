"""The decisions of a log as a table of cases, actions and outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evenhand.live.fold.event_schema import naming_damage
from evenhand.live.fold.phases import Switched
from evenhand.live.log.events import Event, is_erased, read
from evenhand.live.log.ids import Ids
from evenhand.live.log.replies import reply
from evenhand.live.log.segments import every
from evenhand.live.log.store import Readable

_SAME = 10_000  # distinct outcomes that are stored once each


@dataclass(frozen=True)
class History:
    """A table with one row per decision, as of one event; iterating reads the rows from the store, in order.

    Outcomes arrive after their decisions. The log is therefore read once for the final states, which take little
    memory, and again for each pass over the rows.

    Args:
        store: the store with the log.
        campaign: its name.
        last: the last event to read.
        actions: the names of all actions.
        ends: by decision, its final state and outcomes.
        cases: the names that cases state, with the types of their values.
        plays: the largest number of plays of a decision.
        outcomes: the names of all outcomes that were observed.
        switches: to other policies, with who and why.
        ids: of the decisions.

    >>> import evenhand as eh
    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> campaign = eh.Campaign.open(store, "shop", eh.uniform(shop, 1))
    >>> _ = campaign.observe(campaign.decide({}, key="first").id, {"won": 1})
    >>> [(row["key"], row["probability"], row["state"], row["outcome won"]) for row in History.of(store, "shop")]
    [('first', 0.5, 'observed', 1)]
    """

    store: Readable
    campaign: str
    last: int
    actions: Sequence[str]
    ends: Mapping[int, tuple[str, str | None]]
    cases: Mapping[str, set[type]]
    plays: int
    outcomes: Sequence[str]
    switches: Sequence[Switched]
    ids: Ids

    @staticmethod
    def of(store: Readable, campaign: str) -> History:
        """Read the history of a campaign up to its last event.

        Raises:
            Damaged: the body of an event is damaged.
            Conflict: some events are in segments that are not given.
        """
        with naming_damage(store, campaign):
            return History._of(store, campaign)

    @staticmethod
    def _of(store: Readable, campaign: str) -> History:
        actions: Sequence[str] = ()
        ends: dict[int, tuple[str, str | None]] = {}
        same: dict[tuple[str, str | None], tuple[str, str | None]] = {}  # each distinct outcome is stored once
        cases: dict[str, set[type]] = {}
        last, plays, outcomes, switches, ids = 0, 0, dict[str, None](), list[Switched](), Ids()
        for event in every(store, campaign):
            last = event.seq
            if event.kind in ("opened", "switched"):
                actions = read(event).get("actions", actions)  # a switch states them where it appends some
                switches += [Switched.of(event)] if event.kind == "switched" else []
            elif event.kind == "restored":
                ids = ids.apply(event)
            elif event.kind == "decided":
                body = read(event)
                plays = max(plays, len(body["a"]))
                for name, value in body.get("case", {}).items():
                    cases.setdefault(name, set()).add(type(value))
            elif event.ref is not None and event.kind != "added":
                settled = event.kind in ("observed", "revised")
                end = ("observed" if settled else event.kind, event.body if settled else None)
                if end not in same:
                    outcomes |= dict.fromkeys(name for name, _ in outcome_columns(end[1]))
                ends[event.ref] = same.setdefault(end, end) if len(same) < _SAME else end
        return History(store, campaign, last, actions, ends, cases, plays, tuple(outcomes), switches, ids)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns: `id`, `key`, `at` (microseconds since 1970), and the names in the cases.

        Then `action` and `probability`, with a number from the second play on; `state` (waiting, observed, cancelled,
        expired, erased, or nothing played); and `outcome NAME` for every observed outcome. A name in a case that is one
        of these becomes `case NAME`.
        """
        first, rest = self._own
        return (*first, *map(self.column, self.cases), *rest)

    def column(self, name: str) -> str:
        """Return the column that holds a name of the cases."""
        return f"case {name}" if any(name in own for own in self._own) else name

    @cached_property
    def _own(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        decided = (f"{z}{_place(p)}" for p in range(self.plays) for z in ("action", "probability"))
        return ("id", "key", "at"), (*decided, "state", *self.outcomes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; empty cells have no entry."""
        with naming_damage(self.store, self.campaign):
            yield from self._rows()

    def _rows(self) -> Iterator[dict[str, Any]]:
        for event in self.decisions():
            body = read(event)
            told = reply(event, body, self.actions, self.ids)
            row: dict[str, Any] = {"id": told.id, "key": told.key, "at": told.at}
            row |= {self.column(name): value for name, value in body.get("case", {}).items()}
            for p, (action, probability) in enumerate(zip(told.actions, told.probabilities, strict=True)):
                row |= {f"action{_place(p)}": action, f"probability{_place(p)}": probability}
            row["state"], outcomes = self.end(event)
            yield row | dict(outcome_columns(outcomes))

    def decisions(self) -> Iterator[Event]:
        """Yield the events of the decisions."""
        for event in self.store.scan(self.campaign, kinds=("decided",)):
            if event.seq > self.last:
                return
            yield event

    def end(self, event: Event) -> tuple[str, str | None]:
        """Return the final state of a decision, and the body with its outcomes."""
        if is_erased(event):
            return "erased", self.ends.get(event.seq, ("", None))[1]
        return self.ends.get(event.seq, ("waiting" if read(event)["n"] else "nothing played", None))


def outcome_columns(body: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the outcomes in an event's body, each with its column."""
    found = [] if body is None else json.loads(body)["y"]
    for p, play in enumerate([found] if isinstance(found, dict) else found):
        for name, value in (play or {}).items():
            yield f"outcome {name}{_place(p)}", value


def _place(p: int) -> str:
    return f" {p + 1}" if p else ""
