"""Books of rows by share, restated as the shares of groups are estimated anew.

A row by share divides what is inside its group by the group's share. Where shares are estimated, they move with every
case, and sums of rows that were divided by the shares of their time are not the sums that a run is measured by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import Restates
from evenhand.policy import entries
from evenhand.policy.restated import moved
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, stack


@dataclass(frozen=True, eq=False)
class Restating:
    """Keeps the sums inside groups, without shares, and tells goals how a change of shares changes their books.

    Equation: with I the sum inside, the book of a row moves by I (1/s' - 1/s) when the share moves from s to s'.
    """

    problem: Problem
    goals: list[tuple[int, Restates]]

    def start(self, n_replicas: int) -> Floats:
        return np.zeros((n_replicas, sum(len(g.rows) for _, g in self.goals)))

    def shares(self, state: PolicyState) -> Floats:
        """Return the shares of all rounds so far, `->(C)`; 0 for a group that had no case yet."""
        return entries.frequencies(state.seen, state.t, self.problem.shares)

    def commit(self, state: PolicyState, decision: Decision, before: Floats) -> Decision:
        """Restate books whose shares were `before`; returns the decision at the present shares, `(C)`."""
        now = self.shares(state)
        v = moved(state.inside, self._insides.column, before, now)
        first = 0
        for i, goal in self.goals:
            d = len(goal.rows)
            goal.on_shares(state.goals[i], decision, v[:, first : first + d])
            first += d
        state.inside += self._known(decision)
        return decision._replace(shares=now)

    def learn(
        self, state: PolicyState, decision: Decision, learned: Floats, known: Floats, missing: Bools | None
    ) -> Decision:
        """Enter outcomes, 0 where they do not count; returns the decision at the present shares, `(P,M),(P,L),(1,M+L)`.

        A row that reads what is missing is in no book, so none of it is restated.
        """
        v = self._insides.post(decision, decision.shares, learned, known)
        if missing is not None:
            v = np.where((missing & (self._insides.weights != 0.0)).any(2), 0.0, v)
        state.inside += np.where(self._insides.is_known, 0.0, v) * self._entered(decision)
        return decision._replace(shares=self.shares(state))

    def cancel(self, state: PolicyState, decision: Decision) -> Decision:
        """Take back the known rows; returns the decision at the present shares."""
        state.inside -= self._known(decision)
        return decision._replace(shares=self.shares(state))

    def _known(self, decision: Decision) -> Floats:
        return np.where(self._insides.is_known, self._insides.post_known(decision), 0.0) * self._entered(decision)

    def _entered(self, decision: Decision) -> Floats:
        """1 for the rows of goals whose books have the decision, else 0, `->(D)`."""
        return np.where(self._always, 1.0, 1.0 - decision.forced[:, None])

    @cached_property
    def _always(self) -> Bools:
        """The rows of goals that enter forced rounds, `->(D)`."""
        return np.concatenate([np.full(len(goal.rows), goal.enters_forced) for _, goal in self.goals])

    @cached_property
    def _insides(self) -> Rows:
        return stack([goal.rows for _, goal in self.goals]).insides
