"""What a result from a log says alike: in a few sentences, as text, in a notebook, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from evenhand.core import faces
from evenhand.report.page import Page, Part
from evenhand.report.tables import Table, printed


class Shown(Protocol):
    """A result with a sentence that states it, sentences that follow, and tables."""

    def headline(self) -> str:
        """State the result in a sentence, without its full stop."""

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow."""

    def tables(self) -> Iterator[Table]:
        """Yield the tables, the most important one first."""


def summary(found: Shown) -> str:
    """Return the result in a few sentences."""
    return " ".join([f"{found.headline()}.", *found.sentences()])


def text(found: Shown, head: Iterable[str], reading: Iterable[str] = ()) -> str:
    """Return what is printed: a heading, the tables, and how to read them."""
    return printed(head, found.tables(), list(reading))


def html(found: Shown) -> str:
    """Return what a notebook shows: the headline and the first table."""
    first = next(found.tables())
    return faces.table(found.headline(), first.rows, first.head)


def page(
    found: Shown, parts: Iterable[Part], *, notes: Iterable[str], command: str, settings: Mapping[str, object]
) -> Page:
    """Return the report, which states the command that made it."""
    return Page(
        title=found.headline(),
        sentences=tuple(found.sentences()),
        notes=tuple(notes),
        parts=tuple(parts),
        command=command,
        settings=settings,
    )
