"""Whether groups have rows enough to compare them."""

from __future__ import annotations

from evenhand.replay.checks.drawn import Drawn

FEW = 50  # rows, or clusters


def groupings(log: Drawn) -> str | None:
    """Say which group has too few rows or clusters for a comparison, or none."""
    of, total = ("rows", len(log.actions)) if log.clusters is None else ("clusters", log.clusters.count)
    few = [
        (int(rows), f"{by} = {name}")
        for by, names in log.group_names.items()
        for name, rows in zip(names, log.counted(log.groups[by], len(names)), strict=True)
        if rows < FEW
    ]
    if not few:
        return None
    rows, group = min(few)
    more = f", and {len(few) - 1} other groups have less than {FEW}" if len(few) > 1 else ""
    return f"{rows:,} of {total:,} {of} have {group}{more}: too few to compare groups by"
