"""Measures of targeting over all budgets: Qini and AUUC, which are areas below a curve, and RATE, of its ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats, Ints, Places
from evenhand.offline.cautions import Doubt
from evenhand.offline.plans.fold_plans import Crossed
from evenhand.offline.plans.frontier import cheapest
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.plans.planned_policies import moves
from evenhand.offline.scores import Average, Estimate, blocks, reach

AUUC, RATES = "AUUC", ("RATE, AUTOC", "RATE, Qini")


class Measure(NamedTuple):
    """A measure of targeting over all budgets, per case."""

    name: str
    beyond: str  # the line that it is measured against; empty for a measure of the ranking
    value: Estimate
    width: float  # of the budgets, by which an area is the value times; NaN of what is no area


class Measures(NamedTuple):
    """Measures of targeting, and how many standard errors to either side cover all of them at once."""

    each: tuple[Measure, ...]
    errors: float

    def qini(self, line: str) -> Estimate:
        """The Qini beyond a line; NaN if there is none."""
        return next((z.value for z in self.each if z.beyond == line), Estimate(float("nan"), float("nan")))


class Areas:
    """The areas below lines, added up budget by budget.

    Equation: int V(b) db / (B_last - B_first), by the trapezoidal rule. It is a sum of values, so that its influence
    function is the sum of theirs, and what folds have in common is added up in the same way.

    >>> areas = Areas([0.0, 1.0, 3.0])
    >>> for i in range(3):
    ...     areas.add(i, "line", Average(float(i), np.zeros(2)))
    >>> round(areas.found["line"].value, 4)  # (0.5 + 3) / 3
    1.1667
    """

    def __init__(self, budgets: Sequence[float]) -> None:
        self.width, steps = budgets[-1] - budgets[0], np.diff(budgets, prepend=budgets[0], append=budgets[-1])
        self._parts = (0.5 * (steps[1:] + steps[:-1]) / self.width).tolist() if len(budgets) > 1 else []
        self.found = dict[str, Average]()

    def add(self, budget: int, line: str, value: Average) -> None:
        """Add the value of a line at the next budget; nothing if there is only one."""
        if self._parts:
            own = value.times(self._parts[budget])
            self.found[line] = self.found[line].plus(own) if budget else own

    def measures(self) -> Iterator[tuple[str, str, Average]]:
        """Yield the name of each area beyond another line, the line, and the area.

        The first line is targeted, and the last one that of the cheapest actions, beyond which AUUC is.
        """
        if self.found:
            (_, first), *others = self.found.items()
            names = [*(f"Qini beyond {name}" for name, _ in others[:-1]), AUUC]
            each = ((area, name, first.less(z)) for area, (name, z) in zip(names, others, strict=True))
            yield from (found for found in each if not np.isnan(found[2].value))  # of lines that are there throughout


class Ranking(NamedTuple):
    """Rows by what the first step beyond their cheapest action is predicted to bring per unit of its cost."""

    start: Places  # (N,) the cheapest action
    step: Ints  # (N,) the action that brings most per unit beyond it; the cheapest one if no other costs more
    tie: Ints  # (N,) the rank, from 0 for the best; equal ones share it

    @staticmethod
    def of(worth: Floats, cost: Floats) -> Ranking:
        """Rank rows by predictions, `(N,A),(N or 1,A)->`.

        >>> Ranking.of(np.array([[0.0, 1.0, 1.5], [0.0, 0.2, 3.0]]), np.array([[0.0, 1.0, 2.0]]))[1:]
        (array([1, 2]), array([1, 0]))
        """
        rows, start = np.arange(len(worth)), cheapest(worth, cost).actions
        least, base = cost[rows % len(cost), start][:, None], worth[rows, start][:, None]
        dearer = cost > least
        slope = np.where(dearer, (worth - base) / np.where(dearer, cost - least, 1.0), -np.inf)
        step, first = slope.argmax(1), slope.max(1)
        step[np.isneginf(first)] = start[np.isneginf(first)]
        return Ranking(start, step, np.unique(-first, return_inverse=True)[1].reshape(-1))

    def gains(self, table: Floats) -> Floats:
        """Return what the first step brings in every row of a table, `(N,A)->(N)`."""
        rows = np.arange(len(table))
        return np.asarray(table[rows, self.step] - table[rows, self.start])

    def rates(self, gains: Floats) -> tuple[Floats, Floats]:
        """Return terms of AUTOC and of the Qini weighting, whose means they are, and their influence, `->(2,N),(2,N)`.

        Equation: TOC(u) is the mean gain of the best part u of the rows less that of all. AUTOC = int TOC(u) du, and
        the Qini weighting is int u TOC(u) du. Both are mean_i w(u_i) gain_i with w(u) = -log u - 1 and 1/2 - u, summed
        over ranks. As a row that ranks higher moves all below it, its influence is w(u_i) gain_i - int_{u_i}^1 gain(u)
        s(u) du, with s(u) = -w'(u) = 1 / u and 1. Rows of the same rank have the mean of their weights.

        Source: Yadlowsky, Fleming, Shah, Brunskill & Wager 2021, "Evaluating treatment prioritization rules via rank-
        weighted average treatment effects". The influence in place of their half-sample bootstrap is ours.
        """
        n, count = len(gains), np.bincount(self.tie)
        rank = np.arange(1.0, n + 1.0)
        weights = np.stack([np.cumsum(1.0 / rank[::-1])[::-1] - 1.0, 0.5 - (rank - 0.5) / n])
        slopes = np.stack([n / rank, np.ones(n)])
        ends = np.concatenate([[0], np.cumsum(count)])
        weight, slope = (np.diff(_sums(z)[:, ends], axis=1) / count for z in (weights, slopes))
        own = np.bincount(self.tie, weights=gains) * slope / n  # by rank
        below = own.sum(1, keepdims=True) - np.cumsum(own, 1) + 0.5 * own
        terms = weight[:, self.tie] * gains
        influence = terms - below[:, self.tie]
        return terms, influence - influence.mean(1, keepdims=True)


def _sums(each: Floats) -> Floats:
    """Return sums of the first numbers, from none of them on, `(K,N)->(K,N+1)`."""
    return np.concatenate([np.zeros((len(each), 1)), np.cumsum(each, 1)], 1)


def rates(crossed: Crossed, outcome: str, ask: Callable[[Floats], Doubt]) -> tuple[Average, Average]:
    """Return AUTOC and the Qini weighting of targeting, each fold ranked for itself by models of the other folds.

    They have no error where the log says too little of the first steps or of the cheapest actions, which `ask` tells.
    """
    evidence, models, runs = crossed.evidence, crossed.models, crossed.rows.runs
    aim, count = crossed.dealt, len(crossed.rows.members)
    own = runs.of(aim.worth), runs.of(crossed.cost_dealt(outcome).predicted)
    scores, w = runs.of(aim.tables[0].scores), runs.of(crossed.weights_dealt)
    rankings = [Ranking.of(*both) for both in zip(*own, strict=True)]
    totals, parts = np.empty((2, count, count)), []
    for j, ranking in enumerate(rankings):
        parts.append(ranking.rates(ranking.gains(scores[j])))
        totals[:, j, j] = parts[j][0].sum(1)
        for k in range(count):
            if k != j:
                known = evidence.tables_apart(models, j, k)
                worth = Aim.of(evidence, known, len(scores[j])).worth
                apart = Ranking.of(worth, known[outcome].predicted)
                totals[:, j, k] = apart.rates(apart.gains(scores[j]))[0].sum(1)
    terms, influence = (np.concatenate(z, 1) for z in zip(*parts, strict=True))
    steps = [[part[np.arange(len(part)), a] for a in z[:2]] for part, z in zip(w, rankings, strict=True)]
    guess = any(ask(np.concatenate(each)).is_guess for each in zip(*steps, strict=True))
    found = []
    for mean, psi, moved in zip(terms.mean(1).tolist(), influence, moves(totals, evidence.rows), strict=True):
        average = Average.by(mean, psi, crossed.clusters_dealt)._replace(moves=moved)
        found.append(average.guess() if guess else average)
    return found[0], found[1]


def measures_of(areas: Areas, rate: Mapping[str, Average], seed: int, names: Ints, line: int) -> Measures:
    """Return the measures of targeting with their errors, and the band of all of them at once.

    Args:
        areas: below the lines.
        rate: measures by name that are no areas.
        seed, line: of the multipliers of the band.
        names: `(G)` of the clusters.
    """
    each = [(*z, areas.width) for z in areas.measures()]
    each += [(name, "", average, float("nan")) for name, average in rate.items()]
    found = [Measure(name, beyond, average.estimate, width) for name, beyond, average, width in each]
    sums = [blocks(average.psi, names) for _, _, average, _ in each]
    return Measures(tuple(found), reach(sums, seed, line) if sums else 0.0)  # none of one budget on a curved objective
