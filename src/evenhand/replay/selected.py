"""Rows that were dropped for what was played or what followed, or clipped, as a problem file asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.core.faces import few
from evenhand.core.types import Bools, Floats
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.columns import Columns, Names


def selected(bad: BadRows, logged: Names, actions: Mapping[str, str]) -> dict[str, str | None]:
    """Say how many rows of each action were dropped, and how many clipped, and how much of a total that is.

    Args:
        bad: what was done with which rows.
        logged: what was played in all rows.
        actions: by what is logged, the names of actions.
    """
    dropped, clipped = _dropped(bad, logged, actions), _clipped(bad, logged, actions)
    return {"dropped": "; ".join(dropped) or None, "clipped": "; ".join(clipped) or None}


def _dropped(bad: BadRows, logged: Names, actions: Mapping[str, str]) -> Iterator[str]:
    for column, rows in bad.selected.items():
        part, count = _part(bad.columns, column, rows, bad.good), int(rows.sum())
        told = "1 row was dropped for its" if count == 1 else f"{count:,} rows were dropped for their"
        yield f"{told} {column!r} ({_by_action(rows, logged, actions)}){part}: what is left is selected by it"


def _clipped(bad: BadRows, logged: Names, actions: Mapping[str, str]) -> Iterator[str]:
    for column, cut in bad.cut.items():
        rows = (cut > 0.0) & bad.good
        if rows.any():
            whole = np.abs(np.nan_to_num(bad.columns.numbers(column)[bad.good])).sum()
            part = f", by {cut[rows].sum() / whole:.1%} of its total" if whole > 0.0 else ""
            told = f"{column!r} was clipped in {int(rows.sum()):,} rows ({_by_action(rows, logged, actions)}){part}"
            yield f"{told}: results are of the clipped outcome"


def _by_action(rows: Bools, logged: Names, actions: Mapping[str, str]) -> str:
    """How many of some rows have each action, the most frequent first."""
    texts, counts = np.unique(logged.codes[rows], return_counts=True)
    found: dict[str, int] = {}
    for code, count in zip(texts.tolist(), counts.tolist(), strict=True):
        text = logged.values[code]
        name = actions.get(text, text)
        found[name] = found.get(name, 0) + count
    return few([f"{count:,} under {name!r}" for name, count in sorted(found.items(), key=lambda z: -z[1])])


def _part(columns: Columns, column: str, rows: Bools, good: Bools) -> str:
    """How much of the total of a column rows have, where it has numbers."""
    z: Floats = np.abs(np.nan_to_num(columns.numbers(column), posinf=0.0, neginf=0.0))
    whole = z[rows | good].sum()
    return f", with {z[rows].sum() / whole:.1%} of its total" if whole > 0.0 and z[rows].any() else ""
