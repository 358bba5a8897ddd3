"""Figure 1 of Han, Zeng, Wang, Xiang & Zhang 2022: knapsacks with regression oracles, beside a linear baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.environments import FixedContexts
from evenhand.experiments.experiment import Case, Point as At, Run, Session
from evenhand.experiments.lock_in import BASELINE, LOCKED_IN, lock_in_share, lock_ins
from evenhand.experiments.square_cbwk import SquareCBwKExperiment
from evenhand.models import BayesianRidge, Fixed, Glmtron, Gradient, Ridge
from evenhand.models.oracles import Projection
from evenhand.policy.policy import Policy
from evenhand.recipes import lin_cbwk, resolving, square_cbwk, uniform
from evenhand.report.leaders import least
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, standard_error, table
from evenhand.run.trace import Trace

NEWTON, GRADIENT, UCB = "newton, published", "gradient, published", "ucb, published"
OUTCOMES = 5  # a reward and four costs
SCALE = 4.0  # Z = T / B
RANGE = 4.0  # of every outcome; widths are stated in its units


class Point(NamedTuple):
    """The dimension, arms and rounds of an instance by the paper's letters."""

    m: int
    K: int
    T: int

    def __str__(self) -> str:
        return f"m = {self.m}, K = {self.K}, T = {self.T}"


def systems(point: Point, orders: int) -> list[tuple[FixedContexts, Policy]]:
    """Build the published systems, both oracles with the corrected projection, `resolving` and the baseline."""
    world = FixedContexts(dimension=point.m, arms=point.K, horizon=point.T, orders=orders)
    free = replace(world, null_arm=True)  # OPT may play it
    return [
        (world, newton(world, "whole", NEWTON)),
        (world, gradient(world, "whole", GRADIENT)),
        (world, ucb(world, UCB)),
        (world, newton(world, "row", "newton")),
        (world, gradient(world, "row", "gradient")),
        (free, resolving(free.problem, BayesianRidge(n_features=free.n_features, n_outcomes=OUTCOMES))),
        (world, uniform(world.problem, world.n_features)),
    ]


def newton(world: FixedContexts, projection: Projection, name: str) -> Policy:
    """Build SquareCBwK with Newton oracles."""
    oracle = Glmtron(
        n_features=world.n_features,
        n_outcomes=OUTCOMES,
        ridge=2.25,
        step=3.0,  # the authors' 1.5, as their gradient of the square has a factor of 2
        radius=1.0,
        projection=projection,
        start_at=1 / math.sqrt(world.n_features),
    )
    gamma = 2 * math.sqrt(world.arms * world.horizon / (world.n_features * math.log(world.horizon)))
    return square_cbwk(world.problem, oracle, rate=gamma, max_price=SCALE, step=dual_step(world), name=name)


def gradient(world: FixedContexts, projection: Projection, name: str) -> Policy:
    """Build SquareCBwK with gradient descent; steps are twice the authors', for the same reason as in `newton`."""
    oracle = Gradient(
        n_features=world.n_features,
        n_outcomes=OUTCOMES,
        step=2 / math.sqrt(world.horizon + 1),
        power=0,
        first_step=3.0,
        radius=1.0,
        projection=projection,
        start_at=1 / math.sqrt(world.n_features),
    )
    gamma = 2 * math.sqrt(world.arms) * world.horizon**0.25
    return square_cbwk(world.problem, oracle, rate=gamma, max_price=SCALE, step=dual_step(world), name=name)


def ucb(world: FixedContexts, name: str) -> Policy:
    """Build the baseline: linear confidence bounds of radius sqrt(m), and the same dual."""
    model = Ridge(n_features=world.n_features, n_outcomes=OUTCOMES, width=Fixed(math.sqrt(world.n_features) / RANGE))
    return lin_cbwk(world.problem, model, max_price=SCALE, step=dual_step(world), name=name)


def dual_step(world: FixedContexts) -> float:
    """Return the step of the exponentiated gradient, 2 ln d / sqrt T."""
    return 2 * math.log(len(world.problem.spending)) / math.sqrt(world.horizon)


