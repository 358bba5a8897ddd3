"""The recorder of a run: sums of outcomes and of true means at a grid of steps, and every play if asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, World, case_skipper
from evenhand.policy.books import rounds_to_come, totals
from evenhand.policy.policy import Policy
from evenhand.policy.queries import compares
from evenhand.policy.settlement import arriving_part, counted_plays
from evenhand.policy.standings import credits_left
from evenhand.policy.state import PolicyState
from evenhand.problem.factors import stated_by_cases
from evenhand.problem.problem import Problem
from evenhand.run.plays import Plays
from evenhand.run.trace import Trace

_POINTS = 100


# The progress of replicas: one record for each, which a kernel takes as a single argument. (A NamedTuple of arrays
# costs several microseconds per call.)
_CLOCK = np.dtype(
    [
        ("elapsed", float),  # rounds
        ("offered_steps", float),  # steps in which something could be played, or the cases that they stand for
        ("last", float),  # the last round that was played
        ("stuck", bool),  # whether nothing could be played since
        ("whole", float),  # the last round in which nothing that was offered was masked
        ("masked", bool),  # whether something was masked since
        ("same", np.int64),  # the candidate that was played last, where a round has one play
        ("since", float),  # the rounds before it was played in all rounds, none of which had anything masked
    ]
)


_EVERY_PLAY = np.zeros((0, 0), bool)  # stands for a mask that is true everywhere


class _PartialRound(NamedTuple):
    """The outcomes of a round so far."""

    waits: Bools  # (R, P) plays whose outcomes have not arrived
    y: Floats  # (R, P, M + B) outcomes that have arrived
    exposed: Bools  # (R, P)


class PartialRounds:
    """Keeps the outcomes of rounds that are not complete yet."""

    def __init__(self) -> None:
        self._rounds: dict[int, _PartialRound] = {}

    def __bool__(self) -> bool:
        return bool(self._rounds)

    def add(self, a: Arrival) -> Arrival:
        """Return all outcomes of an arrival's round so far; it counts if the round is complete now."""
        d, y, number = a.decision, a.y, int(a.decision.id[0])
        before = self._rounds.pop(number, None) or _PartialRound(
            counted_plays(d), np.full(y.shape, np.nan), np.ones(d.plays.shape, bool)
        )
        part = arriving_part(d, before.waits, a.pending)
        here = part.decision.plays >= 0
        y = np.where((here | ~counted_plays(d))[:, :, None], y, before.y)
        exposed = before.exposed if a.exposed is None else np.where(here, a.exposed, before.exposed)
        if part.rest.any():
            self._rounds[number] = _PartialRound(part.rest, y, exposed)
        whole = d.counted * here.any(1) * ~part.rest.any(1)
        return Arrival(a.step, d._replace(counted=whole), y, exposed)


@kernel
def _outcomes_of_plays(plays: Ints, exposed: Bools, y: Floats, sure: Bools) -> Floats:
    """Outcomes that were seen of plays that were made, 0 elsewhere, `(P),(P),(P,m),(m)->(P,m)`."""
    seen = np.zeros(y.shape)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            for m in range(y.shape[2]):
                shown = plays[r, p] >= 0 and (len(exposed) == 0 or exposed[r, p] or sure[m])
                if shown and not np.isnan(y[r, p, m]):
                    seen[r, p, m] = y[r, p, m]
    return seen


@kernel
def _enter(values: Floats, counted: Floats, k: int, sums: Floats) -> bool:
    """Add the values of one measure where they count, `(),()->(k)`; False if one of these is not finite."""
    for r in range(len(values)):
        if counted[r] > 0.0:
            if not np.isfinite(values[r]):
                return False
            sums[r, k] += values[r]
    return True


