"""Replicas that play one action alone and gain clearly less than the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.report.summary import LockIn

FEWEST = 20  # rounds of a run that is judged
PART = 0.5  # of its rounds, in which a replica plays nothing else
_OTHERS = 5  # replicas that others are compared with, at least
FAR = 3.0  # standard deviations of these, from their mean


class Last(NamedTuple):
    """What R replicas played last, and since when they played nothing else."""

    replicas: Ints  # (R,)
    objective: Floats  # (R,) at the end
    rounds: Floats  # (R,) elapsed
    same: Ints  # (R,) the action of the last round
    since: Floats  # (R,) the elapsed rounds before it was played in all


def lock_ins(actions: Sequence[str], last: Last) -> tuple[LockIn, ...]:
    """Find replicas that are likely to be locked in, by the action that they play.

    Equation: a replica that plays action a alone in the second half is named if its objective is below m - 3 s, with m
    and s the mean and the standard deviation of the replicas that do not, of which there are five at least. Where one
    action is right for everybody, nobody is named.

    >>> value, since = np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5]), np.array([0.0, 99, 99, 99, 99, 99])
    >>> found = lock_ins(("none", "call"), Last(np.arange(6), value, np.full(6, 100.0), np.zeros(6, int), since))
    >>> found[0].action, found[0].replicas
    ('none', (0,))
    """
    value = last.objective
    alone = (last.rounds - last.since >= PART * last.rounds) & (last.rounds >= FEWEST)
    found = []
    for a in np.unique(last.same[alone]).tolist():
        these = alone & (last.same == a)
        others = value[~these & np.isfinite(value)]
        if len(others) >= _OTHERS:
            below = these & (value < others.mean() - FAR * others.std(ddof=1) - 1e-9 * np.abs(others).max())
            if below.any():
                name = actions[a] if a < len(actions) else f"candidate {a}"
                who = tuple(last.replicas[below].tolist())
                found.append(LockIn(name, who, float(value[below].mean()), float(others.mean())))
    return tuple(found)
