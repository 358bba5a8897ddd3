"""The number of remaining rounds that budgets can pay for, which tells a model how long its lessons are of use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.policy.books import ARRIVED, CAME, DECIDED, FIRST
from evenhand.policy.marks import marked
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem


@kernel
def _rounds(t: Floats, horizon: float, books: Floats, weights: Floats, totals: Floats, out: Floats) -> None:
    """Fill in the remaining rounds that can be paid for, `(),(),(1+C,W),(d,S),(d)->()`."""
    size = weights.shape[1]
    for r in range(len(out)):
        out[r], arrived, plays = max(horizon - t[r], 0.0), books[r, 0, ARRIVED], books[r, 0, CAME]
        for j in range(len(totals)):
            used = 0.0
            for i in range(size):
                seen = plays - books[r, 0, books.shape[2] - size + i]
                if weights[j, i] != 0.0 and seen > 0.0:  # what was not observed is taken for the average of the others
                    used += weights[j, i] * books[r, 0, FIRST + i] * (plays / seen)
            if used > 0.0:
                # Rounds that wait for outcomes are to be paid for as well; cancelled ones are not.
                paid = totals[j] / used * arrived - books[r, 0, DECIDED]
                out[r] = min(out[r], max(paid, 0.0))


class Untold(NamedTuple):
    """For models that do not need it."""

    replicas: int

    @kernel
    def tell_ahead(self, t: Floats, books: Floats) -> None:
        """Tell nobody."""


class PayableView(NamedTuple):
    """The kernels' view of the rounds that budgets can pay for, and of the model's arrays that store their number."""

    horizon: float
    weights: Floats
    totals: Floats
    ahead: tuple[Floats, ...]

    @kernel
    def tell_ahead(self, t: Floats, books: Floats) -> None:
        part = np.empty(len(t))
        _rounds(t, self.horizon, books, self.weights, self.totals, part)
        for r in range(len(part)):
            part[r] /= self.horizon
        for ahead in self.ahead:
            each = len(ahead) // len(part)
            for i in range(len(ahead)):
                ahead[i] = part[i // each]


@dataclass(frozen=True, eq=False)
class Payable:
    """Tells a model how many future rounds the budgets can pay for.

    Equation: L = min(T - t, min_k n total_k / used_k - (t - c)), with t decided rounds, c of them cancelled, n rounds
    whose outcomes arrived, and used_k what these used of budget k. A budget of which nothing was used yet pays for
    everything.
    """

    problem: Problem

    def rounds(self, state: PolicyState) -> Floats:
        found = np.empty(len(state.t))
        _rounds(state.t, float(self.problem.horizon), state.books, *self._budgets, found)
        return found

    def tell(self, state: PolicyState) -> None:
        """Write L / T to the arrays of the model's state that are marked as `models.base.AHEAD`."""
        if state.recent.ahead is None:
            state.recent.ahead = list(marked(state.model, "ahead"))
        if state.recent.ahead:
            part = self.rounds(state) / self.problem.horizon
            for ahead in state.recent.ahead:
                ahead[:] = part if len(ahead) == len(part) else np.repeat(part, len(ahead) // len(part))

    def view(self, state: PolicyState) -> PayableView | Untold:
        ahead = tuple(marked(state.model, "ahead"))
        if not ahead:
            return Untold(len(state.t))
        return PayableView(float(self.problem.horizon), *self._budgets, ahead)

    @cached_property
    def _budgets(self) -> tuple[Floats, Floats]:
        """Weights of all outcomes in the rows of everybody that spend, and the totals, `->(d,M+L),(d)`."""
        weights, totals = [np.zeros((0, len(self.problem.names)))], []
        for s in self.problem.stated:
            if s.spends and s.rows.plain_only:
                weights.append(s.rows.weights)
                totals += [s.total] * len(s.rows)
        return np.concatenate(weights), np.array(totals)