OPT = 0.5  # per round: arm 1 every other round
RUNS = 10  # per published number

# Regret over ten runs in the authors' notebook: mean, and standard deviation where the notebook shows it.
PUBLISHED: dict[Point, dict[str, tuple[float, float | None]]] = {
    Point(52, 3, 2000): {NEWTON: (221.8, 15.6), GRADIENT: (242.2, 11.7), UCB: (279.8, 13.6)},
    Point(10, 3, 2000): {NEWTON: (136.3, None), GRADIENT: (241.6, None), UCB: (156.3, None)},
    Point(5, 3, 12_000): {NEWTON: (317.0, 39.0), GRADIENT: (1230.0, 48.0), UCB: (176.0, 48.0)},
}
POINTS = (*PUBLISHED, Point(5, 3, 2000))


class Sweep(NamedTuple):
    """A part of the figure: its points by panel, and its statistic of ten runs, the mean or the median."""

    label: str
    panels: dict[str, tuple[Point, ...]]
    middle: Literal["mean", "median"]


SWEEPS = {
    "m": Sweep("dimension m", {"K = 3, T = 2000": tuple(Point(m, 3, 2000) for m in range(10, 101, 5))}, "mean"),
    "K": Sweep("arms K", {"m = 52, T = 2000": tuple(Point(52, k, 2000) for k in (*range(5, 46, 5), 51))}, "mean"),
    "T": Sweep(
        "rounds T",
        {f"m = {m}, K = 3": tuple(Point(m, 3, t) for t in range(1000, 12_001, 1000)) for m in (5, 52)},
        "median",
    ),
}
# Published options are dashed; corrected ones are solid in the same colour.
OURS = "resolving"
LOOKS = {NEWTON: "C1--", GRADIENT: "C2--", UCB: "C3--", "newton": "C1-", "gradient": "C2-", OURS: "C0-"}

Found = dict[Point, dict[str, Floats]]  # the regret of every replica, by point and system


@dataclass(frozen=True, kw_only=True)
class Block:
    """Runs a single point with published numbers, or the points of one panel of a sweep."""

    settings: SquareCBwKExperiment
    letter: str  # the letter of the sweep, empty for a single point
    name: str
    instances: tuple[Point, ...]
    found: Found  # shared by the panels of a sweep, which form one picture

    @property
    def title(self) -> str:
        along = f", by {self.letter}" if self.letter else ""
        s = self.settings
        order = f"{s.orders} random orders of the arms" if s.orders else "arms in the published order"
        return f"{self.name}{along}: {s.replicas} replicas, {order}, seed {s.seed}"

    @property
    def points(self) -> Sequence[At]:
        return [p._asdict() for p in self.instances]

    def cases(self, point: At) -> Iterator[Case]:
        for world, policy in systems(_instance(point), self.settings.orders):
            yield Case(point, policy.name, world, policy)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        rows = lock_ins(runs, _reward)
        for case, trace in runs:
            if trace:
                point, name = _instance(case.at), case.system
                regret = OPT * point.T - _reward(trace)
                self.found.setdefault(point, {})[name] = regret
                published, middle = PUBLISHED.get(point, {}).get(name, (None,))[0], float(np.median(regret))
                rows.append(Measurement.of(name, case.at, "regret", regret, worst="high", published=published))
                rows.append(Measurement(name, case.at, "median regret", middle))
        return rows

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return "\n\n".join(_report(self.letter, self.instances, self.found)) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        return [picture(self.letter, self.found, out / f"square-cbwk-{self.letter}.png")] if self.letter else []


def sections(settings: SquareCBwKExperiment, session: Session) -> Iterator[Block]:
    """Yield one section per panel of each sweep or, without a sweep, per point."""
    found: Found = {}
    blocks = [(s, title, points) for s in settings.sweeps for title, points in SWEEPS[s].panels.items()]
    for letter, title, points in blocks or [("", str(p), (p,)) for p in POINTS]:
        yield Block(settings=settings, letter=letter, name=title, instances=points, found=found)


