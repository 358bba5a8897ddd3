"""The pace of spending: the use allowed per round from now on, and the remaining rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.profile import Profile, ProfileState
from evenhand.problem.clock import earliest
from evenhand.problem.problem import Problem
from evenhand.problem.spans import Spans
from evenhand.problem.traffic import Traffic

_SOON = 1.2  # times the rounds so far
_SOFT = 0.6  # of the forecast count for a floor or an average, as a span cannot make up for it once it is over
_MOST = 2.0  # times what even use of a span allows per round


class CaseCounts(NamedTuple):
    """The cases in the periods of a forecast, beside those that it expects at the level that is stated."""

    ends: Floats  # (P+1,) of the periods
    came: Floats  # (R, P)
    expected: Floats  # (R, P)
    present: Ints  # (R,) the period of the latest case


class Idle(NamedTuple):
    """Rows that nothing can exceed (`problem.slack`), whose spans are no reason to plan anew."""

    rows: Bools  # (d,)
    where: Callable[[], Bools]  # in which replicas they are so, ->(R)


@dataclass
class PaceState:
    """Sums by the period of the decision, over the periods of all spans and of the forecast; empty without any."""

    used: Floats  # (R, d, P) sums of the rows: known rows from commit on, others once the outcome arrives
    counted: Floats  # (R, d, P) rounds in these sums
    decided: Floats  # (R, P) decided rounds
    latest: Ints  # (R,) the period of the latest plan, -1 before
    profile: ProfileState | None = None  # of the traffic, where it is learned


@dataclass(frozen=True, kw_only=True, eq=False)
class Pace:
    """States the use per round that every row may have, from its spans of time and a forecast of future cases.

    The forecast has the profile that was learned, where `planning.profile` learns one, and its level is corrected as
    `Traffic` says.

    Equation: rate_j = min_s (allowance_s - used_s) / (n_s + waiting_s) over the spans s of row j that contain now, with
    n_s the future cases in the span and waiting_s its decided rounds that are not in used_s. A row without spans has
    one: the whole run. A floor is a row of the other sign, so that its rate is minus what is owed per case, of the span
    that owes most; it counts on fewer cases than are forecast, as a budget counts on more. Where averages are bounded,
    by b, the allowance of a span is b times its cases, those to come included.

    Args:
        problem: its clock and its traffic; without an end in time, every round of the horizon comes.
        spans: of time, one list for each row, None if there are none.
    """

    problem: Problem
    spans: tuple[Spans | None, ...]

    def start(self, n_replicas: int) -> PaceState:
        d, periods = (len(self.spans), len(self._edges) - 1) if self.moves else (0, 0)
        return PaceState(
            used=np.zeros((n_replicas, d, periods)),
            counted=np.zeros((n_replicas, d, periods)),
            decided=np.zeros((n_replicas, periods)),
            latest=np.full(n_replicas, -1),
            profile=None if self._profile is None else self._profile.start(n_replicas),
        )

    @cached_property
    def moves(self) -> bool:
        """Whether there are spans of time or a forecast to follow."""
        return self._traffic is not None or any(s is not None for s in self.spans)

    def enter(self, state: PaceState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Enter (rounds, v) of the first d rows into the books of the period of a decision, `(d),(d)`."""
        if self.moves:
            replicas, period, d = np.arange(len(v)), self._period(decision.time), len(self.spans)
            state.used[replicas, :, period] += v[:, :d]
            state.counted[replicas, :, period] += rounds[:, :d]

    def go_on(self, state: PaceState, past: Sequence[tuple[float, Floats, Floats, Floats]], known: Bools) -> None:
        """Enter the decided and arrived rounds and the sums of the first d rows, by period, `(),(),(d)` each."""
        d = len(self.spans)
        for begins, decided, arrived, sums in past if self.moves else ():
            period = self._period(np.full(len(decided), begins))[0]
            state.decided[:, period] += decided
            state.used[:, :, period] += sums[:, :d]
            state.counted[:, :, period] += np.where(known, decided[:, None], arrived[:, None])[:, :d]

    def decide(self, state: PaceState, decision: Decision, idle: Idle | None = None) -> Bools:
        """Count a decided round; return the replicas in which it is the first of a period of a plan, `->()`."""
        if not self.moves:
            return np.zeros(len(decision.counted), bool)
        period, counts = self._period(decision.time), decision.counted > 0.0
        state.decided[np.arange(len(period)), period] += decision.counted
        if self._profile is not None and state.profile is not None:
            self._profile.enter(state.profile, decision.time, decision.counted)
        before, state.latest = state.latest, np.where(counts, period, state.latest)
        first = np.asarray(counts & (before != period))
        if first.any():
            first &= (before < 0) | (self._last(before, idle) != self._last(period, idle))
        return first

    def length(self, state: PaceState, t: Floats, time: Floats) -> Floats:
        """The rounds of the whole run, as they are expected now, `(),()->()`; t are decided.

        Where the run may end at any time, averages have to be kept at the earliest end, and from then on soon. A round
        after the last one that was expected is the last one.
        """
        if self._traffic is None:
            return np.maximum(np.clip(_SOON * t, earliest(self.problem.horizon), float(self.problem.horizon)), t)
        return t + self.coming(state, time, np.array([self.problem.clock.last]))[:, 0]

    def period_start(self, state: PaceState, t: Floats) -> Floats:
        """The beginning of the period of the latest plan, `()->()`; the number of the round without any periods."""
        return self._edges[np.maximum(state.latest, 0)] if self.moves else t.copy()

    def until_change(self, state: PaceState, t: Floats, time: Floats, idle: Idle | None = None) -> Floats:
        """The remaining rounds up to the end of the period, or of the run where there are none, `(),()->()`."""
        if not self.moves:
            return self.problem.horizon - t
        ends = self.coming(state, time, self._edges[1:])
        return np.asarray(ends[np.arange(len(t)), self._last(self._period(time), idle)])

    def rest(self, length: Floats, counted: Floats, sums: Bools) -> Floats:
        """The rounds over which the rest of a bound is spread, for the length of a run, `(),(d),(d)->(d)`.

        A sum under an unknown end has the rate of `problem.between.Between`, in round n, for the rest of it.
        """
        rest, first, last = length[:, None] - counted, earliest(self.problem.horizon), self.problem.horizon
        if first < last:
            now = np.clip(counted, first, last)
            spread = now * (np.maximum(first - counted, 0.0) / first + np.log(last / now))
            rest = np.where(sums, spread, rest)
        return np.maximum(rest, 1.0)

    def rates(self, state: PaceState, whole: Floats, time: Floats) -> Floats:
        """The use allowed per round from now on, by row, `(d),()->(d)`; `whole` is that over the rest of the run."""
        rates = whole.copy()
        for j, spans in self._on_grid:
            period = spans.period(time)
            coming = self.coming(state, time, spans.ends) * margins(self.problem, spans)
            counted, used = spans.sums(state.counted[:, j]), spans.sums(state.used[:, j])
            rounds = np.maximum(coming + (spans.sums(state.decided) - counted), 1.0)
            rest = np.where(spans.contain(period), spans.allowed(counted + rounds) - used, np.inf)
            rates[:, j] = (rest / rounds).min(1)
            if spans.floors:  # where nothing is owed, a bound that no round reaches
                rates[:, j] = np.minimum(rates[:, j], np.abs(spans.allowance).max())
        return rates

    def against_average(self, state: PaceState, time: Floats) -> Floats:
        """The use allowed in a round, over its average over the run, by row, `()->(d)`.

        Equation: that of `rates`, at least 0 and at most twice that of `even`, so that prices which follow it go on
        from one span to the next; 1 where averages are bounded, as a bound of every round already.
        """
        even = self.even(state.profile, time)
        left = self.rates(state, self.average + 0.0 * even, time) / self.average
        bounded = [spans is not None and not spans.averages for spans in self.spans]
        return np.asarray(np.where(bounded, np.clip(left, 0.0, _MOST * even), even))

    def even(self, profile: ProfileState | None, time: Floats) -> Floats:
        """The use in a round if spans are used evenly over their cases, over its average over the run, `()->(d)`."""
        out = np.ones((len(time), len(self.spans)))
        for j, spans in self._on_grid:
            if spans.averages:
                continue
            ends = np.minimum(np.stack([self._edges[spans.first], spans.ends]), self.problem.clock.last)
            cases = self.expected(profile, ends.reshape(1, -1))
            begun, over = cases.reshape(-1, 2, ends.shape[1]).transpose(1, 0, 2)
            inside, rate = spans.contain(spans.period(time)), spans.allowance / np.maximum(over - begun, 1.0)
            out[:, j] = np.where(inside, rate, 0.0 if spans.floors else np.inf).min(1) / self.average[j]
        return out

    @cached_property
    def average(self) -> Floats:
        """The average use per round of the rows whose sums are bounded in spans, 1 of others, `->(d)`.

        The sum of a row ends with its own last span: that of another row may end later, as a month after the run.
        """
        sums = [1.0 if s is None or s.averages else -s.least if s.floors else s.most for s in self.spans]
        every = [1.0 if s is None or s.averages else self.problem.horizon for s in self.spans]
        return np.asarray(np.array(sums) / np.array(every))

    def case_counts(self, state: PaceState) -> CaseCounts | None:
        """The cases so far by period of the forecast; None unless the problem states one."""
        clock, traffic = self.problem.clock, self.problem.traffic
        if traffic is None:
            return None
        ends = np.concatenate([[0.0], traffic.edges(clock), [clock.last]])
        so_far = _cumulated(state.decided)[:, np.searchsorted(self._edges, ends)]
        by = self.expected(state.profile, np.tile(ends, (len(so_far), 1)))
        present = self._edges[np.maximum(state.latest, 0)]
        period = np.clip(np.searchsorted(ends, present, "right") - 1, 0, len(ends) - 2)
        return CaseCounts(ends, np.diff(so_far, axis=1), np.diff(by, axis=1), period)

    def coming(self, state: PaceState, time: Floats, ends: Floats) -> Floats:
        """The cases that are expected after one that came at a time, up to some ends, `(),(n)->(R,n)`."""
        clock, traffic = self.problem.clock, self._traffic
        if traffic is None or math.isinf(traffic.trust):
            return to_come(self.problem, time, ends)
        since = np.maximum(traffic.begin(clock, time), 0.0)
        ends = np.broadcast_to(np.minimum(ends, clock.last), (len(time), len(ends)))
        times = np.column_stack([time, since, ends])
        now, before, by = np.split(self.expected(state.profile, times), [1, 2], axis=1)
        so_far = _cumulated(state.decided * self._open)
        first = np.searchsorted(self._edges, since)
        came = so_far[:, -1] - so_far[np.arange(len(time)), np.minimum(first, so_far.shape[1] - 1)]
        level = (traffic.trust + came[:, None]) / (traffic.trust + (now - before))
        return np.asarray(np.maximum(by - now, 0.0) * level)

    def expected(self, profile: ProfileState | None, times: Floats) -> Floats:
        """The cases between a fixed time and some times, at the level of the forecast, `(n)->(n)`.

        A round is a case where rounds are counted.
        """
        if self._profile is not None and profile is not None:
            return self._profile.expected(profile, times)
        return times if self._traffic is None else self._traffic.expected(self.problem.clock, times)

    def _period(self, time: Floats) -> Ints:
        return np.clip(np.searchsorted(self._edges, time, "right") - 1, 0, len(self._edges) - 2)

    @cached_property
    def _traffic(self) -> Traffic | None:
        return traffic_of(self.problem)

    @cached_property
    def _profile(self) -> Profile | None:
        return Profile.of(self.problem.traffic, self.problem.clock)

    def _last(self, period: Ints, idle: Idle | None) -> Ints:
        """The last period of the same plan: itself, unless idle rows alone tell it from the next one, `()->()`."""
        if idle is None or not any(s is not None for s, slack in zip(self.spans, idle.rows, strict=True) if slack):
            return period
        ends = self._ends(s for s, slack in zip(self.spans, idle.rows, strict=True) if not slack)[1:]
        last = np.append(np.searchsorted(self._edges, ends), len(self._edges) - 1) - 1
        return np.where(idle.where(), last[np.searchsorted(ends, self._edges[1:])][period], period)

    @cached_property
    def _edges(self) -> Floats:
        """The ends of the periods: those of all spans, and of the forecast."""
        return self._ends(self.spans)

    def _ends(self, spans: Iterable[Spans | None]) -> Floats:
        clock = self.problem.clock
        found = [np.array([0.0, clock.last]), *(s.edges for s in spans if s is not None)]
        if self._traffic is not None:
            found.append(self._traffic.changes(clock))
        return np.unique(np.concatenate(found))

    @cached_property
    def _open(self) -> Bools:
        """Whether each period is in no closed day, `->(P)`."""
        middles = (self._edges[1:] + self._edges[:-1]) / 2.0
        closed = [] if self._traffic is None else self._traffic.closed_days(self.problem.clock)
        inside = [(middles > start) & (middles < end) for start, end in closed]
        return np.asarray(~np.any([np.zeros(len(middles), bool), *inside], 0))

    @cached_property
    def _on_grid(self) -> list[tuple[int, Spans]]:
        """The rows with spans, in terms of these periods."""
        return [(j, s.on(self._edges)) for j, s in enumerate(self.spans) if s is not None]


