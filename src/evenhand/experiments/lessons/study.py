"""A concave objective, budgets and a parity combined, with and without contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.types import Floats
from evenhand.environments import Lessons, WithoutContexts
from evenhand.environments.base import Environment
from evenhand.environments.lessons import SUBJECTS
from evenhand.experiments.experiment import Case, Point, Run, Section, Session, traces
from evenhand.experiments.lessons import LessonsExperiment
from evenhand.experiments.lock_in import LOCKED_IN, lock_ins
from evenhand.models import BayesianRidge, Tabular
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Constraint, by_group, of_one_outcome
from evenhand.recipes import bwcr, fw_dual, resolving, uniform
from evenhand.report.results import Measurement, Results
from evenhand.run.optimum import Optimum, opt, opt_without_contexts
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    from evenhand.report.standings import Column

GAMMA = 0.5  # of `Tabular`: the best of 0.02 to 16, see docs/goals.md
_NEAR = 0.005  # of a limit, by which averages may be beyond it
PUPILS, SAMPLES, OTHERS = 4000, 16, 10**6  # for the optimum: pupils other than those of the policies


def cases(rounds: int) -> list[Case]:
    """List the cases: `resolving` and `fw_dual`, `resolving` on each half, `bwcr` without contexts, and a baseline."""
    both = Lessons(horizon=rounds)
    goal = Lessons(horizon=rounds, constrained=False)
    limits = Lessons(horizon=rounds, objective=Linear(dict.fromkeys(SUBJECTS, 1.0)))
    hidden = WithoutContexts(Lessons(horizon=rounds, parity=False))
    ridge = BayesianRidge(n_features=both.n_features, n_outcomes=len(SUBJECTS))
    tabular = Tabular(arms=len(both.problem.actions), n_outcomes=len(SUBJECTS), confidence=GAMMA)
    found: list[tuple[Policy, Environment]] = [
        (resolving(both.problem, ridge), both),
        (fw_dual(both.problem, ridge), both),
        (replace(resolving(goal.problem, ridge), name="resolving, goal only"), goal),
        (replace(resolving(limits.problem, ridge), name="resolving, plain sum"), limits),
        (replace(bwcr(hidden.problem, tabular), name="bwcr, no contexts"), hidden),
        (uniform(both.problem, both.n_features), both),
    ]
    return [Case({}, policy.name, world, policy) for policy, world in found]


@dataclass(frozen=True, kw_only=True)
class Lesson(Section):
    """Runs all policies; constraints that a policy ignores are measured all the same."""

    settings: LessonsExperiment
    session: Session

    @cached_property
    def optima(self) -> dict[str, Optimum]:
        """The optima of static policies that know the truth, from convex programs on sampled pupils."""
        sample = {"contexts": PUPILS, "replicas": SAMPLES, "seed": OTHERS}
        seeing = opt(Lessons(), **sample, progress=self.session.progress)
        # one lottery for all pupils satisfies the parity by itself
        blind = opt_without_contexts(Lessons(parity=False), **sample, progress=self.session.progress)
        return {"optimum": seeing, "optimum, no contexts": blind}

    @property
    def title(self) -> str:
        s = self.settings
        return f"generalised Gini of {len(SUBJECTS)} subjects, {s.rounds} rounds, {s.replicas} replicas, seed {s.seed}"

    def cases(self, point: Point) -> Iterator[Case]:
        _ = self.optima  # computed before the policies run, as it takes time and is shown for itself
        yield from cases(self.settings.rounds)

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        best, found = self.optima["optimum"].value, []
        for name, o in self.optima.items():
            found.append(Measurement(name, {}, "objective", o.value, o.se))
            found.append(Measurement(name, {}, "share", o.value / best))
        found += [m for trace in traces(runs) for m in _rows(trace, best)]
        return found + lock_ins(runs, lambda trace: _goal(trace)[-1])

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return results.table({}, ("objective", "share", "hours used", "money used", "parity gap", LOCKED_IN))

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        seeing, blind = (o.value for o in self.optima.values())
        return [picture(traces(runs), seeing, blind, out / "lessons.png")]


def sections(settings: LessonsExperiment, session: Session) -> Iterator[Lesson]:
    """Yield the single section."""
    yield Lesson(settings=settings, session=session)


def picture(found: list[Trace], seeing: float, blind: float, path: Path) -> Path:
    """Draw the objective, the hours used, and their gap between near and far pupils, at the end of all rounds."""
    from evenhand.report.plots import save  # matplotlib only when asked for
    from evenhand.report.standings import Column, draw

    parity, names = _parity(), [t.policy for t in found]
    columns = [
        Column("generalised Gini", "share of the optimum", [_goal(t)[-1] / seeing for t in found], "low", best=1.0),
        Column("hours used", "share of the budget", [_use(t, "hours")[-1] for t in found], "high", limit=1.0),
        Column(
            "gap between near and far",
            "hours per round",
            [t.measure(parity)[-1] for t in found],
            "high",
            limit=parity.limit(1),
        ),
    ]
    return save(draw(names, columns, _headline(names, columns, blind / seeing), main="resolving"), path)


def _headline(names: Sequence[str], columns: Sequence[Column], blind: float) -> str:
    """Say how near to the optimum the best two come that keep to both limits on average, up to 0.5 % of each."""
    goals, *others = columns
    limits = [(column, column.limit) for column in others if column.limit is not None]
    keep = [i for i in range(len(names)) if all(z.mean(i) <= limit + _NEAR * abs(limit) for z, limit in limits)]
    order = sorted((i for i in keep if goals.runs(i)), key=lambda i: -goals.mean(i))
    if not order:
        return "no policy keeps to both limits on average"
    first, *rest = [f"{names[i]} {'reaches ' if i == order[0] else ''}{goals.mean(i):.0%}" for i in order[:2]]
    after = "".join(f", {name}" for name in rest)
    return f"Within both limits, {first} of the optimum{after}, one lottery for all pupils {blind:.0%}"


def _rows(trace: Trace, optimum: float) -> list[Measurement]:
    goal = _goal(trace)[-1]
    found = [
        Measurement.of(trace.policy, {}, "objective", goal, worst="low"),
        Measurement.of(trace.policy, {}, "share", goal / optimum, worst="low"),
    ]
    for name in ("hours", "money"):
        found.append(Measurement.of(trace.policy, {}, f"{name} used", _use(trace, name)[-1], worst="high"))
    return [*found, Measurement.of(trace.policy, {}, "parity gap", trace.measure(_parity())[-1], worst="high")]


def _goal(trace: Trace) -> Floats:
    """Compute the generalised Gini of the subjects' true means, for all policies, `->(G, R)`."""
    return replace(trace, problem=Lessons().problem).objective()


def _use(trace: Trace, name: str) -> Floats:
    """Compute the use so far as a share of the budget up to then, `->(G, R)`."""
    (budget,) = (b for b in of_one_outcome(Lessons().problem.spending) if b.outcome == name)
    return trace.measure(budget) / budget.limit(Lessons().horizon)


def _parity() -> Constraint:
    ((parity, _),) = by_group(Lessons().problem.subject_to)
    return parity
