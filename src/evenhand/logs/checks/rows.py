"""The data of a log that checks read, and how far sums of weights may be from their expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.logs.units import Features, Units
from evenhand.problem.problem import Problem

SURE = 1.0 - 1e-9  # a probability from which on an action is sure
ERROR = 0.001  # of a check: the chance that it finds something in a log where all is right


class Feature(NamedTuple):
    """A number of every row that should have been known before acting."""

    column: str
    level: str | None  # 1 where the column has this level, else 0; None for a column of numbers
    values: Floats  # (N,)
    what: str = "a feature"  # what it cannot be if it depends on the action

    @property
    def name(self) -> str:
        return self.column if self.level is None else f"{self.column} = {self.level}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """The rows of a log as far as checks read them.

    Args:
        names: of the actions.
        actions: `(N)` what was played.
        propensities: `(N)` with which probability.
        units: `(N,u)` encoded features; the first is 1.
        coding: how they were encoded; None if that is not known.
        groups: by grouping, `(N)` the number of the group of every row.
        group_names: by grouping, the names of its groups.
        clusters: which rows belong together; None where each is a cluster.
        foreseen: by column, `(N)` what each case has of known outcomes: costs, prices and factors.
        holes: by the number of an action, `(N)` the rows in which it could not be drawn.
    """

    names: Sequence[str]
    actions: Ints
    propensities: Floats
    units: Floats | Features
    coding: Units | None
    groups: Mapping[str, Ints]
    group_names: Mapping[str, Sequence[str]]
    clusters: Clusters | None = None
    foreseen: Mapping[str, Floats] = field(default_factory=dict)
    holes: Mapping[int, Bools] = field(default_factory=dict)

    def columns(self) -> Iterator[Feature]:
        """Yield the columns that should have been known before acting: features, and known outcomes that vary."""
        yield from self.features()
        yield from (Feature(name, None, z, "known before acting") for name, z in self.foreseen.items())

    def features(self) -> Iterator[Feature]:
        """Yield the features as the log has them: numbers, and an indicator of every level."""
        if self.coding is None:
            yield from (Feature(f"feature {j}", None, self.units[:, j]) for j in range(1, self.units.shape[1]))
            return
        places = self.coding.of_column
        for column, scale in self.coding.numeric.items():
            number, *others = places[column]
            yield Feature(column, None, scale.largest * (scale.mean + scale.sd * self.units[:, number]))
            yield from (Feature(column, "missing", self.units[:, j]) for j in others)
        for column, levels in self.coding.levels.items():
            if len(levels) > 1:
                first = np.ones(len(self.units))
                for j in places[column]:
                    first -= self.units[:, j]
                yield Feature(column, levels[0], first)
            yield from (Feature(column, z, self.units[:, j]) for z, j in zip(levels[1:], places[column], strict=True))

    @property
    def unsure(self) -> Drawn:
        """The rows whose action was not sure: a case that could get one action only says nothing of probabilities."""
        kept = self.propensities < SURE
        return self if kept.all() else self.of(kept)

    def of(self, rows: Bools | slice) -> Drawn:
        """Return some of the rows."""
        return replace(
            self,
            actions=self.actions[rows],
            propensities=self.propensities[rows],
            units=self.units.of(rows) if isinstance(self.units, Features) else self.units[rows],
            groups={by: z[rows] for by, z in self.groups.items()},
            clusters=None if self.clusters is None else self.clusters.kept(rows),
            foreseen={name: z[rows] for name, z in self.foreseen.items()},
            holes={a: z[rows] for a, z in self.holes.items()},
        )

    @property
    def count(self) -> int:
        """The number of features."""
        if self.coding is None:
            return int(self.units.shape[1]) - 1
        numbers = sum(len(self.coding.of_column[column]) for column in self.coding.numeric)
        return numbers + sum(len(z) for z in self.coding.levels.values() if len(z) > 1)

    def counted(self, kind: Ints, kinds: int) -> Ints:
        """Return the number of clusters that have rows of each kind, `(N)->(K)`."""
        if self.clusters is None:
            return np.bincount(kind, minlength=kinds)
        return np.bincount(np.unique(self.clusters.numbers * kinds + kind) % kinds, minlength=kinds)

    def excess(self, terms: Floats, kind: Ints | None = None, kinds: int = 1) -> tuple[Floats, Floats]:
        """Return what `Clusters.excess` does, and 1 where each row is a cluster."""
        if self.clusters is None:
            return np.ones(kinds), np.ones(kinds)
        return self.clusters.excess(terms, kind, kinds)

    def sums(self, values: Floats) -> Floats:
        """Return sums by action, by the weights of rows, `(N)->(A)`."""
        return np.bincount(self.actions, weights=self.counted_as(values), minlength=len(self.names)).astype(float)

    def counted_as(self, values: Floats) -> Floats:
        """Return numbers of rows times the weights of rows, `(N)->(N)`."""
        return values if self.clusters is None else self.clusters.times(values)

    def could(self, action: int) -> Floats:
        """Return 1 for the rows in which an action could be drawn, 0 for others, `->(N)`."""
        found = np.ones(len(self.actions))
        found[self.holes.get(action, np.zeros(0, np.int64))] = 0.0
        return found

    def drawable(self, values: Floats) -> Floats:
        """Return sums over the rows in which each action could be drawn, `(N)->(A)`."""
        values = self.counted_as(values)
        found = np.full(len(self.names), values.sum())
        for a, hole in self.holes.items():
            found[a] -= values[hole].sum()
        return found


def foreseen(
    problem: Problem, known: Floats, columns: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Floats]:
    """Return the differences between the cases of a log in known outcomes, `(N,A,L)->(N)` by column.

    Args:
        problem: with the names of actions and of known outcomes.
        known: `(N,A,L)`, or `(1,A,L)` where rows do not differ.
        columns: by outcome and action, the column that was read; others have the names of both.
    """
    found = dict[str, Floats]()
    for k, outcome in enumerate(problem.known if len(known) > 1 else ()):
        of = (columns or {}).get(outcome, {})
        for a, action in enumerate(problem.actions):
            name, z = of.get(action, f"{outcome} of {action}"), known[:, a, k]
            if name not in found and np.ptp(z) > 0.0:
                found[name] = z
    return found


def quantile(cells: int, error: float = ERROR) -> float:
    """Return the standard errors that none of several averages exceeds, except with a small chance (Bonferroni).

    >>> round(quantile(1, 0.05), 2), round(quantile(30), 2)
    (1.96, 4.15)
    """
    return NormalDist().inv_cdf(1.0 - error / (2.0 * max(cells, 1)))


def reach(z: float | Floats, rows: Floats | int, variance: Floats, third: Floats) -> Floats:
    """Return how far an average of a given number of terms may be from its mean.

    Equation: z sd / sqrt(N) + (z^2 - 1) m3 / (6 sd^2 N), the first terms of Cornish and Fisher 1938, as sums of a few
    large weights are far from normal.

    Args:
        z: in standard errors.
        rows: N.
        variance: of a term.
        third: the third absolute moment of a term.
    """
    skewed = np.divide(third, variance, out=np.zeros_like(third), where=variance > 0.0)
    return np.asarray(z * np.sqrt(variance / rows) + (z * z - 1.0) * skewed / (6.0 * rows))