def _cumulated(z: Floats) -> Floats:
    """Sums of the columns before each, and of all, `(n)->(n+1)`."""
    return np.pad(np.cumsum(z, 1), ((0, 0), (1, 0)))


def traffic_of(problem: Problem) -> Traffic | None:
    """Return the forecast of a problem, by default an even one; None if rounds are counted, of which all come."""
    if problem.until is None:
        return None
    return problem.traffic or Traffic(problem.horizon, per=problem.clock.last)


def to_come(problem: Problem, time: Floats, ends: Floats) -> Floats:
    """Return the number of cases forecast after one that arrived at a time, up to some ends, `(),(n)->(R,n)`."""
    clock, traffic = problem.clock, traffic_of(problem)
    ends = np.minimum(ends, clock.last)  # the last period of a calendar may end later
    if traffic is None:
        return np.asarray(np.maximum(ends - time[:, None] - 1.0, 0.0))
    return np.asarray(np.maximum(traffic.expected(clock, ends) - traffic.expected(clock, time)[:, None], 0.0))


def margins(problem: Problem, spans: Spans) -> Floats:
    """Return the part of the forecast that plans count on in each span, `->(S)`.

    What a span leaves or owes is lost with it, so that too few cases are worse than too many for a budget, and the
    other way round for a floor or an average. All that is left of the run is counted as it is forecast.
    """
    if traffic_of(problem) is None:
        return np.ones(len(spans.ends))
    margin = _SOFT if spans.floors or spans.averages else Traffic.margin
    return np.where(spans.ends < problem.clock.last, margin, 1.0)


