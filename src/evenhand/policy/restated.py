"""Restated books of rows by share (`policy.restating`), as the compiled loop has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.views import apart
from evenhand.policy import entries


@kernel
def _per_share(column: Ints, shares: Floats, r: int, j: int) -> float:
    """One over the share of a row's group, 0 for rows of everybody and groups of share 0, `(d),(C),(),()->()`."""
    share = shares[r, column[j]] if column[j] >= 0 else 0.0
    return 1.0 / share if share > 0.0 else 0.0


@kernel
def moved(inside: Floats, column: Ints, before: Floats, now: Floats) -> Floats:
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
    def coming(self, c: Context, d: Decision, seen: Floats, t: Floats) -> Decision:
        return d

    @kernel
    def reenter(self, d: Decision, y: Floats, z: Floats, now: Floats) -> Decision:
        return d


@apart("goals")
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
        """The shares of all rounds so far, `(C),()->(C)`; as `Restating.shares`."""
        return entries.frequencies(seen, t, self.declared)

    @kernel
    def restate(self, d: Decision, before: Floats, now: Floats) -> Decision:
        """Restate books whose shares were others; returns the decision at present shares; as `Restating.commit`."""
        v = moved(self.inside, self.column, before, now)
        self.goals.part.on_shares(d, v)
        known = self.rows.post_known(d)
        for r in range(len(v)):
            for j in range(v.shape[1]):
                if self.is_known[j]:
                    self.inside[r, j] += known[r, j] * (1.0 if self.enters_forced[j] else 1.0 - d.forced[r])
        return _at_shares(d, now)

    @kernel
    def coming(self, c: Context, d: Decision, seen: Floats, t: Floats) -> Decision:
        """A decision at the shares that will hold once it is committed, `(C),()`; nothing changes."""
        after = seen.copy()
        if c.groups.shape[2] > 0:
            entries.believe(c.groups, c.offered, d.counted, after)
        return _at_shares(d, entries.frequencies(after, t + d.counted, self.declared))

    @kernel
    def reenter(self, d: Decision, y: Floats, z: Floats, now: Floats) -> Decision:
        """Enter outcomes; returns the decision at present shares, `(P,M),(P,L),(C)`; as `Restating.learn`."""
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


@apart("others", "goal")
class Told(NamedTuple):
    """A goal after others, and the rows that it has among those of all."""

    others: Any
    goal: Any
    first: int
    last: int

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        self.others.part.on_shares(d, v)
        self.goal.part.on_shares(d, v[:, self.first : self.last].copy())
