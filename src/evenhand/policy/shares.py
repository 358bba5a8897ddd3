"""Books of rows by share, restated as the shares of groups are estimated anew.

A row by share divides what is inside its group by the group's share. Where shares are estimated, they move with every
case, and sums of rows that were divided by the shares of their time are not the sums that a run is measured by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.views import pointers
from evenhand.goals.base import Restates
from evenhand.policy import entries
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, stack


@kernel
def _per_share(column: Ints, shares: Floats, r: int, j: int) -> float:
    """One over the share of a row's group, 0 for rows of everybody and groups of share 0, `(d),(C),(),()->()`."""
    share = shares[r, column[j]] if column[j] >= 0 else 0.0
    return 1.0 / share if share > 0.0 else 0.0


@kernel
def movement(inside: Floats, column: Ints, before: Floats, now: Floats) -> Floats:
    """The change in the books of rows that are divided by shares, given their sums by group, `(D),(D),(C),(C)->(D)`."""
    v = np.empty_like(inside)
    for r in range(len(v)):
        for j in range(v.shape[1]):
            v[r, j] = inside[r, j] * (_per_share(column, now, r, j) - _per_share(column, before, r, j))
    return v


class Declared(NamedTuple):
    """Shares that do not move, or that no row reads."""

    replicas: int

    @kernel
    def shares_now(self, seen: Floats, t: Floats) -> Floats:
        return np.zeros((self.replicas, 0))

    @kernel
    def restate(self, d: Decision, before: Floats, now: Floats) -> Decision:
        return d

    @kernel
    def next_shares(self, c: Context, d: Decision, seen: Floats, t: Floats) -> Decision:
        return d

    @kernel
    def reenter(self, d: Decision, y: Floats, z: Floats, now: Floats) -> Decision:
        return d


@pointers("goals")
class Estimated(NamedTuple):
    """Sums inside groups, and the goals whose rows are divided by shares that are estimated."""

    inside: Floats
    declared: Floats  # NaN where shares are estimated
    rows: Any  # before division by shares
    is_known: Bools
    enters_forced: Bools
    column: Ints
    goals: Any

    @kernel
    def shares_now(self, seen: Floats, t: Floats) -> Floats:
        """The shares of all rounds so far, `(C),()->(C)`; as `ShareBooks.shares`."""
        return entries.frequencies(seen, t, self.declared)

    @kernel
    def restate(self, d: Decision, before: Floats, now: Floats) -> Decision:
        """Restate books whose shares were others; returns the decision at present shares; as `ShareBooks.commit`."""
        v = movement(self.inside, self.column, before, now)
        self.goals.part.on_shares(d, v)
        known = self.rows.post_known(d)
        for r in range(len(v)):
            for j in range(v.shape[1]):
                if self.is_known[j]:
                    self.inside[r, j] += known[r, j] * (1.0 if self.enters_forced[j] else 1.0 - d.forced[r])
        return _at_shares(d, now)

    @kernel
    def next_shares(self, c: Context, d: Decision, seen: Floats, t: Floats) -> Decision:
        """A decision at the shares that will hold once it is committed, `(C),()`; nothing changes."""
        after = seen.copy()
        if c.groups.shape[2] > 0:
            entries.believe(c.groups, c.offered, d.counted, after)
        return _at_shares(d, entries.frequencies(after, t + d.counted, self.declared))

    @kernel
    def reenter(self, d: Decision, y: Floats, z: Floats, now: Floats) -> Decision:
        """Enter outcomes; returns the decision at present shares, `(P,M),(P,L),(C)`; as `ShareBooks.learn`."""
        v = self.rows.post(d, y, z)
        for r in range(len(v)):
            for j in range(v.shape[1]):
                if not self.is_known[j]:
                    self.inside[r, j] += v[r, j] * (1.0 if self.enters_forced[j] else 1.0 - d.forced[r])
        return _at_shares(d, now)


@kernel
def _at_shares(d: Decision, now: Floats) -> Decision:
    made = d.id, d.plays, d.propensities, d.counted, d.forced, d.restricted, d.time, d.features, d.known, d.groups
    return Decision(*made, now, d.prices, d.row_prices, d.carried, d.names)


@pointers("others", "goal")
class GoalChain(NamedTuple):
    """A goal after others, and the rows that it has among those of all."""

    others: Any
    goal: Any
    first: int
    last: int

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        self.others.part.on_shares(d, v)
        self.goal.part.on_shares(d, v[:, self.first : self.last].copy())


@dataclass(frozen=True, eq=False)
class ShareBooks:
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
        v = movement(state.inside, self._insides.column, before, now)
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
