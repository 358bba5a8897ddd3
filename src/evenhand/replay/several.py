"""Replays of several recipes within several budgets, all on the same cases in the same orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.registry import closest
from evenhand.policy.policy import Policy
from evenhand.problem.constraints.base import as_rated
from evenhand.recipes import uniform
from evenhand.replay.cells import Cell
from evenhand.replay.checks.refused import refuse_misfit
from evenhand.replay.checks.replayed import averages, of_replay
from evenhand.replay.comparing import Replays
from evenhand.replay.execution import Execution, Runs, run_all
from evenhand.replay.log import Source, read_replayed, read_rows
from evenhand.replay.problem_file import Stated, stated_name
from evenhand.replay.run import refuse_features
from evenhand.replay.settings import recipes
from evenhand.replay.spec import Spec
from evenhand.replay.systems import BLIND


@checked
def replay_several(
    log_path: Source,
    problem_path: Stated,
    *,
    policies: Sequence[str] = (),
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
        policies: recipes; the others are compared with the first. By default the file's alone.
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
    names = [own] if not policies else list(policies)
    for name in names:
        closest("policies", recipes(), name)
        if names.count(name) > 1:
            raise InvalidInput("policies", "different recipes", f"{names.count(name)} of {name!r}")
    given: list[float | None] = [*dict.fromkeys(rates)] or [None]
    for rate in given:
        within(spec, rate)  # refuses before the log is read
    read = read_rows(log_path, spec)
    spec, levels, log = read.spec, read.encoded.levels, read.environment(shuffles=runs.replicas)
    refuse_misfit(read.name, spec, read.problem, read.encoded)
    specs = [(rate, within(spec, rate)) for rate in given]
    cells: list[tuple[str, float | None, Policy]] = []
    for name in names:
        settings, lost = (spec.settings, list[str]()) if name == own else spec.settings.with_recipe(name)
        notes += lost
        for rate, at in specs:
            chosen = replace(at, settings=settings)
            policy = chosen.settings.build(chosen.problem(levels), log.n_features)
            refuse_features(policy, chosen, log)
            cells.append((name, rate, replace(policy, name=name)))
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


def within(spec: Spec, rate: float | None) -> Spec:
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
        raise InvalidInput("rates", expected, f"{len(budgets)} budgets" if len(budgets) != 1 else "one per period")
    return replace(spec, subject_to=tuple(other if c is budgets[0] else c for c in spec.subject_to))
