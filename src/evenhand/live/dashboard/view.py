"""What a page is made of: tiles, sections, cards and tables, with all numbers written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from evenhand.core.faces import amount


@dataclass(frozen=True)
class Link:
    """A cell that leads to another page of this server."""

    text: str
    to: str


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    title: str = ""  # of what unfolds, where the table is long
    texts: bool = False  # whether columns are texts, which start at the left, and not numbers


@dataclass(frozen=True)
class Key:
    """What a colour or a kind of line stands for."""

    kind: str  # a class of the style sheet
    text: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """A chart with what it says in words, and the same as a table."""

    name: str  # within the page, so that what is unfolded stays so
    title: str
    said: str = ""
    chart: Markup | None = None
    keys: Sequence[Key] = ()
    tables: Sequence[Table] = ()
    text: str = ""  # as it is, line by line
    wide: bool = False  # over all columns


@dataclass(frozen=True, kw_only=True)
class Section:
    """Cards under a heading."""

    name: str
    title: str
    cards: Sequence[Card]
    note: str = ""


@dataclass(frozen=True)
class Tile:
    """A number at the head of the page."""

    name: str
    value: str
    note: str = ""


def said(x: float | None) -> str:
    """A number in sensible digits, a dash where there is none.

    >>> said(0.012345), said(53210.7), said(None)
    ('0.01235', '53,211', '–')
    """
    return "–" if x is None or math.isnan(x) else amount(x)


def part(x: float | None) -> str:
    """A share in percent.

    >>> part(0.5), part(0.0004), part(1.0), part(12.0), part(None)
    ('50.0%', '0.04%', '100%', '1,200%', '–')
    """
    if x is None or math.isnan(x):
        return "–"
    if x == 0.0 or abs(x) >= 9.995 or x == 1.0:
        return f"{100 * x:,.0f}%"
    return f"{100 * x:.1f}%" if abs(x) >= 0.001 else f"{100 * x:.2g}%"


def duration(seconds: float | None) -> str:
    """A time span in its own unit.

    >>> duration(0.25), duration(90), duration(21_178), duration(400_000)
    ('250 ms', '1.5 min', '5.9 h', '4.6 days')
    """
    if seconds is None:
        return "–"
    for unit, name in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.2g} {name}" if seconds < 100 * unit else f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.2g} s" if seconds >= 1.0 else f"{amount(float(f'{1000 * seconds:.2g}'))} ms"


def moment(at: int) -> str:
    """A time of the store.

    >>> moment(1_767_600_000_000_000)
    '2026-01-05 08:00:00'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
