"""The main job in one go: scarce help shared among people of two groups, by several policies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from evenhand.environments import Court
from evenhand.experiments.court import MEASURES, METRICS, fairness, model, penalised
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import pgd, pgd_adaptive, resolving, uniform
from evenhand.report.results import Results, Row, prepare
from evenhand.run.optimum import opt
from evenhand.run.simulation import simulate
from evenhand.run.summary import number, standard_error, table
from evenhand.run.trace import Trace

TOLERANCE = 0.01


def policies(problem: Problem) -> list[Policy]:
    """Blind sharing, the published policies, one of them kept from overspending, and our own."""
    return [
        uniform(problem, n_features=5),
        pgd(problem, model(), step=0.02),
        pgd_adaptive(problem, model()),
        pgd_adaptive(problem, model(), hard=True),
        resolving(problem, penalised()),
    ]


def demo(
    *,
    replicas: int = 20,
    seed: int = 0,
    jobs: int = 1,
    out: Path | None = None,
    progress: bool | None = None,
    log: Callable[[str], None] = print,
) -> Results:
    """Share 500 rides and 2,000 vouchers among 10,000 people, learning who benefits; print a table, draw a picture."""
    if out is not None:
        prepare(out)
    court = Court(tolerance=TOLERANCE)
    log(
        "10,000 people must reach a court. There are 500 rides and 2,000 vouchers, and nobody knows whom they help.\n"
        f"Two groups are to get the same within {TOLERANCE:g} per person. {replicas} replicas, seed {seed}.\n"
    )
    best = opt(court, repeats=4, progress=progress)
    results = Results("demo", {"replicas": replicas, "seed": seed, "tolerance": TOLERANCE})
    traces = []
    for policy in policies(court.problem):
        trace = simulate(policy, court, replicas=replicas, seed=seed, jobs=jobs, progress=progress)
        if not trace.finished:
            results.interrupted = True
            log("interrupted: policies that had not finished are missing")
            break
        traces.append(trace)
        for metric in METRICS:
            values = MEASURES[metric](trace)[-1]
            results.rows.append(Row.of(trace.policy, {}, metric, values, worst="low" if metric == "reward" else "high"))
    results.rows.append(Row("OPT", {}, "reward", best.value, best.se, None, None))
    if traces:
        log(_table(traces, best.value))
    log(f"\nOPT, the best policy that knows everybody's chances: {best.value:.4f} (standard error {best.se:.4f}).")
    if traces:
        log("worst: the replica that fared worst. overspent: replicas that exceeded a budget.")
    if out is not None:
        results.write(out)
        if traces:
            from evenhand.experiments.court import picture  # matplotlib only when asked for

            log(f"picture: {picture(traces, best.value, None, out / 'court.png')}")
    return results


def _table(traces: list[Trace], best: float) -> str:
    head = [
        "policy",
        "appear",
        "se",
        "worst",
        "rides",
        "worst",
        "vouchers",
        "worst",
        "overspent",
        "unfairness",
        "to OPT",
    ]
    rows = []
    for t in traces:
        reward, ride, voucher = t.objective()[-1], t.total("ride"), t.total("voucher")
        spent = np.array([b.total_over(t.problem.horizon) for b in t.problem.spending])
        over = ((ride > spent[0] + 1e-6) | (voucher > spent[1] + 1e-6)).sum()
        se = standard_error(reward)
        rows.append(
            [t.policy, number(float(reward.mean())), number(se), number(float(reward.min()))]
            + [f"{z:.0f}" for z in (ride.mean(), ride.max(), voucher.mean(), voucher.max())]
            + [f"{over} of {len(reward)}", number(float(fairness(t)[-1].mean())), number(best - float(reward.mean()))]
        )
    return table(head, rows)
