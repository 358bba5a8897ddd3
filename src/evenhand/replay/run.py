"""Replays a log: from two files to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import has_matplotlib
from evenhand.core.registry import closest
from evenhand.core.validate import file, writable
from evenhand.environments.logged import Logged
from evenhand.policy.policy import Policy
from evenhand.replay.checks.refused import refuse_misfit
from evenhand.replay.checks.replayed import averages, of_replay
from evenhand.replay.execution import Execution, Runs, run_all
from evenhand.replay.log import Source, read_replayed, read_rows
from evenhand.replay.problem_file import Stated, stated_name
from evenhand.replay.report import Replay
from evenhand.replay.settings import recipes
from evenhand.replay.spec import Spec
from evenhand.replay.systems import systems
from evenhand.report.leaving import leave


@checked
def replay_log(
    log_path: Source,
    problem_path: Stated,
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
        log_path: a CSV file with a header, a Parquet file or a folder of them, or a data frame; see `read_log`.
        problem_path: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib`
            reads it.
        policy: a recipe to use instead of the file's, with those of the file's arguments that this recipe takes.
        replicas: the number of shuffles, at least 1.
        bootstrap: the number of resamples of the rows, at least 2, or 0 for no standard errors.
        seed: the seed of all random numbers, in [0, 2**64).
        out: a folder for results.json, report.html, and if they can be written, replay.parquet and pictures.
        progress: whether to show how far it has come. None draws a line in a terminal, and writes some elsewhere.

    Raises:
        InvalidInput: a key, column or argument is wrong, or too many rows are bad; the error names them.
        InfeasibleProblem: no mixture of the actions keeps to the budgets.

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
    out = None if out is None else writable(file("out", out))
    found = replay_files(log_path, problem_path, policy, runs, Execution(progress=progress))
    if out is not None:
        write(found, out)
    return found


def replay_files(
    log_path: Source,
    problem_path: Stated,
    policy: str | None,
    runs: Runs,
    how: Execution,
) -> Replay:
    """Run a policy and its references as `replay_log` does, in any number of processes, and continue from saved runs.

    Raises:
        InvalidInput, InfeasibleProblem: as for `replay_log`.
    """
    if policy is not None:
        closest("policy", recipes(), policy)
    spec, notes = read_replayed(problem_path, log_path), list[str]()
    if policy is not None and policy != spec.settings.name:
        settings, notes = spec.settings.with_recipe(policy)
        spec = replace(spec, settings=settings)
    read = read_rows(log_path, spec)
    spec, problem, log = read.spec, read.problem, read.environment(shuffles=runs.replicas)
    policies = systems(problem, spec.settings, log.n_features)
    refuse_features(policies[0], spec, log)
    refuse_misfit(read.name, spec, problem, read.encoded)
    found = run_all([(p.name, p) for p in policies], log, runs, how)
    return Replay(
        log=read.name,
        problem_file=stated_name(problem_path),
        problem=problem,
        settings=spec.settings,
        runs=tuple(found),
        missing=tuple(p.name for p in policies[len(found) :]),
        rows=len(log.actions),
        left_out=tuple(read.bad.messages()),
        left_out_rows=read.bad.left_out,
        averages=averages(problem, read.encoded),
        checks=of_replay([problem], read.encoded),
        notes=(*notes, *read.notes),
        shuffles=runs.replicas,
        bootstrap=runs.bootstrap,
        seed=runs.seed,
    )


def refuse_features(policy: Policy, spec: Spec, log: Logged) -> None:
    """Refuse a model of another number of features than the log has.

    Raises:
        InvalidInput: it has another one.
    """
    if policy.model.n_features != log.n_features:
        expected = f"one of {log.n_features} features, as the log has"
        raise InvalidInput("policy.model", expected, f"{spec.settings.model} of {policy.model.n_features}")


def write(found: Replay, out: Path, command: str = "") -> list[Path]:
    """Write results.json, report.html, pictures and replay.parquet; those two only if what they need is installed.

    Args:
        found: the replay.
        out: a folder, which is made if needed.
        command: that made it, for the report.

    Raises:
        InvalidInput: a file cannot be written.
    """
    written = leave(out, found.results(), "replay", found.to_frame, found.page(command))
    if found.runs and has_matplotlib():
        from evenhand.replay.pictures import draw_spans
        from evenhand.report.plots import save

        written.append(save(found.plot().axes, out / "replay.png"))
        spans = draw_spans(found, out / "spans.png")
        written += [] if spans is None else [spans]
    return written
