"""The sections of the experiment: one world each, in runs of several lengths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.types import Floats, Ints
from evenhand.environments import (
    BernoulliKnapsacks,
    Environment,
    MixedArms,
    PayPerClick,
    Requests,
    Routing,
    Sensors,
    World,
)
from evenhand.experiments.concave_convex import ConcaveConvexExperiment
from evenhand.experiments.experiment import Case, Point, Run, Session
from evenhand.models import BayesianRidge, Model, Tabular
from evenhand.objectives import GeneralizedGini, Linear, Objective
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Constraint, Within
from evenhand.problem.problem import Problem
from evenhand.recipes import bwcr, fw_dual, greedy_bwk, lin_cbwk, pd_bwk, resolving, ucb_bwcr, ucb_bwk
from evenhand.recipes.bwcr import Updates, theoretical_gamma
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.optimum import opt
from evenhand.run.trace import Trace
from evenhand.sets import Ball

PLANE, DISC = ("cost 1", "cost 2"), Ball((0.2, 0.35), 0.1)


class Setting(NamedTuple):
    """A world for runs of any length."""

    name: str
    says: str
    at: Callable[[int], Environment]  # builds the world for a horizon
    contexts: bool = False

    @property
    def at_instance(self) -> dict[str, float]:
        """The number of this instance, taken from the name of the world.

        >>> next(settings(("knapsacks",), 1)).at_instance
        {'knapsacks': 0.0}
        """
        world, _, instance = self.name.partition(" ")
        return {world: float(instance or 0)}


@dataclass(frozen=True)
class Restated:
    """A random knapsack with another objective and other constraints on the same outcomes."""

    horizon: int
    maximize: str | Objective
    subject_to: tuple[Constraint, ...]

    @cached_property
    def inner(self) -> BernoulliKnapsacks:
        return BernoulliKnapsacks(horizon=self.horizon)

    @cached_property
    def problem(self) -> Problem:
        return replace(self.inner.problem, maximize=self.maximize, subject_to=self.subject_to)

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    def start(self, seed: int, replicas: Ints) -> World:
        return self.inner.start(seed, replicas)


def settings(worlds: tuple[str, ...], instances: int) -> Iterator[Setting]:
    """Yield the settings of the requested worlds, in order."""
    for world in worlds:
        if world in _FIXED:
            yield _FIXED[world]
        else:
            says, at = _RANDOM[world]
            yield from (Setting(f"{world} {i}", says, partial(at, i)) for i in range(instances))


def _gini(horizon: int) -> Environment:
    objective = GeneralizedGini(("reward", "cost 1", "cost 2"))
    return Restated(horizon, objective, BernoulliKnapsacks(horizon=horizon).problem.subject_to[2:])


_FIXED = {
    s.name: s
    for s in (
        Setting("arms", "four arms, two budgets", lambda horizon: MixedArms(horizon=horizon)),
        Setting("gini", "ten arms, Gini welfare of three outcomes, a budget on a fourth", _gini),
        Setting(
            "disc",
            "ten arms, a reward, and a disc in which the averages of two outcomes are to lie",
            lambda horizon: Restated(horizon, "reward", (Within(PLANE, DISC),)),
        ),
        Setting(
            "routing", "four types of requests, 16 routes, 20 edges", lambda horizon: Routing(horizon=horizon), True
        ),
        Setting(
            "clicks",
            "six ads, three campaigns, a mix and a risk of clicks",
            lambda horizon: PayPerClick(horizon=horizon),
            True,
        ),
        Setting(
            "families",
            "eight ads, five campaigns, 20 overlapping families of them with budgets",
            lambda horizon: PayPerClick(ads=8, campaigns=5, families=20, horizon=horizon),
            True,
        ),
    )
}
_SENSORS, _REQUESTS = "ten sensors, 100 points, outcomes by", "eight types of requests, 100 edges, uses learned by"
_RANDOM: Mapping[str, tuple[str, Callable[[int, int], Environment]]] = {  # built for an instance and a horizon
    "knapsacks": ("ten arms, three budgets", lambda i, t: BernoulliKnapsacks(instance=i, horizon=t)),
    "sensors": (f"{_SENSORS} sensors", lambda i, t: Sensors(outcomes="sensors", instance=i, horizon=t)),
    "points": (f"{_SENSORS} points", lambda i, t: Sensors(outcomes="points", instance=i, horizon=t)),
    "types": (f"{_REQUESTS} types", lambda i, t: Requests(outcomes="types", instance=i, horizon=t)),
    "edges": (f"{_REQUESTS} edges", lambda i, t: Requests(outcomes="edges", instance=i, horizon=t)),
}


class Rate(NamedTuple):
    """An exponent with its standard error; NaN if a mean was not above 0."""

    exponent: float
    se: float


def rate(rounds: Floats, values: Floats) -> Rate:
    """Estimate x of value ~ T^-x by the slope of the means' logarithms, with a jackknife over replicas, `(G),(G,R)->`.

    >>> rate(np.array([100.0, 400.0, 1600.0]), np.array([[0.4, 0.6], [0.2, 0.3], [0.1, 0.15]]))
    Rate(exponent=0.5, se=0.0)
    """
    replicas = values.shape[1]
    whole = _slope(rounds, values.mean(1))
    if replicas < 2 or np.isnan(whole):
        return Rate(whole, float("nan"))
    without = np.array([_slope(rounds, np.delete(values, r, 1).mean(1)) for r in range(replicas)])
    se = float(np.sqrt((replicas - 1) / replicas * ((without - without.mean()) ** 2).sum()))
    return Rate(round(whole, 12), round(se, 12))


def _slope(rounds: Floats, means: Floats) -> float:
    if len(rounds) < 2 or not (means > 0).all():
        return float("nan")
    x, y = np.log(rounds), np.log(means)
    x = x - x.mean()
    return float(-(x @ y) / (x @ x))


UPDATES: tuple[Updates, ...] = ("primal", "dual")
SCALE = 1.0 / 32.0  # of the theory's gamma, for all systems, worlds and lengths

Make = Callable[[Problem, Model], Policy]


def systems(setting: Setting, world: Environment) -> Iterator[tuple[str, Policy | None, str]]:
    """Yield the systems of a world: each name with its policy, or with the reason why it refuses the world."""
    model = _model(setting, world)
    for name, make in _makers(setting, world.problem).items():
        try:
            yield name, replace(make(world.problem, model), name=name), ""
        except EvenhandError as error:
            yield name, None, str(error)


def _model(setting: Setting, world: Environment) -> Model:
    """Build the model: tables at a part of the theory's gamma, or a Bayesian regression if users have features."""
    outcomes = len(world.problem.learned)
    if setting.name in ("clicks", "families"):
        return BayesianRidge(n_features=world.n_features, n_outcomes=outcomes)
    confidence = SCALE * theoretical_gamma(world.problem)
    return Tabular(arms=world.n_features, n_outcomes=outcomes, confidence=confidence)