class Meter:
    """The measures of a problem, of outcomes that were multiplied by their factors."""

    def __init__(self, problem: Problem, sure: Bools) -> None:
        """Read the measures of a problem; `sure` outcomes are due whether or not a play is exposed, `(M+B)`."""
        self._readings = [(m, m.on(problem)) for m in problem.measures]
        self._sure = sure

    def __bool__(self) -> bool:
        return bool(self._readings)

    def add(self, d: Decision, y: Floats, exposed: Bools, sums: Floats) -> None:
        """Add a decision's measures to the sums, if it counts, `(P,m),(P),(k)`; an empty mask is true everywhere.

        Raises:
            InvalidInput: a measure that does not give one finite number per replica.
        """
        seen = _outcomes_of_plays(d.plays, exposed, y, self._sure)
        for k, (measure, reading) in enumerate(self._readings):
            values = np.asarray(reading(d.plays, seen), float)
            if values.shape != d.counted.shape or not _enter(values, d.counted, k, sums):
                expected = f"{len(seen)} finite numbers, one per replica"
                raise InvalidInput(f"{type(measure).__name__}.on", expected, values)


@kernel
def _count(
    plays: Ints,
    counted: Floats,
    restricted: Floats,
    t: Floats,
    cases: Floats,
    horizon: float,
    counts_idle_steps: bool,
    clock: Any,
) -> None:
    """Count decided rounds, and idle ones if they count; note since when a replica is stuck or masked."""
    for r in range(len(counted)):
        now, count = clock[r], cases[r if len(cases) > 1 else 0]
        if count == 0.0:  # no case came
            continue
        now.offered_steps += count if plays[r, 0] >= 0 else 0.0
        if plays[r, 0] < 0 and t[r] < horizon:
            now.elapsed += 1.0 if counts_idle_steps else 0.0
            now.stuck = True
        elif counted[r] > 0.0:
            if plays.shape[1] > 1 or plays[r, 0] != now.same:
                now.same, now.since = plays[r, 0], now.elapsed
            now.elapsed += counted[r]
            now.last = now.elapsed
            now.stuck = False
            now.masked = restricted[r] > 0.0
            if not now.masked:
                now.whole = now.elapsed
            else:
                now.since = now.elapsed  # it may have been the only one that fitted


@kernel
def _expect(plays: Ints, counted: Floats, groups: Ints, means: Floats, expected: Floats) -> None:
    """Add true means of the plays that count, `(P),(),(1|P,G),(P,m),(1+C,m)`."""
    for r in range(len(plays)):
        if counted[r] == 0.0:
            continue
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            for m in range(means.shape[2]):
                if not np.isnan(means[r, p, m]):
                    expected[r, 0, m] += means[r, p, m]
                    for g in range(groups.shape[2]):
                        expected[r, 1 + groups[r, p if groups.shape[1] > 1 else 0, g], m] += means[r, p, m]


class _RecorderView(NamedTuple):
    """The kernels' view of a recorder of running sums."""

    clock: Any
    expected: Floats
    last_round: float
    counts_idle_steps: bool

    @kernel
    def enter(self, d: Decision, t: Floats, cases: Floats, means: Floats) -> bool:
        """Enter a round of a decision that was taken or not; returns whether true means are known, `(),(),(P,m)`."""
        idle = self.counts_idle_steps
        _count(d.plays, d.counted, d.restricted, t, cases, self.last_round, idle, self.clock)
        if len(means) > 0:
            _expect(d.plays, d.counted, d.groups, means, self.expected)
        return len(means) > 0


@dataclass
class Record:
    """The records of a run except its plays; sums of outcomes are in the state's books.

    The first line of sums is of everybody, the others are of the groups. Learned outcomes count times their factors.
    """

    clock: Any  # (R,) of _CLOCK
    expected: Floats  # (R, 1 + C, M + B) sums of true means of all plays, whether or not their outcomes arrived
    clock_at: Any  # (G, R) at the points of the grid
    totals_at: Floats  # (G, R, 1 + C, M + L) sums of outcomes
    expected_at: Floats  # (G, R, 1 + C, M + B)
    rounds_at: Floats  # (G, R, C) rounds of every group
    waiting_at: Floats  # (G, R) rounds, and parts of rounds, whose outcomes have not arrived
    measured: Floats  # (R, 2, k) sums of measures, of outcomes that arrived and of the true means of all plays
    measured_at: Floats  # (G, R, 2, k)
    truth: bool = True  # whether all true means were known
    steps: int = 0  # done
    reached: int = 0  # the next point of the grid


