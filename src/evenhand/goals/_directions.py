"""The rows that a goal plans with, merged into directions, and the convex sets that it plans for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.history import HistoryState
from evenhand.planning.tangents import Shape, tangents
from evenhand.problem.constraints import Region
from evenhand.problem.feasible import holds_nothing
from evenhand.problem.merged_rows import MergedRows, merge
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select, stack
from evenhand.problem.slack import are_declared, reads_cases, slack
from evenhand.problem.spans import Spans


@dataclass(frozen=True, kw_only=True, eq=False)
class Directions:
    """The constraints of a plan: k directions of d rows with bounds, and tangents of convex sets of outcomes."""

    problem: Problem
    constraints: Rows
    bound: Floats
    objective: Rows | None  # whose averages are followed, None where its slope never moves
    regions: tuple[Region, ...]
    spans: tuple[Spans | None, ...] = ()
    sums: tuple[bool, ...] = ()

    @property
    def first(self) -> Ints:
        return self.merged.first

    @cached_property
    def rows(self) -> Rows:
        """The rows of the constraints, of the objective if its slope moves, and the outcomes of convex sets."""
        moves = [] if self.objective is None else [self.objective]
        about = [select(self.problem, self.names)] if self.regions else []
        return stack([self.constraints, *moves, *about]) if moves or about else self.constraints

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """The ranges of the rows that are followed, to which planned ends are clipped."""
        return self.problem.ranges(self.rows.names[len(self.constraints) :])

    @cached_property
    def bounds(self) -> Floats:
        """The bounds, infinite for rows that are only followed."""
        return np.append(self.bound, np.full(len(self.rows) - len(self.bound), np.inf))

    @cached_property
    def merged(self) -> MergedRows:
        return merge(self.problem, self.rows, self.bounds)

    @cached_property
    def slack(self) -> Bools:
        """A mask of the rows that nothing can exceed, `->(d)`; rows that are only followed are not among them."""
        return slack(self.problem, self.constraints, self.bound, self.spans, self.sums)

    def idle(self, cases: HistoryState) -> Bools:
        """The slack rows in whose cases so far no known number is beyond the declared ones, `->(d)`."""
        mask = np.zeros((len(cases.kept), len(self.rows)), bool)
        mask[:, : len(self.slack)] = self.slack
        reads = self._reading
        if reads.any():
            kept = np.arange(cases.offered.shape[1]) < cases.kept[:, None]
            declared = are_declared(self.problem, cases.known, cases.offered & kept[:, :, None])
            mask[:, : len(reads)] &= ~reads | declared[:, None]
        return mask

    def quiet(self, cases: HistoryState) -> Bools:
        """Whether all slack rows are idle in the cases so far, `->()`."""
        return np.asarray(self.idle(cases)[:, : len(self.slack)][:, self.slack].all(1))

    @cached_property
    def _reading(self) -> Bools:
        return np.asarray(self.slack & reads_cases(self.problem, self.constraints))

    def idle_directions(self, idle: Bools) -> Bools:
        """The directions all of whose rows are idle, `(d)->(k)`."""
        return np.stack([idle[:, self.merged.of == i].all(1) for i in range(len(self.first))], 1)

    @cached_property
    def directed(self) -> Rows:
        return self.rows.take(self.merged.first)

    @cached_property
    def settled(self) -> Bools:
        """A mask of the directions and tangents that a decision settles, compared with the plan at once, `->(k)`."""
        cuts = tangents(self.shapes, len(self.shaped), 1).bound.shape[1]
        return np.append(self.directed.is_known, np.zeros(cuts, bool))

    @cached_property
    def awaited(self) -> Bools:
        """A mask of the directions and tangents that are compared with the plan once outcomes arrive, `->(k)`."""
        return ~self.settled

    @cached_property
    def forecast(self) -> tuple[Rows, Ints]:
        """The rows that a plan forecasts, and their sides, `->(k),(k)`: the directions, then both ends of outcomes.

        What asks for more than nothing is read optimistically. At plain estimates, what is believed to bring nothing
        would never be tried.
        """
        low, high = self.merged.bounds(self.bounds[None])
        first, side = self.merged.first, np.where(high[0] < 0.0, 1, np.where(low[0] > 0.0, -1, 0))
        if not all(holds_nothing(self.problem, region) for region in self.regions):
            m = len(self.shaped)
            first = np.concatenate([first, self.shaped, self.shaped])
            side = np.concatenate([side, np.full(m, 1), np.full(m, -1)])
        return self.rows.take(first), side

    @cached_property
    def mixed(self) -> Bools:
        """A mask of the directions that ask for nothing and read known and learned outcomes, as ratios do, `->(k)`.

        No direction is where a row that a decision settles, such as a budget, limits what is used while outcomes wait.
        """
        rows, side = self.directed, self.forecast[1][: len(self.first)]
        both = rows.known.any(1) & rows.learned.any(1) & (side == 0)
        return np.asarray(both & ~rows.is_known.any())

    @cached_property
    def reach(self) -> Floats:
        """The most that learned outcomes can change the use of a play, by the declared ranges, `->(k)`."""
        learned = np.abs(self.directed.learned)
        width = np.ptp(self.problem.amount_span[:, : learned.shape[1]], axis=0)
        return np.asarray((learned * np.where(learned > 0.0, width, 0.0)).sum(1))  # not 0 times no range

    @cached_property
    def worst(self) -> Ints:
        """The sides of `asked` with those of the mixed directions at the ends that are worst for their bounds."""
        _, high = self.merged.bounds(self.bounds[None])
        side = self.forecast[1].copy()
        side[: len(self.first)][self.mixed] = np.where(np.isfinite(high[0]), -1, 1)[self.mixed]
        return side

    @cached_property
    def finite(self) -> Floats:
        """The bounds, 0 for rows without one."""
        return np.where(np.isfinite(self.bounds), self.bounds, 0.0)

    @cached_property
    def followed(self) -> Ints:
        """The rows whose averages are tracked: of the objective if its slope moves, and of convex sets."""
        return np.arange(len(self.constraints), len(self.rows))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The outcomes of the convex sets."""
        return tuple(dict.fromkeys(name for region in self.regions for name in region.outcomes))

    @cached_property
    def shaped(self) -> Ints:
        """The rows of these outcomes, which come last."""
        return np.arange(len(self.rows) - len(self.names), len(self.rows))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(Shape(r.within, np.array([self.names.index(n) for n in r.outcomes])) for r in self.regions)
