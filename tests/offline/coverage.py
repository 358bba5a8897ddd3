"""How often 95 % intervals cover the true value of a policy: `python -m tests.offline.coverage LOGS`.

The policy is given: nine times of ten what is best by the true means and the price .1, else any action. Logs have 5,000
rows and propensities of at least .1, which depend on the case.
"""

import sys

import numpy as np

from evenhand.offline.estimators import IPS, SNDR, SNIPS, DirectMethod, DoublyRobust
from evenhand.offline.estimators.base import Sample
from tests.offline.folds import cross_fit, folds_of
from tests.offline.logs import COSTS, draw

ROWS = 5000
ESTIMATORS = {"doubly robust": DoublyRobust(), "IPS": IPS(), "SNIPS": SNIPS(), "SNDR": SNDR()}


def policy_of(means):
    return 0.9 * np.eye(3)[(means - 0.1 * COSTS).argmax(1)] + 0.1 / 3


def measured(logs):
    """The share of logs whose interval covers the truth, by estimator, and the bias of the model alone."""
    means = draw(1_000_000, 77).means
    truth = float((policy_of(means) * means).sum(1).mean())
    covered, off = dict.fromkeys(ESTIMATORS, 0), []
    for seed in range(logs):
        log, means = draw(ROWS, 1000 + seed, skewed=True)
        policy, y = policy_of(means), log.outcomes[:, 0]
        q = cross_fit(log.features, log.actions, y, 3, fold=folds_of(ROWS, 5, seed))
        sample = Sample.of(policy, log.actions, log.propensities, y, q)
        for name, one in ESTIMATORS.items():
            low, high = one.average(sample).estimate.interval
            covered[name] += low <= truth <= high
        off.append(DirectMethod().average(sample).value - truth)
    shares = {name: count / logs for name, count in covered.items()}
    return shares | {"bias of the model": float(np.mean(off)), "its error": float(np.std(off) / np.sqrt(logs))}


if __name__ == "__main__":
    for what, number in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 2000).items():
        print(f"{what:>18}  {number:.4f}")
