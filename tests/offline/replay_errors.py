"""How far values and replays are from the truth: `python -m tests.offline.replay_errors LOGS [ROWS] [KIND]`.

Every log is drawn anew from one world, whose propensities are at least .1 and depend on the case. Errors are those
between logs: the orders of one log share its rows, so that their spread is no error of their mean. A fixed policy is
valued and replayed; beside them stand the targeted policy within a budget and a policy that learns within it. KIND is
`all`, `fixed` (without these two), or `sure` (as `fixed`, of outcomes that models can explain).
"""

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.environments import Logged
from evenhand.environments.logged import blocks
from evenhand.models import Ridge
from evenhand.offline.curve_policies import planned
from evenhand.offline.estimators.snips import normalised
from evenhand.offline.outcome_models import members_of
from evenhand.offline.plans.fold_plans import Crossed, best
from evenhand.offline.scores import Average, Estimate, Z, weights
from evenhand.problem import Budget
from evenhand.recipes import pgd
from evenhand.replay import Run
from evenhand.replay.execution import ORDERS, Runs
from evenhand.replay.measures import Measure
from evenhand.run import simulate
from tests.offline.coverage import policy_of
from tests.offline.curve_coverage import BUDGET, FOLDS, truth
from tests.offline.logs import draw, problem
from tests.tables import decimal, head, row

RUNS = Runs(replicas=8, bootstrap=20)
LEAST = 0.1  # of the propensities
WORLD = 77  # the seed of the population


class Said(NamedTuple):
    """What one log says."""

    value: float
    se: float  # for the population
    se_log: float  # for the mean over all orders of the log
    truth: float


def stated(rows):
    """A problem whose horizon the log lasts for in all but one of some thousand runs."""
    horizon = int(LEAST * rows - 3.0 * np.sqrt(LEAST * rows))
    return problem(horizon=horizon, subject_to=(Budget("cents", rate=BUDGET),), groups=())


def digest(runs, rows):
    """What a replay says of numbers of its runs, `(R)->`."""
    found = Run(trace=None, rows=rows, shuffles=RUNS.replicas, orders=ORDERS).digest(Measure("sale", runs))
    return found.mean, found.se, found.se_log


def replayed(rng, log, policy):
    """Replay a fixed policy, `(N,A)->(R)`: rows that agree are kept with the least propensity over their own."""
    rows, agree = log.rows, policy[np.arange(log.rows), log.actions] * log.propensities.min() / log.propensities
    found = np.empty(RUNS.count)
    for run in range(RUNS.count):
        resampled = run >= RUNS.replicas
        if resampled and (run - RUNS.replicas) % ORDERS == 0:
            again = rng.integers(0, rows, rows)
        read = rng.permutation(again if resampled else rows)
        kept = read[rng.random(rows) < agree[read]][: log.problem.horizon]
        found[run] = log.outcomes[kept, 0].mean()
    return found


def learned(log, seed):
    """Replay a policy that learns, within the budget."""
    p = log.problem
    world = Logged(
        problem=p,
        units=log.features,
        layout=blocks(len(p.actions), log.features.shape[1]),
        actions=log.actions,
        propensities=log.propensities,
        outcomes=log.outcomes,
        groups=np.zeros((log.rows, 0), np.int64),
        shuffles=RUNS.replicas,
        orders=ORDERS,
    )
    policy = pgd(p, Ridge(n_features=world.n_features, n_outcomes=1), hard=True)
    trace = simulate(policy, world, replicas=RUNS.count, seed=seed, progress=False)
    runs = Run(trace=trace, rows=log.rows, shuffles=RUNS.replicas, orders=ORDERS)
    return digest(runs.objective(), log.rows)


def said(seed, rows, population, *, learns=True, sure=False):
    """What one log says of the fixed policy, of the targeted one and of the one that learns.

    Where outcomes are `sure`, they are the means of cases and actions, and a model can explain most of them.
    """
    log, means = draw(rows, 1000 + seed, skewed=True, stated=stated(rows))
    if sure:
        log = replace(log, outcomes=means[np.arange(rows), log.actions][:, None])
    crossed, policy, rng = Crossed(log, FOLDS, seed), policy_of(means), np.random.default_rng(seed)
    fixed = float((policy_of(population.means) * population.means).sum(1).mean())
    scored = (policy * crossed.tables["sale"].scores).sum(1)
    one, runs = Average.of(scored).estimate, replayed(rng, log, policy)
    most = normalised(weights(policy, log.actions, log.propensities), log.outcomes[:, 0]).estimate
    found = {
        "fixed, value": Said(*one.pair, one.se, fixed),
        "fixed, SNIPS": Said(*most.pair, most.se, fixed),
        "fixed, 8 shuffles": Said(*digest(runs, rows), fixed),
        "fixed, 1 shuffle": Said(float(runs[0]), np.nan, np.nan, fixed),
    }
    if learns:
        (at,) = planned(crossed, best([BUDGET]), "cents")
        plan = Estimate.of(at.psi, at.value, at.moves)
        own = truth(
            log, members_of(np.arange(rows), FOLDS, seed), population.evidence.features[:, 1:], population.means
        )
        found["targeted, value"] = Said(*plan.pair, plan.se, own)
        found["learns, 8 shuffles"] = Said(*learned(log, seed), np.nan)
    return found


def measured(logs, rows, *, learns=True, sure=False):
    """By estimator, what logs say, `->(logs,4)` each; the truth of what learns is the mean over logs."""
    population = draw(400_000, WORLD, skewed=True)
    each = [said(seed, rows, population, learns=learns, sure=sure) for seed in range(logs)]
    found = {name: np.array([one[name] for one in each]) for name in each[0]}
    for numbers in found.values():
        numbers[:, 3] = np.where(np.isnan(numbers[:, 3]), numbers[:, 0].mean(), numbers[:, 3])
    return found


def told(numbers):
    """The bias, the real error, the stated ones over it, and how often intervals by these hold the truth."""
    off = numbers[:, 0] - numbers[:, 3]
    real = float(off.std(ddof=1))
    shares = [float((np.abs(off) <= Z * numbers[:, k]).mean()) for k in (1, 2)]
    return (float(off.mean()), real, *(float(np.sqrt((numbers[:, k] ** 2).mean())) / real for k in (1, 2)), *shares)


def main(logs, rows, kind):
    print(f"ratios are known to {1 / np.sqrt(2 * logs):.0%}\n")
    parts = ("bias", "error between logs", "`se` / error", "intervals hold", "`se log` / error", "intervals hold")
    head(f"{logs} logs of {rows:,} rows", *parts)
    for name, numbers in measured(logs, rows, learns=kind == "all", sure=kind == "sure").items():
        bias, real, se, log, *shares = told(numbers)
        held, log_held = (f"{share:.0%}" for share in shares)
        stated = (f"{se:.2f}", held, f"{log:.2f}", log_held) if np.isfinite(se) else ("", "", "", "")
        row(name, decimal(bias, 4), decimal(real, 4), *stated)


if __name__ == "__main__":
    given = (*sys.argv[1:], *("100", "20000", "all")[len(sys.argv) - 1 :])
    main(int(given[0]), int(given[1]), given[2])
