"""The linear program over contexts that a problem states: its objective, and the rows of its constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.objectives import Linear
from evenhand.offline.context_reading import Reading
from evenhand.offline.context_sources import Source
from evenhand.planning.moments import Terms
from evenhand.problem.constraints.stated import per_row, stated_rows
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows


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
            raise InvalidInput("problem.subject_to", expected, s.constraint.label)
    rows, bound = stated_rows(p)
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
    labels = per_row(p.stated, lambda s: s.constraint.label)
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
