"""Several policies on the same contexts and random numbers, and paired differences between replicas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.progress import Work
from evenhand.core.registry import suggestion
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import file, writable
from evenhand.environments.base import Environment
from evenhand.numerics.student import reach
from evenhand.report.summary import COLUMNS, Line, Summary, number, standard_error, table
from evenhand.run.python_policy import AnyPolicy
from evenhand.run.simulation import simulate
from evenhand.run.storage import load_or_run, stored_share
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_HEAD = ["mean", "se", "95 % from", "to", "worst"]
_PAIRS = "by pairs: replica i of all policies met the same contexts and luck"


class PairedDifference(NamedTuple):
    """A quantity of a policy minus that of the first one, over replicas.

    The interval is that of the t distribution at 95 %, for other seeds of the same world. It and the standard error are
    NaN with a single replica.
    """

    policy: str
    beyond: str  # the first policy
    name: str  # the quantity
    mean: float
    se: float
    low: float
    high: float
    worst: float  # the replica in which it compares worst with the first policy

    @staticmethod
    def of(policy: str, beyond: str, name: str, values: Floats, worst: Literal["low", "high"]) -> PairedDifference:
        """Summarise one difference per replica.

        >>> p = PairedDifference.of("mine", "theirs", "reward", np.array([0.1, 0.2, 0.3]), "low")
        >>> round(p.se, 4), round(p.low, 4), p.worst
        (0.0577, -0.0484, 0.1)
        """
        mean, se, n = float(values.mean()), standard_error(values), len(values)
        half = reach(se, n - 1)
        extreme = float(values.min() if worst == "low" else values.max())
        return PairedDifference(policy, beyond, name, mean, se, mean - half, mean + half, extreme)


class Differences(tuple[PairedDifference, ...]):
    """Differences to one policy, which are shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no differences"
        rows = [[d.policy, d.name, *map(number, d[3:])] for d in self]
        return f"beyond {self[0].beyond}, {_PAIRS}\n{table(['policy', 'quantity', *_HEAD], rows, left=2)}"


