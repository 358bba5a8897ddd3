"""Multi-objective bandits with generalised Gini functions: Figure 1 (left) and Figure 5 of Do et al. 2023."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.choices import Rate
from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.core.records import Worth
from evenhand.core.types import Bools, Floats
from evenhand.environments import MultiObjective
from evenhand.experiments.concave_rewards import ConcaveRewardsExperiment
from evenhand.experiments.experiment import Case, Point, Run, Session, traces
from evenhand.experiments.lock_in import BASELINE, LOCKED_IN, lock_ins
from evenhand.models import Fixed, Ridge, Scalarised
from evenhand.models.base import ROUND, Lesson
from evenhand.models.ridge import RidgeState
from evenhand.objectives import Randomized
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import fw_epsilon_greedy, fw_linucb, fw_squarecb, molincb, uniform
from evenhand.report.leaders import leads
from evenhand.report.results import Measurement, Results
from evenhand.run.optimum import best, draw
from evenhand.run.trace import Trace

EARLY = 50
RIDGE = 0.1
EPSILON = 0.01  # for fw_linucb, whose width is sqrt(epsilon) with alpha_t = 1, and for fw_epsilon_greedy
GAMMA = 1e4
WIDER = (0.1, 1.0)  # epsilon of fw_linucb in the sweep
MORE_GREEDY = (0.1,)  # epsilon of fw_epsilon_greedy
LOWER = (1e3,)  # gamma_0 of fw_squarecb
SOLVED = 20  # replicas whose optimum is computed
OPTIMUM = "optimum in hindsight"
TRUTH, SMOOTHED = "truth", "fw_linucb, random smoothing"
TWINS = (SMOOTHED,)  # of fw_linucb, which pictures leave out
SWEPT = (TRUTH, "fw_linucb", "fw_squarecb", "fw_epsilon_greedy", "molincb")  # beside those of the sweep in a picture


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """A model that knows each replica's parameters and learns nothing."""

    theta: Floats  # (R, M, n)

    @property
    def n_features(self) -> int:
        return int(self.theta.shape[2])

    @property
    def n_outcomes(self) -> int:
        return int(self.theta.shape[1])

    def start(self, replicas: int, low: Floats, high: Floats, horizon: int) -> RidgeState:
        """Start with the state of a converged ridge regression.

        Raises:
            InvalidInput: the replicas are not those whose parameters the model has.
        """
        if replicas != len(self.theta):  # a later chunk would get the parameters of the first replicas
            raise InvalidInput("replicas", f"all {len(self.theta)} in one process", replicas)
        state = Ridge(n_features=self.n_features, n_outcomes=self.n_outcomes).start(replicas, low, high, horizon)
        state.theta[:] = self.theta
        return state

    def draws(self, candidates: int) -> int:
        return 0

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        return Ridge(n_features=self.n_features, n_outcomes=self.n_outcomes).value(state, x, w, u)

    def update(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Do nothing: the parameters are known."""


def policies(world: MultiObjective, replicas: int, seed: int) -> list[Policy]:
    """Build Frank-Wolfe with the true parameters, the paper's algorithms with a ridge of 0.1, and the baselines."""
    p, n, m = world.problem, world.n_features, world.n_outcomes
    known = Truth(theta=world.theta(seed, np.arange(replicas)))
    ridge = Ridge(n_features=n, n_outcomes=m, ridge=RIDGE)
    wide = replace(ridge, width=width(EPSILON))
    scalarised = Scalarised(n_features=n, n_outcomes=m, ridge=RIDGE, width=width(EPSILON))
    return [
        replace(fw_linucb(p, known), name=TRUTH),
        fw_linucb(p, wide),
        replace(fw_linucb(p, scalarised, optimism="net"), name="fw_linucb, scalarised"),
        replace(fw_linucb(p, wide, smoothing=Randomized(0.01)), name=SMOOTHED),
        fw_squarecb(p, ridge, rate=Rate(GAMMA, 0.5)),
        fw_epsilon_greedy(p, ridge, epsilon=EPSILON),
        *more_exploration(p, ridge),
        molincb(p, ridge),
        uniform(p, n),
    ]


def more_exploration(p: Problem, ridge: Ridge) -> list[Policy]:
    """Build the sweep of Figure 5: the same algorithms with more exploration."""
    linucb = [fw_linucb(p, replace(ridge, width=width(e)), name=f"fw_linucb, epsilon={e:g}") for e in WIDER]
    squarecb = [fw_squarecb(p, ridge, rate=Rate(g, 0.5), name=f"fw_squarecb, gamma_0={g:,g}") for g in LOWER]
    greedy = [fw_epsilon_greedy(p, ridge, epsilon=e, name=f"fw_epsilon_greedy, epsilon={e:g}") for e in MORE_GREEDY]
    return [*linucb, *squarecb, *greedy]


def width(epsilon: float) -> Fixed:
    """Return the paper's width sqrt(epsilon) alpha_t with alpha_t = 1."""
    return Fixed(float(np.sqrt(epsilon)))


@dataclass(frozen=True, kw_only=True)
class Instances:
    """Runs one number of arms and outcomes; each replica has its own parameters: standard errors are over instances.

    `share` is the objective divided by that of `truth` in the same replica. The optimum in hindsight is the best value
    that a policy could reach with knowledge of the parameters and all contexts in advance; it is computed for the first
    20 replicas.
    """

    settings: ConcaveRewardsExperiment
    session: Session
    arms: int
    outcomes: int
    hindsight: list[float] = field(default_factory=list)  # by replica, complete or empty

    @cached_property
    def world(self) -> MultiObjective:
        return MultiObjective(arms=self.arms, n_outcomes=self.outcomes, horizon=self.settings.rounds)

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"generalised Gini of {self.outcomes} outcomes, {self.arms} arms, {s.rounds} rounds, "
            f"{s.replicas} replicas, seed {s.seed}"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"arms": self.arms, "outcomes": self.outcomes}]

    def cases(self, point: Point) -> Iterator[Case]:
        for policy in policies(self.world, self.settings.replicas, self.settings.seed):
            yield Case(point, policy.name, self.world, policy)
        self.hindsight.extend(self._look_back())

    def _look_back(self) -> list[float]:
        """Compute the optima in hindsight; none after Ctrl-C."""
        found, world, s = [], self.world, self.settings
        replicas = range(min(s.replicas, SOLVED))
        with Work(OPTIMUM, "replica", progress=self.session.progress) as work:
            for r in work.each(replicas):
                if self.session.asked_to_stop():
                    return []
                found.append(best(world.problem, draw(world, world.horizon, s.seed, replica=r), np.zeros(0)).value)
        return found

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        (at,), found = self.points, traces(runs)
        rows = [row for trace in found for row in _rows(trace, found[0], at)]
        rows += lock_ins(runs, lambda trace: trace.objective()[-1] / found[0].objective()[-1])
        if self.hindsight:
            share = np.array(self.hindsight) / found[0].objective()[-1, : len(self.hindsight)]
            rows.append(Measurement.of(OPTIMUM, at, "share late", share, worst="low"))
        return rows

    def report(self, runs: Sequence[Run], results: Results) -> str:
        rounds = self.settings.rounds
        metrics = (f"t={min(EARLY, rounds)}", "share early", f"t={rounds}", "share late", LOCKED_IN)
        return results.table(self.points[0], metrics) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        place = f"arms={self.arms}-outcomes={self.outcomes}.png"
        found, hindsight = traces(runs, BASELINE), np.array(self.hindsight)
        plain = [t for t in found if "=" not in t.policy]
        sweep = [t for t in found if "=" in t.policy or t.policy in SWEPT]
        return [
            picture(plain, hindsight, out / f"concave-rewards-{place}"),
            picture(sweep, hindsight, out / f"concave-rewards-exploration-{place}"),
        ]


