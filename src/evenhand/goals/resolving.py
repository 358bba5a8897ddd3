"""Constraints kept by prices that are solved again from the rest of the bounds and from the contexts so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number, whole
from evenhand.goals._directions import Directions
from evenhand.goals._resolving_state import (
    Left,
    ResolvingState,
    blank_prices,
    caution,
    end_of_run,
    go_on,
    guard,
    look,
    rate_of_plan,
    start,
    uses,
)
from evenhand.goals._resolving_view import (
    ResolvingView,
    compare,
    enter_arrived,
    enter_settled,
    is_due,
    pull,
    pull_prices,
    resolving_view,
    use_in_directions,
)
from evenhand.goals._shared import check_bound, row_prices
from evenhand.goals.base import Past, Sloped
from evenhand.models.base import Ask, of_arrived
from evenhand.objectives.base import point_and_slope
from evenhand.planning import history
from evenhand.planning.fluid import Fluid, Solution, alike, largest, places, solve_plain_first, spread, ties
from evenhand.planning.forecast import Forecast, forecast
from evenhand.planning.growth import Appended
from evenhand.planning.pace import Idle, Pace, PaceState, Reserve
from evenhand.planning.rounds import Lists, Rounds
from evenhand.planning.tangents import tangents
from evenhand.problem.actions import present
from evenhand.problem.constraints import Region
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.problem.spans import Spans

_ALL = np.ones((1, 1), bool)  # every play was exposed
_LARGEST = 1e100  # times a use is a number
_CANDIDATES, _FEW = 10**6, 100  # of all contexts that are kept, unless these are few
_TANGENTS = 6  # passes of a solve that look for tangents of convex sets, at most


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Resolving:
    """Keep sums of rows within their totals, by prices that are optimal for the remaining rounds.

    Equation: with n rounds and rows v so far, the prices solve the dual of the fluid problem on a sample of the
    contexts so far: max mean_s sum_a y_sa r_hat(s, a) s.t. mean_s sum_a y_sa v_hat(s, a) <= (T bound - v)/(T - n),
    with r_hat as optimistic as in decisions, v_hat plain, and y_s the exposures of a lottery of lists. Where the plan
    misses a row that doing nothing would violate, by 1% of its largest use, v_hat is optimistic in that row, and it is
    solved again: untried candidates look better than at the means, and known ones do not (`planning.fluid`).
    Places are exposed with probabilities that are estimated, (looked + 1) / (made + 1), and never increase; with one
    play that is always exposed, y_s is a lottery. Outcomes that are due for every placement are planned as if all
    places were exposed alike. A damped Newton method solves it at falling temperatures, from the last prices: when the
    decided rounds, those whose outcomes arrived, or the remaining rounds have changed by the fraction `growth`, at
    least every `every` rounds, and when consumption is off plan by more than `drift` standard deviations (checked every
    ten rounds).

    A plan is a lottery, and prices alone do not play it where candidates tie:

    - Where several candidates have the best r_hat in a context of the plan, as all have before anything was played, its
      last temperature is the `heat` at which a choice draws among those that gain the same (`core.records.Mix`).
    - Where cases gain the same, as those that repeat do, and those whose optimism ends at the range, all or none of
      them are worth a price. A price that is not 0 therefore moves by 2 h temperature / most^2 per unit that
      consumption is off plan, with h the share of cases whose context came before or, where that is larger, the share
      of the plan's variance of consumption that its lotteries bring (`planning.fluid.ties`), and `most` the largest
      consumption in a round, so far or planned. A deviation at the time of a solve stays up to `drift` times `most`: so
      much is rounding, as whole plays cannot follow a plan from round to round.

    While outcomes wait, a row of known and learned outcomes, such as a ratio, is read where the intervals of what has
    arrived are worst for it, unless another row limits what is known; by the share (rounds that wait) / (rounds to
    come) of the way from the means as long as what has arrived keeps it. Before anything that it reads has arrived, its
    price is .15 max |gain| over the most that what is learned can change a play's use (`goals._resolving_state`).

    A row that nothing can exceed (`problem.slack`) has no price, and is no reason to solve again: plays are as without.

    A convex set of averages takes part by tangents: where the planned final averages are outside the set, the
    half-space that touches it at the nearest point joins the plan, which is solved again.
    Source: evenhand's own (re-solving, as in network revenue management: Jasin & Kumar 2012), with learned rewards,
    costs and parity.

    Args:
        problem: for shares and horizon.
        objective: the goal that prices outcomes; if its slope moves, the averages of its rows are tracked as well.
        constraints, bound: on average v <= bound over the horizon.
        contexts: S, the largest number of contexts kept. Of more than 1,000 actions fewer are: 10^6 candidates in all,
            or 100 contexts.
        growth: relative change after which to solve again.
        every: largest number of rounds between two solves.
        drift: standard deviations; infinite to switch the check off.
        temperatures: of the smoothed dual, falling, in units of the `planning.fluid.spread` of rewards.
        regions: convex sets in which final averages of outcomes must lie, beside the rows.
        spans: of time, with an allowance each, of every row of the constraints that has any.
        sums: whether the sum of each of these rows is bounded, however many rounds there are, and not its average.
        reserve: the share of the rounds that a known lottery plays (`planning.pace`), in [0, 1).
        rounds: `Lists`, or `SharedArms` where plays are users whose arms have diminishing returns within a round.

    Raises:
        InvalidInput: bounds of the wrong number, numbers that are not positive, or shared arms with an objective whose
            slope moves.

    >>> from evenhand.goals.linear_reward import reward
    >>> from evenhand.problem import Outcome
    >>> calls = Outcome("calls", known={"call": 1})
    >>> problem = Problem(actions=("wait", "call"), outcomes=(Outcome("gain"), calls), maximize="gain", horizon=9)
    >>> rows = Rows.plain(["calls"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = Resolving(problem=problem, objective=reward(problem), constraints=rows, bound=np.array([0.5]))
    >>> goal.price(goal.start(1))[1]  # free until the first solve
    array([0.])
    """

    problem: Problem
    objective: Sloped
    constraints: Rows
    bound: Floats
    contexts: int = 1000
    growth: float = 0.2
    every: int = 100
    drift: float = 4.0
    temperatures: tuple[float, ...] = (0.05, 0.0125)
    regions: tuple[Region, ...] = ()
    spans: tuple[Spans | None, ...] = ()
    sums: tuple[bool, ...] = ()
    reserve: float = 0.0
    rounds: Rounds = Lists()  # noqa: RUF009, immutable
    enters_forced: ClassVar[bool] = True
    one_play: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_bound("Resolving", self.bound, self.constraints)
        whole("Resolving.contexts", self.contexts, 2)
        whole("Resolving.every", self.every, 1)
        if not (math.isfinite(self.growth) and self.growth > 0) or not self.drift > 0:
            raise InvalidInput("Resolving.growth, drift", "numbers above 0", (self.growth, self.drift))
        number("Resolving.reserve", self.reserve, "a number in [0, 1)", lambda x: 0 <= x < 1)
        if self.rounds.arms > 0 and self._moves:
            expected = "one whose slope never moves, where users share arms"
            raise InvalidInput("Resolving.objective", expected, type(self.objective).__name__)
        if not self.temperatures or not all(0 < t < math.inf for t in self.temperatures):
            raise InvalidInput("Resolving.temperatures", "finite numbers above 0", self.temperatures)

    def start(self, n_replicas: int) -> ResolvingState:
        end = np.tile(np.array(self.objective.start_at if self._moves else ()), (n_replicas, 1))
        sizes = len(self.rows), len(self._directions.first), len(self._directions.followed), self.problem.n_plays
        cuts = tangents(self._directions.shapes, len(self._directions.shaped), n_replicas)
        books = self._pace.start(n_replicas), self._reserve.start(n_replicas, len(self.rows))
        return start(*sizes, self.rounds.start(n_replicas), end, cuts, books)

    def price(self, state: ResolvingState) -> tuple[Floats, Floats]:
        """Minus the prices of the rows as one reading, and lam.bound, `->(1,d),()`."""
        mu, k = pull_prices(state.mu, state.pull, state.gap), len(self._directions.first)
        price = self._directions.merged.prices(mu)
        if self.regions:
            price[:, self._directions.shaped] += state.tangents.prices(mu[:, k:])
        return row_prices(price, 1.0, self._directions.finite, self.rows.readings(by_row=False))

    @property
    def nets(self) -> bool:
        """Whether prices are netted with the objective's before optimism.

        Not where the gain enters a satisfaction, and not for tangents of sets: a plan reads these at the ends of
        intervals that reach the set, which a bonus of the sum does not.
        """
        return self.rounds.arms == 0 and not self.regions

    def heat(self, state: ResolvingState) -> Floats:
        """The plan's last temperature; 0 where no context had several candidates of the best gain, `->()`."""
        return state.heat

    def on_decision(self, state: ResolvingState, decision: Decision, estimate: Floats | None) -> None:
        self._enter_known(state, decision, 1.0)

    def on_shares(self, state: ResolvingState, decision: Decision, v: Floats) -> None:
        state.spent += v

    def on_outcome(self, state: ResolvingState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter (counted, v) into the books, `(),(d)`.

        A constraint row that was not observed counts as its bound. Averages of the objective's rows skip such rounds.
        """
        of, counts, m = self._directions, self.rows.is_known, len(self._directions.first)
        books = state.spent, state.counted, state.seen
        filled, waited, sums = enter_arrived(counted, v, counts, of.finite, of.followed, *books)
        self._pace.enter(state.pace, decision, waited, sums)
        self._reserve.enter(state.reserve, decision, waited, sums)
        used = use_in_directions(counted, v, filled, of.first, of.bounds, state.plan)
        if self.regions:
            unseen = np.isnan(v[:, of.shaped]).any(1, keepdims=True)
            cuts = np.where(unseen, counted[:, None] * state.plan[:, m:], state.tangents.of(filled[:, of.shaped]))
            used = np.concatenate([used, cuts], 1)
        state.arrived += counted
        self._compare(state, decision, counted, used, of.awaited)

    def on_exposure(self, state: ResolvingState, decision: Decision, exposed: Bools | None) -> None:
        look(decision.counted, decision.plays, _ALL if exposed is None else exposed, state.made, state.looked)

    def on_cancel(self, state: ResolvingState, decision: Decision) -> None:
        self._enter_known(state, decision, -1.0)
        state.cancelled += decision.counted
        every = np.tile(decision.counted[:, None], (1, len(self.rows)))  # it waits no more, and used nothing
        self._pace.enter(state.pace, decision, every, np.zeros_like(every))

    def on_context(self, state: ResolvingState, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        history.keep(state.history, context, decision.counted, self._room, self._cases)
        idle = Idle(self._directions.slack, partial(self._directions.quiet, state.history))
        changed, last = self._pace.decide(state.pace, decision, idle), self.problem.last_round
        known, off = (state.arrived, state.due, state.news), (state.since, state.noise, state.jump, state.gap)
        planned, due, some = is_due(decision.counted, t, last, *known, changed, float(self.drift), *off)
        if some:
            self._solve(state, due, (decision.time, decision.shares), t, ask)
            left = self._pace.until_change(state.pace, t, decision.time, idle)
            self._schedule(state, due, planned, left, t, state.arrived + 1.0)

    def view(self, state: ResolvingState) -> ResolvingView | None:
        if self.regions or self._pace.moves or self.reserve > 0.0 or self.rounds.arms > 0 or self._cases > 1:
            return None
        return resolving_view(state, self._directions, self._room, float(self.drift), self.problem.last_round)

    def replan(self, state: ResolvingState) -> None:
        state.due[:] = 0.0

    def plan_now(self, state: ResolvingState, shares: Floats, t: Floats, ask: Ask) -> None:
        """Plan for the next decision, whose time is unknown, as at the beginning of the present period."""
        some = state.history.kept > 0  # what an erasure took may have been all
        planned = np.asarray((state.solved > 0) & some & (t < self.problem.last_round))
        if planned.any():
            self._solve(state, planned, (self._pace.period_start(state.pace, t), shares), t, ask)

    def append(self, state: ResolvingState, appended: Appended) -> None:
        appended.enter(state.history)

    def keep(self, state: ResolvingState, context: Context, counted: Floats) -> None:
        history.keep(state.history, context, counted, self._room, self._cases)

    def go_on(self, state: ResolvingState, past: Past) -> None:
        go_on(state, past, self.rows.is_known, self._directions, self._pace)

    def _schedule(
        self, state: ResolvingState, due: Bools, planned: Bools, left: Floats, t: Floats, known: Floats
    ) -> None:
        """Set the next solve, and begin to measure anew how far the use is from the plan, `(),(),(),(),()`."""
        for rounds, then in ((t, state.due), (known, state.news)):  # drift keeps both, so that replicas stay in step
            wait = np.clip(np.floor(self.growth * np.minimum(rounds, left)), 1, self.every)
            then[planned] = (rounds + wait)[planned]
        state.solved[due] += 1
        rounding = min(self.drift, _LARGEST) * state.most
        rounding[:, len(self._directions.first) :] = 0.0  # of a tangent that may be another one now
        state.gap[due] = np.clip(state.gap, -rounding, rounding)[due]
        state.since[due] = 0.0

    def _enter_known(self, state: ResolvingState, decision: Decision, times: float) -> None:
        """Enter the rows that a decision alone settles into the books, a number of times."""
        if self.rows.any_known:
            of, k, books = self._directions, state.gap.shape[1], (state.spent, state.counted, state.seen)
            v, known = self.rows.post_known(decision), self.rows.is_known
            rounds, v, used = enter_settled(decision.counted, times, v, known, of.first, of.followed, k, *books)
            self._pace.enter(state.pace, decision, rounds, v)
            self._reserve.enter(state.reserve, decision, rounds, v)
            self._compare(state, decision, times * decision.counted, used, of.settled)

    def _compare(self, state: ResolvingState, decision: Decision, counted: Floats, used: Floats, which: Bools) -> None:
        """Compare the use in some directions and tangents with the plan, `(),(k),(k)`."""
        compare(counted, used, which, decision.forced, state.plan, state.gap, state.since, state.jump)

    def _solve(self, state: ResolvingState, due: Bools, at: tuple[Floats, Floats], t: Floats, ask: Ask) -> None:
        """Plan at the slope of the final averages, and move these to where the plan ends: steps of Frank-Wolfe.

        After each step, a set that the end is out of gets a tangent. Until an average is observed, its planned end
        stays at the objective's `start_at`. `at` has the time and the shares of the groups.
        """
        (time, shares), passes, m = at, self.objective.passes, state.end.shape[1]
        left = self._left(state, t, time)
        for i in range(max(passes, _TANGENTS if self.regions else 0)):
            if i < passes:
                sample, priced = self._forecast(state, due, shares, t, ask, left)
            self._plan(state, due, left, sample)
            state.mu[~np.isnan(priced)] = priced[~np.isnan(priced)]
            end, known = self._averages_at_end(state, left), due[:, None] & (state.seen > 0)
            state.end += np.where(known[:, :m], (end[:, :m] - state.end) / (i + 2.0), 0.0)
            if self.regions:
                mu = state.mu[:, len(self._directions.first) :]
                added = state.tangents.add(self._directions.shapes, end[:, m:], mu, np.asarray(known[:, m:].all(1)))
                due = due if i + 1 < passes else np.asarray(due & added)
                if not due.any():
                    break

    def _forecast(
        self, state: ResolvingState, due: Bools, shares: Floats, t: Floats, ask: Ask, left: Left
    ) -> tuple[Forecast, Floats]:
        """Forecast the contexts so far, with the gain of every candidate at the slope of the planned end.

        Beside the prices of rows of which nothing is known, which are not solved for, NaN of all others, `->.,(k)`.
        """
        worth, of = (self.objective.rows, self.objective.read(self._slope(state.end))), self._directions
        on, (rows, side), (weight, blank) = present(self.problem), of.forecast, caution(state, of, left, due, t)
        sample = forecast(state.history, ask, shares, worth, rows, side, due, on)
        if not weight.any():
            return sample, np.full(state.mu.shape, np.nan)
        ends = forecast(state.history, of_arrived(ask), shares, worth, rows, of.worst, due, on)
        priced = blank_prices(state.mu, ends, of, blank)
        return guard(sample, ends, weight, priced), priced

    def _averages_at_end(self, state: ResolvingState, left: Left) -> Floats:
        """The averages at which the rows that are followed end by the plan, `->(m)`."""
        of = self._directions
        rest = left.rest[:, of.followed] * rate_of_plan(state, of, self._reserve)[:, of.followed]
        return np.clip((left.so_far + rest) / left.length[:, None], *of.ranges)

    def outlook(self, state: ResolvingState, t: Floats) -> Floats:
        length = self._pace.length(state.pace, t, self._pace.period_start(state.pace, t))[:, None]
        end = end_of_run(state, rate_of_plan(state, self._directions, self._reserve), length)
        return np.where(state.solved[:, None] > 0, end, np.nan)

    def pace_books(self, state: ResolvingState) -> tuple[Pace, PaceState]:
        return self._pace, state.pace

    def rate(self, state: ResolvingState, length: Floats, time: Floats) -> Floats:
        """The use allowed per unforced round from now on, by row, in a run of given length, `(),()->(d)`."""
        of = self._directions
        rest = self._pace.rest(length, state.counted, self._sums)
        whole = (np.where(self._sums, self.problem.horizon, length[:, None]) * of.bounds - state.spent) / rest
        return self._reserve.left(state.reserve, self._pace.rates(state.pace, whole, time))

    def _left(self, state: ResolvingState, t: Floats, time: Floats) -> Left:
        of, length = self._directions, self._pace.length(state.pace, t, time)
        rest = np.maximum(length[:, None] - state.counted, 1.0)
        idle = of.idle(state.history)
        low, high = of.merged.bounds(np.where(idle, np.inf, self.rate(state, length, time)))
        position = np.minimum.accumulate((state.looked + 1.0) / (state.made + 1.0), 1)
        placed = np.where(of.directed.is_sure, position.shape[1] / position.sum(1)[:, None], 1.0) * self._cases
        so_far = state.spent[:, of.followed] * (state.counted[:, of.followed] / np.maximum(state.seen, 1.0))
        return Left(length, so_far, rest, low, high, placed, of.idle_directions(idle), self.rounds.places(position))

    def _plan(self, state: ResolvingState, due: Bools, left: Left, sample: Forecast) -> None:
        """Solve for prices on a sample, and for the pull and the lottery of ties between two solves."""
        worth, gain, shared = self.rounds.read(sample, self.problem.n_plays)
        size = spread(sample.weight, worth, sample.kept)
        temperatures = size[:, None] * np.array(self.temperatures)
        plain, hope, low, high, scale = uses(state, self._directions, left, sample)
        bounds = low / scale, high / scale
        fluid = Fluid(sample.weight, gain, sample.kept, places(left.position), shared, size, *bounds, temperatures)
        still = np.pad(left.still & due[:, None], ((0, 0), (0, state.mu.shape[1] - left.still.shape[1])))
        state.mu[still] = state.gap[still] = 0.0
        solution = Solution(state.mu, state.matches, state.plan, state.noise, np.zeros_like(state.mu))
        read = solve_plain_first(fluid, plain, hope, due, state.solved > 0, solution)
        tied = ties(solution)
        state.plan[due] *= scale[due]
        state.noise[due] *= scale[due] ** 2 / self._cases
        state.noise[still] = _LARGEST  # so that no deviation is a reason to solve again
        coming = largest(read, sample.kept) * scale * left.position.sum(1)[:, None]
        state.most[due] = np.maximum(state.jump, coming)[due]
        pull(sample.weight, sample.kept, tied, due, temperatures[:, -1], state.most, state.pull)
        state.heat[due] = np.where(alike(worth, sample.kept), temperatures[:, -1], 0.0)[due]

    def _slope(self, end: Floats) -> Floats:
        """The slope at the planned end; an end outside of the domain, which is an estimate, is moved towards the start.

        Only the realised averages must be inside, and the objective's goal checks these.
        """
        horizon = np.full(len(end), float(self.problem.horizon))
        try:
            return self.objective.slope(end, horizon)
        except InvalidInput:
            start = np.array([self.objective.start_at])
            alone = partial(self.objective.slope, t=horizon[:1])  # move each replica separately
            return np.concatenate([point_and_slope(alone, end[r : r + 1], start)[1] for r in range(len(end))])

    @property
    def rows(self) -> Rows:
        return self._directions.rows

    @cached_property
    def _directions(self) -> Directions:
        return Directions(
            problem=self.problem,
            constraints=self.constraints,
            bound=self.bound,
            objective=self.objective.rows if self._moves else None,
            regions=self.regions,
            spans=self.spans,
            sums=self.sums,
        )

    @cached_property
    def _pace(self) -> Pace:
        return Pace(problem=self.problem, spans=self.spans or (None,) * len(self.constraints))

    @cached_property
    def _reserve(self) -> Reserve:
        return Reserve(self.reserve)

    @cached_property
    def _sums(self) -> Bools:
        """A mask of the rows whose sum is bounded over the run, however many rounds it has; others have averages."""
        return np.append(self.sums, np.zeros(len(self.rows) - len(self.sums), bool)).astype(bool)

    @cached_property
    def _room(self) -> int:
        """How many contexts are kept."""
        return min(self.contexts, max(_CANDIDATES // len(self.problem.actions), _FEW))

    @cached_property
    def _cases(self) -> int:
        return self.rounds.cases(self.problem.n_plays)

    @cached_property
    def _moves(self) -> bool:
        return self.objective.passes > 1
