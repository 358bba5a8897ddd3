"""How small may budgets be? Every constrained policy on the court, with total budgets from sqrt(T) to T / 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.environments import Court
from evenhand.experiments.court import penalised
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
from evenhand.recipes.square_cbwk import square_cbwk_rate
from evenhand.recipes.two_stage_square_cbwk import linear_exploration
from evenhand.report.results import Results, Row, prepare
from evenhand.run.optimum import draw, opt
from evenhand.run.parallel import bar_disabled, deferred_interrupt
from evenhand.run.simulation import simulate
from evenhand.run.summary import number, table
from evenhand.run.trace import Trace

HORIZON = 10_000
EXPONENTS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)  # of T; the last is halved, so that it still binds
TOLERANCE = 0.025
WORKS = 0.9, 0.01  # of what could be gained, at least; and most that is overspent in any replica
LOOKS = {
    "uniform": "C7:",
    "pgd": "C0-",
    "pgd_adaptive": "C1-",
    "pgd_adaptive, hard": "C1--",
    "primal_lp": "C4-",
    "primal_lp, hard": "C4--",
    "lin_cbwk": "C2-",
    "square_cbwk": "C5-",
    "two_stage_square_cbwk": "C6-",
    "resolving": "C3-",
}


class Outcomes(NamedTuple):
    """What one policy made of one budget, per replica."""

    gained: Floats  # share of what the best static policy gains over giving nothing
    overspent: Floats  # largest share of a budget that was spent on top of it, at least 0


Found = dict[str, dict[float, Outcomes | None]]  # by policy and exponent; None where a budget was refused


def recipes() -> dict[str, Callable[[Problem], Policy]]:
    """Every policy, with one model for all."""
    return {
        "uniform": partial(uniform, n_features=5),
        "pgd": lambda p: pgd(p, penalised()),
        "pgd_adaptive": lambda p: pgd_adaptive(p, penalised()),
        "pgd_adaptive, hard": lambda p: pgd_adaptive(p, penalised(), hard=True),
        "primal_lp": lambda p: primal_lp(p, penalised()),
        "primal_lp, hard": lambda p: primal_lp(p, penalised(), hard=True),
        "lin_cbwk": lambda p: lin_cbwk(p, penalised()),
        "square_cbwk": lambda p: square_cbwk(p, penalised(), rate=_gamma(p)),
        "two_stage_square_cbwk": lambda p: two_stage_square_cbwk(
            p, penalised(), rate=_gamma(p), explore=linear_exploration(p, 5), radius=0.02
        ),
        "resolving": lambda p: resolving(p, penalised()),
    }


def _gamma(problem: Problem) -> float:
    """The theory's rate for five features: costs are known, so that only rewards have a regret."""
    return square_cbwk_rate(problem, 3, 5 * float(np.log(problem.horizon)), 0.0)


@named(
    "X1", source="evenhand's own experiment: total budgets from sqrt(T) to T / 2 (cf. Chzhen et al. 2023, Section 1)"
)
def reproduce(
    *,
    replicas: int = 20,
    rounds: int = HORIZON,
    exponents: tuple[float, ...] = EXPONENTS,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
    progress: bool | None = None,
    log: Callable[[str], None] = print,
) -> Results:
    """Run every policy at every budget; print what it gains and overspends, write JSON and a plot.

    Ctrl-C ends early; what is finished is printed and written, marked as interrupted.
    """
    if not exponents or not all(0 < e <= 1 for e in exponents):
        raise InvalidInput("exponents", "numbers in (0, 1]", exponents)
    if out is not None:
        prepare(out)
    results = Results("small-budgets", {"replicas": replicas, "rounds": rounds, "seed": seed})
    log(f"court assistance, tau = {TOLERANCE:g}: rides and vouchers limited to T B each, T = {rounds}")
    log(f"{replicas} replicas, seed {seed}; gained: share of what the best static policy gains over giving nothing\n")
    found: Found = {name: {} for name in recipes()}
    run = partial(simulate, replicas=replicas, seed=seed, jobs=jobs, progress=progress)
    with deferred_interrupt() as asked:  # Ctrl-C may also come between two runs
        for e in tqdm(exponents, unit="budget", leave=False, disable=bar_disabled(progress)):
            results.interrupted = not _measure(e, rounds, found, results, run, asked)
            if out is not None:
                results.write(out)
            if results.interrupted:
                log("interrupted: the numbers below are complete, others are missing")
                break
    log(_table(found, exponents, rounds))
    if not results.interrupted:
        log("\n" + _limits(found, rounds))
    if out is not None:
        picture(found, rounds, out / "small-budgets.png")
    return results


