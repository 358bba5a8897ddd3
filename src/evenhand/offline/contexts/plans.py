"""Plans over contexts that do not fit in memory: who gets what, within all limits, as a few price vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evenhand.core import texts
from evenhand.core.catalogue import named
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import number, whole
from evenhand.objectives import Linear
from evenhand.offline.contexts.reading import Reading
from evenhand.offline.contexts.sources import Read, Source, source_of
from evenhand.offline.lists.plan import places
from evenhand.planning.moments import Block, Sums, Terms, best_actions
from evenhand.planning.price_mixture import best_mixture
from evenhand.problem.constraints.statements import per_row
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.report.tables import Table, join_tables


class Stated(NamedTuple):
    """The data that a problem needs from contexts."""

    problem: Problem
    rows: Rows
    bound: Floats  # (M,)
    labels: tuple[str, ...]  # of the rows
    outcomes: tuple[str, ...]  # that are read: those that differ by context first
    reading: Reading

    def terms(self, cells: Floats) -> Terms:
        """Return the program, with the share of every group among so many contexts by cell, `(C)->`.

        A row of a group that has no context asks for nothing.
        """
        p, rows, codes = self.problem, self.rows, self.reading.codes()
        read = [p.names.index(o) for o in self.outcomes]
        inside = np.zeros((len(codes), len(rows)))
        groupings = list(self.reading.groups)
        for m in np.flatnonzero(rows.column >= 0).tolist():
            own = groupings.index(p.groups[rows.grouping[m]].name)
            inside[:, m] = codes[:, own] == rows.column[m] - p.ends[rows.grouping[m]]
        shares = cells @ inside / cells.sum()
        empty: Bools = rows.by_share & (rows.column >= 0) & (shares == 0.0)
        per = np.where(rows.by_share & ~empty, 1.0 / np.where(shares > 0.0, shares, 1.0), 1.0)
        factor = np.where(empty, 0.0, rows.always + rows.inside * per * inside)
        objective, known = p.objective, [p.known.index(o) for o in self.outcomes[len(self.reading.outcomes) :]]
        actions = [p.actions.index(a) for a in self.reading.actions]
        assert isinstance(objective, Linear)
        return Terms(
            weights=np.array([objective.weights.get(o, 0.0) for o in self.outcomes]),
            known=np.ascontiguousarray(p.declared.T[known][:, actions]),
            factors=np.ascontiguousarray(factor[:, :, None] * rows.weights[None][:, :, read]),
            bound=np.where(empty, np.maximum(self.bound, 0.0), self.bound),
        )

    @property
    def needs_shares(self) -> bool:
        """Whether rows depend on how many contexts the groups have."""
        return bool((self.rows.by_share & (self.rows.column >= 0)).any())


def stated(problem: Problem, source: Source) -> Stated:
    """Determine the data that a problem needs, and which of them a source has.

    Raises:
        InvalidInput: the problem is not a linear program with a play per context, or the source lacks an outcome.
    """
    p, objective = problem, problem.objective
    if p.n_plays != 1:
        raise InvalidInput("problem.n_plays", "1: a plan has an action per context", p.n_plays)
    if not isinstance(objective, Linear):
        raise InvalidInput("problem.maximize", "an outcome, or a weighted sum of outcomes", type(objective).__name__)
    for name in objective.weights:
        if name not in p.names:
            raise InvalidInput("problem.maximize", f"some of the outcomes {list(p.names)}", name)
    for s in p.stated:
        if s.region is not None or s.spans is not None or s.credit is not None:
            expected = "limits on averages of all contexts; none by spans of time, of curved sets, or with a credit"
            raise InvalidInput("problem.subject_to", expected, s.label)
    rows, bound = p.demands.rows, p.demands.bound
    for grouping in sorted(set(rows.grouping[rows.grouping >= 0].tolist())):
        if p.by_action[grouping]:
            expected = "groups of contexts, not of actions"
            raise InvalidInput("problem.subject_to", expected, p.groups[grouping].name)
    weighed = {n for n, w in objective.weights.items() if w}
    read = [o for j, o in enumerate(p.names) if o in weighed or rows.weights[:, j].any()]
    times = {o.name: o.times for o in p.outcomes if o.times is not None}
    for o in read:
        if o in times:
            raise InvalidInput(f"Outcome({o!r}).times", "None: declare an outcome for the product itself", times[o])
    actions = tuple(a for a in p.actions if a not in p.withdrawn)
    differ = [o for o in read if source.has(o, actions)]
    for o in read:
        if o in p.learned and o not in differ:
            columns = f"what is predicted of {o!r}: an array, or columns such as {f'{o}_{actions[0]}'!r}"
            raise InvalidInput("contexts", columns, f"names such as {source.names[:5]}")
    groups = [p.groups[g] for g in sorted(set(rows.grouping[rows.grouping >= 0].tolist()))]
    labels = per_row(p.stated, lambda s: s.label)
    return Stated(
        problem=p,
        rows=rows,
        bound=bound,
        labels=tuple(x if labels.count(x) == 1 else f"{x} ({n})" for x, n in zip(labels, rows.names, strict=True)),
        outcomes=(*differ, *(o for o in read if o not in differ)),
        reading=Reading(
            outcomes=tuple(differ),
            actions=actions,
            free={o.name: tuple(a for a in actions if _is_nothing(o, a)) for o in p.outcomes},
            groups={g.name: g.names for g in groups},
        ),
    )


def _is_nothing(outcome: Outcome, action: str) -> bool:
    """Whether an outcome is declared to be 0 under an action."""
    return outcome.is_free(action) or (outcome.is_known and outcome.declared((action,)) == [0.0])


_SAMPLE = 20_000  # contexts from which the first prices are


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A lottery over price vectors: one is drawn per context, and the best action at its prices is played.

    Args:
        value: of the objective, per context.
        bound: what no plan exceeds.
        gap: (bound - value) / max(|bound|, |value|).
        use: `(M)` of every row of the constraints, per context; at most `limits`, to rounding.
        limits: `(M)`.
        rows: their names.
        prices: `(L,M)` of the rows, in units of the objective; no more vectors than rows, and one.
        weights: `(L)` the chances of the vectors.
        dual: `(M)` what one more unit of every limit is worth.
        contexts: how many were planned for.
        actions: the names of the actions, in the order of the problem.
        reading, terms: how contexts are read, and what their outcomes are worth.
    """

    value: float
    bound: float
    gap: float
    use: Floats
    limits: Floats
    rows: tuple[str, ...]
    prices: Floats
    weights: Floats
    dual: Floats
    contexts: int
    actions: tuple[str, ...]
    reading: Reading = field(repr=False)
    terms: Terms = field(repr=False)

    def lottery(self, contexts: Any) -> Floats:
        """Return the probability of every action, `->(N,A)`: on average over all contexts the limits are kept.

        Args:
            contexts: as for `plan`, all or some of them.
        """
        blocks = [np.zeros((0, len(self.actions)))]
        for _, best in self._best(contexts):
            chances = np.zeros((best.shape[1], len(self.actions)))
            for weight, own in zip(self.weights, best, strict=True):
                chances[np.arange(len(own)), own] += weight
            blocks.append(chances)
        return np.concatenate(blocks)

    def assign(self, contexts: Any, *, seed: int = 0, part: int = 0) -> Ints:
        """Return an action for every context, `->(N)`: its number in `actions`.

        Where price vectors differ in a context, one of them is drawn. The number of contexts that get each is even
        among those in which they differ in the same way. So limits are exceeded by what a few contexts use, at most,
        if these use alike, and otherwise also by chance, as in independent draws. Parts that are assigned one by one
        are even each by itself.

        Args:
            contexts: as for `plan`, all or some of them.
            seed: of all luck.
            part: the number of these contexts' part, at least 0, where parts are assigned one by one: each has luck of
                its own.

        Raises:
            InvalidInput: `part` is negative.
        """
        check_seed(seed)
        whole("part", part, 0)
        found = [np.zeros(0, np.int64)]
        loose, rows, first = [np.zeros((len(self.weights) + 1, 0), np.int64)], [np.zeros(0, np.int64)], 0
        for cell, best in self._best(contexts):
            undecided = np.flatnonzero((best != best[0]).any(0))
            found.append(best[0].copy())
            loose.append(np.vstack([best, cell[None]])[:, undecided])
            rows.append(undecided + first)
            first += best.shape[1]
        actions, patterns, at = np.concatenate(found), np.concatenate(loose, 1), np.concatenate(rows)
        if len(at):
            strata = np.unique(patterns, axis=1, return_inverse=True)[1].ravel()
            drawn = np.searchsorted(np.cumsum(self.weights), places(strata, seed, part), side="right")
            actions[at] = patterns[np.minimum(drawn, len(self.weights) - 1), np.arange(len(at))]
        return actions

    def _best(self, contexts: Any) -> Iterable[tuple[Ints, Ints]]:
        """Yield the cells of blocks and the best actions at all price vectors, `(n),(L,n)`."""
        slopes, offsets = self.terms.slopes(self.prices)
        place = np.array([self.actions.index(a) for a in self.reading.actions])
        for block in source_of(contexts).blocks(self.reading):
            yield block.cell, place[best_actions(block.outcomes, block.cell, slopes, offsets)]

    def __str__(self) -> str:
        head = [
            f"{self.value:.6g} per context over {self.contexts:,} contexts; no plan exceeds {self.bound:.6g}",
            f"a lottery over {texts.count(len(self.weights), 'price vector')}",
        ]
        lines = zip(self.rows, self.use, self.limits, self.dual, strict=True)
        cells = [[name, *(f"{x:.6g}" for x in numbers)] for name, *numbers in lines]
        table = Table(["per context", "used", "at most", "one more is worth"], cells)
        return join_tables(head, [table] if cells else [], [])

    __repr__ = texts.brief


