"""What a command leaves in a folder: its numbers as JSON and as a table, and a page; each file whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.extras import has_parquet
from evenhand.core.files import replacement
from evenhand.core.validate import folder, on_disk
from evenhand.report.page import REPORT, Page
from evenhand.report.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


def leave(out: Path, results: Results, name: str, frame: Callable[[], pd.DataFrame], page: Page) -> list[Path]:
    """Write `results.json`, NAME.parquet if pandas and pyarrow are installed, and `report.html`; returns the files.

    Raises:
        InvalidInput: the folder cannot be made, or a file cannot be written.
    """
    written = [results.write(folder(out))]
    if has_parquet():
        written.append(out / f"{name}.parquet")
        with on_disk("out", "a file that can be written"), replacement(written[-1]) as part:
            frame().to_parquet(part)
    return [*written, page.write(out / REPORT)]
