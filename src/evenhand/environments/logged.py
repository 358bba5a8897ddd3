"""Replay of a log with randomised actions, row by row, as if its cases arrived now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST, whole
from evenhand.environments.base import Arrival
from evenhand.problem.problem import Problem


@kernel
def _features(units: Floats, layout: Ints, scales: Floats, rows: Ints, numbered: bool) -> Floats:
    x = np.zeros((len(rows), layout.shape[0], layout.shape[1]))
    for r in range(len(rows)):
        for a in range(layout.shape[0]):
            for j in range(layout.shape[1]):
                if layout[a, j] >= 0:
                    x[r, a, j] = units[rows[r], layout[a, j]] * scales[a, j]
            if numbered:
                x[r, a, 0] = a
    return x


@kernel
def _accept(plays: Ints, rows: Ints, actions: Ints, read: Bools) -> Floats:
    counted = np.zeros(len(plays))
    for r in range(len(plays)):
        if read[r] and plays[r, 0] == actions[rows[r]]:
            counted[r] = 1.0
    return counted


class _LoggedView(NamedTuple):
    rows: Ints
    read: NDArray[np.int32]  # cases of every step
    ends: Ints
    units: Floats
    layout: Ints
    numbered: bool
    scales: Floats
    known: Floats
    by_row: bool  # whether known outcomes are of every row, or declared
    groups: Ints
    offered: Bools
    actions: Ints
    outcomes: Floats
    exposed: Bools  # empty: all plays
    true_means: Floats  # empty: a log has none

    @kernel
    def context(self, step: int) -> tuple[Context, Ints]:
        rows = self.rows[min(step, len(self.rows) - 1)]
        groups = np.empty((len(rows), 1, self.groups.shape[1]), np.int64)
        for r in range(len(rows)):
            for g in range(groups.shape[2]):
                groups[r, 0, g] = self.groups[rows[r], g]
        known = self.known
        if self.by_row:
            known = np.empty((len(rows), *self.known.shape[1:]))
            for r in range(len(rows)):
                for a in range(known.shape[1]):
                    for m in range(known.shape[2]):
                        known[r, a, m] = self.known[rows[r], a, m]
        x = _features(self.units, self.layout, self.scales, rows, self.numbered)
        return Context(x, known, groups, self.offered, None), rows

    @kernel
    def respond(self, step: int, c: Context, rows: Ints, d: Decision) -> tuple[Floats, Bools, Floats]:
        accepted = _accept(d.plays, rows, self.actions, step < self.ends)
        y = np.full((len(rows), 1, self.outcomes.shape[1]), np.nan)
        for r in range(len(rows)):
            d.counted[r] = accepted[r]
            for m in range(y.shape[2] if accepted[r] > 0.0 else 0):
                y[r, 0, m] = self.outcomes[rows[r], m]
        return y, self.exposed, self.true_means

    @kernel
    def cases(self, step: int) -> Floats:
        found = np.zeros(len(self.ends))
        if step < len(self.read):
            for r in range(len(found)):
                found[r] = self.read[step, r]
        return found


class LoggedWorld:
    """A run through a log: every replica reads the rows in its own order.

    Where coins are tossed, they do not depend on the policy. A row whose coin rejects it is passed over without asking,
    and counted with the next one that is read.
    """

    counts_idle_steps = False  # once nothing is playable, a run skips the rest of the log

    def __init__(self, log: Logged, seed: int, replicas: Ints) -> None:
        self._log = log
        orders = [log.in_time(log.order(seed, int(r))) for r in replicas]
        kept = [_toss(log, seed, int(r), rows) for r, rows in zip(replicas, orders, strict=True)]
        self.steps = len(log.actions)  # as many for all replicas, so that their grids are the same
        used = max(map(len, kept)) + log.needs_coins  # one more for the rows after the last that is kept
        self._rows = np.empty((used, len(replicas)), np.int64)  # the rows of one step are contiguous
        self._cases = np.zeros(self._rows.shape, np.int32)
        for i, (rows, at) in enumerate(zip(orders, kept, strict=True)):
            self._rows[: len(at), i], self._rows[len(at) :, i] = rows[at], rows[-1]
            self._cases[: len(at), i] = np.diff(at, prepend=-1)
            self._cases[len(at) : len(at) + 1, i] = len(rows) - 1 - at[-1] if len(at) else len(rows)
        self._units: Ints | None = None
        if log.problem.unit is not None and log.clusters is not None:
            self._units = np.empty(self._rows.shape, np.int64)
            for i, (rows, at) in enumerate(zip(orders, kept, strict=True)):
                units = log.clusters[rows] + len(rows) * _repeats(rows)  # a cluster drawn twice is two units
                self._units[: len(at), i], self._units[len(at) :, i] = units[at], units[-1]
        self._ends = np.array([len(at) for at in kept])
        self._declared = log.problem.declared[None]
        self._offered: Bools = np.ones((1, len(log.problem.actions)), bool)

    def cases(self, step: int) -> Floats:
        """Count the rows that each replica reads in a step, those that are passed over included, `->(R)`."""
        return np.asarray(self._cases[step], float) if step < len(self._cases) else np.zeros(len(self._ends))

    def ended(self, step: int) -> Bools:
        return step > self._ends

    def context(self, step: int) -> Context:
        rows = self._row(step)
        x = _features(self._log.units, self._log.layout, self._log.all_scales, rows, self._log.numbered)
        known = self._declared if self._log.known is None else self._log.known[rows]
        time = None if self._log.time is None else self._log.time[rows]
        unit = None if self._units is None else self._units[min(step, len(self._units) - 1)]
        return Context(x, known, self._log.groups[rows][:, None], self._offered, time, unit)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        """Count a round, and reveal its outcome, only if the choice is the logged action and the coin accepts it."""
        # This is unbiased even for a policy that learns. While rows are rejected, its state, its clock and its luck do
        # not change, so given the rows accepted so far the policy is a fixed map from case to action. Where the log
        # played action a with probability p(a | x), the next row is accepted with probability
        #     sum_a 1{choice(x) = a} p(a | x) lowest / p(a | x) = lowest,
        # whatever x is. Accepted cases are therefore distributed like all cases, under the actions of the policy.
        log, rows = self._log, self._row(step)
        counted = _accept(decision.plays, rows, log.actions, step < self._ends)
        taken = decision._replace(counted=counted)
        y = np.where(counted[:, None] > 0, log.outcomes[rows], np.nan)
        return taken, [Arrival(step, taken, y[:, None, :])]

    def _row(self, step: int) -> Ints:
        row: Ints = self._rows[min(step, len(self._rows) - 1)]
        return row

    def expected(self, context: Context, plays: Ints) -> None:
        return

    def view(self) -> _LoggedView | None:
        return None if self._log.time is not None else self._view

    @cached_property
    def _view(self) -> _LoggedView:
        """The kernels' view, made once, because blocks ask for it after every round that they leave to Python."""
        log, read = self._log, np.ascontiguousarray
        return _LoggedView(
            rows=self._rows,
            read=self._cases,
            ends=self._ends,
            units=read(log.units, float),
            layout=read(log.layout, np.int64),
            numbered=log.numbered,
            scales=read(log.all_scales, np.float64),
            known=read(self._declared if log.known is None else log.known, float),
            by_row=log.known is not None,
            groups=read(log.groups, np.int64),
            offered=self._offered,
            actions=read(log.actions, np.int64),
            outcomes=read(log.outcomes, float),
            exposed=np.zeros((0, 0), bool),
            true_means=np.zeros((0, 0, 0)),
        )