@dataclass
class ReserveState:
    """Books of the forced rounds."""

    used: Floats  # (R, d) sums of the rows; (R, 0) without a reserve
    rounds: Floats  # (R, d) rounds in these sums


@dataclass(frozen=True)
class Reserve:
    """Splits a rate between a share of the rounds that is forced and the others.

    Equation: rate = share m + (1 - share) r, with m what forced rounds used on average so far, and r what is left for
    each of the others. Forced rounds are held out (`choices.HeldOut`), or played by a floor (`choices.Floored`).

    Args:
        share: in [0, 1).

    >>> reserve, state = Reserve(0.1), ReserveState(np.array([[6.0]]), np.array([[20.0]]))
    >>> reserve.left(state, np.array([[0.12]])), reserve.of_all(state, np.array([[0.1]]))
    (array([[0.1]]), array([[0.12]]))
    """

    share: float

    def start(self, n_replicas: int, rows: int) -> ReserveState:
        d = rows if self.share > 0.0 else 0
        return ReserveState(np.zeros((n_replicas, d)), np.zeros((n_replicas, d)))

    def enter(self, state: ReserveState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Enter (rounds, v) into the books if the round was forced, `(d),(d)`."""
        if self.share > 0.0:
            state.used += v * decision.forced[:, None]
            state.rounds += rounds * decision.forced[:, None]

    def left(self, state: ReserveState, rates: Floats) -> Floats:
        """The rates of the rounds that are not forced, from those of all, `(d)->(d)`."""
        if self.share == 0.0:
            return rates
        return np.asarray((rates - self.share * self._mean(state)) / (1.0 - self.share))

    def of_all(self, state: ReserveState, rates: Floats) -> Floats:
        """The rates of all rounds, from those of the rounds that are not forced, `(d)->(d)`."""
        if self.share == 0.0:
            return rates
        return np.asarray((1.0 - self.share) * rates + self.share * self._mean(state))

    def _mean(self, state: ReserveState) -> Floats:
        return np.asarray(state.used / np.maximum(state.rounds, 1.0))