@named("X9", source="evenhand's own; Newton's method on the smoothed dual, and column generation, in passes")
def plan(problem: Problem, contexts: Any, *, gap: float = 1e-6, seed: int = 0) -> Plan:
    """Plan who gets what over known contexts, in a few passes over them and without storing any.

    Equation: max mean_i sum_a p_ia w.u_ia s.t. mean_i sum_a p_ia v_m(u_ia) <= b_m for all rows of the constraints, with
    a lottery p_i per context. At an optimum p_i plays the best actions at prices of the rows; the dual function at any
    prices is a bound on what all plans are worth.

    Sums are added in the order of files or partitions, so that nothing depends on who computes them. The limits of a
    plan are kept to rounding; groups have the shares that they have among the contexts.

    Plans of `value`, `curve` and `assign` are within the same limits, over cases in memory. Theirs are exact, with
    lotteries in a few cases; this one is within `gap` of the optimum, and its price vectors also decide about other
    contexts. Theirs are by models of a log, whose scores state their value with an error; this one is given
    predictions, by which its value is, without an error. What no plan keeps, such as limits in spans of time, is a note
    there and is refused here, as are groups of actions.

    Args:
        problem: with a weighted sum as its objective, constraints on averages, and a play per round. Budgets hold per
            context: the total over the horizon.
        contexts: what is predicted of every learned outcome that the problem reads, under every action; known outcomes
            if they differ by context; and groups.
            Arrays by name: `(N,A)` of an outcome, `(N)` of a grouping, as names or as places from 0; `float32` will do.
            Tables have a column OUTCOME_ACTION per outcome and action: a data frame, the path of a Parquet file or of a
            folder of them, a dataset of pyarrow with any file system, or a data frame of Dask.
        gap: how far the value may be from the bound, as a part of it.
        seed: of the sample from which the first prices are.

    Raises:
        InvalidInput: the problem is not a linear program over contexts, or a column or a value cannot be used.
        InfeasibleProblem: no plan keeps to the limits; the message names those that exclude each other.

    >>> from evenhand.problem import Budget, Outcome
    >>> letters = Problem(
    ...     actions=("none", "letter"),
    ...     outcomes=(Outcome("sale"), Outcome("cents", known={"letter": 80})),
    ...     maximize="sale",
    ...     subject_to=(Budget("cents", rate=40),),
    ...     horizon=4,
    ... )
    >>> sales = np.array([[0.0, 0.3], [0.0, 0.2], [0.0, 0.1], [0.0, 0.05]])
    >>> found = plan(letters, {"sale": sales})
    >>> round(found.value, 6), found.use.tolist()
    (0.125, [40.0])
    >>> found.assign({"sale": sales}).tolist()
    [1, 1, 0, 0]
    """
    number("gap", gap, "a number in (0, 1)", lambda x: 0.0 < x < 1.0)
    check_seed(seed)
    source = source_of(contexts)
    asked = stated(problem, source)
    sample = source.sample(asked.reading, _SAMPLE, seed)
    if not len(sample.cell):
        raise InvalidInput("contexts", "at least one", "none")
    counting = Read(source, asked.reading.groups_alone())
    (cells,) = counting.over(_Count(asked.reading.cells)) if asked.needs_shares else (np.ones(asked.reading.cells),)
    with Work("planning over contexts", "pass") as work:
        terms, rows = asked.terms(cells), _Rows(Read(source, asked.reading), work)
        found = best_mixture(rows, sample, terms, asked.labels, gap)
    if found.gap > gap:
        told = f"the plan is within {found.gap:.2g} of the optimum, not within {gap:.2g}"
        warnings.warn(told, EvenhandWarning, stacklevel=2)
    return Plan(
        value=found.value,
        bound=max(found.bound, found.value),
        gap=found.gap,
        use=found.used,
        limits=terms.bound,
        rows=asked.labels,
        prices=found.prices,
        weights=found.weights,
        dual=found.dual,
        contexts=rows.count,
        actions=problem.actions,
        reading=asked.reading,
        terms=terms,
    )


class _Rows:
    """Contexts that remember how many they are."""

    def __init__(self, read: Read, work: Work) -> None:
        self._read, self._work, self.count = read, work, 0

    def over(self, job: Any) -> Sums:
        sums = self._read.over(job)
        self.count = int(sums[-1][0])
        self._work.update()
        return sums


@dataclass(frozen=True)
class _Count:
    """The number of contexts by cell."""

    cells: int

    def __call__(self, blocks: Iterable[Block]) -> Sums:
        found = np.zeros(self.cells)
        for block in blocks:
            found += np.bincount(block.cell, minlength=self.cells)
        return (found,)