def total(exponent: float, rounds: int) -> float:
    """The budget T B = T^exponent, or T / 2 where that is less."""
    return min(math.pow(rounds, exponent), 0.5 * rounds)


def _measure(
    exponent: float,
    rounds: int,
    found: Found,
    results: Results,
    run: Callable[[Policy, Court], Trace],
    asked: Callable[[], bool],
) -> bool:
    """Run every policy at one budget; whether all were finished."""
    budget = total(exponent, rounds)
    court = Court(tolerance=TOLERANCE, horizon=rounds, ride=budget / rounds, voucher=budget / rounds)
    best = opt(court, repeats=4, progress=False).value
    nothing = float(draw(court, 10_000, seed=10**6).outcomes[:, 0].mean())
    for name, recipe in recipes().items():
        try:
            policy = recipe(court.problem)
        except InvalidInput as error:
            if not error.field.startswith("explore"):
                raise
            found[name][exponent] = None  # the budget is too small for its phases
            continue
        trace = None if asked() else run(policy, court)
        if trace is None or not trace.finished:
            return False
        gained = (trace.objective()[-1] - nothing) / (best - nothing)
        spent = np.max([trace.total(b.outcome) / budget for b in of_one_outcome(court.problem.spending)], 0)
        overspent = np.maximum(spent - 1.0, 0.0)
        found[name][exponent] = Outcomes(gained, overspent)
        at = {"total": budget}
        results.rows.append(Row.of(name, at, "gained", gained, worst="low"))
        results.rows.append(Row.of(name, at, "overspent", overspent, worst="high"))
    return True


def _table(found: Found, exponents: tuple[float, ...], rounds: int) -> str:
    """Mean share gained, and in brackets what the worst replica overspent where it did."""
    lines = []
    for name, there in found.items():
        cells = [name]
        for e in exponents:
            o = there.get(e)
            if o is None:
                cells.append("refused" if e in there else "")
                continue
            over = f" (+{o.overspent.max():.0%})" if o.overspent.max() >= 0.005 else ""
            cells.append(number(float(o.gained.mean()), 3) + over)
        lines.append(cells)
    return table(["T B =", *(f"{total(e, rounds):.0f}" for e in exponents)], lines)


def _limits(found: Found, rounds: int) -> str:
    """Down to which budget each policy gains enough and overspends next to nothing, at every larger one as well."""
    enough, most = WORKS
    lines = []
    for name, there in found.items():
        smallest = None
        for e in sorted(there, reverse=True):
            o = there[e]
            if o is None or o.gained.mean() < enough or o.overspent.max() > most:
                break
            smallest = total(e, rounds)
        lines.append([name, "nowhere" if smallest is None else f"{smallest:.0f}"])
    head = ["", f"gains {enough:.0%} and overspends at most {most:.0%}, down to T B ="]
    return table(head, lines)


def picture(found: Found, rounds: int, path: Path) -> Path | None:
    """Gained and overspent along the budget."""
    from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

    panels: dict[str, list[Curve]] = {"share of the possible gain": [], "overspent, share of the budget": []}
    for name, there in found.items():
        run = {e: o for e, o in there.items() if o is not None}
        if run:
            at = [total(e, rounds) for e in run]
            for title, field in zip(panels, Outcomes._fields, strict=True):
                values = np.stack([getattr(o, field) for o in run.values()])
                panels[title].append(Curve(name, at, values, LOOKS[name]))
    if not any(panels.values()):
        return None
    axes = over_sweep(panels, "total of each budget", "")
    for a in axes:
        a.set_xscale("log")
    axes[0].set_ylim(-0.1, 1.1)
    return save(axes, path)