def _makers(setting: Setting, problem: Problem) -> dict[str, Make]:
    """Return the recipes of a setting by their names in tables."""
    if setting.contexts:
        return {"resolving": resolving, "fw_dual": fw_dual, "bwcr, primal-primal": bwcr}
    found: dict[str, Make] = {}
    for hard in (False, True) if problem.spending else (False,):
        for objective, constraints in product(UPDATES, UPDATES):
            name = f"bwcr, {objective}-{constraints}{', hard' if hard else ''}"
            found[name] = partial(_bwcr, objective, constraints, hard)
    found["ucb_bwcr"] = lambda problem, model: ucb_bwcr(problem, model, hard=False)
    if isinstance(problem.objective, Linear) and len(problem.spending) == len(problem.subject_to):
        of_knapsacks: dict[str, Make] = {"ucb_bwk": ucb_bwk, "greedy_bwk": greedy_bwk, "pd_bwk": pd_bwk}
        found |= of_knapsacks
        found["lin_cbwk"] = lin_cbwk
    found["resolving"] = resolving
    return found


def _bwcr(objective: Updates, constraints: Updates, hard: bool, problem: Problem, model: Model) -> Policy:
    """Build a variant of `bwcr`; soft variants have no margin, as the experiment measures the theorem's violation."""
    return bwcr(
        problem, model, objective_by=objective, constraints_by=constraints, margin=None if hard else 0.0, hard=hard
    )


