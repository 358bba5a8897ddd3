"""Summaries and text tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.extras import data_frame
from evenhand.core.texts import amount, few
from evenhand.core.types import Floats, Ints
from evenhand.policy.standings import Comparison, floors, name as name_of
from evenhand.problem.constraints import Statement
from evenhand.problem.constraints.outlook import is_missed
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    import pandas as pd


_ROUNDING = 1e-15  # of a mean, relative to the values
_HEAD = ["", "mean", "se", "worst", "limit"]
_NAMED = 40  # characters of the numbers of replicas in a sentence
MISSED = " missed"  # follows a limit
_CAVEATS = "interrupted", "policy", "under way"


class Line(NamedTuple):
    """A quantity over replicas: its mean, the standard error of this mean, the worst, and a limit if there is one.

    `missed` states whether the mean is on the wrong side of the limit by more than three standard errors; these are
    upper bounds for independent rounds.
    """

    name: str
    mean: float
    se: float
    worst: float
    limit: float | None
    missed: bool = False

    @property
    def text(self) -> str:
        """The mean, beside its limit if it has one."""
        limit = "" if self.limit is None else f" (limit {amount(self.limit)}{', missed' if self.missed else ''})"
        return amount(self.mean) + limit

    @staticmethod
    def of(
        name: str, values: Floats, *, worst: Literal["low", "high"], limit: float | None = None, error: float = math.inf
    ) -> Line:
        """Summarise one value per replica by the mean, its standard error and the worst.

        >>> Line.of("ride", np.array([0.04, 0.05]), worst="high", limit=0.05).worst
        0.05
        >>> Line.of("ride", np.array([0.06, 0.05]), worst="high", limit=0.05, error=0.001).missed
        True
        """
        extreme = values.min() if worst == "low" else values.max()
        mean = float(values.mean())
        off = limit is not None and is_missed(mean, limit, worst, error)
        return Line(name, mean, standard_error(values), float(extreme), limit, off)


class Ending(NamedTuple):
    """The number of replicas that ended early, and the earliest and latest round after which they did."""

    replicas: int
    first: int
    last: int

    @staticmethod
    def of(rounds: Floats) -> Ending:
        """Summarise the rounds after which replicas ended, NaN for those that did not, `(R)`.

        >>> str(Ending.of(np.array([812.0, np.nan, 930.0])))
        '(after rounds 812 to 930)'
        """
        known = rounds[np.isfinite(rounds)]
        return Ending(len(known), int(known.min(initial=math.inf)) if len(known) else 0, int(known.max(initial=0.0)))

    def __str__(self) -> str:
        when = f"round {self.first:,}" if self.first == self.last else f"rounds {self.first:,} to {self.last:,}"
        return f"(after {when})"

    def instead_of(self, horizon: int) -> str:
        """State how many rounds of a horizon there were, where cases ran out.

        >>> Ending(3, 1180, 1220).instead_of(4000)
        'no more cases after 1,180 to 1,220 of 4,000 rounds'
        """
        rounds = f"{self.first:,}" if self.first == self.last else f"{self.first:,} to {self.last:,}"
        return f"no more cases after {rounds} of {horizon:,} rounds"


NONE = Ending(0, 0, 0)
COLUMNS = [*_CAVEATS, *Line._fields]  # of data frames


class LockIn(NamedTuple):
    """Replicas that played the same action in all rounds of the second half of a run, though others fitted as well."""

    action: str
    replicas: tuple[int, ...]
    objective: float  # their mean at the end
    others: float  # that of all replicas that did not play this action alone

    @property
    def text(self) -> str:
        """The finding in words.

        >>> print(LockIn("none", (3, 7), 0.2, 0.45).text)
        2 may be locked in: replicas 3, 7 played 'none' alone in the second half, and end at 0.2 where others have 0.45
        """
        n, who = len(self.replicas), few(self.replicas, _NAMED)
        alone = f"replica{'s' * (n > 1)} {who} played {self.action!r} alone in the second half"
        ends = f"end{'s' * (n == 1)} at {amount(self.objective)} where others have {amount(self.others)}"
        return f"{n} may be locked in: {alone}, and {ends}"


class Summary(NamedTuple):
    """The summary of a run at its end; an interrupted run is measured over the elapsed rounds."""

    policy: str
    replicas: int
    interrupted: str  # the progress in words; empty if the run finished
    under_way: tuple[int, int]  # the fewest and the most rounds of a replica with missing outcomes
    stopped: Ending
    restricted: Ending
    lines: tuple[Line, ...]
    at_means: str = ""  # the name of the objective if it is that of the true means of the plays, else of what arrived
    ran_out: Ending = NONE  # replicas to which no more cases came before the horizon
    horizon: int = 0
    held_out: tuple[Comparison, ...] = ()
    locked_in: tuple[LockIn, ...] = ()  # replicas that play one action alone, and gain clearly less than the others

    def __str__(self) -> str:
        apart = [f"{c.name}, by {amount(c.rounds)} rounds held out of each replica: {c.text}" for c in self.held_out]
        return "\n".join([self.title(), table(_HEAD, self._rows()), self._units(), *apart])

    def __repr__(self) -> str:
        return texts.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        return texts.table(f"{self.title()}; {self._units()}", self._rows(), _HEAD)

    def notes(self) -> list[str]:
        """List remarks: outcomes that are to come, and replicas that ended early or restricted, or locked in."""
        found = []
        if self.under_way[1]:
            fewest, most = self.under_way
            rounds = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
            found.append(f"the outcomes of {rounds} rounds of each replica are still under way")
        return [*found, *self.early_ends(), *endings(self.stopped, self.restricted), *(z.text for z in self.locked_in)]

    def early_ends(self) -> list[str]:
        """Say how many replicas had no more cases before the horizon, and after which rounds."""
        if not self.ran_out.replicas:
            return []
        return [f"{self.ran_out.replicas} had {self.ran_out.instead_of(self.horizon)}, and count per round that came"]

    def title(self) -> str:
        """Return the title: the policy, the number of replicas, and the notes."""
        head = [f"{self.interrupted}, " if self.interrupted else "", f"{self.replicas} replicas"]
        return ", ".join([f"{self.policy}: {''.join(head)}", *self.notes()])

    def _rows(self) -> list[list[str]]:
        return [
            [x.name, number(x.mean), number(x.se), number(x.worst), number(x.limit) + (MISSED if x.missed else "")]
            for x in self.lines
        ]

    def _units(self) -> str:
        units = f"per round, in the units of each outcome; se: of the mean over the {self.replicas} replicas"
        return units + self.truth()

    def truth(self) -> str:
        """Say that the objective is that of true means, beside constraints of what arrived; empty if it is not."""
        return f"; {self.at_means}: at the true means of the plays" if self.at_means else ""

    def records(self) -> list[tuple[object, ...]]:
        """Return the rows of `to_frame`."""
        first = bool(self.interrupted), self.policy, self.under_way[1]
        return [(*first, *x) for x in self.lines]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per line; the first, the objective, is at true means if the world has them.

        `under way` is the most rounds of a replica without outcomes."""
        return data_frame(self.records(), COLUMNS)