def _reward(trace: Trace) -> Floats:
    """Compute the sum of expected rewards, `->(R)`."""
    return np.asarray(trace.objective()[-1] * trace.elapsed[-1])


def _instance(at: Mapping[str, float]) -> Point:
    return Point(int(at["m"]), int(at["K"]), int(at["T"]))


def picture(letter: str, found: Found, path: Path) -> Path:
    """Draw a sweep as in Figure 1, with the runs so far."""
    from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

    sweep, panels = SWEEPS[letter], {}
    for title, points in sweep.panels.items():
        curves = []
        for name, look in LOOKS.items():
            there = [p for p in points if name in found.get(p, {})]
            if there:
                values = np.stack([found[p][name] for p in there])
                curves.append(Curve(name, [p._asdict()[letter] for p in there], values, look))
        if curves:
            panels[title] = curves
    axes = over_sweep(
        panels, sweep.label, "regret over the run", sweep.middle, main=OURS, headline=_headline(sweep, found)
    )
    return save(axes, path)


def _headline(sweep: Sweep, found: Found) -> str:
    """Say at how many points ours has the least regret."""
    points = [p for every in sweep.panels.values() for p in every if all(name in found.get(p, {}) for name in LOOKS)]
    if not points:
        return ""
    middle = np.mean if sweep.middle == "mean" else np.median
    return least({n: [float(middle(found[p][n])) for p in points] for n in LOOKS}, OURS, f"{sweep.middle} regret")


def _report(letter: str, points: Sequence[Point], found: Found) -> list[str]:
    """Format the regret at every point of a sweep, and a comparison at points with published numbers."""
    there = [p for p in points if p in found]
    if not letter:
        return [_compare(p, found[p]) for p in there]
    middle = SWEEPS[letter].middle
    lines = [[str(p._asdict()[letter])] + [_middle(found[p].get(n), middle) for n in LOOKS] for p in there]
    held = [f"{p}\n{_compare(p, found[p])}" for p in there if p in PUBLISHED]
    return [f"regret, {middle}\n{table([letter, *LOOKS], lines)}", *held] if there else []


def _middle(values: Floats | None, middle: Literal["mean", "median"]) -> str:
    return "" if values is None else number(float(np.mean(values) if middle == "mean" else np.median(values)), 1)


def _compare(point: Point, found: dict[str, Floats]) -> str:
    """Format every system of a point; a published number is met if it differs by at most two standard errors."""
    head = ["system", "regret", "se", "worst", LOCKED_IN, "published", "difference", "2 se", "met"]
    rows, base = [], found.get(BASELINE, np.full(1, np.nan)).mean()
    for name, values in found.items():
        mean, se = float(values.mean()), standard_error(values)
        row = [name, number(mean, 1), number(se, 1), number(float(values.max()), 1)]
        row.append("" if name == BASELINE else number(lock_in_share(-values, -base), 2))
        if name in PUBLISHED.get(point, {}):
            published, gap, allowed = against(point, name, values)
            met = "-" if math.isnan(allowed) else "yes" if abs(gap) <= allowed else "no"
            row += [number(published, 1), f"{round(gap, 1) + 0.0:+.1f}", number(allowed, 1), met]
        rows.append(row + [""] * (len(head) - len(row)))
    return (
        f"{table(head, rows)}\n"
        "se: of our mean over the replicas; 2 se: twice that of our mean minus the published one\n"
        f"{LOCKED_IN}: share of replicas that gain less than half of the mean gain over {BASELINE}"
    )


def against(point: Point, name: str, values: Floats) -> tuple[float, float, float]:
    """Return the published mean, our difference, and two standard errors of it; unknown spreads are taken from ours."""
    published, spread = PUBLISHED[point][name]
    ours = standard_error(values)
    theirs = ours * math.sqrt(len(values) / RUNS) if spread is None else spread / math.sqrt(RUNS)
    return published, float(values.mean()) - published, 2 * math.hypot(ours, theirs)
