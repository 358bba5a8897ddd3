"""What one decision adds to the sums of a campaign, as far as its outcomes have come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.live.fold import OnExpiry
from evenhand.policy import entries, named
from evenhand.policy.status import Account
from evenhand.problem.problem import Problem


class Uses:
    """Adds up one decision as the policy's books do: what budgets spend, and what arrived of every outcome.

    A row of numbers has, in this order, what every budget spends; 1 if the outcome arrived; the plays that arrived; the
    sums of the outcomes; and the plays in which each was observed.

    Args:
        problem: declares outcomes and constraints.
        accounts: of a status by name, in the order of the constraints that spend.
        on_expiry: what an expiry does.
    """

    def __init__(self, problem: Problem, accounts: Mapping[str, Account], on_expiry: OnExpiry) -> None:
        """Nothing added yet."""
        self._problem, self._on_expiry = problem, on_expiry
        spending = zip((s for s in problem.stated if s.spends), accounts.items(), strict=True)
        simple = [(s.outcome, *z) for s, z in spending if s.outcome is not None and s.by is None]
        self.names = tuple(name for _, name, _ in simple)  # of the budgets; one of your own may be no sum of an outcome
        self._columns = [problem.names.index(outcome) for outcome, *_ in simple]
        self._hard = [a.hard for *_, a in simple]
        certain = np.concatenate([np.zeros(len(problem.learned), bool), problem.sure & ~problem.is_noisy])
        self._at_once = [a.hard and bool(certain[i]) for i, (*_, a) in zip(self._columns, simple, strict=True)]

    @property
    def size(self) -> int:
        """Of a row of numbers."""
        return len(self.names) + 2 + 2 * len(self._problem.names)

    def none(self) -> Floats:
        """Of a decision that was cancelled."""
        return np.zeros(self.size)

    def decided(self, plays: Sequence[int], known: Floats) -> Floats:
        """Of a decision that waits: budgets that are kept hard spend what is known for certain, `(P,L)`."""
        found = self.none()
        made = known[np.array(plays) >= 0].sum(0)
        for j, (column, at_once) in enumerate(zip(self._columns, self._at_once, strict=True)):
            if at_once:
                found[j] = max(made[column - len(self._problem.learned)], 0.0)
        return found

    def arrived(self, plays: Sequence[int], known: Floats, said: Any) -> Floats:
        """Of a decision with its outcome."""
        problem, played = self._problem, np.array([plays])
        y, observed, exposed = named.outcomes(problem, len(plays), said)
        missing = np.zeros((1, len(plays), len(problem.names)), bool)
        groups = np.zeros((1, 1, 0), np.int64)
        *_, learned, z, _ = entries.at_arrival(
            played,
            np.ones(1),
            groups,
            known[None],
            y,
            observed,
            exposed,
            problem.sure,
            len(problem.noisy),
            problem.span,
            problem.free,
            missing,
        )
        return self._settled(played[0], problem.amounts(known, learned[0]), z[0], missing[0])

    def expired(self, plays: Sequence[int], known: Floats) -> Floats:
        """Of a decision whose outcome is overdue."""
        if self._on_expiry == "hold":
            return self.decided(plays, known)
        if self._on_expiry == "release":
            return self.none()
        problem, played = self._problem, np.array([plays])
        _, learned, z, missing = entries.at_expiry(
            played, np.ones(1), known[None], problem.sure, len(problem.noisy), problem.fallback, problem.free
        )
        return self._settled(played[0], problem.amounts(known, learned[0]), z[0], missing[0])

    def _settled(self, plays: Any, amounts: Floats, known: Floats, missing: Any) -> Floats:
        """A row of numbers of what is settled, of learned outcomes times their factors, `(P),(P,M),(P,L),(P,M+L)`."""
        values, made = np.concatenate([amounts, known], 1), plays >= 0
        found, first, count = self.none(), len(self.names), values.shape[1]
        for j, (column, hard) in enumerate(zip(self._columns, self._hard, strict=True)):
            if not (hard and missing[:, column].any()):  # it stays held
                found[j] = values[:, column].sum()
        found[first], found[first + 1] = 1.0, made.sum()
        found[first + 2 : first + 2 + count] = values[made].sum(0)
        found[first + 2 + count :] = (~missing[made]).sum(0)
        return found

    def objective(self, sums: Floats) -> float | None:
        """The objective at the averages of such a row, None where it is not defined or looks at groups."""
        problem, first = self._problem, len(self.names)
        rounds, plays, count = sums[first], sums[first + 1], len(problem.names)
        columns = [problem.row(name) for name in problem.objective.outcomes]
        if rounds <= 0.0 or any(column >= 0 for _, _, column in columns):
            return None
        totals, seen = sums[first + 2 : first + 2 + count], sums[first + 2 + count :]
        filled = totals * np.divide(plays, seen, out=np.ones(count), where=seen > 0.0) / rounds
        with np.errstate(all="ignore"):
            value = float(problem.objective.value(filled[[i for i, _, _ in columns]][None, None])[0, 0])
        return value if np.isfinite(value) else None


def plain_known(problem: Problem, plays: Sequence[int]) -> Floats:
    """The declared known outcomes of plays, `->(P,L)`."""
    at = np.array(plays)
    return np.asarray(np.where((at >= 0)[:, None], problem.declared[np.maximum(at, 0)], 0.0))