def endings(stopped: Ending, restricted: Ending) -> list[str]:
    """Describe how many replicas stopped, or ended with part of their offer masked, and after which rounds.

    >>> endings(Ending(2, 812, 930), Ending(0, 0, 0))
    ['2 stopped because nothing fitted any more (after rounds 812 to 930)']
    """
    found = [f"{stopped.replicas} stopped because nothing fitted any more {stopped}"] if stopped.replicas else []
    if restricted.replicas:
        found.append(f"{restricted.replicas} ended with actions masked that no longer fitted {restricted}")
    return found


def standard_error(values: Floats) -> float:
    """Compute the standard error of the mean of independent values; NaN for a single one, or an infinite one.

    Equal values have one of 0, without the rounding of their mean.

    >>> standard_error(np.full(3, 0.05)), standard_error(np.array([1.0]))
    (0.0, nan)
    """
    if len(values) < 2:
        return math.nan
    with np.errstate(invalid="ignore"):  # an infinite value, as of a cost without a sale
        error = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    return 0.0 if error <= _ROUNDING * float(np.abs(values).max()) < math.inf else error


def number(x: float | None, digits: int = 4) -> str:
    """Format a number for a table.

    >>> number(0.12345), number(None), number(math.nan), number(1e-7)
    ('0.1235', '', '-', '0.0000001')
    """
    if x is None:
        return ""
    if math.isnan(x):
        return "-"
    return amount(x, 1) if x != 0 and abs(x) < 0.5 * 10.0**-digits else f"{x:.{digits}f}"


