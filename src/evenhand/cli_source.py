"""The log that a command reads: a file, or the decisions of a campaign in a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.logs.log import Source

_SQLITE = b"SQLite format 3"  # how the file of a store begins


def add_source(parser: argparse.ArgumentParser) -> None:
    """Let a parser take a log."""
    parser.add_argument(
        "log", metavar="LOG.csv", help="the log, with a header line; or the store of a campaign, such as sqlite:///a.db"
    )


def is_store(text: str) -> bool:
    """Whether a log is named that is the store of a campaign."""
    path = Path(text)
    return "://" in text or (path.is_file() and _starts(path, _SQLITE))


def source_of(text: str, campaign: str | None) -> Source:
    """Return the path of a log, or the decisions of a campaign where a store is named.

    Raises:
        Unknown, InvalidInput: there is no such store or campaign, or one is named for a file.
    """
    if is_store(text):
        from evenhand.live.decided import decisions

        return decisions(text, campaign)
    if campaign is not None:
        from evenhand.core.errors import InvalidInput

        raise InvalidInput("campaign", "none where no store is named", campaign)
    return Path(text)


def _starts(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark
