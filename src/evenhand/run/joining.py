"""One trace of several, of different replicas of one run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.run.plays import Plays
from evenhand.run.trace import SUMS, TRUTHS, Trace


def join(traces: list[Trace]) -> Trace:
    """Join traces of different replicas of one run.

    Replicas that finished early keep their last sums. If any was interrupted, only the points that all of these reached
    are kept, so that every replica is measured over the same steps.
    """
    if len(traces) == 1:
        return traces[0]
    first, broken = traces[0], [t for t in traces if not t.finished]
    if broken:
        times = broken[0].times
        for t in broken:
            times = np.intersect1d(times, t.times)
    else:
        times = max((t.times for t in traces), key=lambda z: int(z[-1]))  # the grid is one, and goes on to the last end
    times = times[times >= max(t.times[0] for t in traces)]
    at = [np.searchsorted(t.times, times, side="right") - 1 for t in traces]

    def join_points(name: str) -> Floats:
        return np.concatenate([getattr(t, name)[i] for t, i in zip(traces, at, strict=True)], 1)

    elapsed, truth = join_points("elapsed"), all(t.expected is not None for t in traces)

    def join_ends(name: str) -> Floats:
        after = np.concatenate([getattr(t, name) for t in traces])
        return np.where(after < elapsed[-1], after, np.nan) if broken else after  # what ended later is cut off

    sums: dict[str, Any] = {name: join_points(name) for name in SUMS}
    sums |= {name: join_points(name) if truth else None for name in TRUTHS}
    lengths = [len(t.plays.counted) for t in traces if t.plays is not None]
    steps = int(times[-1]) if broken else max(lengths, default=0)
    cut = [t.plays.until(steps) for t in traces if t.plays is not None]
    return replace(
        first,
        replicas=np.concatenate([t.replicas for t in traces]),
        finished=not broken,
        times=times,
        **sums,
        offered_steps=np.concatenate([t.offered_steps for t in traces]),
        stopped=join_ends("stopped"),
        restricted_after=join_ends("restricted_after"),
        same=None if first.same is None else np.concatenate([t.same for t in traces]),
        same_since=None if broken or first.same is None else np.concatenate([t.same_since for t in traces]),
        held_out=None if first.held_out is None else np.concatenate([t.held_out for t in traces]),
        credits=None if first.credits is None else np.concatenate([t.credits for t in traces]),
        by_period=None if broken or first.by_period is None else np.concatenate([t.by_period for t in traces]),
        plays=Plays(*(np.concatenate(z, 1) for z in zip(*cut, strict=True))) if len(cut) == len(traces) else None,
    )