PARTS = (64, 16, 4, 1)  # of the longest run
REGRET, OUTSIDE, PER_ROUND = "regret", "outside", "microseconds per round and replica"
ROUNDING = 1e-12  # tolerance of averages: an exhausted hard budget is not exceeded
HARD = ", hard"  # the suffix of hard variants
OURS = "resolving"
CONTEXTS = 4000  # the number of contexts for computing an optimum
KEPT = 0.1  # microseconds; a faster round was loaded from an earlier call


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Runs the systems in one world for several lengths."""

    settings: ConcaveConvexExperiment
    session: Session
    setting: Setting
    optimum: dict[str, float] = field(default_factory=dict)  # by the name of the world
    took: dict[tuple[str, float], float] = field(default_factory=dict)  # by system and length, filled as runs end

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"{self.setting.name}: {self.setting.says}; {s.replicas} replicas, seed {s.seed}\n"
            "regret: optimum minus the objective at the averages of true means; outside: how far averages of what was "
            "realised are from what is allowed"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"T": float(max(1, self.settings.rounds // part))} for part in PARTS]

    def cases(self, point: Point) -> Iterator[Case]:
        world, s = self.setting.at(int(point["T"])), self.settings
        if not self.optimum and not self.session.asked_to_stop():
            contexts = CONTEXTS if self.setting.contexts else 1
            best = opt(world, contexts=contexts, replicas=1, seed=s.seed, progress=False)
            self.optimum[self.setting.name] = best.value
        for name, policy, refused in systems(self.setting, world):
            start = time.perf_counter()
            yield Case(point, name, world, policy, refused)
            each = 1e6 * (time.perf_counter() - start) / (point["T"] * s.replicas)
            if policy is not None and each > KEPT:
                self.took[name, point["T"]] = each

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        rows, here = [], self.setting.at_instance  # all worlds share one list of systems
        for case, trace in runs:
            if trace is None or not self.optimum:
                continue
            at = {**case.at, **here}
            for metric, values in (REGRET, self._regret(trace)), (OUTSIDE, outside(trace)):
                rows.append(Measurement.of(case.system, at, metric, values, worst="high"))
            took = self.took.get((case.system, case.at["T"]))
            if took is not None:
                rows.append(Measurement(case.system, at, PER_ROUND, took))
        for system, found in self._lengths(runs).items():
            for metric, (rounds, values) in found.items():
                x = rate(rounds, values)
                rows.append(Measurement(system, here, f"exponent of {metric}", x.exponent, x.se))
        return rows

    def report(self, runs: Sequence[Run], results: Results) -> str:
        parts, found = [], self._lengths(runs)
        lengths = [p["T"] for p in self.points]
        for metric in (REGRET, OUTSIDE):
            lines = []
            for system, by in found.items():
                rounds, values = by[metric]
                means = dict(zip(rounds.tolist(), values.mean(1).tolist(), strict=True))
                x, worst = rate(rounds, values), float(values[-1].max())
                shown = [number(means.get(t), 5) for t in lengths]
                lines.append([system, *shown, number(worst, 5), number(x.exponent, 2), number(x.se, 2)])
            parts.append(table([metric, *(f"{t:,.0f}" for t in lengths), "worst", "exponent", "se"], lines))
        lines = [[system, *(number(self.took.get((system, t)), 1) for t in lengths)] for system in found]
        parts.append(table([PER_ROUND, *(f"{t:,.0f}" for t in lengths)], lines))
        refused = {run.case.system: run.case.refused for run in runs if run.case.refused}
        parts += [f"{system}: {why}" for system, why in refused.items()]
        best = "".join(f"optimum {value:.5f}\n\n" for value in self.optimum.values())
        return best + "\n\n".join(parts) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.planes import in_plane  # matplotlib only when asked for
        from evenhand.report.plots import Curve, over_sweep, save

        found = self._lengths(runs)
        looks = looks_of(list(found))
        panels: dict[str, list[Curve]] = {}
        for metric in (REGRET, OUTSIDE):
            for system, by in found.items():
                rounds, values = by[metric]
                above = values.mean(1) > 0.0  # a logarithmic scale shows positive values only
                if above.sum() > 1:
                    curve = Curve(system, rounds[above].tolist(), values[above], looks[system])
                    panels.setdefault(metric, []).append(curve)
        if not panels:
            return []
        axes = over_sweep(panels, "rounds of a run", "per round, where above 0", main=OURS, log="xy")
        drawn = [save(axes, out / f"concave-convex-{self.setting.name.replace(' ', '-')}.png")]
        if self.setting.name == "disc":
            far = {system: by[OUTSIDE][1][-1] for system, by in found.items()}
            drawn.append(
                save(in_plane(self._paths(runs), outline(DISC), PLANE, _nearest(far)), out / "concave-convex-paths.png")
            )
        return drawn

    def _paths(self, runs: Sequence[Run]) -> dict[str, Floats]:
        """Return the averages of the first replica in the longest run of every system, from round 10 on, `(G,2)`."""
        longest = self.points[-1]["T"]
        return {
            case.system: np.stack([trace.average(name)[trace.times >= 10, 0] for name in PLANE], 1)
            for case, trace in runs
            if trace is not None and case.at["T"] == longest
        }

    def _regret(self, trace: Trace) -> Floats:
        """Compute the optimum minus the objective at the averages of true means, `->(R)`."""
        return np.asarray(self.optimum[self.setting.name] - trace.objective()[-1])

    def _lengths(self, runs: Sequence[Run]) -> dict[str, dict[str, tuple[Floats, Floats]]]:
        """Collect lengths and values of every replica, `(G),(G,R)`, by system and metric."""
        found: dict[str, dict[str, tuple[Floats, Floats]]] = {}
        for system in dict.fromkeys(run.case.system for run in runs):
            mine = [(run.case.at["T"], t) for run in runs if run.case.system == system and (t := run.trace) is not None]
            if mine and self.optimum:
                rounds = np.array([t for t, _ in mine])
                regret, far = (np.stack([f(t) for _, t in mine]) for f in (self._regret, outside))
                found[system] = {REGRET: (rounds, regret), OUTSIDE: (rounds, far)}
        return found


def _nearest(far: Mapping[str, Floats]) -> str:
    """Say which averages end nearest to their region, on average over the replicas."""
    first, *rest = sorted(far, key=lambda name: float(far[name].mean()))
    said = f"{first} ends nearest to the region: {far[first].mean():.3f} away from it"
    return f"{said}; the next, {rest[0]}, {far[rest[0]].mean():.3f}" if rest else said


def looks_of(systems: Sequence[str]) -> dict[str, str]:
    """Choose a colour per recipe, the first one for ours; hard variants are dashed.

    >>> looks_of(["bwcr", "bwcr, hard", "resolving"])
    {'bwcr': 'C1', 'bwcr, hard': 'C1--', 'resolving': 'C0'}
    """
    recipes = dict.fromkeys((OURS, *(s.removesuffix(HARD) for s in systems)))
    colours = {name: f"C{i}" for i, name in enumerate(recipes)}
    return {s: colours[s.removesuffix(HARD)] + ("--" if s.endswith(HARD) else "") for s in systems}


def outside(trace: Trace) -> Floats:
    """Compute the distance of averages from the constraints: the root of the sum of squared excesses, `->(R)`."""
    total = np.zeros(len(trace.replicas))
    for c in trace.problem.subject_to:
        sign = 1.0 if c.worst == "high" else -1.0
        total += np.maximum(sign * (trace.measure(c)[-1] - c.limit(trace.problem.horizon)), 0.0) ** 2
    far = np.sqrt(total)
    return np.where(far > ROUNDING, far, 0.0)


def outline(disc: Ball) -> Floats:
    """Return points on the boundary of a disc, `->(n,2)`.

    >>> outline(Ball((0.0, 0.0), 2.0))[0]
    array([2., 0.])
    """
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    return np.array(disc.centre) + disc.radius * np.stack([np.cos(angle), np.sin(angle)], 1)


def sections(experiment: ConcaveConvexExperiment, session: Session) -> Iterator[Lengths]:
    """Yield one section per world."""
    for setting in settings(experiment.worlds, experiment.instances):
        yield Lengths(settings=experiment, session=session, setting=setting)
