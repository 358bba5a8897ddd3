"""The table of outcomes by period: the same sums as in `books`, of the decisions of every period of a problem's spans.

It is kept where a problem has spans of time, so that status, traces and reports can say what every span has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy import books
from evenhand.problem.problem import Problem
from evenhand.problem.spans import Spans


@dataclass(frozen=True, eq=False)
class ByPeriod:
    """Enters rounds into the table of the period of their decision."""

    problem: Problem

    @cached_property
    def edges(self) -> Floats:
        """The ends of P periods, which include those of all spans, `->(P+1)`; empty without spans."""
        found = [s.spans.edges for s in self.problem.stated if s.spans is not None]
        return np.unique(np.concatenate(found)) if found else np.zeros(0)

    def start(self, n_replicas: int) -> Floats | None:
        """Return an empty table, `->(P,1+C,W)`; None without spans."""
        if not len(self.edges):
            return None
        one = books.start(self.problem, n_replicas)[:, None]
        return np.ascontiguousarray(np.repeat(one, len(self.edges) - 1, 1))

    def commit(self, table: Floats, d: Decision, times: float) -> None:
        """Enter the plays of a decision in place, or take them back: times -1, `(P,1+C,W)`."""
        at = self._at(d)
        here = table[at]
        books.commit(d.plays, d.counted, d.groups, d.known, self.problem.certain, times, here)
        table[at] = here

    def arrive(
        self, table: Floats, d: Decision, share: Floats, learned: Floats, known: Floats, masks: tuple[Bools, Bools]
    ) -> None:
        """Enter the plays of a decision that arrive in place, as `books.arrive` does, `(P,1+C,W)`."""
        at = self._at(d)
        here = table[at]
        books.arrive(d.plays, share, d.groups, learned, known, *masks, 1.0, here)
        table[at] = here

    def used(self, table: Floats, spans: Spans, outcome: int) -> Floats:
        """Return the sum of an outcome over the decisions of every span, as in a trace, `(P,1+C,W)->(S)`."""
        on = spans.on(self.edges)
        return on.sums(books.totals(self.problem, table)[:, :, 0, outcome])

    def _at(self, d: Decision) -> tuple[Ints, Ints]:
        period = np.clip(np.searchsorted(self.edges, d.time, "right") - 1, 0, len(self.edges) - 2)
        return np.arange(len(d.time)), period