def sections(settings: ConcaveRewardsExperiment, session: Session) -> Iterator[Instances]:
    """Yield one section per number of arms and outcomes."""
    for arms in settings.arms:
        for outcomes in settings.outcomes:
            yield Instances(settings=settings, session=session, arms=arms, outcomes=outcomes)


def picture(found: list[Trace], values: Floats, path: Path) -> Path:
    """Draw the objective over the rounds as a share of that of `truth`, and the missing share on logarithmic axes."""
    from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

    end = found[0].objective()[-1]
    lines = {OPTIMUM: float((values / end[: len(values)]).mean())} if len(values) else {}
    share = Panel(
        "objective, share of the truth's at the end",
        lambda t: t.objective() / end,
        lines,
        unit="share",
        within=(0.8, 1.02),
    )
    gap = Panel(
        "what is missing, in percent",
        lambda t: 100.0 * (1.0 - t.objective() / end),
        {},
        unit="percent",
        log=True,
        within=(0.03, 30.0),
    )
    shown = [t for t in found if t.policy not in TWINS]
    ends = {t.policy: t.objective()[-1] / end for t in shown if t.policy != TRUTH}
    said = leads(ends, 1.0, "what is reached with known parameters")
    main = max(ends, key=lambda name: float(ends[name].mean()))
    axes = over_rounds(shown, [gap, share], 1, main=main, references=(TRUTH,), log_rounds=True, headline=said)
    return save(axes, path)


def _rows(trace: Trace, truth: Trace, at: Mapping[str, float]) -> list[Measurement]:
    """Measure the objective early and at the end, also as a share of that of `truth` at the end."""
    rows = []
    rounds = int(trace.times[-1])
    value, end = trace.objective(), truth.objective()[-1]
    for when, t in (("early", min(EARLY, rounds)), ("late", rounds)):
        i = trace.at(t)
        rows.append(Measurement.of(trace.policy, at, f"t={t}", value[i], worst="low"))
        rows.append(Measurement.of(trace.policy, at, f"share {when}", value[i] / end, worst="low"))
    return rows
