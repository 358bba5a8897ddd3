"""Sweeps: the same policies in several environments, in cells that are shared among processes and kept one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.progress import Work
from evenhand.core.signatures import checked
from evenhand.core.validate import file, number, writable
from evenhand.environments.base import Environment
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.report.summary import COLUMNS, number as cell, table
from evenhand.run.comparison import Comparison, Differences, refuse
from evenhand.run.parallel import Watch, check_jobs, deferred_interrupt, run_until
from evenhand.run.simulation import simulate_here
from evenhand.run.storage import load_or_run, stored_share
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from evenhand.report.plots import Curve

_DASHES = ("-", "--", ":", "-.")


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
        return stored_share(self.place, self.policy, self.environment, self.replicas, self.seed, 1)


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
    run = partial(simulate_here, policy, world, replicas=replicas, seed=seed, watch=watch)
    return load_or_run(cell.place, policy, world, replicas, seed, run)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Comparisons of the same policies along a parameter of the environment, or over a grid of several."""

    parameter: str | tuple[str, ...]
    comparisons: Mapping[Any, Comparison]  # by number or by name, or by a tuple of them
    finished: bool = True  # whether all values were run, which Ctrl-C prevents

    def __getitem__(self, value: float | str | tuple[float | str, ...]) -> Comparison:
        if value not in self.comparisons:
            raise InvalidInput(" and ".join(self._names), f"one of {tuple(self.comparisons)}", value)
        return self.comparisons[value]

    def __str__(self) -> str:
        if not self.comparisons:
            return f"Sweep of {' and '.join(self._names)}: interrupted before its first run"
        return "\n\n".join(f"{self._point_text(at)}\n{comparison}" for at, comparison in self.comparisons.items())

    __repr__ = texts.brief

    def _repr_html_(self) -> str:
        head, rows = self._cells()
        return texts.table(f"Sweep of {' and '.join(self._names)}", rows, head)

    def table(self) -> str:
        """Make a table with a row per point and policy: the objective, and the limits that were missed.

        Its head is the name of the objective, or `objective` where points differ in it.
        """
        return table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Make the head and the rows of the table."""
        names, rows = set(), []
        for at, comparison in self.comparisons.items():
            for summary in comparison.summaries():
                first, rest = summary.lines[0], [line.name for line in summary.lines if line.missed]
                names.add(first.name)
                values = [x if isinstance(x, str) else f"{x:g}" for x in _point(at)]
                numbers = [cell(x) for x in (first.mean, first.se, first.worst)]
                cut = [summary.interrupted] if summary.interrupted else summary.early_ends()
                rows.append([*values, summary.policy, *numbers, "; ".join([*cut, *rest])])
        objective = names.pop() if len(names) == 1 else "objective"
        return [*self._names, "policy", objective, "se", "worst", "missed"], rows

    def differences(self, *, beyond: str | None = None) -> dict[Any, Differences]:
        """Compare all policies with one of them by pairs of replicas, by the value of the parameter.

        Args:
            beyond: as for `Comparison.differences`.
        """
        return {at: comparison.differences(beyond=beyond) for at, comparison in self.comparisons.items()}

    def columns(self) -> list[str]:
        """Return the names of the columns of `to_frame`."""
        return [*self._names, *COLUMNS]

    def records(self) -> list[tuple[object, ...]]:
        """Return the rows of `to_frame`."""
        return [(*_point(at), *row) for at, comparison in self.comparisons.items() for row in comparison.records()]

    def to_dict(self) -> dict[str, object]:
        """Return the rows of `to_frame`, each with the names of the columns, and whether all were run."""
        rows = [dict(zip(self.columns(), row, strict=True)) for row in self.records()]
        return {"experiment": "sweep", "finished": self.finished, "rows": rows}

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame like that of a `Comparison`, with the parameters in the first columns.

        It has no rows where the sweep ended before its first cell.
        """
        return data_frame(self.records(), self.columns())

    def plot(self, path: Path | str | None = None) -> Figure:
        """Draw every quantity at the end of the runs over the first parameter: a curve per policy, one for the limit.

        Where there are several parameters, each value of the others has curves of its own, with its own dashes in the
        colour of their policy. Names stand in their order. It is saved where a path is given.

        Raises:
            InvalidInput: the sweep was interrupted before its first run.
        """
        if not self.comparisons:
            raise InvalidInput("sweep", "one with a run, to be drawn", "one that was interrupted before its first")
        from evenhand.report.plots import figure_of, over_sweep  # matplotlib only when asked for

        panels = over_sweep(self._panels(), self._names[0], "per round")
        if self._levels:
            for axes in panels:
                axes.set_xticks(range(len(self._levels)), self._levels)
        return figure_of(panels, path)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.parameter,) if isinstance(self.parameter, str) else self.parameter

    @property
    def _levels(self) -> list[str]:
        """The names that the first parameter has as values, none if it has numbers."""
        return list(dict.fromkeys(x for x in (_point(at)[0] for at in self.comparisons) if isinstance(x, str)))

    def _point_text(self, at: Any, first: int = 0) -> str:
        pairs = list(zip(self._names, _point(at), strict=True))[first:]
        return ", ".join(f"{name} = {x if isinstance(x, str) else f'{x:g}'}" for name, x in pairs)

    def _panels(self) -> dict[str, list[Curve]]:
        """Collect every replica's values at the end of the runs, by quantity and policy, over numbers or places."""
        from evenhand.report.plots import Curve
        from evenhand.report.quantities import quantities

        points: dict[str, dict[str, dict[float, np.ndarray]]] = {}
        levels = self._levels
        placed = [
            (levels.index(x) if isinstance(x := _point(at)[0], str) else float(x), self._point_text(at, 1), comparison)
            for at, comparison in self.comparisons.items()
        ]
        limits: dict[str, dict[str, dict[float, np.ndarray]]] = {}
        dashes, looks = _dashes([others for _, others, _ in placed]), {}
        for at, others, comparison in sorted(placed, key=lambda found: found[0]):
            for i, trace in enumerate(comparison.traces):
                looks[", ".join(filter(None, (trace.policy, others)))] = f"C{i}{dashes[others]}" if dashes else ""
                for q in quantities(trace):
                    name = ", ".join(filter(None, (trace.policy, others)))
                    points.setdefault(q.name, {}).setdefault(name, {})[at] = q.value(trace)[-1]
                    if q.limit is not None:
                        bound = np.full(len(trace.replicas), q.limit)
                        limits.setdefault(q.name, {}).setdefault(others, {})[at] = bound
        return {
            quantity: [
                *(Curve(name, list(at), np.array(list(at.values())), looks[name]) for name, at in curves.items()),
                *(
                    Curve(name, list(at), np.array(list(at.values())), f"k{dashes.get(name[7:], '--')}")
                    for name, at in _limits(limits, quantity)
                ),
            ]
            for quantity, curves in points.items()
        }


