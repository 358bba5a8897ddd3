"""Several policies on the same contexts and random numbers, and paired differences between replicas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.progress import Work
from evenhand.core.registry import suggestion
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.environments.base import Environment
from evenhand.numerics.student import reach
from evenhand.report.summary import COLUMNS, Summary, number, standard_error, table
from evenhand.run.python_policy import AnyPolicy
from evenhand.run.simulation import simulate
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
        head = [f"{shown[0].name} beyond {shown[0].beyond}", "mean", "se", "95 % from", "to", "worst"]
        return head, [[d.policy, *map(number, (d.mean, d.se, d.low, d.high, d.worst))] for d in shown]

    def __repr__(self) -> str:
        return texts.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        summaries = self.summaries()
        head, rows = _cells(summaries)
        shown = texts.table("; ".join([_units(summaries), *_notes(summaries)]), rows, head)
        head, rows = self._differences()
        return shown + texts.table(_PAIRS, rows, head) if rows else shown

    def differences(self, *, beyond: str | None = None) -> tuple[PairedDifference, ...]:
        """Compare all policies with one of them by pairs of replicas: every quantity at the end of the runs.

        Args:
            beyond: the policy that the others are compared with; the first one by default.

        Raises:
            InvalidInput: there is no such policy.
        """
        first = self.traces[0] if beyond is None else self[beyond]
        return tuple(paired_differences([first, *(trace for trace in self.traces if trace is not first)]))

    def records(self) -> list[tuple[object, ...]]:
        """Return the rows of `to_frame`."""
        return [record for summary in self.summaries() for record in summary.records()]

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame with a row per policy and quantity: mean, standard error, worst replica and limit.

        The objective is at the true means of the plays where the world has them, all else is of what arrived.

        `pandas.DataFrame(comparison.differences())` has the differences to the first policy.
        """
        return data_frame(self.records(), COLUMNS)

    def plot(self) -> Figure:
        """Draw every quantity over the rounds, with a band over replicas; the first policy has the thickest curve."""
        from evenhand.report.plots import figure_of, over_rounds  # matplotlib only when asked for

        return figure_of(over_rounds(self.traces))


@checked
def compare(
    policies: Sequence[AnyPolicy],
    environment: Environment,
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Comparison:
    """Run several policies on the same contexts and luck.

    Ctrl-C ends the comparison early; it then has what was recorded until then, without the policies that come after.

    Args:
        policies: with different names, which recipes take as `name=`; tables and pictures keep their order.
        environment: where contexts and outcomes come from.
        replicas, seed, jobs, progress: as for `simulate`.

    Raises:
        InvalidInput: no policy, two of the same name, one that was made for another problem; or as for `simulate`.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=100)
    >>> twins = [uniform(court.problem, n_features=5, name=name) for name in ("one", "two")]
    >>> one, two = compare(twins, court, replicas=2, progress=False).traces
    >>> bool((one.total("ride") == two.total("ride")).all())  # the same luck
    True
    """
    refuse(policies, environment)
    traces: list[Trace] = []
    with Work("compare", "policy", progress=progress) as work:
        for policy in work.each(policies):
            traces.append(simulate(policy, environment, replicas=replicas, seed=seed, jobs=jobs, progress=progress))
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


def _cells(summaries: Sequence[Summary]) -> tuple[list[str], list[list[str]]]:
    """Make the head and the rows of a table with a row per policy, and one of the limits."""
    names = list(dict.fromkeys(line.name for s in summaries for line in s.lines))
    found = [{line.name: line for line in s.lines} for s in summaries]
    limits = {n: next((f[n].limit for f in found if n in f and f[n].limit is not None), None) for n in names}
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
