"""Short text and tables for notebooks that show an object by names and counts, not arrays."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal

import numpy as np

MOST = 12  # lines of a text
_MOST_ROWS = 60  # of a table in a notebook
_WIDTH = 88  # of a value
_LIMITS = ("bound", "total")  # of rows, which can be many: shown last


def few(names: Iterable[object], width: int = _WIDTH) -> str:
    """Return as many names as fit, and the number of the others.

    >>> few(["none", "letter"]), few(range(100), width=12)
    ('none, letter', '0, 1, 2, 3 and 96 more')
    """
    names, shown, used = list(names), list[str](), 0
    for name in names:
        used += len(str(name)) + 2
        if shown and used > width:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(clip(name, width))
    return ", ".join(shown)


def clip(value: object, width: int = _WIDTH) -> str:
    """Return a value as text on one line, cut where it is too long.

    >>> clip("a long name\\nof two lines", width=12)
    'a long na...'
    """
    text = " ".join(str(value)[: 4 * width].split())
    return text if len(text) <= width else f"{text[: width - 3]}..."


def count(number: int, noun: str) -> str:
    """Return a number of things in words.

    >>> count(1, "replica"), count(2000, "round")
    ('1 replica', '2,000 rounds')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def amount(x: float, digits: int = 4) -> str:
    """Return a number with some digits, or all before the point.

    >>> amount(0.012345), amount(53210.7), amount(50000), amount(1e20)
    ('0.01235', '53,211', '50,000', '1e+20')
    >>> amount(0.012345, 3), amount(1210.0, 3), amount(999.7, 3)
    ('0.0123', '1,210', '1,000')
    >>> amount(53210.7, 6), amount(1.5e8, 6), amount(0.00001234, 2), amount(1e-20)
    ('53,210.7', '150,000,000', '0.000012', '1e-20')
    """
    rounded = f"{x:,.{digits}g}"
    if "e" not in rounded:
        return rounded
    size = abs(x)
    if 1e3 <= float(f"{size:.{digits}g}") < 1e15:
        return f"{x:,.0f}"
    return f"{Decimal(rounded):f}" if 1e-9 <= size < 1.0 else rounded


def settings(part: object) -> str:
    """Return the name of a part and its numbers: steps, sizes, bounds and parts of its own.

    >>> from evenhand.goals import Steady
    >>> settings(Steady(0.044721))
    'Steady(size=0.04472)'
    """
    if not is_dataclass(part):
        return type(part).__name__
    names = [f.name for f in fields(part) if f.init and f.name != "problem"]
    shown = [(n, _setting_text(n, getattr(part, n))) for n in sorted(names, key=lambda n: n in _LIMITS)]
    inside = ", ".join(f"{name}={value}" for name, value in shown if value)
    return type(part).__name__ + (f"({inside})" if inside else "")


def _setting_text(name: str, value: object) -> str:
    """Return a number, the limits of rows, or a part that has numbers as text; an empty text for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return amount(value)
    if name in _LIMITS and isinstance(value, np.ndarray):
        return f"[{few(map(amount, value.tolist()), 24)}]"
    found = settings(value) if is_dataclass(value) else ""
    return found if found.endswith(")") else ""


def kinds(part: object) -> str:
    """Return the kind of a part, and of the parts inside it."""
    inside = getattr(part, "parts", ()) or filter(None, [getattr(part, "inner", None)])
    names = ", ".join(map(kinds, inside))
    return type(part).__name__ + (f" of {names}" if names else "")


def text(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a title, and a line per row with its name and text; rows beyond the maximum are only counted.

    >>> print(text("Shop", [("actions", "none, letter"), ("horizon", "100")]))
    Shop
      actions  none, letter
      horizon  100
    """
    names = [clip(name, 30) for name, _ in rows]
    width = max(map(len, names), default=0)
    lines = [f"  {n:<{width}}  {clip(value, _WIDTH + 20)}".rstrip() for n, (_, value) in zip(names, rows, strict=True)]
    return first("\n".join([clip(title), *lines]))


def first(whole: str, rest: str = "") -> str:
    """Return the first lines of a text, and the number of the others, with a hint about them.

    >>> print(first("\\n".join("abcdefghijklmn"), ", see `print`")[-25:])
    k
    ... 3 more, see `print`
    """
    lines = whole.split("\n")
    if len(lines) <= MOST:
        return whole
    return "\n".join([*lines[: MOST - 1], f"... {len(lines) - MOST + 1} more{rest}"])


def brief(whole: object) -> str:
    """Return the first lines of what `print` shows of an object, as its `__repr__`."""
    return first(str(whole), rest=": `print` shows all")


def table(title: str, rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a plain table in HTML, with all texts escaped.

    >>> table("a < b", [("left", "5")])
    '<table><caption>a &lt; b</caption><tbody><tr><th>left</th><td>5</td></tr></tbody></table>'
    """
    more = [[f"... {len(rows) - _MOST_ROWS} more"]] if len(rows) > _MOST_ROWS else []
    top = f"<thead>{_row(head, 'th')}</thead>" if head else ""
    body = "".join(_row(row, "td") for row in [*rows[:_MOST_ROWS], *more])
    return f"<table><caption>{html.escape(title)}</caption>{top}<tbody>{body}</tbody></table>"


def _row(cells: Sequence[str], kind: str) -> str:
    name, *rest = (html.escape(clip(cell, 2 * _WIDTH)) for cell in cells)
    return f"<tr><th>{name}</th>{''.join(f'<{kind}>{cell}</{kind}>' for cell in rest)}</tr>"
