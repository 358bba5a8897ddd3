"""Figure 3c: the time of a round against the length of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from evenhand.environments import Matching
from evenhand.experiments.allocation import SHORT, AllocationExperiment
from evenhand.experiments.allocation.systems import LOOKS, SYSTEMS, policy
from evenhand.experiments.experiment import Case, Point, Run
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.simulation import simulate

PARTS = (0.2, 0.4, 0.6, 0.8, 1.0)  # of the longest run
PER_ROUND = "microseconds per round and replica"
KEPT = 1.0  # microseconds; a faster round was loaded from an earlier call


@dataclass(frozen=True, kw_only=True)
class RunTime:
    """Times all systems in runs of several lengths; other load on the machine counts."""

    settings: AllocationExperiment
    took: dict[tuple[str, float], float] = field(default_factory=dict)  # by system and length, filled as runs end

    @property
    def title(self) -> str:
        s = self.settings
        return f"Figure 3c: {PER_ROUND}, {s.replicas} replicas at once in {s.jobs} processes, seed {s.seed}"

    @property
    def points(self) -> Sequence[Point]:
        most = self.settings.horizon(SHORT)
        return [{"rounds": float(t)} for t in dict.fromkeys(max(1, int(part * most)) for part in PARTS)]

    def cases(self, point: Point) -> Iterator[Case]:
        world, s = Matching(horizon=int(point["rounds"])), self.settings
        for name in SYSTEMS:
            short = replace(world, horizon=min(world.horizon, 20))  # so that nothing is left to compile
            simulate(policy(name, short), short, replicas=1, seed=s.seed, progress=False)
            start = time.perf_counter()
            yield Case(point, name, world, policy(name, world))
            each = 1e6 * (time.perf_counter() - start) / (world.horizon * s.replicas)
            if each > KEPT:
                self.took[name, point["rounds"]] = each

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        return [
            Measurement(run.case.system, run.case.at, PER_ROUND, took)
            for run in runs
            if (took := self.took.get((run.case.system, run.case.at["rounds"]))) is not None
        ]

    def report(self, runs: Sequence[Run], results: Results) -> str:
        lengths = [p["rounds"] for p in self.points]
        lines = [[name, *(number(self.took.get((name, t)), 1) for t in lengths)] for name in SYSTEMS]
        return table(["rounds", *(f"{t:,.0f}" for t in lengths)], lines) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

        curves = []
        for name in SYSTEMS:
            found = {t: us for (system, t), us in self.took.items() if system == name}
            if found:
                curves.append(Curve(name, list(found), np.array(list(found.values()))[:, None], LOOKS[name]))
        if not curves:
            return []
        return [save(over_sweep({PER_ROUND: curves}, "rounds of a run", "microseconds"), out / "allocation-3c.png")]
