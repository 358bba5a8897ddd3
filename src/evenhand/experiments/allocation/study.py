"""The figures of the experiment, with the measurements and the table that all of them share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.environments import AudienceMatching, LastFM, Matching
from evenhand.experiments.allocation import LONG, SHORT, AllocationExperiment
from evenhand.experiments.allocation.systems import (
    ABLATIONS,
    GAMMA,
    LOOKS,
    SYSTEMS,
    Standards,
    World,
    policy,
    standards,
)
from evenhand.experiments.experiment import Case, Point, Run, Section, Session, traces
from evenhand.problem.declarations import Declarations
from evenhand.problem.measures import Reading
from evenhand.report.leaders import leads
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.simulation import simulate
from evenhand.run.trace import Trace
from evenhand.welfare import Capped

SATISFACTION, MATCHES, REALISED = "satisfaction", "matches", "satisfaction, realised"
TO_REFERENCE, TO_BOUND = "/ reference", "/ bound"
REFERENCE, ORACLE, BOUND = "reference: the routine, true parameter", "our oracle, true parameter", "upper bound"


def mean_satisfaction(trace: Trace) -> Floats:
    """Compute the average satisfaction per round at the true means, at every point, `->(G,R)`."""
    whole = trace.in_expectation()
    assert whole is not None  # every world here has a truth
    return whole.average("satisfaction")


def mean_matches(trace: Trace) -> Floats:
    """Compute the average realised matches per round, `->(G,R)`."""
    return trace.average("match")


def measurements(runs: Sequence[Run], standards: Callable[[Point], Standards | None]) -> Iterator[Measurement]:
    """Yield all measurements of systems at the end, and of the standards where they are known."""
    for case, trace in runs:
        assert trace is not None  # nothing here is refused
        own = mean_satisfaction(trace)[-1]
        yield Measurement.of(case.system, case.at, SATISFACTION, own, worst="low")
        known = standards(case.at)
        if known is not None:
            yield Measurement.of(case.system, case.at, TO_REFERENCE, own / known.reference, worst="low")
            yield Measurement.of(case.system, case.at, TO_BOUND, own / known.bound, worst="low")
        yield Measurement.of(case.system, case.at, MATCHES, mean_matches(trace)[-1], worst="low")
        yield Measurement.of(case.system, case.at, REALISED, trace.average("satisfaction")[-1], worst="low")
    for at in _points(runs):
        known = standards(at)
        if known is not None:
            for name, values in ((REFERENCE, known.reference), (ORACLE, known.ours), (BOUND, known.bound)):
                yield Measurement.of(name, at, SATISFACTION, values, worst="low")
                yield Measurement.of(name, at, TO_REFERENCE, values / known.reference, worst="low")
                yield Measurement.of(name, at, TO_BOUND, values / known.bound, worst="low")


def summary(results: Results, at: Point) -> str:
    """Format one line per system: satisfaction with its band and worst replica, both ratios, and matches."""
    rows = [r for r in results.rows if r.at == at]
    lines = []
    for system in dict.fromkeys(r.system for r in rows):
        found = {r.metric: r for r in rows if r.system == system}
        s = found[SATISFACTION]
        cells = [system, number(s.mean, 3), number(None if s.se is None else 2.0 * s.se, 3), number(s.worst, 3)]
        for metric, digits in ((TO_REFERENCE, 4), (TO_BOUND, 4), (MATCHES, 3)):
            cells.append(number(found[metric].mean if metric in found else None, digits))
        lines.append(cells)
    return table(["system", SATISFACTION, "± 2 se", "worst", TO_REFERENCE, TO_BOUND, MATCHES], lines)


def _points(runs: Sequence[Run]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for run in runs:
        if dict(run.case.at) not in found:
            found.append(dict(run.case.at))
    return found


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

    def on(self, problem: Declarations) -> Reading:
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


def sections(settings: AllocationExperiment, session: Session) -> Iterator[Section]:
    """Yield the requested figures; 2a and 2b, and 2e and 2f, are two panels of one picture."""
    wanted, listeners = set(settings.figures), Learning(settings=settings, session=session, listeners=True)
    if settings.data:
        _ = listeners.world  # so that a missing file is noticed before the first run
    if wanted & {"2a", "2b"}:
        yield Learning(settings=settings, session=session)
    for figure in ("2c", "2d"):
        if figure in wanted:
            yield Sweep(settings=settings, session=session, figure=figure)
    if wanted & {"2e", "2f"}:
        yield Shares(settings=settings)
    for figure in SWEEPS:
        if figure in wanted and figure not in ("2c", "2d"):
            yield Sweep(settings=settings, session=session, figure=figure)
    if "3c" in wanted:
        yield RunTime(settings=settings)
    if settings.data:
        yield listeners
