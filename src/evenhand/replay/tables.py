"""The tables of replays, the meaning of their columns, the parts of their reports, and the headline of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.texts import amount, count
from evenhand.logs.settings import BLIND
from evenhand.problem.constraints import Statement, tightest
from evenhand.problem.problem import Problem
from evenhand.replay.measures import SERVED, Difference, Digest, Measure
from evenhand.report import charts
from evenhand.report.intervals import Interval
from evenhand.report.page import Part
from evenhand.report.quantities import objective_name
from evenhand.report.summary import number
from evenhand.report.tables import Table

PLAIN = "95 %: for the population behind the log, by {bootstrap} resamples of its rows; rounds not served count as 0."
WITHOUT_ERRORS = "No errors are known without resamples; rounds not served count as 0."
EACH = {
    "mean": """\
mean    over the {shuffles} shuffles of this one log, per round of the horizon, or of the log if it ends first. Rounds
        that were not served, because no action fitted what was left of a budget, count as 0.""",
    "se": """\
se      standard error of this mean for the population behind the log: how far it would move had other people been in
        the log. Estimated from {bootstrap} bootstrap resamples of the rows, each replayed in {orders} orders.""",
    "se_log": """\
se log  standard error of this mean for this one log: how far it would move over other shuffles of the same cases. It is
        spread / sqrt({shuffles}), and says nothing of other people.""",
    "spread": "spread  standard deviation over the shuffles: how far a single replay of this one log is from another.",
    "worst": "worst   of all runs{kinds}.",
}
INTERVAL = "95 %"
ERRORS = {"se": "se", "se log": "se_log", "spread": "spread", "worst": "worst"}
DIFFERENCES = (
    "Dots are paired differences, as all read the same cases in the same orders; lines are their 95 % intervals, for "
    "the population behind the log. Grey intervals include 0: such a difference is indistinguishable from chance. "
    "Blue ones are above 0, and orange ones below."
)
ALONE = "Dots are paired differences. Nothing was resampled, so that no errors are known."
USES = "Bars are parts of the budget that were used on average; at the line all of it is used."


def plain_legend(bootstrap: int) -> str:
    """Explain means with intervals in a line.

    >>> plain_legend(0)
    'No errors are known without resamples; rounds not served count as 0.'
    """
    return PLAIN.format(bootstrap=bootstrap) if bootstrap else WITHOUT_ERRORS


def legend(parts: Collection[str], shuffles: int, bootstrap: int, orders: int) -> str:
    """Explain the columns of all errors, of which `parts` are shown.

    >>> print(legend(["worst"], 20, 40, 3))
    worst   of all runs, shuffled and resampled.
    """
    kinds = ", shuffled and resampled" if bootstrap else ""
    told = {"shuffles": shuffles, "bootstrap": bootstrap, "orders": orders, "kinds": kinds}
    return "\n".join(line.format(**told) for part, line in EACH.items() if part in parts)


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
    def budgets(self) -> dict[str, Statement]:
        """The budgets by outcome, the least total of each."""
        return tightest(self.problem.stated)

    def used(self) -> dict[str, list[float | None]]:
        """Return the fraction of each budget that every system used on average, None if it was not measured."""
        found = {}
        for outcome in self.budgets:
            each = [measures.get(f"{outcome} of budget") for measures in self.measured.values()]
            found[outcome] = [None if z is None else z[1].mean for z in each]
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
        budgets = self.budgets
        for o in (*self.problem.names, *(name for name in budgets if name not in self.problem.names)):
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
        """Yield the columns of a measure: its mean, and its errors as far as they are known."""
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


def differences(title: str, found: Sequence[Interval], *tables: Table) -> Iterator[Part]:
    """Yield a chart of differences, with tables beside it, or the tables alone if there are none."""
    if not found:
        yield from others(title, tables, "")
        return
    known = any(z.low is not None for z in found)
    yield Part(
        title=f"Differences: {title}",
        reading=DIFFERENCES if known else ALONE,
        chart=charts.intervals(found),
        tables=tables,
    )


def uses(
    names: Sequence[str],
    budgets: Mapping[str, Sequence[float | None]],
    marks: Mapping[str, Sequence[float | None]],
    tables: tuple[Table, ...],
) -> Iterator[Part]:
    """Yield a chart of the use of each budget by every system, and a chart of other fractions, each from 0 to 1."""
    if not budgets:
        yield from others("Outcomes", tables, "")
    for title, reading, parts in (("Budgets used", USES, budgets), ("Rounds served", "", marks)):
        if not parts:
            continue
        yield Part(
            title=f"{title}: {', '.join(parts)}",
            reading=reading,
            chart=charts.fractions(names, parts),
            keys=charts.keys(parts),
            tables=tables if parts is budgets else (),
        )


def others(title: str, tables: Iterable[Table], text: str) -> Iterator[Part]:
    """Yield tables and lines, if there are any."""
    found = tuple(tables)
    if found or text:
        yield Part(title=title, tables=found, text=text)


def beyond(found: Sequence[Difference]) -> str:
    """Say the differences of two recipes, one per budget, in a few words.

    >>> beyond([Difference(0.01, 0.02, -0.03, 0.05)])
    '+0.0100 ± 0.0400 (95 %), perhaps by chance'
    >>> beyond([Difference(0.01, 0.002, 0.006, 0.014), Difference(0.01, 0.02, -0.03, 0.05)])
    'more at 1, perhaps by chance at 1'
    >>> beyond([Difference(0.01), Difference(-0.02)])
    '-0.0200 to +0.0100 (no errors known)'
    """
    if len(found) == 1:
        d = found[0]
        error = "(no error known)" if d.high is None else f"± {d.high - d.mean:.4f} (95 %)"
        unsure = d.high is not None and not d.sign
        return f"{round(d.mean, 4) + 0.0:+.4f} {error}" + (", perhaps by chance" if unsure else "")
    if any(d.low is None for d in found):
        low, high = (round(pick(d.mean for d in found), 4) + 0.0 for pick in (min, max))
        means = f"{low:+.4f}" if low == high else f"{low:+.4f} to {high:+.4f}"
        return f"{means} (no errors known)"
    told = [d.sign for d in found]
    counts = {"more": told.count(1), "less": told.count(-1), "perhaps by chance": told.count(0)}
    return ", ".join(f"{what} at {n}" for what, n in counts.items() if n)


def most(
    means: Mapping[str, Sequence[float]],
    over: Collection[str],
    objective: str,
    pairs: Callable[[str, str], Sequence[Difference]],
) -> str:
    """Say which of several recipes brings the most, and how far it is from the next of those that keep to the budget.

    Args:
        means: by recipe, what it brings per round at every budget.
        over: the recipes that use more than a budget.
        objective: what they bring.
        pairs: the differences of two recipes, one per budget.

    >>> means = {"pgd": [0.2, 0.4], "ucb": [0.9, 0.9], "uniform": [0.1, 0.5]}
    >>> most(means, ["ucb"], "visit", lambda best, other: [Difference(0.1), Difference(-0.1)])
    'of 2 recipes within the budget pgd brings most visit at 1 of 2 budgets; \
beyond uniform: -0.1000 to +0.1000 (no errors known)'
    """
    kept = {name: z for name, z in means.items() if name not in over}
    among = kept or means
    budgets = max(map(len, among.values()))
    tops = [max(z[i] for z in among.values() if i < len(z)) for i in range(budgets)]
    wins = {name: sum(x == top for x, top in zip(z, tops, strict=False)) for name, z in among.items()}
    best, *others = sorted(among, key=lambda name: (-wins[name], -sum(among[name])))
    keep = "" if not over else " within the budget" if kept else ", none within the budget,"
    at = "" if budgets == 1 else f" at {wins[best]} of {budgets} budgets"
    said = f"of {count(len(among), 'recipe')}{keep} {best} brings most {objective}{at}"
    found = pairs(best, others[0]) if others else ()
    return said + (f"; beyond {others[0]}: {beyond(found)}" if found else "")
