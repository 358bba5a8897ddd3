"""How often 95 % intervals cover what a planned policy uses, where that is learned: `python -m ... LOGS`.

The policy is the targeted one of `value`, planned from each log: its true use is that of its models and its price in a
population of 4,096 cases of a Sobol sequence, whose means are nearer to the truth than those of 20,000 random ones.
Logs have 1,000 rows; the models are linear, and what actions use is not.
"""

import sys
from dataclasses import replace

import numpy as np
from scipy.stats.qmc import MultivariateNormalQMC

from evenhand.offline import Frontier, value
from evenhand.problem import Budget, Outcome
from tests.offline.folds import cross_fit, folds_of
from tests.offline.logs import draw, problem

ROWS, RATE, POPULATION = 1000, 0.3, 4096
STATED = problem(outcomes=(Outcome("sale"), Outcome("call")), subject_to=(Budget("call", rate=RATE),))


def calls(traits):
    """The chance that a case calls after each action, `(N,4)->(N,3)`."""
    bend = np.abs(traits[:, 1]) + 0.5 * traits[:, 0] * traits[:, 2]
    return 1.0 / (1.0 + np.exp(-(np.array([-3.0, -0.6, 0.4]) + bend[:, None] * np.array([0.2, 0.8, -0.8]))))


def drawn(rows, seed):
    """A log in which every action may be followed by a call, which the budget limits."""
    log = draw(rows, seed, skewed=True, stated=STATED).evidence
    chance = calls(log.features[:, 1:])[np.arange(rows), log.actions]
    called = (np.random.default_rng(seed + 7).random(rows) < chance).astype(float)
    return replace(log, outcomes=np.column_stack([log.outcomes[:, 0], called]), known=np.zeros((1, 3, 0)))


def truth(log, traits, seed):
    """What the policy that `value` plans would use among other cases, by the models of each fold."""
    cases, folds = np.column_stack([np.ones(len(traits)), traits]), 5
    fold = np.concatenate([folds_of(log.rows, folds, seed), np.repeat(np.arange(folds), len(cases))])
    x = np.concatenate([log.features, *([cases] * folds)])
    actions = np.concatenate([log.actions, np.full(folds * len(cases), -1)])  # which no model learns from
    y = np.concatenate([log.outcomes, np.zeros((folds * len(cases), 2))])
    sale, call = (np.clip(cross_fit(x, actions, y[:, m], 3, fold=fold), 0.0, 1.0) for m in range(2))
    chosen = []
    for k, (own, use) in enumerate(
        zip(*(z[log.rows :].reshape(folds, len(cases), 3) for z in (sale, call)), strict=True)
    ):
        rows = np.flatnonzero(fold[: log.rows] == k)
        chosen.append((own - Frontier.of(sale[rows], call[rows]).at(RATE).price * use).argmax(1))
    return float(np.take_along_axis(calls(traits), np.array(chosen).T, 1).mean())


def measured(logs, first=0):
    """The share of logs whose interval of the use covers it, the mean confidence, and the share within the budget."""
    traits = MultivariateNormalQMC(np.zeros(4), seed=99).random(POPULATION)
    found = []
    for seed in range(first, first + logs):
        log = drawn(ROWS, 5000 + seed)
        policy = value(log, seed=seed).policies[-1]
        used, real = policy.used["call"], truth(log, traits, seed)
        found.append([used.interval[0] <= real <= used.interval[1], policy.kept[0].confidence, real <= RATE])
    return dict(zip(("covered", "confidence", "within the budget"), np.mean(found, 0).tolist(), strict=True))


if __name__ == "__main__":
    for what, number in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 2000).items():
        print(f"{what:>18}  {number:.4f}")
