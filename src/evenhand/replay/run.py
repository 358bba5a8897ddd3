"""Replays a log: from two files to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest
from evenhand.core.validate import file
from evenhand.environments.logged import Logged
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.checks.replayed import of_replay
from evenhand.replay.encoding import Encoded, encode
from evenhand.replay.execution import ORDERS, Execution, Runs, run_all
from evenhand.replay.problem_file import read_spec
from evenhand.replay.reading import read_csv
from evenhand.replay.report import Replay
from evenhand.replay.settings import recipes
from evenhand.replay.spec import Spec
from evenhand.replay.systems import systems
from evenhand.report.results import folder


@checked
def replay_log(
    log_path: str | Path,
    problem_path: str | Path,
    *,
    policy: str | None = None,
    replicas: int = 20,
    bootstrap: int = 40,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Replay:
    """Run a policy and its references on a log whose actions were randomised.

    Every system runs over `replicas` shuffles of the log, which give the means, and over `bootstrap` resamples of its
    rows, each in three orders, which give the standard errors for the population behind the log. Print the result, or
    read `runs`. Ctrl-C keeps the systems that have finished.

    Args:
        log_path: a CSV file with a header.
        problem_path: a TOML file that states the meaning of the columns and the problem.
        policy: a recipe to use instead of the file's, with those of the file's arguments that this recipe takes.
        replicas: the number of shuffles, at least 1.
        bootstrap: the number of resamples of the rows, at least 2, or 0 for no standard errors.
        seed: the seed of all random numbers, in [0, 2**64).
        out: a folder for results.json, replay.parquet, pictures and report.html.
        progress: whether to show progress bars; by default only in a terminal.

    Raises:
        InvalidInput: a key, column or argument is wrong, or too many rows are bad; the error names them.
        InfeasibleProblem: no mixture of the actions keeps to the budgets.
        MissingExtra: `out` is given, and matplotlib is not installed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("letter,visit\\n" + "yes,1\\nno,0\\n" * 100)
    >>> _ = (folder / "problem.toml").write_text('''
    ... maximize = "visit"
    ... horizon = 50
    ... action = { column = "letter", values = { no = "none", yes = "letter" } }
    ... propensity = { constant = 0.5 }
    ... outcomes = { visit = { range = [0, 1] }, post = { known = { letter = 1 } } }
    ... budget = [{ outcome = "post", total = 10 }]
    ... ''')
    >>> result = replay_log(folder / "log.csv", folder / "problem.toml", replicas=2, bootstrap=2, progress=False)
    >>> result.measured["pgd, budget"]["post used"][1].worst
    10.0
    """
    runs = Runs(replicas=replicas, bootstrap=bootstrap, seed=seed)
    if out is None:
        return replay_files(log_path, problem_path, policy, runs, Execution(progress=progress))
    from evenhand.replay.leaving import write  # matplotlib before the long run, if asked for

    out = folder(file("out", out))
    found = replay_files(log_path, problem_path, policy, runs, Execution(progress=progress))
    write(found, out)
    return found


def replay_files(
    log_path: str | Path,
    problem_path: str | Path,
    policy: str | None,
    runs: Runs,
    how: Execution,
) -> Replay:
    """Run a policy and its references as `replay_log` does, in any number of processes, and go on from what is kept.

    Raises:
        InvalidInput, InfeasibleProblem: as for `replay_log`.
    """
    if policy is not None:
        closest("policy", recipes(), policy)
    log_path, problem_path = file("log_path", log_path), file("problem_path", problem_path)
    spec, notes = read_replayed(problem_path), list[str]()
    if policy is not None and policy != spec.settings.name:
        settings, notes = spec.settings.with_recipe(policy)
        spec = replace(spec, settings=settings)
    encoded, bad = read_log(log_path, spec)
    problem = spec.problem(encoded.levels)
    log = environment(problem, encoded, shuffles=runs.replicas)
    policies = systems(problem, spec.settings, log.n_features)
    refuse_features(policies[0], spec, log)
    found = run_all([(p.name, p) for p in policies], log, runs, how)
    return Replay(
        log=log_path.name,
        problem_file=problem_path.name,
        problem=problem,
        settings=spec.settings,
        runs=tuple(found),
        missing=tuple(p.name for p in policies[len(found) :]),
        rows=len(log.actions),
        left_out=tuple(bad.messages()),
        left_out_rows=bad.count,
        checks=of_replay([problem], encoded),
        notes=(*notes, *encoded.notes),
        shuffles=runs.replicas,
        bootstrap=runs.bootstrap,
        seed=runs.seed,
    )


def read_replayed(path: Path) -> Spec:
    """Read a problem file that states what a replay needs: how the log chose its actions, and its times if any.

    Raises:
        InvalidInput, InfeasibleProblem: as for `read_spec`; or the file does not state it.
    """
    spec = read_spec(path)
    if spec.until is not None and spec.time is None:
        raise InvalidInput(f"{path.name}: time", "the column of the times of cases, beside until", "nothing")
    if spec.propensity is None:
        expected = "a column or a constant, the probability with which the log chose its actions"
        raise InvalidInput(f"{path.name}: propensity", expected, "nothing")
    return spec


def refuse_features(policy: Policy, spec: Spec, log: Logged) -> None:
    """Refuse a model of another number of features than the log has.

    Raises:
        InvalidInput: it has another one.
    """
    if policy.model.n_features != log.n_features:
        expected = f"one of {log.n_features} features, as the log has"
        raise InvalidInput("policy.model", expected, f"{spec.settings.model} of {policy.model.n_features}")


def read_log(path: Path, spec: Spec) -> tuple[Encoded, BadRows]:
    """Read and encode a log.

    Raises:
        InvalidInput: the file, one of its columns, or too many of its rows cannot be used.
    """
    columns = read_csv(path, spec.places)
    bad = BadRows.none(columns.lines, columns.torn)
    return encode(spec, columns, bad, path.name), bad


def environment(problem: Problem, encoded: Encoded, *, shuffles: int | None = None) -> Logged:
    """Build the environment of an encoded log."""
    first = np.cumsum([0, *(len(g.names) for g in problem.groups)])
    groups = [where + start for where, start in zip(encoded.groups, first[:-1], strict=True)]
    return Logged(
        problem=problem,
        units=encoded.units,
        layout=encoded.layout,
        actions=encoded.actions,
        propensities=encoded.propensities,
        outcomes=encoded.outcomes,
        groups=np.stack(groups, 1) if groups else np.zeros((len(encoded.actions), 0), np.int64),
        known=encoded.known,
        time=encoded.time,
        shuffles=shuffles,
        orders=ORDERS,
    )
