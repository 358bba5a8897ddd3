"""The runs of a replay and their execution: the number of processes, where results are stored, and messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.validate import MOST, whole
from evenhand.environments.logged import Logged
from evenhand.logs.log import ORDERS
from evenhand.policy.policy import Policy
from evenhand.replay.measures import Run
from evenhand.run.parallel import check_jobs, deferred_interrupt
from evenhand.run.simulation import simulate
from evenhand.run.storage import load_or_run


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The runs of every system: shuffles of the log, and bootstrap resamples of its rows in three orders each.

    Args:
        replicas: the number of shuffles, at least 1.
        bootstrap: the number of resamples of the rows, at least 2, or 0 for no standard errors.
        seed: the seed of all random numbers, in [0, 2**64).

    Raises:
        InvalidInput: a number is out of its range.

    >>> Runs(replicas=20, bootstrap=40).count
    140
    """

    replicas: int = 20
    bootstrap: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        whole("replicas", self.replicas, 1)
        whole("bootstrap", self.bootstrap, 0)
        if self.count > MOST:
            raise InvalidInput("replicas + 3 bootstrap", f"at most {MOST:,}", self.count)
        check_seed(self.seed)
        if self.bootstrap == 1:
            raise InvalidInput("bootstrap", "0, or a whole number of at least 2", self.bootstrap)

    @property
    def count(self) -> int:
        """The number of runs of a system."""
        return self.replicas + ORDERS * self.bootstrap


def silent(line: str) -> None:
    """Do nothing: the progress message of runs that show none."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """The way in which runs are made; the numbers do not depend on it.

    Args:
        jobs: the number of processes that share the runs of a system.
        keep: a folder for what has finished, which the same call finds again; by default nothing is kept.
        progress: whether to show how far it has come. None draws a line in a terminal, and writes some elsewhere.
        tell: takes a line when a system has finished, with its time.

    Raises:
        InvalidInput: a number of processes that no machine has cores for.
    """

    jobs: int = 1
    keep: Path | None = None
    progress: bool | None = None
    tell: Callable[[str], None] = silent

    def __post_init__(self) -> None:
        check_jobs(self.jobs)


def run_all(policies: Sequence[tuple[str, Policy]], log: Logged, runs: Runs, how: Execution) -> list[Run]:
    """Run systems, each with a name for progress messages, until all are done or Ctrl-C ends it.

    Every system reads the same cases in the same orders. A system that an interrupt broke off is left out, as it cannot
    be compared with others.
    """
    found: list[Run] = []
    start = time.monotonic()
    shown = Work("replay", "system", progress=how.progress)
    with shown, deferred_interrupt() as asked:  # Ctrl-C may also come between two runs
        for name, policy in shown.each(policies):
            if asked():
                break
            before = time.monotonic()
            world = replace(log, problem=policy.problem)
            work = partial(
                simulate, policy, world, replicas=runs.count, seed=runs.seed, jobs=how.jobs, progress=how.progress
            )
            trace = load_or_run(how.keep, policy, world, runs.count, runs.seed, work)
            if not trace.finished:
                how.tell(f"{name}: interrupted")
                break
            found.append(Run(trace=trace, rows=len(log.actions), shuffles=runs.replicas, orders=ORDERS))
            now, left = time.monotonic(), len(policies) - len(found)
            so_far = now - start
            rest = f"some {_long(so_far / len(found) * left)} left" if left else f"{_long(so_far)} in all"
            done = f"{len(found)} of {len(policies)} done, {rest}"
            how.tell(f"{name}: {runs.count} runs in {_long(now - before)}; {done}")
    return found


def _long(seconds: float) -> str:
    """Format a number of seconds.

    >>> _long(12.3), _long(125.0)
    ('12 s', '2 min')
    """
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"
