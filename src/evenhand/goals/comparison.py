"""Sums of outcomes in rounds that were held out, beside those of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices.held_out import sides
from evenhand.core.catalogue import named
from evenhand.core.records import Decision
from evenhand.core.types import Floats
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select


@dataclass
class ComparedState:
    """Sums of the rows over rounds that arrived."""

    sums: Floats  # (R, 2, d, 3) held out and not: rounds in which the row was observed, its sum, its sum of squares


@named("X13", source="evenhand's own: the two sides of a trial within a campaign")
@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """Keep separate sums of rows for held-out rounds and for the others; it changes no decision.

    Args:
        rows: of everybody. Which rounds were held out is what `choices.HeldOut` has their decisions carry.

    >>> from evenhand.environments import Court
    >>> goal = comparison(Court().problem)
    >>> goal.compared(goal.start(1)).shape == (1, 2, len(Court().problem.names), 3)
    True
    """

    rows: Rows

    def start(self, n_replicas: int) -> ComparedState:
        return ComparedState(np.zeros((n_replicas, 2, len(self.rows), 3)))

    def on_outcome(self, state: ComparedState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter (counted, v), `(),(d)`; a row that was not observed is left out."""
        state.sums += self._entry(decision, counted, v)

    def on_reversal(self, state: ComparedState, decision: Decision, counted: Floats, v: Floats) -> None:
        state.sums -= self._entry(decision, counted, v)

    @staticmethod
    def _entry(decision: Decision, counted: Floats, v: Floats) -> Floats:
        """The entry of rows into both sides, `(),(d)->(2,d,3)`."""
        seen = ~np.isnan(v)
        rounds, v = counted[:, None] * seen, np.where(seen, v, 0.0) * counted[:, None]
        return np.asarray(sides(decision)[:, :, None, None] * np.stack([rounds, v, v * v], 2)[:, None])

    def compared(self, state: ComparedState) -> Floats:
        """The sums of the held-out rounds, then of the others, `->(2,d,3)`."""
        return state.sums


def comparison(problem: Problem) -> Compared:
    """Compare all outcomes of a problem."""
    return Compared(rows=select(problem, problem.names))
