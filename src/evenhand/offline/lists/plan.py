"""A list of cases and its plan: an action per case, within budgets, and evenly between groups where it should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Stream, uniform
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST, number
from evenhand.logs import toml
from evenhand.logs.arrow import Batches, Dataset
from evenhand.logs.bad_rows import BadRows, missing, with_levels
from evenhand.logs.column_guesses import FORESEEN, LISTED
from evenhand.logs.columns import Columns, Names, Packed
from evenhand.logs.encoding import feature, refuse_thousands
from evenhand.logs.reading import Form
from evenhand.logs.sources import Given, Table, TextFiles, table_of
from evenhand.logs.spec import Spec
from evenhand.logs.toml import locate_keys
from evenhand.logs.units import MISSING, MOST_LEVELS, Features, Units
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.plans.limits import (
    Bound,
    Population,
    allocate_named,
    bounds_of,
    budget_of,
    demands_of,
    label_of,
    use_of,
)
from evenhand.problem.constraints.base import relative
from evenhand.problem.constraints.statements import Statement
from evenhand.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class ListTexts(Mapping[str, list[str]]):
    """The texts of a list by column, as they came; of a table with types, they are read where they are asked for.

    Args:
        header: the names of all columns.
        table: the list.
        read: its columns that were read.
        form: of the texts.
    """

    header: Sequence[str]
    table: Table
    read: Columns
    form: Form

    def __getitem__(self, name: str) -> list[str]:
        return self.names(name).texts()

    def __iter__(self) -> Iterator[str]:
        return iter(self.header)

    def __len__(self) -> int:
        return len(self.header)

    def names(self, name: str) -> Names:
        """Return the texts of a column."""
        found = self.read.each.get(name)
        return found if isinstance(found, Names) else self.table.read({name: "the list"}, form=self.form).names(name)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cases:
    """The rows of a list.

    Args:
        texts: by column, as the list has them.
        numbers: by column of numbers and dates, NaN if a value is missing.
        features: `(N,u)` encoded as the log is; some rows are computed at a time.
        known: `(N,A,L)` known outcomes, or `(1,A,L)` where rows do not differ.
        groups: by grouping, the number of the group of every row.
        form: how the file is written.
    """

    texts: ListTexts
    numbers: Mapping[str, Floats]
    features: Features
    known: Floats
    groups: Mapping[str, Ints]
    form: Form

    @staticmethod
    def read(cases: Given, spec: Spec, problem: Problem, coding: Units) -> Cases:
        """Read a list; every row has to be usable, as every case must be decided.

        Raises:
            InvalidInput: a column is missing, or a value is of a different kind than in the log.
        """
        wanted = {*spec.numeric, *spec.categorical, *spec.known_columns, *(g.column for g in spec.groups.values())}
        places, table = {c: place for c, place in spec.places.items() if c in wanted}, table_of(cases, "cases")
        with locate_keys(spec.origin, table.name):
            return Cases._read(table, spec, problem, coding, places)

    @staticmethod
    def _read(table: Table, spec: Spec, problem: Problem, coding: Units, places: dict[str, str]) -> Cases:
        header, typed = table.header(places, spec.form), not isinstance(table, TextFiles)
        arrow = None if isinstance(table, Dataset) else table.arrow()  # a file is read once more where it is written
        for name in header:
            if name in LISTED or name.startswith(FORESEEN):
                raise InvalidInput(f"{table.name}: {name!r}", "another name, as a column of this name is written", name)
        more = () if typed else header  # they are written as they came
        asked = {name: places.get(name, "the list") for name in (*more, *places)}
        read = table.read(asked, numbers=spec.numbers if typed else (), form=spec.form)
        if not len(read):
            torn = f"rows with more or fewer fields than the header (first in line {read.torn[0]})" if read.torn else ""
            raise InvalidInput(table.name, "at least one row", torn or "a header alone")
        refuse_thousands(spec, read)
        for c, sign in spec.signs.items():
            if sign and read.each[c].sign not in ("", sign):
                raise InvalidInput(c, f"amounts in {sign}, as in the log", read.each[c].sign)
        texts = ListTexts(header, table if arrow is None else Batches.of(table.name, arrow), read, spec.form)
        bad = BadRows.none(read)
        read = with_levels(spec, read)  # nothing is dropped
        numbers = {c: feature(spec, read, bad, c) for c in spec.numeric}
        for c in spec.known_columns:
            numbers[c] = read.numbers(c)
            bad.keep(c, np.abs(numbers[c]) <= LARGEST, "a finite number")
        for c, levels in coding.levels.items():
            bad.keep(c, read.names(c).are(levels), f"one of the log's values ({', '.join(levels[:10])})")
        groups = {}
        for grouping in problem.groups:
            column = spec.groups[grouping.name].column
            found = read.names(column).places(grouping.names)
            bad.keep(column, found >= 0, f"one of the log's groups ({', '.join(grouping.names[:10])})")
            groups[grouping.name] = found
        if bad.left_out:
            told = "; ".join([*bad.messages(), *_to_do(spec, coding, read, bad)])
            expected = "rows that can all be used, as every case is decided"
            raise InvalidInput(table.name, expected, f"{bad.left_out:,} of {bad.total:,} that cannot; {told}")
        known = spec.known(problem, {c: numbers[c] for c in spec.known_columns})
        return Cases(
            texts=texts,
            numbers=numbers,
            features=Features(coding, Packed({**numbers, **{c: read.names(c) for c in coding.texts}}), len(read)),
            known=problem.declared[None] if known is None else known,
            groups=groups,
            form=table.form(places, spec.form),
        )

    def __len__(self) -> int:
        return len(self.features)


def _to_do(spec: Spec, coding: Units, read: Columns, bad: BadRows) -> Iterator[str]:
    """Return advice on values that are in a list and not in the log, by column of features."""
    for column in dict.fromkeys(reason.column for reason in bad.reasons):
        if missing(spec, read, column).any() and (column in spec.categorical or column in spec.numeric):
            treatment = "level" if column in spec.categorical else "indicator"
            yield f"state features.missing.{toml.key(column)} = {treatment!r} for rows without a value"
        elif column in {grouping.column for grouping in spec.groups.values()}:
            yield f"write one of the log's groups of {column!r}, as shares and parities are of these"
        elif column in coding.levels:
            names = read.names(column)
            new = [z for z in names.values if z not in coding.levels[column]]
            stated = toml.value([z for z in (*coding.levels[column], *new) if z != MISSING][:MOST_LEVELS])
            yield (
                f"write one of the log's values of {column!r}, or state features.levels.{toml.key(column)} = "
                f"{stated}, by which a name that the log has not counts as {coding.levels[column][0]!r}"
            )
        else:
            yield f"correct {column!r} in these rows"


class Budget(NamedTuple):
    """The amount of an outcome that a list may use."""

    outcome: str
    total: float
    learned: bool = False  # whether it is kept by predictions alone


class Limits(NamedTuple):
    """The limits that a list must keep."""

    budgets: tuple[Budget, ...]
    demands: tuple[Statement, ...]  # such as floors, ratios and parities: what rows state of averages


class Held(NamedTuple):
    """The share of cases that a lottery decides, and its chances by action, `(A)`."""

    share: float
    lottery: Floats


def least(budgets: Sequence[Budget | Used], cases: int) -> dict[str, float]:
    """Return the least amount per case that budgets allow of each outcome."""
    each = {b.outcome: [z.total / cases for z in budgets if z.outcome == b.outcome] for b in budgets}
    return {outcome: min(amounts) for outcome, amounts in each.items()}


class ListPlan(NamedTuple):
    """An action per case."""

    actions: Ints  # (N,)
    prices: tuple[Floats, ...]  # of the limits by resource, budgets first: what one more unit is predicted to be worth


def limits_of(evidence: Evidence, cases: int, budget: float | None) -> Limits:
    """Return the limits of a problem for so many cases; `budget` replaces the total of a single one.

    Raises:
        InvalidInput: a constraint is of spans of time, or of a set that rows do not describe.
    """
    p, found = evidence.problem, demands_of(evidence.problem)
    for s in found.others:
        expected = "limits of totals and averages over the whole list"
        raise InvalidInput(f"{evidence.problem_file}: constraints", expected, s.constraint.label)
    of_groups = tuple(s for s in found.averages if s.spends and s.outcome is not None)
    budgets = [
        Budget(name, s.total / p.horizon * cases, p.names[p.row(name)[0]] in p.learned)
        for s in (*found.budgets, *of_groups)
        for name in [str(s.outcome)]
    ]
    if budget is not None:
        if len(budgets) != 1:
            has = f"{evidence.problem_file} has {len(budgets) or 'no'} budget{'s' if budgets else ''}"
            raise InvalidInput("budget", f"none, as {has}", budget)
        total = number("budget", budget, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
        budgets = [budgets[0]._replace(total=total)]
    return Limits(tuple(budgets), tuple(s for s in found.averages if s not in of_groups))


def planned(
    evidence: Evidence,
    cases: Cases,
    tables: Mapping[str, Tables],
    limits: Limits,
    held: Held,
    less: Floats,
    order: Ints,
    before: ListPlan | None = None,
) -> ListPlan:
    """Plan a list with the average budgets that held-out cases leave, minus stated amounts.

    Budgets leave at least what the cheapest actions cost. Of cases that are alike, those that come first in an order
    are first. A demand is one of the plan, and of the whole list where the lottery of held out cases does not keep it.
    The prices of a plan `before` with about the same limits save time.

    Raises:
        InvalidInput: a budget does not pay for the cheapest actions and the holdout.
        InfeasibleProblem: no policy keeps to all limits.
    """
    worth, bounds = evidence.worth(tables, len(cases)).predicted, list[Bound]()
    for (outcome, total, _), lower in zip(limits.budgets, less.tolist(), strict=True):
        cost = use_of(evidence.problem, outcome, tables, cases.groups)
        least, mean = float(cost.min(1).mean()), float((cost @ held.lottery).mean())
        needs = len(cases) * ((1.0 - held.share) * least + held.share * mean)
        if total < needs - 1e-12 * abs(needs):
            field = "budget" if len(limits.budgets) == 1 else f"budget of {outcome!r}"
            raise InvalidInput(
                field, f"at least {amount(needs, 6)}, which the cheapest actions and the holdout cost", total
            )
        rest = max(((total - lower) / len(cases) - held.share * mean) / (1.0 - held.share), least)
        bounds.append(budget_of(outcome, cost, rest))
    for bound in bounds_of(evidence, limits.demands, Population(tables, cases.groups)):
        resource, left = bound.resource, bound.resource.most
        if held.share:
            own = resource.summed(np.broadcast_to(resource.use @ held.lottery, len(cases))) / len(cases)
            left = np.minimum(left, (left - held.share * own) / (1.0 - held.share))
        bounds.append(bound._replace(resource=replace(resource, most=left)))
    found = allocate_named(worth, bounds, order, None if before is None else before.prices)
    return ListPlan(found.actions, found.prices)


_STEP = 0.6180339887498949  # the golden ratio less 1: multiples of it fill [0, 1) evenly


def places(strata: Ints, seed: int, part: int = 0) -> Floats:
    """Return a number in [0, 1) per row, uniform for each row and even within each stratum, `(N)->(N)`.

    The rows of a stratum are put in a random order; the k-th has the fractional part of u + k times the golden ratio,
    with one uniform u per stratum. So of n rows, those below p are n p, up to a few, whatever p is. Each part of the
    rows has luck of its own.

    >>> z = places(np.zeros(1000, np.int64), seed=3)
    >>> int((z < 0.25).sum()) in range(248, 253)
    True
    """
    rows = len(strata)
    order = np.argsort(uniform(seed, Stream.ORDER, np.array([part]), np.arange(2, 3), rows)[0], kind="stable")
    order = order[np.argsort(strata[order], kind="stable")]
    here = strata[order]
    first = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
    rank = np.arange(rows) - np.repeat(first, np.diff(np.r_[first, rows]))
    start = uniform(seed, Stream.CHOICE, np.array([part]), np.arange(1), int(strata.max()) + 1)[0]
    found = np.empty(rows)
    found[order] = (start[here] + rank * _STEP) % 1.0
    return found


def drawn(planned: Ints, place: Floats, holdout: float, lottery: Floats) -> Ints:
    """Return the planned actions, and one of a lottery over actions where the random place is below the holdout.

    >>> drawn(np.array([2, 2, 2]), np.array([0.05, 0.16, 0.7]), 0.2, np.full(4, 0.25)).tolist()
    [1, 3, 2]
    >>> drawn(np.array([2, 2, 2]), np.array([0.0, 0.16, 0.7]), 0.2, np.array([0.0, 1.0, 0.0])).tolist()
    [1, 1, 2]
    """
    if not holdout:
        return planned
    last = int(np.flatnonzero(lottery)[-1])  # of a sum that is rounded below 1
    found = np.minimum(np.searchsorted(np.cumsum(lottery), place / holdout, side="right"), last)
    return np.where(place < holdout, found, planned)


class Used(NamedTuple):
    """The use of a budget by a list."""

    outcome: str
    total: float
    learned: bool  # whether both are of predictions, as the outcome is not known before acting
    spent: float  # by the whole list, exactly where it is known
    price: float  # what one more unit is predicted to be worth

    def __str__(self) -> str:
        how = ", by predictions" if self.learned else ""
        return f"{self.outcome}: {amount(self.spent, 6)} of {amount(self.total, 6)}{how}"


class HeldOut(NamedTuple):
    """The cases of a list that a lottery decides, so that the list can be judged, and their cost."""

    cases: int
    chances: Mapping[str, float]  # of the lottery, by action
    used: tuple[Used, ...]  # of each budget, by these cases
    less: float  # by predictions, what the list brings less than one without a holdout
    objective: str

    @property
    def lottery(self) -> str:
        """The lottery in words."""
        played = {action: chance for action, chance in self.chances.items() if chance > 0.0}
        if len(played) == 1:
            return f"{next(iter(played))!r} for all of them"
        if len(played) == len(self.chances) and max(played.values()) - min(played.values()) < 1e-12:
            return "any action, with the same chance each"
        return ", ".join(f"{action} {chance:.1%}" for action, chance in played.items())

    def __str__(self) -> str:
        if not self.cases:
            return "no case is held out: the share is too small for so few cases, and nothing can judge the list"
        uses = " and ".join(f"{amount(u.spent, 6)} of {amount(u.total, 6)} {u.outcome}" for u in self.used)
        cost = f"the list is predicted to bring {amount(self.less)} {self.objective} less than without a holdout"
        return f"{self.cases:,} cases held out: {self.lottery}; {f'they use {uses}, and ' if uses else ''}{cost}"


class Averages(NamedTuple):
    """What a list has of a constraint: the average of an outcome per case, or a ratio, in all or in each group."""

    text: str  # of what, and how it was planned
    groups: bool  # whether there is a number per group
    averages: Mapping[str, float]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class ListSums:
    """The sums of outcomes of a whole list, as constraints read them: a single point of a single run."""

    problem: Problem
    elapsed: Floats
    totals: Floats
    group_totals: Floats
    group_rounds: Floats

    @staticmethod
    def of(problem: Problem, outcomes: Floats, groups: Mapping[str, Ints], chosen: Ints) -> ListSums:
        """Sum the outcomes of the chosen actions, `(N,M+L),(N)->`; groups by grouping of cases."""
        of_actions, each = problem.action_groups[chosen], list[Bools]()
        divided = [g.name for g in problem.groups if g.of is not None]
        for k, (by, group) in enumerate(problem.columns):
            if by in groups:
                names = next(g.names for g in problem.groups if g.name == by)
                each.append(groups[by] == names.index(group))
            else:
                each.append(of_actions[:, divided.index(by)] == k)
        inside = np.array(each, float).reshape(len(each), len(outcomes))
        return ListSums(
            problem=problem,
            elapsed=np.array([[float(len(outcomes))]]),
            totals=outcomes.sum(0)[None, None],
            group_totals=(inside @ outcomes)[None, None],
            group_rounds=inside.sum(1)[None, None],
        )


def averages_of(s: Statement, run: ListSums) -> Averages:
    """Return what a list has of a constraint, by group where it looks at groups one by one."""
    if s.by is not None and s.outcome is not None:
        columns = [k for k, (by, _) in enumerate(run.problem.columns) if by == s.by]
        cases, place = run.group_rounds[0, 0, columns], run.problem.names.index(s.outcome)
        if any(g.of is not None for g in run.problem.groups if g.name == s.by):
            cases = run.elapsed[0, 0] * run.problem.shares[columns]
        sums = run.group_totals[0, 0, columns, place]
        how = f"{'within' if s.constraint.worst == 'high' else 'at least'} {amount(s.limit, 6)}"
        names = (group for by, group in run.problem.columns if by == s.by)
        averages = {n: float(z / c) for n, z, c in zip(names, sums, cases, strict=True) if c}
        return Averages(f"{s.outcome} per case by {s.by}, planned {how}", True, averages)
    ratio = relative(s.constraint)
    groups = {} if ratio is None else {name: float(z[0, 0]) for name, z in ratio.groups(run).items()}
    measured = {} if groups else {"all": float(s.constraint.measure(run)[0, 0])}
    return Averages(label_of(s), bool(groups), groups or measured)
