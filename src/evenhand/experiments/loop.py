"""The loop of all experiments: estimate the time, run every case, and print, write and draw the complete ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from evenhand.core.compilation import COMPILE_PROGRESS
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work, duration
from evenhand.core.validate import indices, writable
from evenhand.experiments.experiment import Experiment, Point, Run, Section, Session
from evenhand.experiments.options import settings
from evenhand.report.results import Results
from evenhand.report.summary import Ending, endings
from evenhand.run.parallel import check_jobs, deferred_interrupt
from evenhand.run.simulation import TRIAL, pace, simulate
from evenhand.run.storage import load_or_run, stored_share

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
        left = 1.0 - stored_share(kept, case.policy, case.world, replicas, seed, jobs)
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


INTERRUPTED = "INTERRUPTED: the systems below are complete, the others are missing"


def run(
    experiment: Experiment,
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    log: Callable[[str], None] = print,
) -> Results:
    """Run an experiment section by section; print its tables, write `results.json` and draw its pictures.

    If runs are long, a trial of every system first estimates the total time. Ctrl-C ends the run early; finished
    systems are printed and written, marked as interrupted.

    Args:
        experiment: an experiment of evenhand, such as `find("court")(replicas=3)`, or a user's own.
        out: a folder for results, and for pictures if matplotlib is installed.
        resume: whether to store the traces of finished systems and, every minute, checkpoints of others in `out`, and
            to continue from those there.
        progress: as for `simulate`.
        log: prints a text.

    Raises:
        InvalidInput: an option is out of its range, the folder cannot be created, or `resume` is set without one.

    >>> from evenhand.experiments import find
    >>> found = run(find("demo")(replicas=1, rounds=60), progress=False, log=lambda text: None)
    >>> found.find("uniform", "ride") is not None
    True
    """
    indices("replicas", experiment.replicas)
    check_seed(experiment.seed)
    check_jobs(getattr(experiment, "jobs", 1))
    if resume and out is None:
        raise InvalidInput("resume", "a folder `out`, in which traces are kept", "none")
    if out is not None:
        writable(out)
    kept = out / "traces" if resume and out is not None else None
    results, drawn, missing = Results(experiment.name, settings(experiment)), False, ""
    with (
        COMPILE_PROGRESS.silent(progress is False),
        deferred_interrupt() as asked,
    ):  # Ctrl-C may also come between two runs
        ahead = True  # during the estimate, sections skip the work after their cases
        session = Session(progress, lambda: ahead or asked())
        sections = list(experiment.sections(session))
        for i, section in enumerate(sections):
            log(section.title)
            told = estimate(experiment, sections, kept, asked) if i == 0 else ""
            if told:
                log(told)
            ahead = False
            runs = _run(experiment, section, session, results, out, kept)
            if results.interrupted:
                log(INTERRUPTED)
            log(section.report(runs, results))
            for line in _endings(runs):
                log(line)
            if out is not None and any(r.trace is not None for r in runs):
                try:
                    drawn |= bool(section.draw(runs, out))
                except MissingExtra as error:  # the numbers are written all the same
                    missing = f"pictures were left out: {error}"
            if results.interrupted:
                break
    if out is not None:
        log(f"written: {out / 'results.json'}{' and plots' if drawn else ''}")
    if missing:
        log(missing)
    return results


def _endings(runs: list[Run]) -> Iterator[str]:
    """Describe which systems stopped early or were restricted, over all points of a section."""
    for name in dict.fromkeys(run.case.system for run in runs):
        traces = [run.trace for run in runs if run.trace and run.case.system == name]
        if traces:
            stopped, restricted = (
                Ending.of(np.concatenate([getattr(t, which) for t in traces]))
                for which in ("stopped", "restricted_after")
            )
            for ending in endings(stopped, restricted):
                yield f"{name}: of {sum(len(t.replicas) for t in traces)} replicas, {ending}"


def _run(
    experiment: Experiment, section: Section, session: Session, results: Results, out: Path | None, kept: Path | None
) -> list[Run]:
    """Run the cases of a section until Ctrl-C; measurements are added and written after every point."""
    runs: list[Run] = []
    earlier, points = results.rows, section.points
    progress = session.progress if len(points) > 1 else False
    with Work(experiment.name, "point", progress=progress) as work:
        for point in work.each(points):
            results.interrupted = not _run_point(experiment, section, point, session, runs, kept)
            results.rows = earlier + section.measure(runs)
            if out is not None:
                results.write(out)
            if results.interrupted:
                break
    return runs


def _run_point(
    experiment: Experiment, section: Section, point: Point, session: Session, runs: list[Run], kept: Path | None
) -> bool:
    """Run the cases of a point; returns whether all finished."""
    for case in section.cases(point):
        if case.policy is None:
            runs.append(Run(case, None))
            continue
        if session.asked_to_stop():
            return False
        trace = load_or_run(
            kept,
            case.policy,
            case.world,
            experiment.replicas,
            experiment.seed,
            partial(
                simulate,
                case.policy,
                case.world,
                replicas=experiment.replicas,
                seed=experiment.seed,
                jobs=getattr(experiment, "jobs", 1),
                progress=session.progress,
            ),
        )
        if not trace.finished:
            return False
        runs.append(Run(case, trace))
    return not session.asked_to_stop()
