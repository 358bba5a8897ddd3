"""Replays a log: from two files to a report, of one recipe or of several within several budgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest
from evenhand.core.row_pairs import Packed
from evenhand.core.signatures import checked
from evenhand.core.texts import amount
from evenhand.core.validate import file, writable
from evenhand.environments.logged import Logged, blocks
from evenhand.logs.checks.replays import averages, of_replay, refuse_misfit
from evenhand.logs.log import Source, read_replayed, read_rows
from evenhand.logs.problem_file import Stated, read_spec, stated_name
from evenhand.logs.settings import BLIND, recipes, systems
from evenhand.logs.spec import Spec
from evenhand.models.base import refuse_dense
from evenhand.policy.batch import compile_ahead
from evenhand.policy.policy import Policy
from evenhand.problem.constraints.base import as_rated
from evenhand.problem.problem import Problem
from evenhand.recipes import uniform
from evenhand.replay.comparison import Replays
from evenhand.replay.execution import Execution, Runs, run_all
from evenhand.replay.measures import Cell
from evenhand.replay.own_policies import Own, check_name, own_policy
from evenhand.replay.report import Replay
from evenhand.run.simulation import simulate

_ROWS, _UNITS = 60, 3


@checked
def replay_log(
    log_path: Source,
    problem_path: Stated,
    *,
    policy: str | Own | None = None,
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
        policy: a recipe to use instead of the file's, with those of the file's arguments that this recipe takes. Or a
            policy of your own, which is the first system beside those of the file: an object with `select` and
            `update`, of which every run has a copy; `Wrapped(make=...)`, where it draws; an estimator of scikit-learn,
            or `Sklearn(estimator=..., growth=..., buffer=...)`, as the model of the file's recipe, refitted on that
            schedule; or a function of the problem and the number of features that returns a policy.
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
        found.write(out)
    return found


def replay_files(
    log_path: Source,
    problem_path: Stated,
    policy: str | Own | None,
    runs: Runs,
    how: Execution,
) -> Replay:
    """Run a policy and its references as `replay_log` does, in any number of processes, and continue from saved runs.

    Raises:
        InvalidInput, InfeasibleProblem: as for `replay_log`.
    """
    own = None if policy is None or isinstance(policy, str) else own_policy(policy)
    if isinstance(policy, str):
        closest("policy", recipes(), policy)
    spec, notes = read_replayed(problem_path, log_path), list[str]()
    if isinstance(policy, str) and policy != spec.settings.name:
        settings, notes = spec.settings.with_recipe(policy)
        spec = replace(spec, settings=settings)
    read = read_rows(log_path, spec)
    spec, problem, log = read.spec, read.problem, read.environment(shuffles=runs.replicas)
    policies = systems(problem, spec.settings, read.n_features)
    refuse_features(policies[0], spec, log)
    if own is not None:
        policies.insert(0, check_name(own(problem, spec.settings, read.n_features), [p.name for p in policies]))
        refuse_features(policies[0], spec, log)
    refuse_misfit(read.name, spec, problem, read.encoded)
    found = run_all([(p.name, p) for p in policies], log, runs, how)
    return Replay(
        log=read.name,
        problem_file=stated_name(problem_path),
        problem=problem,
        settings=spec.settings,
        own=None if own is None else policies[0].name,
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
    if spec.hashing:
        refuse_dense(policy.model, "policy.model")
    if policy.model.n_features != log.n_features:
        expected = f"one of {log.n_features} features, as the log has"
        raise InvalidInput("policy.model", expected, f"{spec.settings.model} of {policy.model.n_features}")


@checked
def replay_several(
    log_path: Source,
    problem_path: Stated,
    *,
    policies: Sequence[str | Own] = (),
    rates: Sequence[float] = (),
    runs: Runs | None = None,
    how: Execution | None = None,
) -> Replays:
    """Run several recipes within several budgets on a log whose actions were randomised, and compare them in pairs.

    Every recipe keeps to all constraints of the file; `uniform`, which draws at random within the budgets, is always
    beside them. All read the same cases in the same orders, so that differences have smaller errors than values. What
    is compared is per round of the horizon: rounds that a policy did not serve, because nothing that was left of a
    budget fitted, count 0. Ctrl-C keeps what has finished.

    Args:
        log_path: a CSV file with a header, a Parquet file or a folder of them, or a data frame; see `read_log`.
        problem_path: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib`
            reads it.
        policies: recipes, or policies of your own as of `replay_log`; the others are compared with the first. By
            default the file's alone.
        rates: budgets per round, in place of the rate or total of the file's budget, of which there has to be one. By
            default the file's alone.
        runs: shuffles and resamples; by default those of `replay_log`.
        how: the number of processes, and where to keep what has finished, from which the same call continues.

    Raises:
        InvalidInput: a key, column or argument is wrong, or too many rows are bad; the error names them. Or a recipe
            refuses the problem.
        InfeasibleProblem: no mixture of the actions keeps to a budget.

    >>> import tempfile
    >>> from pathlib import Path
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
    >>> few = Runs(replicas=2, bootstrap=0)
    >>> files = folder / "log.csv", folder / "problem.toml"
    >>> found = replay_several(*files, policies=["pgd"], rates=[0.1, 0.2], runs=few, how=Execution(progress=False))
    >>> [(c.policy, c.rate, c.measures["post of budget"].values.max().item()) for c in found.cells if c.policy == "pgd"]
    [('pgd', 0.1, 1.0), ('pgd', 0.2, 1.0)]
    """
    runs, how = runs or Runs(), how or Execution()
    spec, notes = read_replayed(problem_path, log_path), list[str]()
    own = spec.settings.name
    each = [z if isinstance(z, str) else own_policy(z) for z in (list(policies) or [own])]
    names = [z for z in each if isinstance(z, str)]
    for name in names:
        closest("policies", recipes(), name)
        if names.count(name) > 1:
            raise InvalidInput("policies", "different recipes", f"{names.count(name)} of {name!r}")
    given: list[float | None] = [*dict.fromkeys(rates)] or [None]
    for rate in given:
        at_rate(spec, rate)  # refuses before the log is read
    read = read_rows(log_path, spec)
    spec, levels, log = read.spec, read.encoded.levels, read.environment(shuffles=runs.replicas)
    refuse_misfit(read.name, spec, read.problem, read.encoded)
    specs = [(rate, at_rate(spec, rate)) for rate in given]
    cells: list[tuple[str, float | None, Policy]] = []
    taken = [*names, BLIND]
    for part in each:
        settings, lost = (
            spec.settings.with_recipe(part) if isinstance(part, str) and part != own else (spec.settings, [])
        )
        notes += lost
        for rate, at in specs:
            problem = at.problem(levels)
            if isinstance(part, str):
                policy = replace(settings.build(problem, read.n_features), name=part)
            else:
                policy = check_name(part(problem, settings, read.n_features), taken)
            refuse_features(policy, replace(at, settings=settings), log)
            cells.append((policy.name, rate, policy))
        taken.append(policy.name)
    if BLIND not in names:
        cells += [(BLIND, rate, uniform(at.problem(levels), log.n_features)) for rate, at in specs]
    cells.sort(key=lambda cell: given.index(cell[1]))  # whole budgets first, should it be broken off
    told = [(name if rate is None else f"{name} at {amount(rate, 6)}", policy) for name, rate, policy in cells]
    found = run_all(told, log, runs, how)
    return Replays(
        log=read.name,
        problem_file=stated_name(problem_path),
        problem=log.problem,
        cells=tuple(Cell.of(name, rate, run) for (name, rate, _), run in zip(cells, found, strict=False)),
        missing=tuple(name for name, _ in told[len(found) :]),
        rows=len(log.actions),
        averages=averages(log.problem, read.encoded),
        checks=of_replay([at.problem(levels) for _, at in specs], read.encoded),
        notes=(*(f"left out: {reason}" for reason in read.bad.messages()), *notes, *read.notes),
        runs=runs,
    )


def at_rate(spec: Spec, rate: float | None) -> Spec:
    """Return a problem with another rate of its budget; the same problem for None.

    Raises:
        InvalidInput: the problem has none or several, or one per period.
    """
    if rate is None:
        return spec
    budgets = [c for c in map(as_rated, spec.subject_to) if c is not None]
    other = budgets[0].at_rate(rate) if len(budgets) == 1 else None
    if other is None:
        expected = "a problem with one budget over the horizon, whose rate they are"
        raise InvalidInput("rates", expected, f"{len(budgets)} budgets" if len(budgets) != 1 else "several totals")
    return replace(spec, subject_to=tuple(other if c is budgets[0] else c for c in spec.subject_to))


def of_problem_file(path: Path) -> dict[str, Callable[[], object]]:
    """Return, by name, a replay of a few rows for every system that `replay_log` runs.

    The first system is that of a campaign, of which what decides many cases at one state is compiled as well.

    Raises:
        InvalidInput: as for `read_spec`; or the recipe refuses the problem.
    """
    found = policies(path)
    log = _invented_log(found[0].problem, packed=bool(read_spec(path).hashing))
    jobs: dict[str, Callable[[], object]] = {
        p.name: partial(simulate, p, replace(log, problem=p.problem), replicas=2, progress=False) for p in found
    }
    return jobs | {f"{found[0].name}, many at once": partial(compile_ahead, found[0])}


def policies(path: Path) -> list[Policy]:
    """Return the systems that `replay_log` runs, that of a campaign first, with groups and features that are made up.

    Raises:
        InvalidInput: as for `of_problem_file`.
    """
    spec = read_spec(path)
    problem = spec.problem(dict.fromkeys(spec.groups, ("one", "other")))
    return systems(problem, spec.settings, Packed(_UNITS, _UNITS) if spec.hashing else _UNITS * len(problem.actions))


def _invented_log(problem: Problem, packed: bool) -> Logged:
    """Make a log of all actions in turn; varying propensities ensure that rows are rejected at random."""
    luck, actions = np.random.default_rng(0), np.arange(_ROWS) % len(problem.actions)
    ends = problem.span_by_action[:, actions if problem.span_by_action.shape[1] > 1 else 0]
    low, high = np.nan_to_num(ends, posinf=1.0, neginf=-1.0)
    outcomes = luck.uniform(low, np.maximum(high, low), (_ROWS, len(problem.observed)))
    ends = np.cumsum([0, *(len(g.names) for g in problem.groups)])
    columns = [luck.integers(a, b, _ROWS) for a, b in pairwise(ends)]
    units, layout = luck.standard_normal((_ROWS, _UNITS)), blocks(len(problem.actions), _UNITS)
    if packed:
        pairs = [np.broadcast_to(np.arange(_UNITS), units.shape), units]
        units = np.stack(pairs, 2).reshape(_ROWS, 2 * _UNITS)
        layout = np.tile(np.arange(-1, 2 * _UNITS), (len(problem.actions), 1))
    return Logged(
        problem=problem,
        units=units,
        layout=layout,
        numbered=packed,
        actions=actions,
        propensities=np.where(np.arange(_ROWS) % 2 == 0, 0.5, 0.4),
        outcomes=outcomes,
        clusters=None if problem.unit is None else np.arange(_ROWS),
        groups=np.stack(columns, 1) if columns else np.zeros((_ROWS, 0), np.int64),
        time=None if problem.until is None else np.linspace(0.0, problem.clock.last, _ROWS, endpoint=False),
        shuffles=1,
    )
