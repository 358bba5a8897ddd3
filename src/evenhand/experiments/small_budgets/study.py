"""Small budgets: every constrained policy on the court, with total budgets from sqrt(T) to T / 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.environments import Court
from evenhand.experiments.experiment import Case, Point, Run, Session
from evenhand.experiments.lock_in import LOCKED_IN, lock_ins
from evenhand.experiments.small_budgets import SmallBudgetsExperiment
from evenhand.models import BayesianLogistic
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import of_one_outcome
from evenhand.problem.problem import Problem
from evenhand.recipes import (
    lin_cbwk,
    pgd,
    pgd_adaptive,
    primal_lp,
    resolving,
    square_cbwk,
    two_stage_square_cbwk,
    uniform,
)
from evenhand.recipes.square_cbwk import linear_exploration, square_cbwk_rate
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import number, table
from evenhand.run.optimum import draw, opt
from evenhand.run.trace import Trace

OURS = "resolving"
TOLERANCE = 0.025
OTHERS = 10**6  # the seed of the optimum: people other than those of the policies
WORKS = 0.9, 0.01  # a policy works if it gains the first on average, and overspends at most the second
LOOKS = {
    "uniform": "0.5:",
    "pgd": "C1-",
    "pgd_adaptive": "C2-",
    "pgd_adaptive, hard": "C2--",
    "primal_lp": "C4-",
    "primal_lp, hard": "C4--",
    "lin_cbwk": "C3-",
    "square_cbwk": "C5-",
    "two_stage_square_cbwk": "C7-",
    "resolving": "C0-",
}


class Outcomes(NamedTuple):
    """The outcomes of one policy with one budget, per replica."""

    gained: Floats  # as a share of the best static policy's gain over giving nothing
    overspent: Floats  # the largest excess over a budget as a share of it, at least 0


Found = dict[str, dict[float, Outcomes | None]]  # by policy and total budget; None if it was refused


class World(NamedTuple):
    """The court with one budget, and the values of the best and the null static policy."""

    court: Court
    best: float
    nothing: float


def recipes() -> dict[str, Callable[[Problem], Policy]]:
    """Return all policies by name; they share one kind of model."""
    return {
        "uniform": partial(uniform, n_features=5),
        "pgd": lambda p: pgd(p, _model()),
        "pgd_adaptive": lambda p: pgd_adaptive(p, _model()),
        "pgd_adaptive, hard": lambda p: pgd_adaptive(p, _model(), hard=True),
        "primal_lp": lambda p: primal_lp(p, _model()),
        "primal_lp, hard": lambda p: primal_lp(p, _model(), hard=True),
        "lin_cbwk": lambda p: lin_cbwk(p, _model()),
        "square_cbwk": lambda p: square_cbwk(p, _model(), rate=_gamma(p)),
        "two_stage_square_cbwk": lambda p: two_stage_square_cbwk(
            p, _model(), rate=_gamma(p), explore=linear_exploration(p, 5), radius=0.02
        ),
        "resolving": lambda p: resolving(p, _model()),
    }


def _model() -> BayesianLogistic:
    return BayesianLogistic(n_features=5)


def _gamma(problem: Problem) -> float:
    """Return the theory's rate for five features: costs are known, so only rewards have regret."""
    return square_cbwk_rate(problem, 3, 5 * float(np.log(problem.horizon)), 0.0)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Runs every policy at every budget."""

    settings: SmallBudgetsExperiment
    worlds: dict[float, World]  # by total budget, filled as they are reached

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"court assistance, tau = {TOLERANCE:g}: rides and vouchers limited to T B each, T = {s.rounds}\n"
            f"{s.replicas} replicas, seed {s.seed}; gained: share of what the best static policy gains over giving "
            "nothing\n"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"total": total(e, self.settings.rounds)} for e in self.settings.exponents]

    def cases(self, point: Point) -> Iterator[Case]:
        budget, rounds = point["total"], self.settings.rounds
        court = Court(tolerance=TOLERANCE, horizon=rounds, ride=budget / rounds, voucher=budget / rounds)
        if budget not in self.worlds:
            best = opt(court, replicas=4, seed=OTHERS, progress=False).value
            nothing = float(draw(court, 10_000, seed=OTHERS).outcomes[:, 0].mean())
            self.worlds[budget] = World(court, best, nothing)
        for name, recipe in recipes().items():
            try:
                policy, why = recipe(court.problem), ""
            except InvalidInput as error:
                if not error.field.startswith("explore"):
                    raise
                policy, why = None, str(error)  # the budget is too small for its first stage
            yield Case(point, name, court, policy, why)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        rows = []
        for name, there in self.collect(runs).items():
            for budget, o in there.items():
                if o is not None:
                    at = {"total": budget}
                    rows.append(Measurement.of(name, at, "gained", o.gained, worst="low"))
                    rows.append(Measurement.of(name, at, "overspent", o.overspent, worst="high"))
        rows += lock_ins(runs, lambda trace: trace.objective()[-1])
        order = [p["total"] for p in self.points]
        return sorted(rows, key=lambda m: order.index(m.at["total"]))

    def collect(self, runs: Sequence[Run]) -> Found:
        """Collect gains and overspending by policy and budget."""
        found: Found = {name: {} for name in recipes()}
        for case, trace in runs:
            found[case.system][case.at["total"]] = None if trace is None else self._outcomes(trace, case.at["total"])
        return found

    def _outcomes(self, trace: Trace, budget: float) -> Outcomes:
        court, best, nothing = self.worlds[budget]
        spent = np.max([trace.total(b.outcome) / budget for b in of_one_outcome(court.problem.spending)], 0)
        return Outcomes((trace.objective()[-1] - nothing) / (best - nothing), np.maximum(spent - 1.0, 0.0))

    def report(self, runs: Sequence[Run], results: Results) -> str:
        found, budgets = self.collect(runs), [p["total"] for p in self.points]
        reasons = {case.system: case.refused for case, trace in runs if trace is None}
        notes = [f"{name} was refused: {why}" for name, why in reasons.items()]
        parts = [
            _table(found, budgets),
            _lock_ins(results, list(found), budgets),
            *(["\n".join(notes)] if notes else []),
        ]
        return "\n\n".join(parts if results.interrupted else [*parts, _limits(found)])

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        return [picture(self.collect(runs), out / "small-budgets.png")]


def sections(settings: SmallBudgetsExperiment, session: Session) -> Iterator[Sweep]:
    """Yield the single section, whose points are the budgets."""
    yield Sweep(settings=settings, worlds={})


def total(exponent: float, rounds: int) -> float:
    """Return the total budget min(T^exponent, T / 2)."""
    return min(math.pow(rounds, exponent), 0.5 * rounds)


def _table(found: Found, budgets: Sequence[float]) -> str:
    """Format the mean gained share and, in brackets from 0.5% on, the worst replica's overspending."""
    lines = []
    for name, there in found.items():
        cells = [name]
        for budget in budgets:
            o = there.get(budget)
            if o is None:
                cells.append("refused" if budget in there else "")
                continue
            over = f" (+{o.overspent.max():.0%})" if o.overspent.max() >= 0.005 else ""
            cells.append(number(float(o.gained.mean()), 3) + over)
        lines.append(cells)
    return table(["T B =", *(f"{budget:.0f}" for budget in budgets)], lines)


