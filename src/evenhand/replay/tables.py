"""The tables of the replay of a recipe beside its references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evenhand.core.faces import amount
from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem
from evenhand.replay.cells import Difference
from evenhand.replay.measures import SERVED, Digest, Measure
from evenhand.replay.systems import BLIND
from evenhand.report.quantities import objective_name
from evenhand.report.summary import number
from evenhand.report.tables import Table

INTERVAL = "95 %"
ERRORS = {"se": "se", "se log": "se_log", "spread": "spread", "worst": "worst"}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Makes the tables of a replay.

    Args:
        problem: the problem of the file.
        measured: all measures with their digests, by system and name.
        bootstrap: the number of resamples.
        errors: whether means have standard errors, spreads and worst runs beside them in place of intervals.
    """

    problem: Problem
    measured: Mapping[str, Mapping[str, tuple[Measure, Digest]]]
    bootstrap: int
    errors: bool = True

    @property
    def budgets(self) -> list[Stated]:
        """The budgets whose outcome no other budget limits."""
        return [s for s in self.problem.stated if s.spends and s.outcome is not None and s.by is None]

    def used(self) -> dict[str, list[float | None]]:
        """Return the fraction of each budget that every system used on average, None if it was not measured."""
        found = {}
        for s in self.budgets:
            each = [measures.get(f"{s.outcome} of budget") for measures in self.measured.values()]
            found[str(s.outcome)] = [None if z is None else z[1].mean for z in each]
        return found

    def objective(self) -> Table:
        """Return the table of the objective, with the differences to the blind lottery."""
        name = objective_name(self.problem)
        against = f"{name} minus {BLIND}"
        return self._table(
            f"{name} per round",
            *self._columns(name, 4),
            (f"over {BLIND}", against, "mean", 4),
            ("se", against, "se", 4) if self.errors else (INTERVAL, against, INTERVAL, 4),
        )

    def outcomes(self) -> Iterator[Table]:
        """Yield a table per outcome: the use of its budget, or its average."""
        budgets = {s.outcome: s for s in self.problem.stated if s.spends}
        for o in self.problem.names:
            if o in budgets:
                yield self._table(
                    f"{o}: budget {amount(budgets[o].total, 6)}",
                    ("used", f"{o} used", "mean", 1),
                    *(self._errors(f"{o} used", 1) if self.errors else [("at most", f"{o} used", "worst", 1)]),
                    ("of budget", f"{o} of budget", "mean", 4),
                    ("left", f"{o} left", "mean", 1),
                )
            elif o != objective_name(self.problem):
                yield self._table(f"{o} per round", *self._columns(f"{o} per round", 4))

    def limits(self) -> Iterator[Table]:
        """Yield a table per constraint that is not a budget, and one per outcome that groups are compared by."""
        for s in self.problem.stated:
            if not s.spends or s.outcome is None:
                label = s.constraint.label
                yield self._table(f"{label}: limit {amount(s.limit, 6)}", *self._columns(label, 4))
            if s.outcome is not None and s.by is not None:
                yield self._rates(s.outcome, s.by)

    def lengths(self) -> Table:
        """Return the table of the numbers of rounds and of cases read."""
        return self._table(
            "length",
            ("rounds", "rounds", "mean", 1),
            ("fewest", "rounds", "worst", 0),
            ("of due", SERVED, "mean", 3),
            ("cases read", "cases read", "mean", 1),
            ("most", "cases read", "worst", 0),
        )

    def _columns(self, measure: str, digits: int) -> Iterator[tuple[str, str, str, int]]:
        """Yield the columns of a measure: its mean, and what is known of the error of that."""
        yield "mean", measure, "mean", digits
        yield from self._errors(measure, digits) if self.errors else [(INTERVAL, measure, INTERVAL, digits)]

    @staticmethod
    def _errors(measure: str, digits: int) -> Iterator[tuple[str, str, str, int]]:
        yield from ((title, measure, part, digits) for title, part in ERRORS.items())

    def _table(self, head: str, *shown: tuple[str, str, str, int]) -> Table:
        """Make a table with a row per system and a column per cell: title, measure, field of its digest, digits."""
        columns = []
        for title, measure, part, digits in shown:
            digests = [found[measure][1] if measure in found else None for found in self.measured.values()]
            cells = ["" if d is None else self._cell(d, part, digits) for d in digests]
            if any(cells):  # the column is empty without resamples or a reference
                columns.append([title, *cells])
        first, *lines = zip([head, *self.measured], *columns, strict=True)
        return Table(list(first), [list(line) for line in lines])

    def _cell(self, d: Digest, part: str, digits: int) -> str:
        if part != INTERVAL:
            return number(getattr(d, part), digits)
        found = Difference.of(d, self.bootstrap)
        return "" if found.low is None else f"{number(found.low, digits)} to {number(found.high, digits)}"

    def _rates(self, outcome: str, by: str) -> Table:
        groups = next(g.names for g in self.problem.groups if g.name == by)
        lines = []
        for system, found in self.measured.items():
            digests = [found[f"{outcome} rate {by}={group}"][1] for group in groups]
            lines.append([system, *(_with_error(d) for d in digests)])
        return Table([f"{outcome} per case by {by}, mean{' ± se' if self.bootstrap else ''}", *groups], lines)


def _with_error(d: Digest) -> str:
    return number(d.mean, 3) if d.se is None else f"{number(d.mean, 3)} ± {number(d.se, 3)}"
