"""Table 1 and Figure 1 of Chzhen, Giraud, Li & Stoltz 2023: court assistance under budgets and parity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from evenhand.core.types import Floats
from evenhand.environments import Court
from evenhand.experiments.court import CourtExperiment
from evenhand.experiments.court.picture import OURS, figure, picture
from evenhand.experiments.experiment import Case, Point, Run, Session, traces
from evenhand.experiments.lock_in import LOCKED_IN, lock_ins
from evenhand.models import BayesianLogistic, Logarithmic, Logistic
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.sums import disparity
from evenhand.problem.problem import Problem
from evenhand.recipes import mixed_oracle, pgd, pgd_adaptive, primal_lp, resolving, uniform
from evenhand.recipes.primal_lp import Slack
from evenhand.report.results import Measurement, Results
from evenhand.run.optimum import Optimum, opt
from evenhand.run.trace import Trace

GAMMAS = (0.01, 0.02, 0.04, 0.05, 0.1)
MARGIN = 0.005
SAMPLE = {"replicas": 10, "seed": 10**6}  # for the optimum: people other than those of the policies
METRICS = ("reward", "ride", "voucher", "fairness")
WORST: dict[str, Literal["low", "high"]] = {"reward": "low", "ride": "high", "voucher": "high", "fairness": "high"}
HORIZON = 10_000
MIXED = "mixed_oracle"

# reward, ride, voucher, fairness
PUBLISHED: dict[float, dict[str, tuple[float, ...]]] = {
    1e-7: {
        "pgd(step=0.01)": (0.4651, 0.0519, 0.1984, 0.0006),
        "pgd(step=0.02)": (0.4613, 0.0492, 0.1967, 0.0004),
        "pgd(step=0.04)": (0.4571, 0.0479, 0.1962, 0.0004),
        "pgd(step=0.05)": (0.4554, 0.0476, 0.1961, 0.0003),
        "pgd(step=0.1)": (0.4502, 0.0471, 0.1960, 0.0003),
        "pgd_adaptive": (0.4581, 0.0498, 0.1971, 0.0005),
        MIXED: (0.4402, 0.0499, 0.1056, 0.0411),
    },
    0.025: {
        "pgd(step=0.01)": (0.4698, 0.0518, 0.1983, 0.0246),
        "pgd(step=0.02)": (0.4663, 0.0492, 0.1966, 0.0242),
        "pgd(step=0.04)": (0.4621, 0.0478, 0.1958, 0.0223),
        "pgd(step=0.05)": (0.4604, 0.0476, 0.1955, 0.0208),
        "pgd(step=0.1)": (0.4538, 0.0471, 0.1958, 0.0128),
        "pgd_adaptive": (0.4634, 0.0499, 0.1972, 0.0228),
        MIXED: (0.4466, 0.0566, 0.1053, 0.0473),
        "OPT(B)": (0.4731,),
        "OPT(B-margin)": (0.4691,),
    },
}


def model() -> Logistic:
    """Build the paper's model: logistic with C_delta = 0.025; its ridge of 0 is 1e-6 here."""
    return Logistic(n_features=5, ridge=1e-6, width=Logarithmic(0.025))


def policies(problem: Problem, prices: Floats) -> list[Policy]:
    """Build the rows of Table 1, the primal policy that the paper does not run, `resolving`, and the baseline."""
    fixed = [pgd(problem, model(), step=gamma, margin=MARGIN) for gamma in GAMMAS]
    adaptive = pgd_adaptive(problem, model(), margin=MARGIN)
    mixed = mixed_oracle(problem, model(), tuple(prices.tolist()), margin=MARGIN)
    primal = primal_lp(problem, model(), slack=Slack(0.0, MARGIN))
    return [*fixed, adaptive, mixed, primal, resolving(problem, BayesianLogistic(n_features=5)), uniform(problem, 5)]


def fairness(trace: Trace) -> Floats:
    """Compute the mean absolute fairness cost over groups and parities at every point, `->(G,R)`."""
    gaps = [np.abs(disparity(trace, c.outcome, by)) for c, by in by_group(trace.problem.subject_to)]
    return np.asarray(np.concatenate(gaps, -1).mean(-1))


MEASURES: dict[str, Callable[[Trace], Floats]] = {
    "reward": Trace.objective,
    "ride": lambda trace: trace.average("ride"),
    "voucher": lambda trace: trace.average("voucher"),
    "fairness": fairness,
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Runs every row of Table 1 at one tolerance, and computes the optimum of static policies."""

    settings: CourtExperiment
    session: Session
    tau: float

    @cached_property
    def court(self) -> Court:
        return Court(tolerance=self.tau, horizon=self.settings.rounds)

    @cached_property
    def optima(self) -> dict[str, Optimum]:
        """The optimum with the full budgets, and with budgets reduced by the margin."""
        progress = self.session.progress
        return {
            "OPT(B)": opt(self.court, **SAMPLE, progress=progress),
            "OPT(B-margin)": opt(self.court, margin=MARGIN, **SAMPLE, progress=progress),
        }

    @property
    def title(self) -> str:
        s = self.settings
        return f"court assistance: tau = {self.tau:g}, {s.rounds} people, {s.replicas} replicas, seed {s.seed}"

    @property
    def points(self) -> Sequence[Point]:
        return [{"tau": self.tau}]

    def cases(self, point: Point) -> Iterator[Case]:
        for policy in policies(self.court.problem, self.optima["OPT(B-margin)"].prices):
            yield Case(point, policy.name, self.court, policy)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        found = [m for trace in traces(runs) for m in _rows(trace, self.tau, self.settings.rounds)]
        found += lock_ins(runs, lambda trace: trace.objective()[-1])
        return found + _optimum_rows(self.optima, self.tau, self.settings.rounds)

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return results.table({"tau": self.tau}, (*METRICS, LOCKED_IN)) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        shown = traces(runs, MIXED)  # as in the paper's figure, whose scales it would flatten
        optima = {name: o.value for name, o in self.optima.items()}
        paths = [picture(shown, optima["OPT(B)"], fairness, out / f"court-tau={self.tau:g}.png")]
        curves = [t for t in shown if t.policy in (*PUBLISHED[1e-7], OURS)]
        if curves:
            paths.append(figure(curves, optima, MEASURES, out / f"court-figure-1-tau={self.tau:g}.png"))
        return paths


def sections(settings: CourtExperiment, session: Session) -> Iterator[Table]:
    """Yield one section per tolerance."""
    for tau in settings.taus:
        yield Table(settings=settings, session=session, tau=tau)


def _rows(trace: Trace, tau: float, rounds: int) -> list[Measurement]:
    printed = PUBLISHED.get(tau, {}).get(trace.policy, ()) if rounds == HORIZON else ()
    published = dict(zip(METRICS, printed, strict=False))
    return [
        Measurement.of(
            trace.policy,
            {"tau": tau},
            metric,
            MEASURES[metric](trace)[-1],
            worst=WORST[metric],
            published=published.get(metric),
        )
        for metric in METRICS
    ]


def _optimum_rows(found: dict[str, Optimum], tau: float, rounds: int) -> list[Measurement]:
    printed = PUBLISHED.get(tau, {}) if rounds == HORIZON else {}
    return [
        Measurement(name, {"tau": tau}, "reward", o.value, o.se, published=next(iter(printed.get(name, ())), None))
        for name, o in found.items()
    ]