def _lock_ins(results: Results, names: Sequence[str], budgets: Sequence[float]) -> str:
    """Format the share of replicas that gain less than half of the mean gain over uniform play."""
    lines = []
    for name in names:
        there = [results.find(name, LOCKED_IN, {"total": budget}) for budget in budgets]
        if any(there):
            lines.append([name, *(number(m.mean, 2) if m else "" for m in there)])
    return "locked in (share of replicas that gain less than half of the mean gain over uniform)\n" + table(
        ["T B =", *(f"{budget:.0f}" for budget in budgets)], lines
    )


def _limits(found: Found) -> str:
    """Format the smallest budget at which each policy works, as it does at all larger ones (see `WORKS`)."""
    enough, most = WORKS
    lines = []
    for name, there in found.items():
        smallest = None
        for budget in sorted(there, reverse=True):
            o = there[budget]
            if o is None or o.gained.mean() < enough or o.overspent.max() > most:
                break
            smallest = budget
        lines.append([name, "nowhere" if smallest is None else f"{smallest:.0f}"])
    head = ["", f"gains {enough:.0%} and overspends at most {most:.0%}, down to T B ="]
    return table(head, lines)


def picture(found: Found, path: Path) -> Path:
    """Draw gains against the budget, and by how much those policies overspend that do."""
    from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

    gains, over = "share of the possible gain", "overspent, share of the budget"
    panels: dict[str, list[Curve]] = {gains: [], over: []}
    never = []
    for name, there in found.items():
        run = {budget: o for budget, o in there.items() if o is not None}
        if not run:
            continue
        values = np.stack([o.gained for o in run.values()])
        panels[gains].append(Curve(name, list(run), values, LOOKS[name]))
        beyond = np.stack([o.overspent for o in run.values()])
        if beyond.max() > 0.0:
            panels[over].append(Curve(name, list(run), beyond, LOOKS[name]))
        else:
            never.append(name)
    titled = {gains: panels[gains]}
    if panels[over]:
        titled[over + (f"; never: {', '.join(never)}" if never else "")] = panels[over]
    axes = over_sweep(
        titled,
        "total of each budget, in rides or vouchers",
        "share",
        main=OURS,
        log="x",
        headline=_headline(found, OURS in never),
    )
    return save(axes, path)


def _headline(found: Found, kept: bool) -> str:
    """Say what ours gains at the least and at the largest budget, and what the next best does at the least."""
    ours = {budget: float(o.gained.mean()) for budget, o in found.get(OURS, {}).items() if o is not None}
    if not ours:
        return ""
    least = min(ours)
    said = f"{OURS} gains {min(ours.values()):.0%} to {max(ours.values()):.0%} of what is possible"
    said += " and never overspends" if kept else ""
    others = {n: float(o.gained.mean()) for n, there in found.items() if n != OURS and (o := there.get(least))}
    if not others:
        return said
    best = max(others, key=others.__getitem__)
    return f"{said}; with {least:,.0f} rides it gains {ours[least]:.0%}, and the next best, {best}, {others[best]:.0%}"
