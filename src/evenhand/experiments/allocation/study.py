"""The sections of the experiment, in the order of the figures."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.experiments.allocation import AllocationExperiment
from evenhand.experiments.allocation.learning import Learning
from evenhand.experiments.allocation.run_time import RunTime
from evenhand.experiments.allocation.shares import Shares
from evenhand.experiments.allocation.sweeps import SWEEPS, Sweep
from evenhand.experiments.experiment import Section, Session


def sections(settings: AllocationExperiment, session: Session) -> Iterator[Section]:
    """Yield the requested figures; 2a and 2b, and 2e and 2f, are two panels of one picture."""
    wanted, listeners = set(settings.figures), Learning(settings=settings, session=session, listeners=True)
    if settings.data:
        _ = listeners.world  # so that a missing file is noticed before the first run
    if wanted & {"2a", "2b"}:
        yield Learning(settings=settings, session=session)
    for figure in ("2c", "2d"):
        if figure in wanted:
            yield Sweep(settings=settings, session=session, figure=figure)
    if wanted & {"2e", "2f"}:
        yield Shares(settings=settings)
    for figure in SWEEPS:
        if figure in wanted and figure not in ("2c", "2d"):
            yield Sweep(settings=settings, session=session, figure=figure)
    if "3c" in wanted:
        yield RunTime(settings=settings)
    if settings.data:
        yield listeners