def table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Format columns of text; the first `left` ones are left-aligned, the others right-aligned.

    >>> print(table(["system", "reward"], [["pgd", "0.4613"]]))
    system  reward
    ------  ------
    pgd     0.4613
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: list[str]) -> str:
        first, *rest = [
            c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join([first, *rest]).rstrip()

    return "\n".join([line(head), line(["-" * w for w in widths]), *(line(r) for r in rows)])


def with_credit(problem: Problem, left: Floats | None) -> list[tuple[Statement, Floats]]:
    """Return the constraints whose credit was kept, with the rest of it in each replica, `(R,k)->(R)` each."""
    if left is None:
        return []
    stated = [s for s in problem.stated if s.credit is not None]
    return [(s, one) for s, one in zip(stated, left.T, strict=True) if not np.isnan(one).any()]


def credits_of(problem: Problem, left: Floats | None) -> Iterator[Line]:
    """Yield a line per credit, which counts as missed if it was overdrawn in any replica, `(R,k)->`."""
    for s, one in with_credit(problem, left):
        line = Line.of(f"credit of {s.constraint.label}", one, worst="low", limit=0.0)
        size = 1.0 if s.credit is None else max(s.credit.slack, 1.0)
        yield line._replace(missed=is_missed(line.worst, 0.0, "low", size=size))


def spans_of(problem: Problem, by_period: Floats | None) -> Iterator[Line]:
    """Yield a line per constraint with spans: the value in the span of each replica that is furthest beyond its limit.

    Where spans ask for different sums, it is what the sum has beyond its floor, against 0. A mean is missed if it is
    beyond by three standard errors of one span of one replica, as the worst of several spans is beyond its mean.
    """
    for s in problem.stated:
        found = None if by_period is None else floors(problem, s, by_period)
        if found is None:
            continue
        value, asked, error = found.worst(np.ones(found.value.shape, bool))
        alike = bool(np.ptp(found.asked) <= 1e-9 * np.abs(found.asked).max())
        if not alike:
            value = value - asked
        text = name_of(s) if alike else f"{name_of(s)}, beyond its floor"
        limit = float(found.asked[0]) if alike else 0.0
        yield Line.of(text, value, worst=s.constraint.worst, limit=limit, error=float(error.mean()))


FEWEST = 20  # rounds of a run that is judged
PART = 0.5  # of its rounds, in which a replica plays nothing else
_OTHERS = 5  # replicas that others are compared with, at least
FAR = 3.0  # standard deviations of these, from their mean


class Last(NamedTuple):
    """The last plays of R replicas, and since when they played nothing else."""

    replicas: Ints  # (R,)
    objective: Floats  # (R,) at the end
    rounds: Floats  # (R,) elapsed
    same: Ints  # (R,) the action of the last round
    since: Floats  # (R,) the elapsed rounds before it was played in all


def lock_ins(actions: Sequence[str], last: Last) -> tuple[LockIn, ...]:
    """Find replicas that are likely to be locked in, by the action that they play.

    Equation: a replica that plays action a alone in the second half is named if its objective is below m - 3 s, with m
    and s the mean and the standard deviation of the replicas that do not, of which there are five at least. Where one
    action is right for everybody, nobody is named.

    >>> value, since = np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5]), np.array([0.0, 99, 99, 99, 99, 99])
    >>> found = lock_ins(("none", "call"), Last(np.arange(6), value, np.full(6, 100.0), np.zeros(6, int), since))
    >>> found[0].action, found[0].replicas
    ('none', (0,))
    """
    value = last.objective
    alone = (last.rounds - last.since >= PART * last.rounds) & (last.rounds >= FEWEST)
    found = []
    for a in np.unique(last.same[alone]).tolist():
        these = alone & (last.same == a)
        others = value[~these & np.isfinite(value)]
        if len(others) >= _OTHERS:
            below = these & (value < others.mean() - FAR * others.std(ddof=1) - 1e-9 * np.abs(others).max())
            if below.any():
                name = actions[a] if a < len(actions) else f"candidate {a}"
                who = tuple(last.replicas[below].tolist())
                found.append(LockIn(name, who, float(value[below].mean()), float(others.mean())))
    return tuple(found)
