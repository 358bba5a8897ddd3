"""Bootstraps of curves and values: rows are drawn again, and nothing is fitted again that the errors hold fixed.

`python -m tests.offline.bootstraps 4000` prints standard errors of the influence function over those of bootstraps.
Predictions, scores and, for values, policies stay as they are; what a budget buys is found anew in every resample.
A resample is a row of counts: what it buys follows from sums in the one order of prices, so that batches are matrices.
"""

import sys

import numpy as np

from evenhand.offline import Frontier, curve
from evenhand.offline.aims import Aim
from evenhand.offline.lines import fair
from tests.offline.logs import draw

BATCH = 250


def resampled(rows, times, seed=0):
    """Yield how often every row is drawn, `(BATCH,N)` at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, times, BATCH):
        yield rng.multinomial(rows, np.full(rows, 1.0 / rows), min(BATCH, times - start)).astype(float)


def targeted_again(frontier, worth, cost, budgets, counts):
    """The value of the targeted policy in resamples, `(K,N)->(K,B)`."""
    rows = np.arange(len(frontier.start))
    gain, more = np.empty(len(frontier.row)), np.empty(len(frontier.row))
    before = frontier.start.copy()
    for s, (i, a) in enumerate(zip(frontier.row, frontier.action, strict=True)):
        gain[s] = worth.scores[i, a] - worth.scores[i, before[i]]
        more[s] = cost[0, a] - cost[0, before[i]]
        before[i] = a
    useful = frontier.useful
    times = counts[:, frontier.row[:useful]]
    spent = (counts @ cost[0, frontier.start])[:, None] + np.cumsum(times * more[:useful], 1)
    value = (counts @ worth.scores[rows, frontier.start])[:, None] + np.cumsum(times * gain[:useful], 1)
    found = np.empty((len(counts), len(budgets)))
    start = np.stack([counts @ cost[0, frontier.start], counts @ worth.scores[rows, frontier.start]])
    for k in range(len(counts)):
        at = np.concatenate([[start[0, k]], spent[k]])
        kept = np.concatenate([[True], np.diff(at) > 0.0])
        found[k] = np.interp(np.array(budgets) * len(rows), at[kept], np.concatenate([[start[1, k]], value[k]])[kept])
    return found / len(rows)


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
    log = draw(rows, seed).evidence
    tables = log.tables()
    worth, cost = log.worth(tables), log.problem.declared[None, :, 0]
    frontier, found = Frontier.of(worth.predicted, cost), curve(log, budgets=budgets)
    again = {"targeted": [], "only small": [], "only large": []}
    for counts in resampled(rows, times):
        again["targeted"].append(targeted_again(frontier, worth, cost, budgets, counts))
        again["only small"].append(single_again(1, frontier, worth, cost, budgets, counts))
        again["only large"].append(single_again(2, frontier, worth, cost, budgets, counts))
    again = {name: np.concatenate(z) for name, z in again.items()}
    ratios = {}
    for line in found.lines:
        if line.name in again:
            se = np.array([v.se for v in line.value])
            ratios[line.name] = se / again[line.name].std(0, ddof=1)
        if line.name in again and line.name != "targeted":
            less = np.array([v.se for v in line.less])
            ratios[f"beyond {line.name}"] = less / (again["targeted"] - again[line.name]).std(0, ddof=1)
    return ratios


def fair_measured(times, rows=4000, seed=5, budget=0.5, tolerance=0.05):
    """As `measured`, of a fair line at one budget, whose groups are divided anew in every resample."""
    log = draw(rows, seed).evidence
    worth, cost = log.worth(log.tables()), log.problem.declared[None, :, 0]
    values, groups = [], log.groups["area"]
    for counts in resampled(rows, times, seed=1):
        for k in counts:
            i = np.repeat(np.arange(rows), k.astype(int))
            again = type(worth)(worth.predicted[i], worth.scores[i])
            values.append(next(fair(Aim.summed(again), groups[i], tolerance, (budget,), type(worth)(cost, cost))).value)
    (estimate,) = curve(log, budgets=(budget,), tolerances=(tolerance,)).lines[-1].value
    return estimate.se / np.std(values, ddof=1)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    for name, ratio in measured(count).items():
        print(f"{name:>18}  " + "  ".join(f"{r:.3f}" for r in ratio))
    print(f"{'fair, .05':>18}  {fair_measured(count):.3f}")