def paired_differences(traces: Sequence[Trace]) -> Iterator[PairedDifference]:
    """Compare every finished trace with the first one: all quantities at the end that both have.

    A run that was interrupted is left out, as its replicas met rounds other than those of the first.
    """
    from evenhand.report.quantities import quantities  # reports only when asked for one

    if not traces or not traces[0].finished:
        return
    first = {q.name: q.value(traces[0])[-1] for q in quantities(traces[0])}
    for trace in traces[1:]:
        for q in quantities(trace) if trace.finished else ():
            if q.name in first:
                with np.errstate(invalid="ignore"):  # an infinite value, as of a cost without a sale
                    values = np.asarray(q.value(trace)[-1] - first[q.name])
                yield PairedDifference.of(trace.policy, traces[0].policy, q.name, values, q.worst)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Traces of several policies that met the same contexts and luck.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=100)
    >>> comparison = compare([uniform(court.problem, n_features=5)], court, replicas=2, progress=False)
    >>> comparison["uniform"].policy
    'uniform'
    """

    traces: tuple[Trace, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The policies that were run."""
        return tuple(trace.policy for trace in self.traces)

    def summaries(self) -> list[Summary]:
        return [trace.summary() for trace in self.traces]

    @property
    def finished(self) -> bool:
        """Whether all policies were run to their ends, which Ctrl-C prevents."""
        return all(trace.finished for trace in self.traces)

    def __getitem__(self, name: str) -> Trace:
        if name not in self.names:
            raise InvalidInput("policy", f"one of {self.names}", f"{name!r}{suggestion(name, self.names)}")
        return self.traces[self.names.index(name)]

    def __str__(self) -> str:
        summaries = self.summaries()
        lines = [table(*_cells(summaries)), _units(summaries), *self._objective_differences()]
        return "\n".join([*lines, *_notes(summaries)])

    def _objective_differences(self) -> Iterator[str]:
        """Say how the objective of the other policies differs from that of the first."""
        head, rows = self._differences()
        if rows:
            yield "\n" + table(head, rows)
            yield _PAIRS

    def _differences(self) -> tuple[list[str], list[list[str]]]:
        """Make the head and the rows of a table of how the objective differs; without rows if there is one policy."""
        found = self.differences()
        shown = [d for d in found if d.name == found[0].name]
        if not shown:
            return [], []
        head = [f"{shown[0].name} beyond {shown[0].beyond}", *_HEAD]
        return head, [[d.policy, *map(number, (d.mean, d.se, d.low, d.high, d.worst))] for d in shown]

    __repr__ = texts.brief

    def _repr_html_(self) -> str:
        summaries = self.summaries()
        head, rows = _cells(summaries)
        shown = texts.table("; ".join([_units(summaries), *_notes(summaries)]), rows, head)
        head, rows = self._differences()
        return shown + texts.table(_PAIRS, rows, head) if rows else shown

    def differences(self, *, beyond: str | None = None) -> Differences:
        """Compare all policies with one of them by pairs of replicas: every quantity at the end of the runs.

        Args:
            beyond: the policy that the others are compared with; the first one by default.

        Raises:
            InvalidInput: there is no such policy.
        """
        first = self.traces[0] if beyond is None else self[beyond]
        return Differences(paired_differences([first, *(trace for trace in self.traces if trace is not first)]))

    def records(self) -> list[tuple[object, ...]]:
        """Return the rows of `to_frame`."""
        return [record for summary in self.summaries() for record in summary.records()]

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame with a row per policy and quantity: mean, standard error, worst replica and limit.

        The objective is at the true means of the plays where the world has them, all else is of what arrived.

        `pandas.DataFrame(comparison.differences())` has the differences to the first policy.
        """
        return data_frame(self.records(), COLUMNS)

    def to_latex(self, *, caption: str = "", label: str = "") -> str:
        """Make a table in LaTeX, for the package `booktabs`: mean ± standard error, the best objective in bold.

        Args:
            caption: by default one that states the finding and explains the numbers.
            label: to refer to the table by; none by default.
        """
        from evenhand.report.tables import Table  # reports only when asked for one

        summaries, best = self.summaries(), self.best
        names, found, limits = _lines(summaries)
        rows = [
            [policy, *(_cell(lines.get(n)) for n in names)] for policy, lines in zip(self.names, found, strict=True)
        ]
        if any(x is not None for x in limits.values()):
            rows += [[], ["limit", *(number(limits[n]) for n in names)]]
        told = f"{self.headline}. Mean ± standard error over {texts.count(summaries[0].replicas, 'replica')}, per round"
        told += f"{'; †: misses its limit' * bool(self._missed)}."
        bold = [(self.names.index(best), 1)] if best else []
        return Table(["policy", *names], rows).latex(bold=bold, caption=caption or told, label=label)

    @property
    def best(self) -> str:
        """The policy with the highest objective of those that miss no limit, or of all if all do; "" if none ended."""
        return max(self._ends, key=lambda name: float(self._ends[name].mean()), default="")

    @property
    def headline(self) -> str:
        """The best policy in a sentence, with its lead over the next best, and those that miss a limit."""
        from evenhand.report.leaders import highest  # reports only when asked for one

        missed = f"; {texts.few(self._missed)} miss{'es' * (len(self._missed) == 1)} a limit" if self._missed else ""
        return highest(self._ends, self.summaries()[0].lines[0].name) + missed

    @cached_property
    def _ends(self) -> dict[str, Floats]:
        """The objective of each replica at the end of the runs among which the best one is."""
        from evenhand.report.quantities import quantities  # reports only when asked for one

        ends = {trace.policy: quantities(trace)[0].value(trace)[-1] for trace in self.traces if trace.finished}
        known = {name: values for name, values in ends.items() if np.isfinite(values).all()}
        return {name: values for name, values in known.items() if name not in self._missed} or known

    @cached_property
    def _missed(self) -> list[str]:
        return [s.policy for s in self.summaries() if any(line.missed for line in s.lines)]

    def plot(self, path: Path | str | None = None, *, main: str | None = None) -> Figure:
        """Draw every quantity over the rounds, with a band over replicas, below the finding in a sentence.

        Args:
            path: where it is saved, such as `figure.pdf`, whose letters are then TrueType fonts.
            main: the policy with the thickest curve; the best one by default.

        Raises:
            InvalidInput: there is no such policy.
        """
        from evenhand.report.plots import figure_of, over_rounds  # matplotlib only when asked for

        name = self.best if main is None else self[main].policy
        return figure_of(over_rounds(self.traces, main=name, headline=self.headline), path)


@checked
def compare(
    policies: Sequence[AnyPolicy],
    environment: Environment,
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run several policies on the same contexts and luck.

    Ctrl-C ends the comparison early; it then has what was recorded until then, without the policies that come after.

    Args:
        policies: with different names, which recipes take as `name=`; tables and pictures keep their order.
        environment: where contexts and outcomes come from.
        replicas, seed, jobs, progress: as for `simulate`.
        out: a folder that keeps the trace of every policy that has finished, and every minute the state of another, so
            that the same call, with the same jobs, goes on after an interruption; see `sweep`, which finds the same
            files. An algorithm of your own in `Wrapped` is saved when it has finished.

    Raises:
        InvalidInput: no policy, two of the same name, one that was made for another problem; a folder that cannot be
            written to, a part that has no hash; or as for `simulate`.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=100)
    >>> twins = [uniform(court.problem, n_features=5, name=name) for name in ("one", "two")]
    >>> one, two = compare(twins, court, replicas=2, progress=False).traces
    >>> bool((one.total("ride") == two.total("ride")).all())  # the same luck
    True
    """
    refuse(policies, environment)
    place = None if out is None else writable(file("out", out))
    for policy in policies:  # refuse, before any runs, what has no hash
        stored_share(place, policy, environment, replicas, seed, jobs)
    traces: list[Trace] = []
    with Work("compare", "policy", progress=progress) as work:
        for policy in work.each(policies):
            run = partial(simulate, policy, environment, replicas=replicas, seed=seed, jobs=jobs, progress=progress)
            traces.append(load_or_run(place, policy, environment, replicas, seed, run))
            if not traces[-1].finished:
                break
    return Comparison(tuple(traces))


