"""The increments of one decision to the sums of a campaign, from its outcomes so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.live.log.life import OnExpiry
from evenhand.policy import books, checks, entries, outcome_names as named
from evenhand.policy.status import Account, objective
from evenhand.problem.problem import Problem

_MOST = 1_000  # plays whose increments are in memory
_ONCE, _NO_GROUPS = np.ones(1), np.zeros((1, 1, 0), np.int64)


class Moments(NamedTuple):
    """Sums over rounds in which all outcomes of the objective were observed."""

    rounds: float
    sums: Floats  # (m,)
    products: Floats  # (m, m)

    def less(self, other: Moments) -> Moments:
        """Return the sums less those of some of the rounds."""
        return Moments(self.rounds - other.rounds, self.sums - other.sums, self.products - other.products)


class Uses:
    """Computes the increments of a decision as the policy's books do: spending of budgets, and sums of outcomes.

    Increments are a row of numbers: the spending of every budget; the line of everybody in a table of outcomes of this
    decision alone; and its moments: 1, the outcomes of the objective, and their products, 0 unless all were observed.

    Args:
        problem: declares outcomes and constraints.
        accounts: the accounts of a status by name, in the order of the constraints that spend.
    """

    def __init__(self, problem: Problem, accounts: Mapping[str, Account]) -> None:
        self._problem = problem
        spending = zip((s for s in problem.stated if s.spends), accounts.items(), strict=True)
        simple = [(s.outcome, *z) for s, z in spending if s.outcome in problem.names]
        self.names = tuple(name for _, name, _ in simple)  # of the budgets; one of your own may be no sum of an outcome
        self._columns = [problem.names.index(outcome) for outcome, *_ in simple]
        self._hard = np.array([a.hard for *_, a in simple], bool)
        rows = [problem.row(name) for name in problem.objective.outcomes]
        self._by_group = any(column >= 0 for *_, column in rows)
        self._objective = [i for i, *_ in rows]  # the columns of its outcomes
        self._width = books.start(problem, 1).shape[2]
        self._plain: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self._same: dict[tuple[tuple[int, ...], bytes, str], Floats] = {}
        known = [(name, problem.names[i]) for name, i in zip(self.names, self._columns, strict=True)]
        places = [(name, problem.known.index(outcome)) for name, outcome in known if outcome in problem.known]
        self._least = [(name, j, min(0.0, float(problem.declared[:, j].min()))) for name, j in places]

    def counts_like(self, other: Uses) -> bool:
        """Return whether every decision has the same increments by the problem of another policy."""
        mine, theirs = self._problem, other._problem
        same = all(
            getattr(mine, z) == getattr(theirs, z) for z in ("actions", "outcomes", "names", "groups", "n_plays")
        )
        kinds = [(u.names, u._columns, u._hard.tolist(), u._objective, u._by_group) for u in (self, other)]
        return same and kinds[0] == kinds[1]

    @property
    def layout(self) -> list[Any]:
        """The layout of a row of increments, for JSON: the budgets first, then the rest as one text."""
        outcomes = [self._problem.names[i] for i in self._objective]
        return [list(self.names), repr((self._problem.names, self._problem.known, outcomes, self._by_group))]

    def convert(self, row: Floats, layout: Sequence[Any]) -> Floats:
        """Return a row of increments of another layout as one of this: budgets by their names, others as 0.

        If the rest differs, nothing of the row is known here.
        """
        names, rest = layout
        found = self.none()
        if rest == self.layout[1]:
            found[len(self.names) :] = row[len(names) :]
            for j, name in enumerate(self.names):
                found[j] = row[names.index(name)] if name in names else 0.0
        return found

    def none(self) -> Floats:
        """Return the increments of a cancelled decision."""
        m = len(self._objective)
        return np.zeros(len(self.names) + self._width + 1 + m + m * m)

    def plain(self, plays: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the declared known outcomes of plays, and their increments by `decided`, `->(P,L)`."""
        found = self._plain.get(key := tuple(plays))
        if found is None:
            at = np.array(plays)
            declared = self._problem.declared[np.maximum(at, 0)]
            known = np.asarray(np.where((at >= 0)[:, None], declared, 0.0))
            if len(self._plain) == _MOST:
                self._plain.clear()
            found = self._plain[key] = known, self.decided(plays, known)
        known, now = found
        return known.copy(), now.copy()

    def decided(self, plays: Sequence[int], known: Floats) -> Floats:
        """Return the increments of a waiting decision; hard budgets spend the certain amounts, `(P,L)`."""
        table = self._committed(plays, known)
        due = books.totals(self._problem, table)[0, 0, self._columns]
        return self._row(np.where(self._hard, np.maximum(due, 0.0), 0.0), table)

    def credited(self, plays: Sequence[int], known: Floats) -> list[str]:
        """Return the budgets on known outcomes of which a play uses less than 0, and than is declared, `(P,L)`."""
        found = []
        for name, j, least in self._least:
            if any(z < least for a, z in zip(plays, known[:, j].tolist(), strict=True) if a >= 0):
                found.append(name)
        return found

    def arrived(self, plays: Sequence[int], known: Floats, said: Any) -> Floats:
        """Return the increments of a decision with its outcome."""
        found = self._same.get(key := (tuple(plays), known.tobytes(), repr(said)))  # most outcomes are 0 or 1
        if found is None:
            if len(self._same) == _MOST:
                self._same.clear()
            found = self._same[key] = self._arrived(plays, known, said)
        return found.copy()

    def _arrived(self, plays: Sequence[int], known: Floats, said: Any) -> Floats:
        problem, played = self._problem, np.array([plays])
        y, observed, exposed = named.outcomes(problem, len(plays), said)
        missing = np.zeros((1, len(plays), len(problem.names)), bool)
        *_, learned, z, _ = entries.at_arrival(
            played,
            _ONCE,
            _ONCE,
            _NO_GROUPS,
            known[None],
            y,
            observed,
            exposed,
            problem.sure,
            len(problem.noisy),
            problem.span_by_action,
            missing,
        )
        return self._settled(plays, known, learned, z, missing, exposed)

    def expired(self, plays: Sequence[int], known: Floats, fate: OnExpiry, fallback: Floats | None) -> Floats:
        """Return the increments of a decision that expired, by the fate of the reserved amounts.

        And by fallbacks other than the problem's if they are given, `(M+B)`.
        """
        if fate == "hold":
            return self.decided(plays, known)
        if fate == "release":
            return self.none()
        problem, played = self._problem, np.array([plays])
        by = entries.fallbacks(problem.fallback, fallback)
        _, learned, z, missing = entries.at_expiry(
            played, _ONCE, known[None], problem.sure, len(problem.noisy), by, problem.free
        )
        return self._settled(plays, known, learned, z, missing, checks.EVERY_PLAY)

    def rounds(self, sums: Floats) -> float:
        """Count the rounds in a row whose outcomes arrived."""
        return float(self._line(sums)[books.ARRIVED])

    def outcomes(self, sums: Floats) -> Floats | None:
        """Return the outcomes in the row of one decision, `->(M+L)`, None unless all of them were observed."""
        line = self._line(sums)
        run = books.ReplicaSums(problem=self._problem, books=line[None], cases=np.zeros(0), rounds=1.0)
        return run.totals[0, 0] if bool((run.observed == line[books.CAME]).all()) else None

    def objective(self, sums: Floats) -> float | None:
        """Compute the objective at the averages of a row, None if it is not defined or reads groups."""
        if self._by_group:
            return None
        line = self._line(sums)
        run = books.ReplicaSums(problem=self._problem, books=line[None], cases=np.zeros(0), rounds=line[books.DECIDED])
        return objective(self._problem, run)

    def moments(self, sums: Floats) -> Moments | None:
        """Return the moments of a row, None if the objective reads groups."""
        if self._by_group:
            return None
        m, own = len(self._objective), sums[len(self.names) + self._width :]
        return Moments(float(own[0]), own[1 : 1 + m], own[1 + m :].reshape(m, m))

    def _line(self, sums: Floats) -> Floats:
        return sums[len(self.names) : len(self.names) + self._width]

    def _row(self, spent: Floats, table: Floats, z: Floats | None = None) -> Floats:
        found, size = self.none(), len(self.names)
        found[:size], found[size : size + self._width] = spent, table[0, 0]
        if z is not None:
            found[size + self._width :] = np.concatenate([[1.0], z, np.outer(z, z).ravel()])
        return found

    def _committed(self, plays: Sequence[int], known: Floats) -> Floats:
        """Make a table of this decision alone."""
        table = books.start(self._problem, 1)[:, :1]
        books.commit(np.array([plays]), _ONCE, _NO_GROUPS, known[None], self._problem.certain, 1.0, table)
        return table

    def _settled(
        self, plays: Sequence[int], known: Floats, learned: Floats, z: Floats, missing: Bools, exposed: Bools
    ) -> Floats:
        """Make the row of a settled decision; hard budgets keep the amounts that were not observed."""
        table, amounts = self._committed(plays, known), self._problem.amounts(known[None], learned)
        books.arrive(np.array([plays]), _ONCE, _NO_GROUPS, amounts, z, missing, exposed, 1.0, table)
        run = books.ReplicaSums(problem=self._problem, books=table[0], cases=np.zeros(0), rounds=1.0)
        spent, seen = run.totals[0, 0, self._columns], run.observed[self._columns]
        held = self._hard & (seen < table[0, 0, books.CAME])
        whole = bool((run.observed[self._objective] == table[0, 0, books.CAME]).all())
        return self._row(np.where(held, 0.0, spent), table, run.totals[0, 0, self._objective] if whole else None)
