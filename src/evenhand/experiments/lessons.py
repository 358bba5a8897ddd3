"""Everything at once (X2): goals that keep up with each other, budgets and a parity; and what contexts bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.environments import Lessons, WithoutContexts
from evenhand.environments.base import Environment
from evenhand.environments.lessons import SUBJECTS
from evenhand.models import Fixed, Ridge, Tabular
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Constraint, by_group, of_one_outcome
from evenhand.recipes import bwcr, fw_dual, resolving
from evenhand.report.results import Results, Row, prepare
from evenhand.run.optimum import opt, opt_without_contexts
from evenhand.run.parallel import deferred_interrupt
from evenhand.run.simulation import simulate
from evenhand.run.trace import Trace

ROUNDS = 20_000
WIDTH = 0.3
GAMMA = 0.5  # of `Tabular`: the best of 0.02 to 16, see docs/goals.md
PUPILS, SAMPLES = 4000, 16  # of the optimum


class Run(NamedTuple):
    """A policy where it acts; limits that it does not know of are measured all the same."""

    policy: Policy
    world: Environment


def runs(rounds: int) -> list[Run]:
    """Both planners on everything, each half of it alone by the same recipe, and the policy that sees no contexts."""
    both = Lessons(horizon=rounds)
    goal = Lessons(horizon=rounds, constrained=False)
    limits = Lessons(horizon=rounds, objective=Linear(dict.fromkeys(SUBJECTS, 1.0)))
    hidden = WithoutContexts(Lessons(horizon=rounds, parity=False))
    ridge = Ridge(n_features=both.n_features, n_outcomes=len(SUBJECTS), width=Fixed(WIDTH))
    tabular = Tabular(arms=len(both.problem.actions), n_outcomes=len(SUBJECTS), confidence=GAMMA)
    return [
        Run(resolving(both.problem, ridge), both),
        Run(fw_dual(both.problem, ridge), both),
        Run(replace(resolving(goal.problem, ridge), name="resolving, goal only"), goal),
        Run(replace(resolving(limits.problem, ridge), name="resolving, plain sum"), limits),
        Run(replace(bwcr(hidden.problem, tabular), name="bwcr, no contexts"), hidden),
    ]


@named("X2", source="evenhand's own: Do et al. 2023 and Agrawal & Devanur 2014 have a half of it each")
def reproduce(
    *,
    replicas: int = 50,
    rounds: int = ROUNDS,
    jobs: int = 1,
    seed: int = 0,
    out: Path | None = None,
    progress: bool | None = None,
    log: Callable[[str], None] = print,
) -> Results:
    """Run every policy; print the generalised Gini of the subjects, its share of the optimum, and what was used.

    The optimum is that of static policies which know everything, by convex programs on sampled pupils. Ctrl-C ends
    early; what is finished is printed and written.
    """
    if out is not None:
        prepare(out)
    results = Results("lessons", {"replicas": replicas, "rounds": rounds, "seed": seed})
    log(f"generalised Gini of {len(SUBJECTS)} subjects, {rounds} rounds, {replicas} replicas, seed {seed}")
    seeing = opt(Lessons(), contexts=PUPILS, repeats=SAMPLES, progress=progress)
    # a lottery that is the same for everybody keeps to the parity by itself
    blind = opt_without_contexts(Lessons(parity=False), contexts=PUPILS, repeats=SAMPLES, progress=progress)
    for name, found in (("optimum", seeing), ("optimum, no contexts", blind)):
        results.rows.append(Row(name, {}, "objective", found.value, found.se, None, None))
        results.rows.append(Row(name, {}, "share", found.value / seeing.value, None, None, None))
    traces: list[Trace] = []
    with deferred_interrupt() as asked:  # Ctrl-C may also come between two runs
        for policy, world in runs(rounds):
            if asked():
                results.interrupted = True
                break
            trace = simulate(policy, world, replicas=replicas, seed=seed, jobs=jobs, progress=progress)
            if not trace.finished:
                results.interrupted = True
                break
            traces.append(trace)
            results.rows += _rows(trace, seeing.value)
    log(results.table({}, ("objective", "share", "hours used", "money used", "parity gap")))
    if results.interrupted:
        log("interrupted: the systems above are complete, the others are missing")
    if out is not None:
        results.write(out)
        if traces:
            picture(traces, seeing.value, blind.value, out / "lessons.png")
    return results


def picture(traces: list[Trace], seeing: float, blind: float, path: Path) -> Path:
    """The goal, hours and their gap between those who live near and far, over the rounds."""
    from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

    parity = _parity()
    panels = [
        Panel("generalised Gini", _goal, {"optimum": seeing, "optimum, no contexts": blind}),
        Panel("hours, share of the budget", lambda t: _used(t, "hours"), {"budget": 1.0}),
        Panel("hours: gap between near and far", lambda t: t.measure(parity), {"tolerance": parity.limit(ROUNDS)}),
    ]
    axes = over_rounds(traces, panels)
    axes[0].set_ylim(0.3, 0.7)
    return save(axes, path)


def _rows(trace: Trace, optimum: float) -> list[Row]:
    goal = _goal(trace)[-1]
    found = [
        Row.of(trace.policy, {}, "objective", goal, worst="low"),
        Row.of(trace.policy, {}, "share", goal / optimum, worst="low"),
    ]
    for name in ("hours", "money"):
        found.append(Row.of(trace.policy, {}, f"{name} used", _used(trace, name)[-1], worst="high"))
    return [*found, Row.of(trace.policy, {}, "parity gap", trace.measure(_parity())[-1], worst="high")]


def _goal(trace: Trace) -> Floats:
    """The generalised Gini of the subjects' true means, whatever the policy was after, `->(G, R)`."""
    return replace(trace, problem=Lessons().problem).objective()


def _used(trace: Trace, name: str) -> Floats:
    """Use so far as a share of what the budget allows by then, `->(G, R)`."""
    (budget,) = (b for b in of_one_outcome(Lessons().problem.spending) if b.outcome == name)
    return trace.measure(budget) / budget.limit(Lessons().horizon)


def _parity() -> Constraint:
    ((parity, _),) = by_group(Lessons().problem.subject_to)
    return parity
