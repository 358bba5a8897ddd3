"""Numbers that a policy writes to marked arrays of a model: rounds that budgets can pay for, and declared zeros."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy import books
from evenhand.policy.books import ARRIVED, CAME, DECIDED, FIRST
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem


def marked_arrays(state: object, mark: str) -> Iterator[Floats]:
    """Yield the arrays of a state, and of the states in it, that have a mark, `->()`."""
    for owner, name in places(state, mark):
        yield getattr(owner, name)


def places(state: object, mark: str) -> Iterator[tuple[object, str]]:
    """Yield the states and the names of their fields that have a mark.

    A field says `{mark: True}` for such arrays, and `{mark: False}` for states that are left out.
    """
    if dataclasses.is_dataclass(state):
        for f in dataclasses.fields(state):
            has = f.metadata.get(mark)
            if has:
                yield state, f.name
            elif has is None:
                yield from places(getattr(state, f.name), mark)
    elif isinstance(state, list):
        for one in state:
            yield from places(one, mark)


@kernel
def _part(t: Floats, horizon: float, books: Floats, weights: Floats, totals: Floats, out: Floats) -> None:
    """Fill in L / T, as often as a replica has rows of its own, `(),(),(1+C,W),(d,S),(d)->(i)`."""
    size, each = weights.shape[1], len(out) // len(t)
    for r in range(len(t)):
        left, arrived, plays = max(horizon - t[r], 0.0), books[r, 0, ARRIVED], books[r, 0, CAME]
        for j in range(len(totals)):
            used = 0.0
            for i in range(size):
                seen = plays - books[r, 0, books.shape[2] - size + i]
                if weights[j, i] != 0.0 and seen > 0.0:  # what was not observed is taken for the average of the others
                    used += weights[j, i] * books[r, 0, FIRST + i] * (plays / seen)
            if used > 0.0:
                # Rounds that wait for outcomes are to be paid for as well; cancelled ones are not.
                paid = totals[j] / used * arrived - books[r, 0, DECIDED]
                left = min(left, max(paid, 0.0))
        for i in range(each):
            out[r * each + i] = left / horizon


@kernel
def _plays(books: Floats, columns: Floats, totals: Floats, uses: Floats, out: Floats) -> None:
    """Fill in the plays of each action that are left, `(1+C,W),(d,W),(d),(d,A)->(A)`; nothing if `out` has none."""
    for r in range(len(out)):
        for a in range(out.shape[1]):
            out[r, a] = np.inf
        for j in range(len(totals) if out.shape[1] > 0 else 0):
            left = totals[j]
            for i in range(columns.shape[1]):
                left -= columns[j, i] * books[r, 0, i]
            for a in range(out.shape[1]):
                if uses[j, a] > 0.0:
                    out[r, a] = min(out[r, a], max(left, 0.0) / uses[j, a])


class Untold(NamedTuple):
    """Stands in for `Payable` for models that do not need it."""

    replicas: int

    @kernel
    def tell_ahead(self, t: Floats, books: Floats) -> None:
        """Do nothing."""


class PayableView(NamedTuple):
    """The kernels' view of the plays that budgets can pay for, and of the model's arrays that store it."""

    horizon: float
    weights: Floats
    totals: Floats
    columns: Floats
    uses: Floats
    ahead: tuple[Floats, ...]
    affordable: tuple[Floats, ...]

    @kernel
    def tell_ahead(self, t: Floats, books: Floats) -> None:
        for ahead in self.ahead:
            _part(t, self.horizon, books, self.weights, self.totals, ahead)
        for plays in self.affordable:
            _plays(books, self.columns, self.totals, self.uses, plays)


@dataclass(frozen=True, eq=False)
class Payable:
    """Tells a model how many future rounds, and how many plays of each action, the budgets can pay for.

    Equation: L = min(T - t, min_k n total_k / used_k - (t - c)), with t decided rounds, c of them cancelled, n rounds
    whose outcomes arrived, and used_k what these used of budget k. A budget of which nothing was used yet pays for
    everything. L_a = min_k (total_k - used_k) / use_k(a) plays of action a, over the budgets of which a play is known
    to use use_k(a) > 0, as it is declared: what a rare play teaches is of use in the few plays of it that are left,
    and not in all rounds. What has to be learned of a use is not in L_a.
    """

    problem: Problem

    def begin(self, state: PolicyState) -> None:
        """Give the arrays of a new state that are marked as `models.base.AFFORDABLE` a column for each action.

        Not where every action can be played in every round, nor in models that have rows of their own for each action.
        """
        _, totals, columns, uses = self._budgets
        if not uses.any() or self.problem.n_plays >= uses.shape[1]:
            return
        for owner, name in places(state.model, "affordable"):
            if len(getattr(owner, name)) == len(state.t):
                plays = np.empty((len(state.t), uses.shape[1]))
                _plays(state.books, columns, totals, uses, plays)
                setattr(owner, name, plays)

    def tell(self, state: PolicyState) -> None:
        """Write L / T and L_a to the arrays of the model's state that `models.base.AHEAD` and `AFFORDABLE` mark."""
        recent = state.recent
        if recent.ahead is None or recent.affordable is None:
            recent.ahead = list(marked_arrays(state.model, "ahead"))
            recent.affordable = [z for z in marked_arrays(state.model, "affordable") if z.shape[1]]
        if not (recent.ahead or recent.affordable):
            return
        weights, totals, columns, uses = self._budgets
        for ahead in recent.ahead:
            _part(state.t, float(self.problem.horizon), state.books, weights, totals, ahead)
        for plays in recent.affordable:
            _plays(state.books, columns, totals, uses, plays)

    def view(self, state: PolicyState) -> PayableView | Untold:
        ahead, affordable = tuple(marked_arrays(state.model, "ahead")), tuple(marked_arrays(state.model, "affordable"))
        if not ahead and not affordable:
            return Untold(len(state.t))
        return PayableView(float(self.problem.horizon), *self._budgets, ahead, affordable)

    @cached_property
    def _budgets(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The rows of everybody that spend: weights of all outcomes, totals, where books have them, and declared uses.

        `->(d,M+L),(d),(d,W),(d,A)`. Of what is known for certain, books have the sums of all plays.
        """
        problem = self.problem
        size, known, certain = len(problem.names), len(problem.known), problem.certain
        weights, totals = [np.zeros((0, size))], []
        for s in problem.stated:
            if s.spends and s.rows.plain_only:
                weights.append(s.rows.weights)
                totals += [s.total] * len(s.rows)
        of_all = np.concatenate(weights)
        columns = np.zeros((len(of_all), books.start(problem, 1).shape[2]))
        columns[:, FIRST : FIRST + size] = of_all
        columns[:, FIRST + size - known : FIRST + size][:, certain] = 0.0
        columns[:, FIRST + 2 * size : FIRST + 2 * size + known] = of_all[:, size - known :] * certain
        uses = of_all[:, size - known :] @ problem.declared.T
        return of_all, np.array(totals), columns, np.maximum(uses, 0.0)


class NoZeros(NamedTuple):
    """For problems without declared zeros, and models that do not count them."""

    replicas: int

    @kernel
    def tell_zeros(self, plays: Ints, seen: Bools) -> None:
        """Do nothing."""


class ZerosView(NamedTuple):
    """The kernels' view of declared zeros, and of the arrays of a model that count them."""

    declared: Floats
    zeros: tuple[Floats, ...]

    @kernel
    def tell_zeros(self, plays: Ints, seen: Bools) -> None:
        for zeros in self.zeros:
            each = len(zeros) // len(plays)
            for r in range(len(plays)):
                for p in range(plays.shape[1]):
                    if plays[r, p] >= 0 and seen[r, p].all():
                        for i in range(each):
                            for m in range(zeros.shape[1]):
                                zeros[r * each + i, m] += self.declared[plays[r, p], m]


@dataclass(frozen=True, eq=False)
class Zeros:
    """Counts, in arrays of a model's state marked as `models.base.ZEROS`, the observations of outcomes declared 0.

    A play all of whose outcomes are declared to be 0 is not counted: as a rule it does nothing and has no features, and
    then a model does not count it as an observation either.

    Args:
        free: under which actions each learned outcome is declared 0, `(A,M)`.
    """

    free: Bools

    def tell(self, state: object, plays: Ints, seen: Bools, weight: float = 1.0) -> None:
        """Count plays that the model is about to learn from, each `weight` times, `(P),(P,M)->`."""
        if not self._some:
            return
        learned = (plays >= 0) & seen.all(2)
        found = weight * (self._counts[np.maximum(plays, 0)] * learned[:, :, None]).sum(1)
        for zeros in marked_arrays(state, "zeros"):
            if zeros.shape[1] == found.shape[1]:  # a part of `Stacked` has other outcomes
                zeros += np.repeat(found, len(zeros) // len(found), 0)

    def view(self, state: object, replicas: int) -> ZerosView | NoZeros:
        """Return the kernels' view of this and of a model's state."""
        if not self._some:
            return NoZeros(replicas)
        told = tuple(z for z in marked_arrays(state, "zeros") if z.shape[1] == self._counts.shape[1])
        return ZerosView(self._counts, told) if told else NoZeros(replicas)

    @cached_property
    def _some(self) -> bool:
        return bool(self._counts.any())

    @cached_property
    def _counts(self) -> Floats:
        """1 where an outcome is declared 0 beside others that are not, `->(A,M)`."""
        return np.asarray((self.free & ~self.free.all(1, keepdims=True)).astype(float))
