"""Figures 2e and 2f: users and matches of each arm if all users prefer the same arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.environments import Matching
from evenhand.experiments.allocation import SHORT, AllocationExperiment
from evenhand.experiments.allocation.systems import LOOKS, SYSTEMS, policy
from evenhand.experiments.experiment import Case, Point, Run
from evenhand.problem.declared import Declared
from evenhand.problem.measures import Reading
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.trace import Trace

LAST = 100  # rounds; the interval starts at the last grid point before them


@dataclass(frozen=True)
class OfArm:
    """A measure of one arm's users or matches in a round."""

    arm: int
    arms: int
    what: Literal["users", "matches"]
    worst: Literal["low", "high"] = "low"

    @property
    def name(self) -> str:
        """The name, such as "users of arm 3"."""
        return f"{self.what} of arm {self.arm}"

    def on(self, problem: Declared) -> Reading:
        def reading(plays: Ints, outcomes: Floats) -> Floats:
            mine = (plays >= 0) & (plays % self.arms == self.arm)
            return np.asarray((mine if self.what == "users" else np.where(mine, outcomes[:, :, 0], 0.0)).sum(1), float)

        return reading


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Measures users and matches by arm at lam = 1."""

    settings: AllocationExperiment

    @cached_property
    def world(self) -> Matching:
        plain = Matching()
        each = tuple(OfArm(a, plain.arms, what) for what in ("users", "matches") for a in range(plain.arms))
        return Matching(horizon=self.settings.horizon(SHORT), popularity=1.0, measures=each)

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"Figures 2e and 2f: arms by popularity, lam = 1, {self.world.horizon:,} rounds, {s.replicas} replicas, "
            f"seed {s.seed}\nshares of users over all rounds; expected matches over the last rounds ({LAST} at least)"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"lam": 1.0}]

    def cases(self, point: Point) -> Iterator[Case]:
        for name in SYSTEMS:
            yield Case(point, name, self.world, policy(name, self.world))

    def shares(self, trace: Trace) -> Floats:
        """Compute the share of each arm in the users of all rounds, `->(A,R)`."""
        users = np.stack([trace.total(f"users of arm {a}") for a in range(self.world.arms)])
        return np.asarray(users / users.sum(0))

    def matches(self, trace: Trace) -> Floats:
        """Compute the expected matches of each arm per round over the last rounds, `->(A,R)`."""
        whole = trace.in_expectation()
        assert whole is not None  # this world has a truth
        end = trace.times[-1]
        start = int(np.searchsorted(trace.times, end - LAST, side="right")) - 1
        found = []
        for a in range(self.world.arms):
            sums = whole.average(f"matches of arm {a}") * trace.elapsed
            before = sums[start] if start >= 0 else 0.0
            found.append(np.maximum(sums[-1] - before, 0.0) / (end - (trace.times[start] if start >= 0 else 0)))
        return np.stack(found)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        rows = []
        for case, trace in runs:
            assert trace is not None  # nothing here is refused
            for name, values in (("share of users", self.shares(trace)), ("expected matches", self.matches(trace))):
                for a in range(self.world.arms):
                    at = {"lam": 1.0, "arm": float(a)}
                    rows.append(Measurement.of(case.system, at, name, values[a], worst="low"))
        return rows

    def report(self, runs: Sequence[Run], results: Results) -> str:
        parts = []
        for name, values, digits in (("share of users", self.shares, 3), ("expected matches", self.matches, 2)):
            lines = [
                [run.case.system, *(number(x, digits) for x in values(run.trace).mean(1))] for run in runs if run.trace
            ]
            parts.append(table([f"{name}, arm", *map(str, range(self.world.arms))], lines))
        return "\n\n".join(parts) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

        arms = list(range(self.world.arms))
        panels = {
            name: [Curve(r.case.system, arms, values(r.trace), LOOKS[r.case.system]) for r in runs if r.trace]
            for name, values in (("share of users", self.shares), ("expected matches at the end", self.matches))
        }
        return [save(over_sweep(panels, "arm, by popularity", "per arm"), out / "allocation-2ef.png")]
