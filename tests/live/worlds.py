"""Simulated contexts as cases of a campaign, and outcomes by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.records import Context


def case_of(context: Context) -> dict[str, Any]:
    """A context of one replica as JSON has it, bit for bit."""
    return {name: np.asarray(z).tolist() for name, z in context._asdict().items()}


class Arrays:
    """Makes contexts of cases that have all their arrays."""

    def to_dict(self):
        return {}

    def context(self, case, offered, known):
        features, of, groups, may = (case[name] for name in Context._fields[:4])
        return Context(
            np.array(features, float),
            np.array(of, float).reshape((*np.shape(of)[:2], -1)),
            np.array(groups, np.int64).reshape((*np.shape(groups)[:2], -1)),
            np.array(may, bool),
        )


def named(problem, y, exposed=None):
    """Outcomes of the plays of one replica by name."""
    plays = [dict(zip(problem.observed, row, strict=True)) for row in y[0].tolist()]
    if exposed is not None:
        plays = [play if shown else None for play, shown in zip(plays, exposed[0], strict=True)]
    return plays[0] if len(plays) == 1 and plays[0] is not None else plays