@checked
def refuse(policies: Sequence[AnyPolicy], environment: Environment) -> None:
    """Refuse, before any runs, any policy that `simulate` would refuse when its turn comes."""
    names = [policy.name for policy in policies]
    if not names:
        raise InvalidInput("policies", "at least one policy", "none")
    for name in names:
        if names.count(name) > 1:
            expected = "different names (recipes take `name=`)"
            raise InvalidInput("policies", expected, f"{names.count(name)} of the name {name!r}")
    for policy in policies:
        if policy.problem != environment.problem:
            expected = "policies made for the environment's problem"
            raise InvalidInput("policies", expected, f"{policy.name!r}, made for another problem")


def _units(summaries: Sequence[Summary]) -> str:
    replicas = texts.count(summaries[0].replicas, "replica")
    units = "per round, in the units of each outcome: mean over"
    return f"{units} {replicas}, its standard error (se), and the worst replica{summaries[0].truth()}"


def _notes(summaries: Sequence[Summary]) -> list[str]:
    """Write a line for each policy with a caveat or a missed limit."""
    said = {s.policy: [*([s.interrupted] if s.interrupted else []), *s.notes(), *_missed_limits(s)] for s in summaries}
    return [f"{name}: {', '.join(notes)}" for name, notes in said.items() if notes]


def _missed_limits(summary: Summary) -> list[str]:
    """Name the limits that a policy missed."""
    names = [f"{x.name} ({number(x.mean)} of {number(x.limit)})" for x in summary.lines if x.missed]
    return [f"missed {'; '.join(names)}"] if names else []


def _lines(summaries: Sequence[Summary]) -> tuple[list[str], list[dict[str, Line]], dict[str, float | None]]:
    """Return the names of all quantities, the lines of each policy by name, and the limits."""
    names = list(dict.fromkeys(line.name for s in summaries for line in s.lines))
    found = [{line.name: line for line in s.lines} for s in summaries]
    limits = {n: next((f[n].limit for f in found if n in f and f[n].limit is not None), None) for n in names}
    return names, found, limits


def _cell(line: Line | None) -> str:
    """Write a mean with its standard error, if it is known, and with a mark where a limit is missed."""
    if line is None:
        return ""
    error = f" ± {number(line.se)}" if np.isfinite(line.se) else ""
    return number(line.mean) + error + ("†" if line.missed else "")


def _cells(summaries: Sequence[Summary]) -> tuple[list[str], list[list[str]]]:
    """Make the head and the rows of a table with a row per policy, and one of the limits."""
    names, found, limits = _lines(summaries)
    head, end = ["policy"], ["limit"]
    rows = [[s.policy] for s in summaries]
    for i, name in enumerate(names):
        head += [name, *(["se"] if i == 0 else []), "worst"]
        end += [number(limits[name]), *([""] if i == 0 else []), ""]
        for row, lines in zip(rows, found, strict=True):
            line = lines.get(name)
            row.append(number(line.mean if line else None))
            row += [number(line.se if line else None)] if i == 0 else []
            row.append(number(line.worst if line else None))
    return head, [*rows, end] if any(x is not None for x in limits.values()) else rows
