"""A demonstration: several policies share scarce help among people of two groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evenhand.core.progress import Work
from evenhand.core.texts import count
from evenhand.environments import Court
from evenhand.experiments.court.picture import picture
from evenhand.experiments.court.study import MEASURES, METRICS, WORST, fairness, model
from evenhand.experiments.demo import PICTURE, DemoExperiment
from evenhand.experiments.demo.findings import OVERSPENT, overspent
from evenhand.experiments.experiment import Case, Point, Run, Section, Session, traces
from evenhand.experiments.lock_in import BASELINE, lock_in_share, lock_ins
from evenhand.models import BayesianLogistic
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import pgd, pgd_adaptive, resolving, uniform
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, standard_error, table
from evenhand.run.optimum import Optimum, opt
from evenhand.run.trace import Trace

TIME = ": some 15 seconds on one core, and 40 the first time, as kernels are compiled then"


def policies(problem: Problem) -> list[Policy]:
    """Build random sharing, the published policies, one of them also with hard budgets, and ours."""
    return [
        uniform(problem, n_features=5),
        pgd(problem, model(), step=0.02),
        pgd_adaptive(problem, model()),
        pgd_adaptive(problem, model(), hard=True),
        resolving(problem, BayesianLogistic(n_features=5)),
    ]


@dataclass(frozen=True, kw_only=True)
class Comparison(Section):
    """Compares all policies on the same people with the best policy that knows every person's probabilities."""

    settings: DemoExperiment
    session: Session

    @cached_property
    def court(self) -> Court:
        return Court(tolerance=self.settings.tolerance, horizon=self.settings.rounds)

    @cached_property
    def optimum(self) -> Optimum:
        return opt(self.court, replicas=4, seed=10**6, progress=self.session.progress)

    @property
    def title(self) -> str:
        s = self.settings
        rides, vouchers = (b.total_over(s.rounds) for b in self.court.problem.spending)
        return (
            f"{s.rounds:,} people must reach a court. There are {rides:,.0f} rides and {vouchers:,.0f} vouchers, "
            f"and it is unknown who needs them.\nTwo groups are to get the same within {s.tolerance:g} per person. "
            f"Five policies learn whom help reaches, and share it out.\n"
            f"{count(s.replicas, 'replica')}, seed {s.seed}{TIME if s == DemoExperiment(seed=s.seed) else ''}.\n"
        )

    def cases(self, point: Point) -> Iterator[Case]:
        _ = self.optimum  # computed before the policies run, as it takes time and is shown for itself
        every = policies(self.court.problem)
        progress = False if self.session.asked_to_stop() else self.session.progress
        with Work("demo", "policy", progress=progress) as work:
            for policy in work.each(every):
                yield Case(point, policy.name, self.court, policy)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        found = [
            Measurement.of(trace.policy, {}, metric, MEASURES[metric](trace)[-1], worst=WORST[metric])
            for trace in traces(runs)
            for metric in METRICS
        ]
        found += [Measurement(trace.policy, {}, OVERSPENT, float(np.mean(overspent(trace)))) for trace in traces(runs)]
        found += lock_ins(runs, lambda trace: trace.objective()[-1])
        return [*found, Measurement("OPT", {}, "reward", self.optimum.value, self.optimum.se)]

    def report(self, runs: Sequence[Run], results: Results) -> str:
        best, se = self.optimum.value, self.optimum.se
        error = f"(standard error {se:.2%}, over samples of people)"
        known = f"\nThe best policy that knows everybody's chances: {best:.2%} appear {error}."
        found = traces(runs)
        if not found:
            return known
        return "\n".join([_table(found, best), known, _legend(found)])

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        return [picture(traces(runs), self.optimum.value, fairness, out / PICTURE)]


def sections(settings: DemoExperiment, session: Session) -> Iterator[Comparison]:
    """Yield the single section."""
    yield Comparison(settings=settings, session=session)


def _table(traces: list[Trace], best: float) -> str:
    head = ["policy", "appear", "worst", "gain", "rides", "vouchers", "overspent", "unfairness"]
    rows, base = [], next((t.objective()[-1].mean() for t in traces if t.policy == BASELINE), math.nan)
    for t in traces:
        reward, ride, voucher = t.objective()[-1], t.total("ride"), t.total("voucher")
        gain = (float(reward.mean()) - base) / (best - base)
        rows.append(
            [t.policy, f"{reward.mean():.2%}", f"{reward.min():.2%}", "-" if math.isnan(gain) else f"{gain:.0%}"]
            + [f"{z.max():.0f}" for z in (ride, voucher)]
            + [f"{sum(overspent(t))} of {len(reward)}", number(float(fairness(t)[-1].mean()))]
        )
    return table(head, rows)


def _legend(traces: list[Trace]) -> str:
    worth = {t.policy: t.objective()[-1] for t in traces}
    error = max(standard_error(z) for z in worth.values())
    errors = "" if math.isnan(error) else f", with standard errors of at most {error:.2%}"
    base = worth[BASELINE].mean() if BASELINE in worth else math.nan
    stuck = {name: round(len(z) * lock_in_share(z, base)) for name, z in worth.items() if z.mean() > base}
    told = ", ".join(f"{many} of {name}" for name, many in stuck.items() if many) or "none"
    return (
        f"appear: share of the people{errors}; worst: in the replica where fewest do.\n"
        "gain: beyond `uniform`, as a share of what the best policy gains. rides, vouchers: the most of any replica.\n"
        f"unfairness: how far groups' uses per person are from the mean. Replicas locked in below half the gain: {told}"
    )
