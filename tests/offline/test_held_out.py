"""Fair plans on rows that they have not seen: their gap between groups stays within the tolerance and its error."""

import os
from pathlib import Path

import numpy as np
import pytest

from evenhand.offline import Evidence, FairFrontier, RidgeByErrors
from tests.offline.folds import folds_of

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
LOG, PROBLEM = DATA / "hillstrom.csv", ROOT / "examples" / "email.toml"
FOLDS, TOLERANCE = 10, 0.02


def predictions(evidence, seen):
    """What the models of some rows predict of all rows, `->(N,A)`."""
    x, y = evidence.features, evidence.outcomes[:, 0]
    models = [RidgeByErrors().fit(x[m], y[m]) for m in (seen & (evidence.actions == a) for a in evidence.playable)]
    return np.stack([model.predict(x) for model in models], 1)


def excess(used, groups):
    """By how many standard errors the largest gap between a group and all exceeds the tolerance, `(N),(N)->`."""
    found = []
    for g in np.unique(groups):
        mine = groups == g
        gap = used[mine].mean() - used.mean()
        influence = mine / mine.mean() * (used - used[mine].mean()) - (used - used.mean())
        found.append((abs(gap) - TOLERANCE) / (influence.std() / np.sqrt(len(used))))
    return max(found)


def held_out(evidence, budget, tolerance):
    """Plan prices by the rows outside of each fold, and play them in the fold, both by the model of these rows."""
    cost, groups = evidence.problem.declared[None, :, 0], evidence.groups["zip_code"]
    fold = folds_of(evidence.rows, FOLDS, seed=0)
    for k in range(FOLDS):
        seen, out = fold != k, fold == k
        worth = predictions(evidence, seen)
        fair = FairFrontier.of(worth[seen], cost, groups[seen])
        budgets = fair.split(budget, tolerance).budgets
        prices = np.array([f.beyond(b).price for f, b in zip(fair.frontiers, budgets, strict=True)])
        chosen = (worth[out] - prices[groups[out], None] * cost).argmax(1)
        yield excess(cost[0, chosen], groups[out])


@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
def test_gaps_of_the_e_mails_keep_to_the_tolerance_in_ten_of_ten_folds():
    """It binds in all of them: a plan that is not even exceeds it in all."""
    evidence = Evidence.read(LOG, PROBLEM)
    even, free = (list(held_out(evidence, 0.3, tolerance)) for tolerance in (TOLERANCE, 9.0))
    assert max(even) < 2.0  # 1.76 was found
    assert min(free) > 2.0
