"""Sweeps: the same policies in several environments, such as ones of different budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core import faces
from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number
from evenhand.environments.base import Environment
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.run.comparison import Comparison, compare
from evenhand.run.paired import Paired

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from evenhand.report.plots import Curve


@dataclass(frozen=True, eq=False)
class Sweep:
    """Comparisons of the same policies along a parameter of the environment."""

    parameter: str
    comparisons: Mapping[Any, Comparison]  # by number or by name

    @property
    def finished(self) -> bool:
        """Whether all values were run, which Ctrl-C prevents."""
        return all(comparison.finished for comparison in self.comparisons.values())

    def __getitem__(self, value: float | str) -> Comparison:
        if value not in self.comparisons:
            raise InvalidInput(self.parameter, f"one of {tuple(self.comparisons)}", value)
        return self.comparisons[value]

    def __str__(self) -> str:
        found = self.comparisons.items()
        return "\n\n".join(f"{self.parameter} = {_said(at)}\n{comparison}" for at, comparison in found)

    def __repr__(self) -> str:
        return faces.first(str(self), rest=": `print` shows all")

    def differences(self) -> dict[Any, tuple[Paired, ...]]:
        """Compare all policies with the first one by pairs of replicas, by the value of the parameter."""
        return {at: comparison.differences() for at, comparison in self.comparisons.items()}

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame as that of a `Comparison`, with the parameter in the first column."""
        frames = [comparison.to_frame() for comparison in self.comparisons.values()]
        for at, frame in zip(self.comparisons, frames, strict=True):
            frame.insert(0, self.parameter, at)
        import pandas as pd  # which `to_frame` has found

        return pd.concat(frames, ignore_index=True)

    def plot(self) -> Figure:
        """Draw every quantity at the end of the runs over the parameter: a curve per policy, and one for the limit.

        Names stand in their order.
        """
        from evenhand.report.plots import figure_of, over_sweep  # matplotlib only when asked for

        panels = over_sweep(self._panels(), self.parameter, "per round")
        if self._names:
            for axes in panels:
                axes.set_xticks(range(len(self._names)), self._names)
        return figure_of(panels)

    @property
    def _names(self) -> list[str]:
        """The names of the environments, none if they have numbers."""
        return [at for at in self.comparisons if isinstance(at, str)]

    def _panels(self) -> dict[str, list[Curve]]:
        """Collect every replica's values at the end of the runs, by quantity and policy, over numbers or places."""
        from evenhand.report.plots import Curve
        from evenhand.report.quantities import quantities

        points: dict[str, dict[str, dict[float, np.ndarray]]] = {}
        found = list(self.comparisons.items())
        placed = [(i if self._names else float(at), comparison) for i, (at, comparison) in enumerate(found)]
        for at, comparison in sorted(placed, key=lambda pair: pair[0]):
            for trace in comparison.traces:
                for q in quantities(trace):
                    curves = points.setdefault(q.name, {})
                    curves.setdefault(trace.policy, {})[at] = q.value(trace)[-1]
                    if q.limit is not None:
                        curves.setdefault("limit", {})[at] = np.full(len(trace.replicas), q.limit)
        return {
            quantity: [
                Curve(name, list(values), np.array(list(values.values())), "k--" if name == "limit" else "")
                for name, values in curves.items()
            ]
            for quantity, curves in points.items()
        }


def _said(at: float | str) -> str:
    return at if isinstance(at, str) else f"{at:g}"


@checked
def sweep(
    policies: Callable[[Problem], Sequence[Policy]],
    parameter: str,
    environments: Mapping[Any, Environment],
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Sweep:
    """Compare policies in several environments, such as ones of different budgets.

    Ctrl-C ends the sweep early; it then has what was recorded until then.

    Args:
        policies: those for a problem, with the same names for every problem.
        parameter: the name of what differs between the environments, for tables and plots.
        environments: by the value of the parameter, all numbers or all names.
        replicas, seed, jobs, progress: as for `simulate`.

    Raises:
        InvalidInput: no environment, a value that is not finite, names beside numbers; or as for `compare`.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> courts = {rides: Court(horizon=100, ride=rides) for rides in (0.05, 0.1)}
    >>> found = sweep(lambda problem: [uniform(problem, n_features=5)], "rides", courts, replicas=2, progress=False)
    >>> [bool((found[rides]["uniform"].total("ride") <= 100 * rides).all()) for rides in courts]
    [True, True]
    """
    if not environments:
        raise InvalidInput("environments", "at least one environment", "none")
    if len({isinstance(value, str) for value in environments}) > 1:
        raise InvalidInput(f"environments: {parameter}", "all numbers or all names", tuple(environments))
    comparisons: dict[Any, Comparison] = {}
    for value, environment in environments.items():
        at = value if isinstance(value, str) else number(f"environments: {parameter}", value, "a finite number")
        some = policies(environment.problem)
        found = compare(some, environment, replicas=replicas, seed=seed, jobs=jobs, progress=progress)
        comparisons[at] = found
        if not found.finished:
            break
    return Sweep(parameter, comparisons)
