"""The tables of the replay of a recipe beside its references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem
from evenhand.replay.measures import SERVED, Digest, Measure
from evenhand.replay.systems import BLIND
from evenhand.report.quantities import objective_name
from evenhand.report.summary import number
from evenhand.report.tables import Table

COLUMNS = {"mean": "mean", "se": "se", "se log": "se_log", "spread": "spread", "worst": "worst"}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Makes the tables of a replay.

    Args:
        problem: the problem of the file.
        measured: all measures with their digests, by system and name.
        bootstrap: the number of resamples.
    """

    problem: Problem
    measured: Mapping[str, Mapping[str, tuple[Measure, Digest]]]
    bootstrap: int

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
            *((title, name, part, 4) for title, part in COLUMNS.items()),
            (f"over {BLIND}", against, "mean", 4),
            ("se", against, "se", 4),
        )

    def outcomes(self) -> Iterator[Table]:
        """Yield a table per outcome: the use of its budget, or its average."""
        budgets = {s.outcome: s for s in self.problem.stated if s.spends}
        for o in self.problem.names:
            if o in budgets:
                yield self._table(
                    f"{o}: budget {budgets[o].total:,.6g}",
                    ("used", f"{o} used", "mean", 1),
                    *((title, f"{o} used", part, 1) for title, part in COLUMNS.items() if part != "mean"),
                    ("of budget", f"{o} of budget", "mean", 4),
                    ("left", f"{o} left", "mean", 1),
                )
            elif o != objective_name(self.problem):
                yield self._table(f"{o} per round", *((t, f"{o} per round", part, 4) for t, part in COLUMNS.items()))

    def limits(self) -> Iterator[Table]:
        """Yield a table per constraint that is not a budget, and one per outcome that groups are compared by."""
        for s in self.problem.stated:
            if not s.spends or s.outcome is None:
                label = s.constraint.label
                yield self._table(f"{label}: limit {s.limit:g}", *((t, label, part, 4) for t, part in COLUMNS.items()))
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

    def _table(self, head: str, *cells: tuple[str, str, str, int]) -> Table:
        """Make a table with a row per system and a column per cell: title, measure, field of its digest, digits."""
        columns = []
        for title, measure, part, digits in cells:
            digests = [found[measure][1] if measure in found else None for found in self.measured.values()]
            values = [None if d is None else getattr(d, part) for d in digests]
            if any(x is not None for x in values):  # the column is empty without resamples or a reference
                columns.append([title, *(number(x, digits) for x in values)])
        first, *lines = zip([head, *self.measured], *columns, strict=True)
        return Table(list(first), [list(line) for line in lines])

    def _rates(self, outcome: str, by: str) -> Table:
        groups = next(g.names for g in self.problem.groups if g.name == by)
        lines = []
        for system, found in self.measured.items():
            digests = [found[f"{outcome} rate {by}={group}"][1] for group in groups]
            lines.append([system, *(_with_error(d) for d in digests)])
        return Table([f"{outcome} per case by {by}, mean{' ± se' if self.bootstrap else ''}", *groups], lines)


def _with_error(d: Digest) -> str:
    return number(d.mean, 3) if d.se is None else f"{number(d.mean, 3)} ± {number(d.se, 3)}"
