"""How often a whole curve is within its band: `python -m tests.offline.bands_coverage LOGS`.

Predictions are those of one model of another log, so that the true curve of each log is the same.
"""

import sys

import numpy as np

from evenhand.offline import Frontier
from evenhand.offline.evidence import Tables
from evenhand.offline.outcome_models import RidgeByErrors, predicted
from evenhand.offline.plans.fold_plans import Fold, best
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.scores import Estimate, Z, blocks, reach, scores
from tests.offline.logs import COSTS, draw

ROWS, BUDGETS = 5000, np.linspace(0.05, 0.9, 12)


def covered(logs):
    """The share of logs whose whole curve is within the band, and within 1.96 standard errors."""
    first = draw(ROWS, 4, skewed=True).evidence

    def model(features):
        each = []
        for a in range(3):
            mine = first.actions == a
            each.append(predicted(RidgeByErrors, first.features[mine], first.outcomes[mine, 0], features))
        return np.stack(each, 1)

    many, means = draw(1_000_000, 78)
    frontier, truth = Frontier.of(model(many.features), COSTS[None]), []
    for point in frontier.along(BUDGETS):
        truth.append(float(point.of(means).mean()))
    together = alone = 0
    for seed in range(logs):
        log = draw(ROWS, 5000 + seed, skewed=True).evidence
        q = model(log.features)
        aim = Aim.summed(Tables(q, scores(q, log.actions, log.propensities, log.outcomes[:, 0])))
        plans = best(BUDGETS)(Fold(aim, COSTS[None], {}, np.arange(ROWS)))
        ats = [aim.at(plan, Tables(COSTS[None], COSTS[None])) for plan in plans]
        off = [abs(at.value - v) / Estimate.of(at.psi, at.value).se for at, v in zip(ats, truth, strict=True)]
        together += max(off) <= reach([blocks(at.psi, np.arange(ROWS)) for at in ats], seed, 0)
        alone += max(off) <= Z
    return together / logs, alone / logs


if __name__ == "__main__":
    together, alone = covered(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    print(f"whole curves within their band {together:.4f}, within 1.96 standard errors {alone:.4f}")
