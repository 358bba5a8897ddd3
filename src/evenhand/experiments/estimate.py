"""Estimates the duration of an experiment from a trial of every system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from evenhand.core.progress import duration
from evenhand.experiments.experiment import Experiment, Section
from evenhand.run.simulation import TRIAL, pace
from evenhand.run.storage import done

LEAST = 20_000  # rounds of the first system; in shorter experiments the trials would take too long relative to the runs


def estimate(
    experiment: Experiment, sections: Sequence[Section], kept: Path | None, asked_to_stop: Callable[[], bool]
) -> str:
    """Describe how long all systems of all sections will take; empty for short runs and after Ctrl-C.

    Every system runs for some hundred rounds with the number of replicas that one process gets. Stored parts of runs
    are left out. The optima that some experiments compute afterwards are not included.
    """
    jobs, (replicas, seed) = getattr(experiment, "jobs", 1), (experiment.replicas, experiment.seed)
    cases = (case for section in sections for point in section.points for case in section.cases(point))
    rounds: list[int] = []
    seconds, whole = 0.0, 0
    for case in cases:
        if case.policy is None:
            continue
        if not rounds and case.policy.problem.horizon < LEAST:
            return ""
        rounds.append(case.policy.problem.horizon)
        left = 1.0 - done(kept, case.policy, case.world, replicas, seed, jobs)
        whole += left == 0.0
        if left > 0.0:
            seconds += (
                left
                * case.world.start(seed, np.arange(1)).steps
                * pace(case.policy, case.world, replicas=-(-replicas // jobs), seed=seed, asked_to_stop=asked_to_stop)
            )
        if asked_to_stop():
            return ""
    if not rounds:
        return ""
    longest = f"{'' if len(set(rounds)) == 1 else 'up to '}{max(rounds):,} rounds"
    finished = f", of which {whole} are finished" if whole else ""
    hint = "" if kept else "; with --out and --resume it can be interrupted"
    return (
        f"about {duration(seconds)} for {len(rounds)} systems of {longest}{finished}, "
        f"by {TRIAL} rounds of each on this machine, as busy as it is{hint}"
    )
