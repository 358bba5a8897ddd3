"""What the replay of a recipe leaves in a folder."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.extras import has_matplotlib
from evenhand.replay.report import Replay
from evenhand.report.leaving import leave


def write(found: Replay, out: Path, command: str = "") -> list[Path]:
    """Write results.json, report.html, pictures and replay.parquet; those two only if what they need is installed.

    Args:
        found: the replay.
        out: a folder, which is made if needed.
        command: that made it, for the report.

    Raises:
        InvalidInput: a file cannot be written.
    """
    written = leave(out, found.results(), "replay", found.to_frame, found.page(command))
    if found.runs and has_matplotlib():
        from evenhand.replay.span_pictures import draw as draw_spans
        from evenhand.report.plots import save

        written.append(save(found.plot().axes, out / "replay.png"))
        spans = draw_spans(found, out / "spans.png")
        written += [] if spans is None else [spans]
    return written
