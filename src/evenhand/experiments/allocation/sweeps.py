"""Figures 2c, 2d, 3a and 3b: satisfaction relative to the reference against one parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.environments import Matching
from evenhand.experiments.allocation import SHORT, AllocationExperiment
from evenhand.experiments.allocation.figures import TO_BOUND, TO_REFERENCE, mean_satisfaction, measurements
from evenhand.experiments.allocation.standards import Standards, standards
from evenhand.experiments.allocation.systems import GAMMA, LOOKS, SYSTEMS, policy
from evenhand.experiments.experiment import Case, Point, Run, Session
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.welfare import Capped


class Parameter(NamedTuple):
    """The parameter that a figure varies."""

    name: str
    says: str
    values: tuple[float, ...]
    systems: tuple[str, ...] = SYSTEMS  # the affected systems; others run at the first value only


# The paper prints none of the values; those here span its figures.
SWEEPS: Mapping[str, Parameter] = {
    "2c": Parameter("lam", "popularity", (0.0, 0.25, 0.5, 0.75, 1.0)),
    "2d": Parameter("beta", "matches after which an arm has enough", (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)),
    "3a": Parameter("arms", "number of arms", (5, 10, 15, 20)),
    "3b": Parameter("gamma", "FairX's gamma", (0.001, 0.01, GAMMA, 1.0, 10.0), ("fairx",)),
}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Runs all systems at every value of a parameter."""

    settings: AllocationExperiment
    session: Session
    figure: str
    known: dict[float, Standards] = field(default_factory=dict)  # by the value

    @property
    def parameter(self) -> Parameter:
        return SWEEPS[self.figure]

    @property
    def title(self) -> str:
        s, p = self.settings, self.parameter
        return (
            f"Figure {self.figure}: {p.says}, {s.horizon(SHORT):,} rounds, {s.replicas} replicas, seed {s.seed}\n"
            "satisfaction at the true means, as a part of the reference, and of the upper bound"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{self.parameter.name: float(x)} for x in self.parameter.values]

    def world(self, x: float) -> Matching:
        """Build the world at a value of the parameter."""
        rounds, name = self.settings.horizon(SHORT), self.parameter.name
        if name == "lam":
            return Matching(horizon=rounds, popularity=x)
        if name == "beta":
            return Matching(horizon=rounds, curve=Capped(x))
        return Matching(horizon=rounds, arms=int(x)) if name == "arms" else Matching(horizon=rounds)

    def cases(self, point: Point) -> Iterator[Case]:
        p = self.parameter
        x = point[p.name]
        world, gamma = self.world(x), x if p.name == "gamma" else GAMMA
        for name in SYSTEMS if x == p.values[0] else p.systems:
            yield Case(point, name, world, policy(name, world, gamma))
        if not self.session.asked_to_stop():
            same = [z for y, z in self.known.items() if self.world(y) == world]
            self.known[x] = same[0] if same else standards(world, self.settings.replicas, self.settings.seed)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        return list(measurements(runs, lambda at: self.known.get(at[self.parameter.name])))

    def report(self, runs: Sequence[Run], results: Results) -> str:
        parts = []
        for metric in (TO_REFERENCE, TO_BOUND):
            here = [r for r in results.rows if r.metric == metric and self.parameter.name in r.at]
            lines = []
            for system in dict.fromkeys(r.system for r in here):
                found = {r.at[self.parameter.name]: r.mean for r in here if r.system == system}
                lines.append([system, *(number(found.get(x)) for x in self.parameter.values)])
            parts.append(table([metric, *(f"{x:g}" for x in self.parameter.values)], lines))
        return "\n\n".join(parts) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

        p, reference, bound = self.parameter, [], []
        for name in SYSTEMS:
            found = {
                r.case.at[p.name]: mean_satisfaction(r.trace)[-1] for r in runs if r.case.system == name and r.trace
            }
            if name not in p.systems and found:  # it does not depend on the parameter
                found = dict.fromkeys(self.known, next(iter(found.values())))
            at = [x for x in found if x in self.known]
            if at:
                ends = [(found[x], self.known[x]) for x in at]
                reference.append(Curve(name, at, np.stack([end / z.reference for end, z in ends]), LOOKS[name]))
                bound.append(Curve(name, at, np.stack([end / z.bound for end, z in ends]), LOOKS[name]))
        if not reference:
            return []
        panels = {"as a part of the reference": reference, "as a part of the bound": bound}
        axes = over_sweep(panels, p.says, "satisfaction, as a part", log="x" if p.name == "gamma" else "")
        return [save(axes, out / f"allocation-{self.figure}.png")]
