"""The picture of what a replay used or reached in every span of time: a bar per span."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.replay.report import Replay
from evenhand.replay.spans import MOST, limits, names, summed, title, used
from evenhand.report import style
from evenhand.report.plots import save


def draw(replay: Replay, path: Path) -> Path | None:
    """Draw a bar per span of what the system under test used or reached; None without spans.

    Thin lines reach from the least to the most of all runs.
    """
    first, found = replay.runs[0], summed(replay.problem)
    drawn = [(s, u) for s in found if s.spans is not None and (u := used(first.trace, s)) is not None]
    if not drawn:
        return None
    figure, panels = style.sheet(len(drawn), 1, 6.4, 3.2, shared="none")
    for axes, (s, use) in zip(panels, drawn, strict=True):
        assert s.spans is not None
        spans = names(replay.problem, s)[:MOST]
        use, allowance, at = np.where(np.isfinite(use), use, np.nan)[:, :MOST], limits(s)[:MOST], np.arange(len(spans))
        mean = use[: replay.shuffles].mean(0)
        axes.bar(at, mean, 0.7, color=style.PALETTE[0])
        reach = np.maximum([mean - use.min(0), use.max(0) - mean], 0.0)
        axes.errorbar(at, mean, yerr=reach, fmt="none", color=style.INK, lw=1)
        axes.hlines(allowance, at - 0.45, at + 0.45, color=style.PALETTE[1])
        starts = [span.split(" to ")[0] for span in spans]
        axes.set_xticks(at, starts, rotation=90 if len(starts) > 4 else 0, fontsize=style.LABEL)
        style.title(axes, f"{title(s)}, by its start", 6.0)
        style.labels(axes, "", s.constraint.label if s.outcome is None else s.outcome, 6.0, 3.0)
    told = "bars are means over shuffles, thin lines reach over all runs, coloured lines are limits"
    style.finish(figure, f"{first.name}: {told}")
    return save(panels, path)