def _toss(log: Logged, seed: int, replica: int, rows: Ints) -> Ints:
    """Toss a coin for every row in the order of a replica, and return the places of those that it keeps, `(N)->(k)`."""
    if not log.needs_coins:
        return np.arange(len(rows))
    luck = Luck(seed=seed, replicas=np.full(len(rows), replica))
    coins = luck.uniform(Stream.OUTCOME, np.arange(len(rows)), 1)[:, 0]
    return np.flatnonzero(coins < log.keep[rows])


def _repeats(rows: Ints) -> Ints:
    """Count how often each row was read before, `(N)->(N)`.

    >>> _repeats(np.array([3, 1, 3, 3, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order, place, found = np.argsort(rows, kind="stable"), np.arange(len(rows)), np.empty(len(rows), np.int64)
    first = np.append(True, np.diff(rows[order]) != 0)[: len(rows)]
    found[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return found


def order(rows: int, seed: int, replica: int, *, resample: int | None = None, clusters: Ints | None = None) -> Ints:
    """Draw the order in which a replica reads a log: a permutation of its rows, or of a resample's, `()->(N)`.

    A resample has whole clusters, `(N)` by their numbers from 0 on, as far as they fill as many rows; by default each
    row is one.

    >>> sorted(order(4, seed=0, replica=0).tolist())
    [0, 1, 2, 3]
    >>> np.array_equal(*(np.sort(order(4, seed=0, replica=r, resample=7)) for r in (1, 2)))
    True
    """
    shuffled = _luck(seed, replica, 0).permutation(rows)
    if resample is None:
        return np.asarray(shuffled, np.int64)
    numbers = np.arange(rows) if clusters is None else clusters
    size = np.bincount(numbers)
    drawn = _luck(seed, resample, 1).integers(0, len(size), rows)
    ends = size[drawn].cumsum()
    first = (size.cumsum() - size)[drawn] - (ends - size[drawn])  # of each drawn cluster, less where it goes
    at = np.searchsorted(ends, np.arange(rows), side="right")
    return np.asarray(np.argsort(numbers, kind="stable")[first[at] + np.arange(rows)][shuffled], np.int64)


def _luck(seed: int, number: int, of: int) -> np.random.Generator:
    key, counter = np.array([seed, Stream.ORDER], np.uint64), np.array([0, 0, number, of], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def blocks(actions: int, units: int) -> Ints:
    """Build the layout in which each action has its own block of coefficients, `()->(A, A units)`.

    >>> blocks(2, 1)
    array([[ 0, -1],
           [-1,  0]])
    """
    layout = np.full((actions, actions, units), -1)
    for a in range(actions):
        layout[a, a] = np.arange(units)
    return layout.reshape(actions, actions * units)


@named("U3", source="Li, Chu, Langford & Wang 2011 (replay); Dudik, Erhan, Langford & Li 2012 (coins)")
@dataclass(frozen=True, kw_only=True, eq=False)
class Logged:
    """Replay by rejection: a row of the log counts if the policy chooses the logged action.

    Equation: row i counts with probability 1{choice = a_i} min_j p_j / p_i; no coin is tossed if all p are equal.
    Replicas numbered below `shuffles` read the rows in random orders. The others read bootstrap resamples: as many
    rows, drawn with replacement by clusters, each in `orders` random orders. How resamples differ estimates how logs
    of this size do; how the orders of one differ, how much of that is due to the order.
    Source: Li, Chu, Langford & Wang, *Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms*, WSDM 2011, for equal propensities; with coins: Dudik et al., UAI 2012.
    Deviation: the lowest propensity is that of the logged actions, as a log has no others.

    Args:
        problem: what is decided; its horizon counts accepted rows. A run also ends where the log ends.
        units: the numbers of every row that features are made of, `(N, u)`.
        layout: where feature j of action a comes from, `(A, n)`: a column of `units`, or -1 for 0; see `blocks`.
        actions: the logged actions, as indices, `(N)`.
        propensities: of the logged actions, in (0, 1], `(N)`.
        outcomes: the observed outcomes of the logged actions, in the order of `problem.observed`, `(N, M+B)`.
        groups: of every row, as columns of `problem.columns`, `(N, G)`.
        known: known outcomes of all actions in every row, `(N, A, L)`; by default as the problem declares them.
        scales: what multiplies feature j of action a, `(A, n)`, such as a number of its description; by default 1.
        time: of every row, by the clock of the problem, `(N)`. Rows are then read in the order of their times, those of
            the same time in a random one; needed where the problem has an end in time.
        clusters: `(N)` the numbers, from 0 on, of the clusters to which rows belong, such as those of a customer, by
            which logs are resampled; by default each row is one.
        shuffles: replicas numbered from here on read bootstrap resamples; None means that all read permutations.
        numbered: whether the first feature of an action is its number, whatever the layout says; see `PerAction`.
        orders: how many replicas, one after the other, read the same resample.

    Raises:
        InvalidInput: an array of the wrong shape, or values that are not finite or outside their range.

    >>> from evenhand.problem import Outcome
    >>> from evenhand.recipes import uniform
    >>> from evenhand.run.simulation import simulate
    >>> problem = Problem(actions=("off", "on"), outcomes=(Outcome("visit"),), maximize="visit", horizon=20)
    >>> actions = np.arange(100) % 2
    >>> log = Logged(problem=problem, units=np.ones((100, 1)), layout=blocks(2, 1), actions=actions,
    ...              propensities=np.full(100, 0.5), outcomes=actions[:, None] * 1.0,
    ...              groups=np.zeros((100, 0), np.int64))
    >>> simulate(uniform(problem, log.n_features), log, replicas=2, progress=False).elapsed[-1]
    array([20., 20.])
    """

    problem: Problem
    units: Floats
    layout: Ints
    actions: Ints
    propensities: Floats
    outcomes: Floats
    groups: Ints
    known: Floats | None = None
    scales: Floats | None = None
    time: Floats | None = None
    clusters: Ints | None = None
    shuffles: int | None = None
    orders: int = 1
    numbered: bool = False

    def __post_init__(self) -> None:
        n, problem = len(self.actions), self.problem
        if n < 1:
            raise InvalidInput("Logged.actions", "at least one row", n)
        whole("Logged.orders", self.orders, 1)
        _shape("units", self.units, (n, None))
        _shape("layout", self.layout, (len(problem.actions), None))
        _shape("actions", self.actions, (n,))
        _shape("propensities", self.propensities, (n,))
        _shape("outcomes", self.outcomes, (n, len(problem.observed)))
        _shape("groups", self.groups, (n, len(problem.groups)))
        first = np.cumsum([0, *(len(g.names) for g in problem.groups)])
        _range("units", self.units, np.abs(self.units) <= LARGEST, f"numbers of size at most {LARGEST:g}")
        width = self.units.shape[1]
        _range("layout", self.layout, (self.layout >= -1) & (self.layout < width), f"columns below {width}, or -1")
        if self.scales is not None:
            _shape("scales", self.scales, self.layout.shape)
        known = (self.actions >= 0) & (self.actions < len(problem.actions))
        _range("actions", self.actions, known, f"indices of the {len(problem.actions)} actions")
        _range("propensities", self.propensities, (self.propensities > 0) & (self.propensities <= 1), "in (0, 1]")
        low, high = problem.span_by_action[:, self.actions if problem.span_by_action.shape[1] > 1 else 0]
        inside = (self.outcomes >= low) & (self.outcomes <= high) & (np.abs(self.outcomes) <= LARGEST)
        _range("outcomes", self.outcomes, inside, f"within the declared ranges of {problem.observed}")
        if self.known is not None:
            _shape("known", self.known, (n, len(problem.actions), len(problem.known)))
            _range("known", self.known, np.abs(self.known) <= LARGEST, f"numbers of size at most {LARGEST:g}")
        if self.clusters is None and self.problem.unit is not None:
            raise InvalidInput("Logged.clusters", "the number of each row's unit, as the problem has units", None)
        if self.clusters is not None:
            _shape("clusters", self.clusters, (n,))
            _range("clusters", self.clusters, self.clusters >= 0, "numbers from 0 on")
            if not np.bincount(self.clusters).all():
                raise InvalidInput("Logged.clusters", "numbers from 0 on, each of some row", "a gap")
        if self.time is not None:
            _shape("time", self.time, (n,))
            _range("time", self.time, (self.time >= 0.0) & (self.time < np.inf), "numbers of at least 0")
        elif problem.until is not None:
            raise InvalidInput("Logged.time", "the times of rows, as the problem has until=", None)
        belongs = (self.groups >= first[:-1]) & (self.groups < first[1:])
        _range("groups", self.groups, belongs, "a column of its grouping")

    @property
    def n_features(self) -> int:
        return int(self.layout.shape[1])

    @cached_property
    def all_scales(self) -> Floats:
        """By what every feature of every action is multiplied, `()->(A, n)`."""
        return np.ones(self.layout.shape) if self.scales is None else self.scales

    @cached_property
    def keep(self) -> Floats:
        """The probability that each row is accepted if its action is chosen, `()->(N)`."""
        return np.asarray(self.propensities.min() / self.propensities)

    @cached_property
    def needs_coins(self) -> bool:
        """Whether propensities differ."""
        return bool(self.keep.min() < 1.0)

    def in_time(self, rows: Ints) -> Ints:
        """Sort rows by their times; those with the same time, or without times, keep their order, `(N)->(N)`."""
        return rows if self.time is None else rows[np.argsort(self.time[rows], kind="stable")]

    def order(self, seed: int, replica: int) -> Ints:
        """Draw the order in which a replica reads the rows, `()->(N)`."""
        return order(len(self.actions), seed, replica, resample=self.resample(replica), clusters=self.clusters)

    def resample(self, replica: int) -> int | None:
        """Return the number of the bootstrap resample that a replica reads, None if it reads the log itself."""
        return None if self.shuffles is None or replica < self.shuffles else (replica - self.shuffles) // self.orders

    def start(self, seed: int, replicas: Ints) -> LoggedWorld:
        """Start a world whose order of rows depends only on (seed, replica), not on the policy."""
        return LoggedWorld(self, seed, replicas)


def _shape(name: str, z: Floats | Ints, shape: tuple[int | None, ...]) -> None:
    if z.ndim != len(shape) or any(want is not None and want != got for want, got in zip(shape, z.shape, strict=True)):
        raise InvalidInput(f"Logged.{name}", f"shape {shape}", z.shape)


def _range(name: str, z: Floats | Ints, good: Bools, expected: str) -> None:
    if not good.all():
        bad = tuple(int(i) for i in np.argwhere(~good)[0])
        raise InvalidInput(f"Logged.{name}{list(bad)}", expected, z[bad])