def empty(problem: Problem, n_replicas: int, steps: int) -> Record:
    """Make the record of a run before its first step."""
    columns, points = len(problem.columns), len(_grid(steps))
    clock, measured = np.zeros(n_replicas, _CLOCK), np.zeros((n_replicas, 2, len(problem.measures)))
    expected = np.zeros((n_replicas, 1 + columns, len(problem.observed)))
    return Record(
        clock=clock,
        expected=expected,
        clock_at=np.zeros((points, *clock.shape), _CLOCK),
        totals_at=np.zeros((points, n_replicas, 1 + columns, len(problem.names))),
        expected_at=np.zeros((points, *expected.shape)),
        rounds_at=np.zeros((points, n_replicas, columns)),
        waiting_at=np.zeros((points, n_replicas)),
        measured=measured,
        measured_at=np.zeros((points, *measured.shape)),
    )


def _grid(steps: int) -> Ints:
    """Choose the steps after which sums are kept, `->(G)`: evenly spaced logarithms, and 1, 2, 5, 10, 20, 50, ...

    The round numbers are those at which runs of different lengths are compared.
    """
    even = np.geomspace(1, steps, min(_POINTS, steps)).round().astype(np.int64)
    named = np.outer(10 ** np.arange(len(str(steps))), (1, 2, 5))
    return np.union1d(even, named[named <= steps])


