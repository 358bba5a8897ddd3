"""How often 95 % intervals of a curve hold its plan's value: `python -m tests.offline.curve_coverage LOGS [ROWS]`.

The whole procedure is run in every log: models are fitted, folds are planned and valued. The truth is what the plans of
all folds are worth in a population of 20,000 cases, by the models of each fold. Effects are as different between cases
as `spread` says: without it no plan is better than another, which is where errors of folds have most in common.
"""

import sys
from dataclasses import replace

import numpy as np

from evenhand.offline import Evidence, Frontier, curve
from evenhand.offline.curve_policies import cheapest_of, planned, single
from evenhand.offline.outcome_models import RidgeByErrors, members_of
from evenhand.offline.plans.fold_plans import Crossed, best
from evenhand.offline.scores import Estimate, Z
from evenhand.offline.uplift import RATES, Ranking
from evenhand.problem import Outcome
from tests.offline.logs import COSTS, problem

POPULATION, BUDGET, FOLDS = 20_000, 0.5, 5
TWO = (Outcome("sale"), Outcome("cents", known={"small": 1.0}))
PROBLEMS = {2: problem(actions=("none", "small"), outcomes=TWO), 3: problem()}


def means(traits, actions, spread, slope):
    """Mean outcomes of two or three actions, which all rise with a trait by a slope, `(N,3)->(N,A)`."""
    base, bent = 0.2 + slope * traits[:, 1], spread * np.tanh(traits)
    return np.stack([base, base + 0.1 + bent[:, 0], base + 0.15 - bent[:, 2]], 1)[:, :actions].clip(0.0, 1.0)


def shares(rng, mean):
    """Outcomes of 0 or 1."""
    return (rng.random(len(mean)) < mean).astype(float)


def drawn(rng, rows, actions, spread, slope, scale=1.0, amounts=shares):
    """A log whose actions are equally likely; means are multiplied by a scale."""
    traits, played = rng.standard_normal((rows, 3)), rng.integers(0, actions, rows)
    y = amounts(rng, scale * means(traits, actions, spread, slope)[np.arange(rows), played])
    sale = Outcome("sale", high=max(1.0, float(y.max())))
    stated = replace(PROBLEMS[actions], outcomes=(sale, *PROBLEMS[actions].outcomes[1:]))
    return Evidence(
        log="drawn",
        problem_file="drawn.toml",
        problem=stated,
        features=np.column_stack([np.ones(rows), traits]),
        columns={},
        actions=played,
        propensities=np.full(rows, 1.0 / actions),
        outcomes=y[:, None],
        known=stated.declared[None],
        groups={"area": np.zeros(rows, np.int64)},
    )


def truth(log, members, traits, worth, budget=BUDGET):
    """What the plans for folds are worth in a population, by the rows of each, `(N',n),(N',A)->`."""
    each = predictions(log, members, traits, worth.shape[1])
    plans = [(part, Frontier.of(q, COSTS[None, : worth.shape[1]]).at(budget)) for part, q in each]
    return sum(part * plan.of(worth).mean() for part, plan in plans)


def predictions(log, members, traits, actions):
    """The share of each fold in the rows, and what its models predict in a population, `(N',n)->(N',A)`."""
    cases, (low, most) = np.column_stack([np.ones(len(traits)), traits]), log.problem.span[:, 0]
    for mine in members:
        q, others = [], np.setdiff1d(np.arange(log.rows), mine)
        for a in range(actions):
            seen = others[log.actions[others] == a]
            q.append(RidgeByErrors().fit(log.features[seen], log.outcomes[seen, 0]).predict(cases))
        yield len(mine) / log.rows, np.clip(np.stack(q, 1), low, most)


def errors(logs, rows=2000, actions=2, spread=0.0, slope=0.05):
    """By log, errors in standard errors: of the value, of the difference to one action, and both without moves."""
    found = []
    for seed in range(logs):
        rng = np.random.default_rng(seed)
        log, traits = drawn(rng, rows, actions, spread, slope), rng.standard_normal((POPULATION, 3))
        worth, crossed = means(traits, actions, spread, slope), Crossed(log, FOLDS, seed)
        (one,) = planned(crossed, best([BUDGET]), "cents")
        start = cheapest_of(crossed.dealt, crossed.cost_dealt("cents"))
        (other,) = single(1, start, crossed.dealt, [BUDGET], crossed.cost_dealt("cents"))
        real = truth(log, members_of(np.arange(rows), FOLDS, seed), traits, worth)
        less = one.value - other.value - real + worth[:, 0].mean() * (1.0 - BUDGET) + worth[:, 1].mean() * BUDGET
        psi = one.psi - other.psi
        both = [(one.value - real) / Estimate.of(one.psi, 0.0, moves).se for moves in (one.moves, np.zeros(()))] + [
            less / Estimate.of(psi, 0.0, moves).se for moves in (one.moves, np.zeros(()))
        ]
        found.append([both[0], both[2], both[1], both[3]])
    return np.array(found)


def measures(logs, rows=2000, actions=2, spread=0.0, slope=0.05):
    """By log, errors in standard errors: of the Qini beyond one action, AUTOC and the Qini weighting."""
    found, budgets, cost = [], np.linspace(0.0, 1.0, 9), COSTS[None, :actions]
    parts = np.array([0.5, *[1.0] * 7, 0.5]) / 8.0
    for seed in range(logs):
        rng = np.random.default_rng(seed)
        log, traits = drawn(rng, rows, actions, spread, slope), rng.standard_normal((POPULATION, 3))
        worth, real = means(traits, actions, spread, slope), np.zeros(3)
        for part, q in predictions(log, members_of(np.arange(rows), FOLDS, seed), traits, actions):
            values = [plan.of(worth).mean() for plan in Frontier.of(q, cost).along(budgets)]
            ranking = Ranking.of(q, cost)
            terms = ranking.rates(ranking.gains(worth))[0].mean(1)
            real += part * np.array([parts @ values - worth[:, :2].mean(), *terms])
        each = curve(log, budgets=budgets, folds=FOLDS, seed=seed).measures.each
        own = [next(z.value for z in each if z.name == name) for name in ("Qini beyond only small", *RATES)]
        found.append([(z.value - v) / z.se for z, v in zip(own, real, strict=True)])
    return np.array(found)


if __name__ == "__main__":
    count, rows = (int(z) for z in (*sys.argv[1:], *("1000", "2000")[len(sys.argv) - 1 :]))
    for actions in (2, 3):
        for spread in (0.0, 0.1, 0.3):
            t = errors(count, rows, actions, spread)
            missed = "  ".join(f"{z:.3f}" for z in (np.abs(t) > Z).mean(0))
            width = np.median(t[:, 3] / t[:, 1])
            what = f"{rows} rows, {actions} actions, spread {spread}"
            print(f"{what}: outside {missed}; wider by {width:.2f}", flush=True)
