"""The elements of a page: tiles, sections, cards and tables, with formatted numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from evenhand.core.texts import amount
from evenhand.report.drawing import Svg


@dataclass(frozen=True)
class Link:
    """A table cell that links to another page of this server."""

    text: str
    to: str


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    title: str = ""  # of the fold, if the table is long
    texts: bool = False  # whether columns are left-aligned texts instead of numbers
    lines: bool = False  # whether names get a line of their own where there is little room, as long ones do


@dataclass(frozen=True)
class Key:
    """A legend entry for a colour or a kind of line."""

    kind: str  # a class of the style sheet
    text: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """A chart with its description in words and its numbers as tables."""

    name: str  # unique within the page, so that open folds stay open
    title: str
    summary: str = ""
    chart: Svg | None = None
    keys: Sequence[Key] = ()
    tables: Sequence[Table] = ()
    text: str = ""  # shown verbatim, line by line
    wide: bool = False  # over all columns


@dataclass(frozen=True, kw_only=True)
class Section:
    """Cards under a heading."""

    name: str
    title: str
    cards: Sequence[Card]
    note: str = ""


def pair(cards: Sequence[Card]) -> list[Card]:
    """Give the last of an odd number of cards in pairs the whole width, so that no gap is left."""
    small = [card for card in cards if not card.wide]
    return [replace(card, wide=True) if len(small) % 2 and card is small[-1] else card for card in cards]


@dataclass(frozen=True)
class Tile:
    """A number at the top of the page."""

    name: str
    value: str
    note: str = ""
    alarming: bool = False


def digits(x: float | None) -> str:
    """Format a number with a sensible number of digits; a missing one is a dash.

    >>> digits(0.012345), digits(53210.7), digits(None)
    ('0.01235', '53,211', '–')
    """
    return "–" if x is None or math.isnan(x) else amount(x)


def percent(x: float | None) -> str:
    """Format a share in percent.

    >>> percent(0.5), percent(0.0004), percent(1.0), percent(12.0), percent(None)
    ('50.0%', '0.04%', '100%', '1,200%', '–')
    """
    if x is None or math.isnan(x):
        return "–"
    if x == 0.0 or abs(x) >= 9.995 or x == 1.0:
        return f"{100 * x:,.0f}%"
    return f"{100 * x:.1f}%" if abs(x) >= 0.001 else f"{100 * x:.2g}%"


def signed(x: float) -> str:
    """Format a difference with its sign, to two digits, as differences are known no better.

    >>> signed(0.01257), signed(-2.0), signed(1234.0), signed(0.0)
    ('+0.013', '−2', '+1,234', '0')
    """
    if x == 0.0 or math.isnan(x):
        return digits(x)
    return f"{'+' if x > 0.0 else '−'}{digits(float(f'{abs(x):.2g}') if abs(x) < 100.0 else abs(x))}"


def interval(low: float, high: float) -> str:
    """Format an interval; one that is not known is a dash.

    >>> interval(-0.01, 0.5), interval(math.nan, math.nan)
    ('−0.01 to +0.5', '–')
    """
    return "–" if math.isnan(low) else f"{signed(low)} to {signed(high)}"


def label(action: str | None) -> str:
    """Name an action, or a play of none.

    >>> label("letter"), label(None)
    ('letter', '(nothing)')
    """
    return "(nothing)" if action is None else action


def duration(seconds: float | None) -> str:
    """Format a time span in a fitting unit.

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
    """Format a time of the store.

    >>> moment(1_767_600_000_000_000)
    '2026-01-05 08:00:00'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