class Recorder:
    """Records the sums of R replicas, and every play if asked, step by step."""

    def __init__(self, policy: Policy, state: PolicyState, world: World, record: Record, everything: bool) -> None:
        problem, count, steps = policy.problem, len(state.t), world.steps
        self._policy, self._problem, self._state, self._record = policy.name, problem, state, record
        self._goals, self._compares = list(enumerate(policy.goals)), compares(policy.goals)
        self._horizon, self._counts_idle_steps = problem.last_round, world.counts_idle_steps
        self._times, self._cases = _grid(steps), case_skipper(world).cases
        room = steps if everything else 0  # else 5,000,000 rounds of rankings would take gigabytes
        plays = Plays.empty(room, count, policy.choice.n_plays, len(problem.names), len(problem.groups))
        self._plays = plays if everything else None
        noisy = problem.sure[problem.is_noisy]
        self._sure = np.concatenate([np.zeros(len(problem.learned), bool), noisy])  # outcomes that need no exposure
        self._meter, self._gathering = Meter(problem, self._sure), PartialRounds()

    def add(
        self, step: int, decision: Decision, taken: Decision, arrivals: Sequence[Arrival], expected: Floats | None
    ) -> None:
        """Enter one step, which is in the state already.

        Raises:
            InvalidInput: true means of a shape other than that of the outcomes of the plays.
        """
        record, state = self._record, self._state
        if expected is not None and expected.shape != (*taken.plays.shape, len(self._sure)):
            shape = (*taken.plays.shape, len(self._sure))
            raise InvalidInput("World.expected", f"means of all plays, of shape {shape}", expected.shape)
        rules = self._cases(step), self._horizon, self._counts_idle_steps
        _count(decision.plays, taken.counted, decision.restricted, state.t, *rules, record.clock)
        if expected is not None:
            expected = self._problem.amounts(taken.known, expected)
            _expect(taken.plays, taken.counted, taken.groups, expected, record.expected)
            if self._meter:
                self._meter.add(taken, expected, _EVERY_PLAY, record.measured[:, 1])
        if self._meter or self._plays is not None:
            for a in arrivals:
                self._arrive(a)
        if self._plays is not None:
            self._plays.enter(step, taken, len(self._sure))
        self.skip_to(step + 1, expected is not None)

    def view(self) -> _RecorderView | None:
        """The kernels' view of the recorder; None if it keeps more than sums of outcomes and of means."""
        if self._meter or self._plays is not None or self._gathering or stated_by_cases(self._problem.factors):
            return None
        record = self._record
        return _RecorderView(record.clock, record.expected, self._horizon, self._counts_idle_steps)

    @property
    def next_step(self) -> int:
        """The number of steps after which sums are kept next."""
        return int(self._times[self._record.reached])

    def skip_to(self, step: int, truth: bool) -> None:
        """Take note that all steps before one are in the sums already, and whether all true means were known."""
        record = self._record
        record.truth = record.truth and truth
        record.steps = step
        if step == self._times[record.reached]:
            self._keep()

    def _arrive(self, a: Arrival) -> None:
        """Enter outcomes that arrive, times their factors: plays at once, measures when the round is whole."""
        a = a._replace(y=self._problem.amounts(a.decision.known, a.y))
        counted = a.decision.counted
        if (a.pending is not None or self._gathering) and counted.any():
            a = self._gathering.add(a)
        if self._meter:
            shown = _EVERY_PLAY if a.exposed is None else a.exposed
            self._meter.add(a.decision, a.y, shown, self._record.measured[:, 0])
        if self._plays is not None:
            mask = True if a.exposed is None else a.exposed[:, :, None] | self._sure
            y = np.where(mask & (counted[:, None, None] > 0), a.y, np.nan)
            self._plays.outcomes[a.step, ..., : len(self._sure)] = y

    @property
    def all_arrived(self) -> bool:
        """Whether the outcomes of all rounds so far have arrived."""
        return not rounds_to_come(self._state.books).any()

    def idle(self, ended: Bools) -> None:
        """Let the remaining steps pass, in which no replica plays, if idle steps count as rounds.

        Args:
            ended: the replicas to which no more cases come, `(R)`; nothing says that they could not have played.
        """
        record, idle = self._record, self._state.t < self._problem.last_round
        record.clock["stuck"] |= idle & ~ended
        if self._counts_idle_steps and idle.any():
            for time in self._times[self._times > record.steps]:
                record.clock["elapsed"] += idle * float(time - record.steps)
                record.steps = int(time)
                self._keep()

    def _keep(self) -> None:
        """Keep the sums at the next point of the grid."""
        record, state, i = self._record, self._state, self._record.reached
        record.clock_at[i], record.rounds_at[i], record.waiting_at[i] = (
            record.clock,
            state.seen,
            rounds_to_come(state.books),
        )
        record.totals_at[i], record.expected_at[i] = totals(self._problem, state.books), record.expected
        record.measured_at[i] = record.measured
        record.reached = min(i + 1, len(self._times) - 1)

    def _holdout_sums(self) -> Floats | None:
        if self._compares is None:
            return None
        place, goal = self._compares
        return goal.compared(self._state.goals[place]).copy()

    def trace(self, seed: int, finished: bool) -> Trace:
        """Make a trace of the records, whose last point is the end of the run."""
        record, times, clock = self._record, self._times, self._record.clock
        kept = int(np.searchsorted(times, record.steps, side="right"))
        if not kept or times[kept - 1] < record.steps:  # it ended between two points of the grid
            record.reached = kept
            self._keep()
            times = np.concatenate([times[:kept], [record.steps]])
            kept += 1
        sums, expected, measured = record.totals_at[:kept], record.expected_at[:kept], record.measured_at[:kept]
        return Trace(
            problem=self._problem,
            policy=self._policy,
            seed=seed,
            replicas=self._state.replicas,
            finished=finished,
            times=times[:kept],
            elapsed=record.clock_at["elapsed"][:kept].copy(),
            totals=sums[:, :, 0].copy(),
            group_totals=sums[:, :, 1:].copy(),
            group_rounds=record.rounds_at[:kept],
            expected=expected[:, :, 0].copy() if record.truth else None,
            group_expected=expected[:, :, 1:].copy() if record.truth else None,
            measured=measured[:, :, 0].copy(),
            measured_expected=measured[:, :, 1].copy() if record.truth else None,
            under_way=record.waiting_at[:kept],
            offered_steps=clock["offered_steps"].copy(),
            stopped=np.where(clock["stuck"], clock["last"], np.nan),
            restricted_after=np.where(clock["masked"] & ~clock["stuck"], clock["whole"], np.nan),
            same=clock["same"].copy(),
            same_since=clock["since"].copy(),
            plays=None if self._plays is None else self._plays.until(record.steps),
            held_out=self._holdout_sums(),
            by_period=None if self._state.periods is None else self._state.periods.copy(),
            credits=credits_left(self._problem, self._goals, self._state.goals),
        )