def _dashes(others: Sequence[str]) -> dict[str, str]:
    """Choose dashes by the values of the further parameters; none where there is one value, or more than dashes."""
    values = list(dict.fromkeys(others))
    return dict(zip(values, _DASHES, strict=False)) if 1 < len(values) <= len(_DASHES) else {}


def _limits(
    limits: Mapping[str, Mapping[str, dict[float, np.ndarray]]], quantity: str
) -> list[tuple[str, dict[float, np.ndarray]]]:
    """Return the limits of a quantity by name: a single one where other parameters do not move it."""
    found = limits.get(quantity, {})
    if len({tuple((at, *z) for at, z in line.items()) for line in found.values()}) > 1:
        return [(f"limit, {others}", line) for others, line in found.items()]
    return [("limit", line) for line in list(found.values())[:1]]


def _point(at: Any) -> tuple[float | str, ...]:
    return at if isinstance(at, tuple) else (at,)


@checked
def sweep(
    policies: Callable[[Problem], Sequence[Policy]],
    parameter: str | tuple[str, ...],
    environments: Mapping[Any, Environment],
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Compare policies in several environments, such as ones with different budgets.

    Ctrl-C ends the sweep early; it then has the environments that were run, and the first one that was not, with what
    was recorded until then.

    Args:
        policies: those for a problem, with the same names for every problem.
        parameter: the name of what differs between the environments, for tables and plots, or several names for a grid.
        environments: by the value of the parameter, all numbers or all names; by a tuple of values for a grid.
        replicas, seed, progress: as for `simulate`.
        jobs: processes to share the cells among, of which one is a policy in an environment. No number depends on it
            where BLAS has the same threads in all processes, as for `simulate`. They are those of joblib: below
            `joblib.parallel_config(backend="dask")` they are the workers of a Dask cluster.
        out: a folder that keeps the trace of every cell that has finished, and every minute the state of others, so
            that the same call goes on after an interruption, with any number of jobs. Cells are found by a hash of all
            that affects them, so sweeps may share a folder; of your own code only that of algorithms in `Wrapped`
            counts: use another folder after a change of other code.

    Raises:
        InvalidInput: no environment, a value that is not finite, names beside numbers; or as for `compare`.
        EvenhandError: a worker process was killed.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> courts = {rides: Court(horizon=100, ride=rides) for rides in (0.05, 0.1)}
    >>> found = sweep(lambda problem: [uniform(problem, n_features=5)], "rides", courts, replicas=2, progress=False)
    >>> [bool((found[rides]["uniform"].total("ride") <= 100 * rides).all()) for rides in courts]
    [True, True]
    """
    cases = {
        at: (environment, policies(environment.problem))
        for at, environment in check_points(parameter, environments).items()
    }
    return swept(parameter, cases, replicas=replicas, seed=seed, jobs=jobs, out=out, progress=progress)


def swept(
    parameter: str | tuple[str, ...],
    cases: Mapping[Any, tuple[Environment, Sequence[Policy]]],
    *,
    replicas: int | Sequence[int],
    seed: int,
    jobs: int,
    out: Path | None,
    progress: bool | None,
) -> Sweep:
    """Run a sweep whose points, environments and policies are known; see `sweep`."""
    check_jobs(jobs)
    place = None if out is None else writable(file("out", out))
    cells: dict[Any, list[Cell]] = {}
    for at, (environment, some) in cases.items():
        refuse(some, environment)
        cells[at] = [Cell(policy, environment, replicas, seed, place) for policy in some]
    traces = iter(run_cells([cell for row in cells.values() for cell in row], jobs, progress))
    comparisons: dict[Any, Comparison] = {}
    for at, row in cells.items():
        found = _complete_traces([next(traces) for _ in row])
        if found:
            comparisons[at] = Comparison(tuple(found))
        if len(found) < len(row) or not found[-1].finished:
            return Sweep(parameter, comparisons, finished=False)
    return Sweep(parameter, comparisons)


def _complete_traces(traces: Sequence[Trace | None]) -> list[Trace]:
    """Return the traces up to the first that was interrupted, as an interrupted comparison has them."""
    found: list[Trace] = []
    for trace in traces:
        if trace is None:
            break
        found.append(trace)
        if not trace.finished:
            break
    return found


def check_points(parameter: str | tuple[str, ...], environments: Mapping[Any, Any]) -> dict[Any, Any]:
    """Check the parameter values of environments, which are tuples for several parameters."""
    if not environments:
        raise InvalidInput("environments", "at least one environment", "none")
    names = (parameter,) if isinstance(parameter, str) else parameter
    if not names:
        raise InvalidInput("parameter", "at least one name", parameter)
    found: dict[Any, Any] = {}
    for at, environment in environments.items():
        values = (at,) if isinstance(parameter, str) else at
        if not isinstance(values, tuple) or len(values) != len(names):
            raise InvalidInput("environments", f"a tuple of {len(names)} values by {', '.join(names)}", at)
        point = tuple(
            x if isinstance(x, str) else number(f"environments: {name}", x, "a finite number")
            for name, x in zip(names, values, strict=True)
        )
        found[point[0] if isinstance(parameter, str) else point] = environment
    for i, name in enumerate(names):
        values = tuple(_point(at)[i] for at in found)
        if len({isinstance(x, str) for x in values}) > 1:
            raise InvalidInput(f"environments: {name}", "all numbers or all names", tuple(dict.fromkeys(values)))
    return found
