"""Whether groups have rows enough to compare them."""

from __future__ import annotations

import numpy as np

from evenhand.replay.checks.drawn import Drawn

FEW = 50  # rows


def groupings(log: Drawn) -> str | None:
    """Say which group has too few rows for a comparison, or none."""
    few = [
        (int(rows), f"{by} = {name}")
        for by, names in log.group_names.items()
        for name, rows in zip(names, np.bincount(log.groups[by], minlength=len(names)), strict=True)
        if rows < FEW
    ]
    if not few:
        return None
    rows, group = min(few)
    more = f", and {len(few) - 1} other groups have less than {FEW}" if len(few) > 1 else ""
    return f"{rows:,} of {len(log.actions):,} rows have {group}{more}: too few to compare groups by"
