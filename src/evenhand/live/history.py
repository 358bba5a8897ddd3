"""The decisions of a log as a table: what was asked, what was decided, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.live.events import Event, read
from evenhand.live.replies import reply


def decisions(events: Iterable[Event]) -> list[dict[str, Any]]:
    """One row per decision of a whole log, in their order.

    The columns are `id`, `key`, `at` (microseconds since 1970), the names in the case, `action` and `probability` (with
    a number from the second play on), `state` (waiting, observed, cancelled, expired, or nothing played), and
    `outcome NAME` for every observed outcome.
    """
    rows: dict[int, dict[str, Any]] = {}
    actions: Sequence[str] = ()
    for event in events:
        if event.kind == "opened":
            actions = read(event)["actions"]
        elif event.kind == "decided":
            rows[event.seq] = _asked(event, actions)
        elif event.ref is not None:
            row = rows[event.ref]
            row["state"] = {"revised": "observed"}.get(event.kind, event.kind)
            if event.kind in ("observed", "revised"):
                said = read(event)["y"]
                plays = [said] if isinstance(said, dict) else said
                for p, play in enumerate(plays):
                    row |= {f"outcome {name}{_place(p)}": value for name, value in (play or {}).items()}
    return list(rows.values())


def _asked(event: Event, actions: Sequence[str]) -> dict[str, Any]:
    said, case = reply(event, actions), read(event)["case"]
    row = {"id": said.id, "key": said.key, "at": said.at, **case}
    for p, (action, probability) in enumerate(zip(said.actions, said.probabilities, strict=True)):
        row |= {f"action{_place(p)}": action, f"probability{_place(p)}": probability}
    row["state"] = "waiting" if read(event)["n"] else "nothing played"
    return row


def _place(p: int) -> str:
    return f" {p + 1}" if p else ""
