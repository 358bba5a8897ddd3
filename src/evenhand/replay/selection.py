"""Rows that were dropped for what was played or what followed, or clipped, as a problem file asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from evenhand.core.faces import count, few
from evenhand.core.types import Bools, Floats
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.columns import Names


def selection(
    bad: BadRows, logged: Names, actions: Mapping[str, str], outcomes: Collection[str]
) -> dict[str, str | None]:
    """Say how many rows of each action were dropped, and how many clipped, and how much of a total that is.

    Args:
        bad: what was done with which rows.
        logged: what was played in all rows.
        actions: by what is logged, the names of actions.
        outcomes: the columns of outcomes.
    """
    dropped, clipped = _dropped(bad, logged, actions, outcomes), _clipped(bad, logged, actions)
    return {"dropped": "; ".join(dropped) or None, "clipped": "; ".join(clipped) or None}


def _dropped(bad: BadRows, logged: Names, actions: Mapping[str, str], outcomes: Collection[str]) -> Iterator[str]:
    for column, rows in bad.selections.items():
        z, some = bad.columns.numbers(column), int(rows.sum())
        part = _share(z[rows], z[rows | bad.good]) if column in outcomes else ""
        told = "1 row was dropped for its" if some == 1 else f"{some:,} rows were dropped for their"
        told += f" {column!r} ({_by_action(rows, logged, actions)})" + (f", with {part} of its total" if part else "")
        yield f"{told}: what is left is selected by it"


def _clipped(bad: BadRows, logged: Names, actions: Mapping[str, str]) -> Iterator[str]:
    for column, cut in bad.cut.items():
        rows = (cut > 0.0) & bad.good
        if rows.any():
            part = _share(cut[rows], bad.columns.numbers(column)[bad.good])
            told = f"{column!r} was clipped in {count(int(rows.sum()), 'row')} ({_by_action(rows, logged, actions)})"
            told += f", by {part} of its total" if part else ""
            yield f"{told}: results are of the clipped outcome"


def _by_action(rows: Bools, logged: Names, actions: Mapping[str, str]) -> str:
    """How many of some rows have each action, the most frequent first."""
    texts, counts = np.unique(logged.codes[rows], return_counts=True)
    found: dict[str, int] = {}
    for code, some in zip(texts.tolist(), counts.tolist(), strict=True):
        text = logged.values[code]
        name = actions.get(text, text)
        found[name] = found.get(name, 0) + some
    return few([f"{some:,} under {name!r}" for name, some in sorted(found.items(), key=lambda z: -z[1])])


def _share(part: Floats, whole: Floats) -> str:
    """What share of a total of finite numbers a part has, in words; nothing where that is not known."""
    with np.errstate(over="ignore"):
        some, total = (float(np.abs(z[np.isfinite(z)]).sum()) for z in (part, whole))
    return f"{some / total:.1%}" if some > 0.0 and 0.0 < total < np.inf else ""
