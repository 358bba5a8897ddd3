"""Figures 2a and 2b: satisfaction and matches over the rounds, also on listeners and artists of Last.fm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evenhand.environments import AudienceMatching, LastFM, Matching
from evenhand.experiments.allocation import LONG, AllocationExperiment
from evenhand.experiments.allocation.figures import mean_matches, mean_satisfaction, measurements, summary
from evenhand.experiments.allocation.standards import Standards, standards
from evenhand.experiments.allocation.systems import ABLATIONS, SYSTEMS, World, policy
from evenhand.experiments.experiment import Case, Point, Run, Session, traces
from evenhand.report.leaders import leads
from evenhand.report.results import Measurement, Results

LISTENERS = 500


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Runs all systems over the rounds in one world."""

    settings: AllocationExperiment
    session: Session
    listeners: bool = False  # the world of Last.fm
    known: list[Standards] = field(default_factory=list)  # filled when all systems are done

    @cached_property
    def world(self) -> World:
        rounds = self.settings.horizon(LONG)
        if self.listeners:
            return AudienceMatching(audience=LastFM(path=self.settings.data, users=LISTENERS).audience, horizon=rounds)
        return Matching(horizon=rounds)

    @property
    def title(self) -> str:
        w, s = self.world, self.settings
        what = "Last.fm" if isinstance(w, AudienceMatching) else f"Figures 2a and 2b, lam = {w.popularity:g}"
        return (
            f"{what}: {w.users} users, {w.arms} arms, r = {w.curve}, {w.horizon:,} rounds, {s.replicas} replicas, "
            f"seed {s.seed}\nsatisfaction per round at the true means; matches as realised"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"listeners": 1.0} if self.listeners else {}]

    def cases(self, point: Point) -> Iterator[Case]:
        for name in SYSTEMS:
            yield Case(point, name, self.world, policy(name, self.world))
        if not self.session.asked_to_stop():
            self.known[:] = [standards(self.world, self.settings.replicas, self.settings.seed)]

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        return list(measurements(runs, lambda at: self.known[0] if self.known else None))

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return summary(results, self.points[0]) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

        lines, bound = {}, 0.0
        for known in self.known:
            bound = float(known.bound.mean())
            lines = {"paper's routine, true parameter": float(known.reference.mean()), "upper bound": bound}
        panels = [
            Panel("satisfaction per round", mean_satisfaction, lines, zoom=True, unit="satisfaction per round"),
            Panel("matches per round", mean_matches, {}, zoom=True, unit="matches per round"),
        ]
        shown = [t for t in traces(runs) if t.policy not in ABLATIONS]
        said = leads({t.policy: mean_satisfaction(t)[-1] for t in shown}, bound, "the upper bound")
        axes = over_rounds(shown, panels, 1, headline=said)
        return [save(axes, out / f"allocation-{'listeners' if self.listeners else '2ab'}.png")]
