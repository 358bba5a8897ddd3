"""Bootstraps of curves and values: rows are drawn again, and nothing is fitted again that the errors hold fixed.

`python -m tests.offline.bootstraps 4000` prints standard errors of the influence function over those of bootstraps.
Predictions, scores and, for values, policies stay as they are; what a budget buys is found anew in every resample.
A resample is a row of counts: what it buys follows from sums in the one order of prices, so that batches are matrices.
"""

import sys

import numpy as np

from evenhand.offline import Frontier
from evenhand.offline.curve_policies import cheapest_of, planned, single
from evenhand.offline.plans.fold_plans import Crossed, Fold, best, even
from evenhand.offline.scores import Estimate
from tests.offline.logs import draw

BATCH = 250


def resampled(rows, times, seed=0):
    """Yield how often every row is drawn, `(BATCH,N)` at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, times, BATCH):
        yield rng.multinomial(rows, np.full(rows, 1.0 / rows), min(BATCH, times - start)).astype(float)


def targeted_again(crossed, budgets, counts):
    """The value of the targeted policy in resamples, `(K,N)->(K,B)`: thresholds of folds are found anew."""
    worth, cost = crossed.evidence.worth(crossed.tables), crossed.tables["cents"].predicted
    found = np.zeros((len(counts), len(budgets)))
    for rows in crossed.rows.members:
        frontier = Frontier.of(worth.predicted[rows], cost)
        found += _fold_again(frontier, worth.scores[rows], cost, budgets, counts[:, rows])
    return found / counts.shape[1]


def _fold_again(frontier, scores, cost, budgets, counts):
    """What all rows of a fold bring together."""
    rows = np.arange(len(frontier.start))
    gain, more = np.empty(len(frontier.row)), np.empty(len(frontier.row))
    before = frontier.start.copy()
    for s, (i, a) in enumerate(zip(frontier.row, frontier.action, strict=True)):
        gain[s] = scores[i, a] - scores[i, before[i]]
        more[s] = cost[0, a] - cost[0, before[i]]
        before[i] = a
    useful = frontier.useful
    times = counts[:, frontier.row[:useful]]
    spent = (counts @ cost[0, frontier.start])[:, None] + np.cumsum(times * more[:useful], 1)
    value = (counts @ scores[rows, frontier.start])[:, None] + np.cumsum(times * gain[:useful], 1)
    found = np.empty((len(counts), len(budgets)))
    start = np.stack([counts @ cost[0, frontier.start], counts @ scores[rows, frontier.start]])
    for k in range(len(counts)):
        at = np.concatenate([[start[0, k]], spent[k]])
        kept = np.concatenate([[True], np.diff(at) > 0.0])
        worth = np.concatenate([[start[1, k]], value[k]])[kept]
        found[k] = np.interp(np.array(budgets) * counts[k].sum(), at[kept], worth)
    return found


def single_again(action, frontier, worth, cost, budgets, counts):
    """The value of one action for rows drawn at random, in resamples, `(K,N)->(K,B)`."""
    n, rows = len(frontier.start), np.arange(len(frontier.start))
    base = counts @ worth.scores[rows, frontier.start] / n
    gain = counts @ worth.scores[:, action] / n - base
    least = counts @ cost[0, frontier.start] / n
    step = cost[0, action] - least
    share = np.clip((np.array(budgets)[None, :] - least[:, None]) / step[:, None], 0.0, 1.0)
    return base[:, None] + share * gain[:, None]


def measured(times, rows=4000, seed=5, budgets=(0.1, 0.2, 0.4, 0.6, 0.8)):
    """Standard errors of the influence function over those of bootstraps, by line and budget."""
    crossed = Crossed(draw(rows, seed).evidence, 5, 0)
    worth, use = crossed.evidence.worth(crossed.tables), crossed.tables["cents"]
    frontier = Frontier.of(worth.predicted, use.predicted)
    lines = {"targeted": list(planned(crossed, best(budgets), "cents"))}
    again = {"targeted": [], "only small": [], "only large": []}
    start = cheapest_of(crossed.dealt, crossed.cost_dealt("cents"))
    for action, name in ((1, "only small"), (2, "only large")):
        lines[name] = list(single(action, start, crossed.dealt, budgets, crossed.cost_dealt("cents")))
    for counts in resampled(rows, times):
        again["targeted"].append(targeted_again(crossed, budgets, counts))
        again["only small"].append(single_again(1, frontier, worth, use.predicted, budgets, counts))
        again["only large"].append(single_again(2, frontier, worth, use.predicted, budgets, counts))
    again, ratios = {name: np.concatenate(z) for name, z in again.items()}, {}
    for name, ats in lines.items():
        ratios[name] = np.array([Estimate.of(at.psi, 0.0).se for at in ats]) / again[name].std(0, ddof=1)
        if name != "targeted":
            pairs = zip(lines["targeted"], ats, strict=True)
            less = np.array([Estimate.of(one.psi - at.psi, 0.0).se for one, at in pairs])
            ratios[f"beyond {name}"] = less / (again["targeted"] - again[name]).std(0, ddof=1)
    return ratios


def fair_measured(times, rows=4000, seed=5, budget=0.5, tolerance=0.05):
    """As `measured`, of a fair line at one budget, whose groups are divided anew in every resample."""
    crossed = Crossed(draw(rows, seed).evidence, 5, 0)
    values, groups, cost = [], crossed.evidence.groups["area"], crossed.tables["cents"].predicted
    plan = even((budget,), groups, tolerance)
    for counts in resampled(rows, times, seed=1):
        for k in counts.astype(int):
            brought = 0.0
            for fold in crossed.rows.members:
                i = np.repeat(fold, k[fold])
                aim = crossed.aim.part(i)
                brought += next(plan(Fold(aim, cost, {}, i))).of(aim.tables[0].scores).sum()
            values.append(brought / rows)
    (at,) = planned(crossed, plan, "cents")
    return Estimate.of(at.psi, 0.0).se / np.std(values, ddof=1)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    for name, ratio in measured(count).items():
        print(f"{name:>18}  " + "  ".join(f"{r:.3f}" for r in ratio))
    print(f"{'fair, .05':>18}  {fair_measured(count):.3f}")
