"""How often 95 % intervals cover the true value of a policy: `python -m tests.offline.coverage LOGS`.

The policy is given: nine times of ten what is best by the true means and the price .1, else any action. Logs have 5,000
rows and propensities of at least .1, which depend on the case.
"""

import sys

import numpy as np

from evenhand.offline import cross_fit
from evenhand.offline.outcome_models import folds_of
from evenhand.offline.scores import direct, doubly_robust, inverse, scores, self_normalised, weights
from tests.offline.logs import COSTS, draw

ROWS = 5000


def policy_of(means):
    return 0.9 * np.eye(3)[(means - 0.1 * COSTS).argmax(1)] + 0.1 / 3


def measured(logs):
    """The share of logs whose interval covers the truth, by estimator, and the bias of the model alone."""
    means = draw(1_000_000, 77).means
    truth = float((policy_of(means) * means).sum(1).mean())
    covered, off = {"doubly robust": 0, "IPS": 0, "SNIPS": 0}, []
    for seed in range(logs):
        log, means = draw(ROWS, 1000 + seed, skewed=True)
        policy, y = policy_of(means), log.outcomes[:, 0]
        q = cross_fit(log.features, log.actions, y, 3, fold=folds_of(ROWS, 5, seed))
        w = weights(policy, log.actions, log.propensities)
        scored = scores(q, log.actions, log.propensities, y)
        found = {"doubly robust": doubly_robust(policy, scored), "IPS": inverse(w, y), "SNIPS": self_normalised(w, y)}
        for name, estimate in found.items():
            covered[name] += estimate.interval[0] <= truth <= estimate.interval[1]
        off.append(direct(policy, q) - truth)
    shares = {name: count / logs for name, count in covered.items()}
    return shares | {"bias of the model": float(np.mean(off)), "its error": float(np.std(off) / np.sqrt(logs))}


if __name__ == "__main__":
    for what, number in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 2000).items():
        print(f"{what:>18}  {number:.4f}")
