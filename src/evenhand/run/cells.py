"""Cells of a sweep: runs of one policy in one environment, shared among processes and kept one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evenhand.core.progress import Work
from evenhand.environments.base import Environment
from evenhand.policy.policy import Policy
from evenhand.run.kept import done, once
from evenhand.run.parallel import Watch, deferred_interrupt, run_until
from evenhand.run.simulation import watched
from evenhand.run.trace import Trace


class Cell(NamedTuple):
    """One policy in one environment, with all of its replicas in lock step in one process."""

    policy: Policy
    environment: Environment
    replicas: int | Sequence[int]
    seed: int
    place: Path | None  # the folder in which its trace is kept

    @property
    def steps(self) -> int:
        return self.environment.start(self.seed, self.policy.start(seed=self.seed, replicas=1).replicas).steps

    @property
    def done(self) -> float:
        """The fraction of its steps that is saved, in [0, 1]."""
        return done(self.place, self.policy, self.environment, self.replicas, self.seed, 1)


def run_cells(cells: Sequence[Cell], jobs: int, progress: bool | None) -> list[Trace | None]:
    """Run the cells in several processes, shown as one work; None for those that Ctrl-C left without a step.

    A cell that is kept is read. One that has finished is kept at once, in one step, so that neither a killed worker
    nor a killed sweep loses it. Traces do not depend on the number of processes, but for the threads of BLAS: see
    `run_chunks`.
    """
    before = [cell.done for cell in cells]
    steps = [cell.steps for cell in cells]
    initial = int(sum(part * n for part, n in zip(before, steps, strict=True)))
    found: dict[int, Trace | None] = {}
    shown = Work("sweep", "step", sum(steps), done=initial, progress=progress)
    with shown, deferred_interrupt() as asked:  # Ctrl-C may also come while kept cells are read
        for kept, several in ((True, 1), (False, jobs)):  # to read a file takes no process of its own
            some = [i for i, part in enumerate(before) if (part == 1.0) == kept]
            if some and not asked():
                found |= dict(zip(some, run_until(asked, _run, [cells[i] for i in some], shown, several), strict=True))
    return [found.get(i) for i in range(len(cells))]


def _run(cell: Cell, watch: Watch) -> Trace | None:
    if not watch(0):
        return None
    policy, world, replicas, seed = cell.policy, cell.environment, cell.replicas, cell.seed
    run = partial(watched, policy, world, replicas=replicas, seed=seed, watch=watch)
    return once(cell.place, policy, world, replicas, seed, run)
