"""Constraints kept by prices that are re-solved from what is left of the bounds and from the contexts so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.goals._pull import leap, pull, pulled
from evenhand.goals._shared import check_bound, known_entry, row_prices
from evenhand.goals.base import Sloped
from evenhand.models.base import Ask
from evenhand.objectives.base import sloped
from evenhand.planning import history
from evenhand.planning.fluid import solve_fluid, spread
from evenhand.planning.forecast import forecast
from evenhand.planning.history import HistoryState
from evenhand.planning.rounds import Lists, Rounds
from evenhand.planning.tangents import Shape, Tangents, tangents
from evenhand.problem.constraints import Region
from evenhand.problem.merged_rows import MergedRows, merge
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select, stack

_ALL = np.ones((1, 1), bool)  # every play was exposed
_TANGENTS = 6  # passes of a solve that look for tangents of convex sets, at most


@kernel
def _look(counted: Floats, plays: Ints, exposed: Bools, made: Floats, looked: Floats) -> None:
    """Count plays and exposed plays, `(),(P),(P)->(P),(P)`; a single `exposed` is that of all plays."""
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                made[r, p] += counted[r]
                if exposed[r if len(exposed) > 1 else 0, p if exposed.shape[1] > 1 else 0]:
                    looked[r, p] += counted[r]


@dataclass
class ResolvingState:
    """Books, prices, and the contexts so far."""

    # k counts the directions of rows, then the tangents of convex sets
    mu: Floats  # (R, k) signed prices of the directions
    matches: Floats  # (R, A) prices of the matches of arms, if the users of a round share them
    plan: Floats  # (R, k) planned consumption per round at these prices
    noise: Floats  # (R, k) planned mean square of the consumption per round
    spent: Floats  # (R, d) sums of the rows so far: known rows from commit on, others once the outcome arrives
    counted: Floats  # (R, d) rounds in these sums
    seen: Floats  # (R, m) rounds in which each row was observed that the slope of the objective or a set depends on
    pull: Floats  # (R, k) what a price moves by per unit of the gap
    made: Floats  # (R, P) plays at each place whose outcome arrived
    looked: Floats  # (R, P) how many of them were exposed
    gap: Floats  # (R, k) consumption since the last solve, minus the plan, plus what new shares added to earlier rounds
    since: Floats  # (R,) rounds in the gap
    jump: Floats  # (R, k) largest absolute consumption in one round
    due: Floats  # (R,) number of decided rounds at which to solve next
    solved: Ints  # (R,) number of solves
    end: Floats  # (R, m) where the averages of the objective's rows are planned to end, if its slope moves
    tangents: Tangents
    history: HistoryState


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Resolving:
    """Keep sums of rows within their totals, by prices that are optimal for the remaining rounds.

    Equation: with n rounds and rows v so far, the prices solve the dual of the fluid problem on a sample of the
    contexts so far: max mean_s sum_a y_sa r_hat(s, a) s.t. mean_s sum_a y_sa v_hat(s, a) <= (T bound - v)/(T - n),
    with r_hat optimistic, v_hat plain where doing nothing keeps the bound and optimistic elsewhere, and y_s the
    exposures of a lottery of lists. Places are exposed with probabilities that are estimated, (looked + 1) / (made +
    1), and never increase; with one play that is always exposed, y_s is a lottery. What is due for every placement is
    planned as if all places were exposed alike. A damped Newton method solves it at falling temperatures, from the last
    prices: when the decided or the remaining rounds have changed by the fraction `growth`, at least every `every`
    rounds, and when consumption is off plan by more than `drift` standard deviations (checked every ten rounds).
    Where contexts repeat, several actions tie at the planned prices, and the plan mixes them. Between two solves a
    price that is not 0 therefore moves by 2 h temperature / jump^2 per unit that consumption is off plan, with h the
    share of rounds whose context came before, and jump the largest consumption in one round.
    A convex set of averages takes part by tangents: where the planned final averages are out of the set, the half-space
    that touches it at the nearest point joins the plan, which is solved again.
    Source: evenhand's own (re-solving, as in network revenue management: Jasin & Kumar 2012), with learned rewards,
    costs and parity.

    Args:
        problem: for shares and horizon.
        objective: the goal that prices outcomes; if its slope moves, the averages of its rows are tracked as well.
        constraints, bound: on average v <= bound over the horizon.
        contexts: S, the largest number of contexts kept.
        growth: relative change after which to solve again.
        every: largest number of rounds between two solves.
        drift: standard deviations; infinite to switch the check off.
        temperatures: of the smoothed dual, falling, in units of the `planning.fluid.spread` of rewards.
        regions: convex sets in which final averages of outcomes must lie, beside the rows.
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
    rounds: Rounds = Lists()  # noqa: RUF009, immutable
    enters_forced: ClassVar[bool] = True
    one_play: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_bound("Resolving", self.bound, self.constraints)
        whole("Resolving.contexts", self.contexts, 2)
        whole("Resolving.every", self.every, 1)
        if not (math.isfinite(self.growth) and self.growth > 0) or not self.drift > 0:
            raise InvalidInput("Resolving.growth, drift", "numbers above 0", (self.growth, self.drift))
        if self.rounds.arms > 0 and self._moves:
            expected = "one whose slope never moves, where users share arms"
            raise InvalidInput("Resolving.objective", expected, type(self.objective).__name__)
        if not self.temperatures or not all(0 < t < math.inf for t in self.temperatures):
            raise InvalidInput("Resolving.temperatures", "finite numbers above 0", self.temperatures)

    def start(self, n_replicas: int) -> ResolvingState:
        """No contexts, and prices of 0."""
        cuts = tangents(self._shapes, len(self._shaped), n_replicas)
        d, k = len(self.rows), len(self._merged.first) + cuts.bound.shape[1]
        return ResolvingState(
            mu=np.zeros((n_replicas, k)),
            matches=self.rounds.start(n_replicas),
            plan=np.zeros((n_replicas, k)),
            noise=np.zeros((n_replicas, k)),
            spent=np.zeros((n_replicas, d)),
            counted=np.zeros((n_replicas, d)),
            seen=np.zeros((n_replicas, len(self._followed))),
            pull=np.zeros((n_replicas, k)),
            made=np.zeros((n_replicas, self.problem.n_plays)),
            looked=np.zeros((n_replicas, self.problem.n_plays)),
            gap=np.zeros((n_replicas, k)),
            since=np.zeros(n_replicas),
            jump=np.zeros((n_replicas, k)),
            due=np.ones(n_replicas),
            solved=np.zeros(n_replicas, np.int64),
            end=np.tile(np.array(self.objective.start_at if self._moves else ()), (n_replicas, 1)),
            tangents=cuts,
            history=history.start(n_replicas),
        )

    def price(self, state: ResolvingState) -> tuple[Floats, Floats]:
        """Minus the prices of the rows as one reading, and lam.bound, `->(1,d),()`."""
        mu, k = pulled(state.mu, state.pull, state.gap), len(self._merged.first)
        price = self._merged.prices(mu[:, :k])
        if self.regions:
            price[:, self._shaped] += state.tangents.prices(mu[:, k:])
        return row_prices(price, 1.0, self._finite, self.rows.readings(by_row=False))

    def on_decision(self, state: ResolvingState, decision: Decision, estimate: Floats | None) -> None:
        """Enter the known rows of a decision."""
        if self.rows.any_known:
            rounds, v = known_entry(self.rows, decision)
            state.spent += v
            state.counted += rounds
            state.seen += rounds[:, self._followed]

    def on_shares(self, state: ResolvingState, decision: Decision, v: Floats) -> None:
        """Enter what new shares add to the rows so far, `(d)`."""
        state.spent += v

    def on_outcome(self, state: ResolvingState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter (counted, v) into the books, `(),(d)`.

        A constraint row that was not observed counts as its bound. Averages of the objective's rows skip such rounds.
        """
        seen, first, chosen = ~np.isnan(v), self._merged.first, counted * (1.0 - decision.forced)
        waited = counted[:, None] * ~self.rows.is_known
        v = np.where(seen, v, counted[:, None] * self._finite)
        state.spent += np.where(self.rows.is_known, 0.0, v)
        state.counted += waited
        state.seen += (waited * seen)[:, self._followed]
        as_planned, used = np.isinf(self._bounds[first]) & ~seen[:, first], v[:, first]
        if self.regions:
            unseen = ~seen[:, self._shaped].all(1, keepdims=True)
            as_planned = np.concatenate([as_planned, unseen.repeat(state.tangents.bound.shape[1], 1)], 1)
            used = np.concatenate([used, state.tangents.of(v[:, self._shaped])], 1)
        used = np.where(as_planned, counted[:, None] * state.plan, used)
        state.gap += used * (1.0 - decision.forced)[:, None] - chosen[:, None] * state.plan
        state.since += chosen
        leap(counted, used, state.plan, state.jump)

    def on_exposure(self, state: ResolvingState, decision: Decision, exposed: Bools | None) -> None:
        """Count how often each place is exposed, `(P)`."""
        _look(decision.counted, decision.plays, _ALL if exposed is None else exposed, state.made, state.looked)

    def on_cancel(self, state: ResolvingState, decision: Decision) -> None:
        """Take back the known rows of a decision that is not carried out."""
        if self.rows.any_known:
            rounds, v = known_entry(self.rows, decision)
            state.spent -= v
            state.counted -= rounds
            state.seen -= rounds[:, self._followed]

    def on_context(self, state: ResolvingState, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        """Keep the context, and solve in the replicas that are due, `(),()`."""
        history.keep(state.history, context, decision.counted, self.contexts, self._cases)
        alive = (decision.counted > 0) & (t < self.problem.horizon)
        planned, drifted = alive & (t >= state.due), alive & self._drifted(state, t)
        due = planned | drifted
        if not due.any():
            return
        self._solve(state, due, decision, ask)
        left = self.problem.horizon - t
        wait = np.clip(np.floor(self.growth * np.minimum(t, left)), 1, self.every)
        state.due = np.where(planned, t + wait, state.due)  # drift keeps the schedule, so that replicas stay in step
        state.solved[due] += 1
        state.gap[due] = 0.0
        state.since[due] = 0.0

    def _solve(self, state: ResolvingState, due: Bools, decision: Decision, ask: Ask) -> None:
        """Solve for prices at the slope of the planned final averages, by Frank-Wolfe steps on these averages.

        Until an average is observed, its planned end stays at the objective's `start_at`.
        """
        horizon, followed, fresh = float(self.problem.horizon), self._followed, state.solved == 0
        k, passes = len(self._merged.first), self.objective.passes
        rest = np.maximum(horizon - state.counted, 1.0)
        low, high = self._merged.bounds((horizon * self._bounds - state.spent) / rest)
        position = np.minimum.accumulate((state.looked + 1.0) / (state.made + 1.0), 1)
        # Plans are per exposure; what is sure is due for a placement.
        placed = np.where(self._directed.is_sure, position.shape[1] / position.sum(1)[:, None], 1.0) * self._cases
        position = self.rounds.places(position)
        so_far = state.spent[:, followed] * (state.counted[:, followed] / np.maximum(state.seen, 1.0))
        each = np.ones((len(due), 0))
        if self.regions:  # what a tangent reads of a candidate, in the units of a round of the rows that are left
            left = rest[:, self._shaped]
            most = left.max(1, keepdims=True)
            each = placed[:, self._merged.of[self._shaped]] * left / most
        for i in range(max(passes, _TANGENTS if self.regions else 0)):
            if i < passes:
                worth = self.objective.rows, self._slope(state.end)
                look = forecast(state.history, ask, decision.shares, worth, *self._asked)
                worth_of, gain, shared = self.rounds.read(look, self.problem.n_plays)
                size = spread(look.weight, worth_of, look.kept)
                temperatures = size[:, None] * np.array(self.temperatures)
            use, least, most_of, scale = look.use, low, high, placed
            if self.regions:
                uses = self._of_sets(look.use, each[:, None, :, None])
                over = horizon * state.tangents.bound - state.tangents.of(so_far[:, -len(self._shaped) :])
                use = np.concatenate([use[:, :, :k], state.tangents.use(*uses)], 2)
                least = np.concatenate([low, np.full_like(over, -np.inf)], 1)
                most_of = np.concatenate([high, over / most], 1)
                scale = np.concatenate([placed, np.ones_like(over)], 1)
            sample = look.weight, gain, use, look.kept, position, shared
            at = state.mu, state.matches, state.plan, state.noise
            bounds = least / scale, most_of / scale
            solve_fluid(*sample, due, ~fresh, size, *at, *bounds, temperatures)
            state.plan[due] *= scale[due]
            state.noise[due] *= scale[due] ** 2 / self._cases
            pull(look.weight, look.kept, due, temperatures[:, -1], state.jump, state.pull)
            reached = self._merged.rows(state.plan[:, :k])[:, followed]
            end = np.clip((so_far + rest[:, followed] * reached) / horizon, *self._ranges)
            move, m = due[:, None] & (state.seen > 0), state.end.shape[1]
            state.end += np.where(move[:, :m], (end[:, :m] - state.end) / (i + 2.0), 0.0)
            if self.regions:
                added = state.tangents.add(self._shapes, end[:, m:], state.mu[:, k:], np.asarray(move[:, m:].all(1)))
                due = due if i + 1 < passes else np.asarray(due & added)
                if not due.any():
                    break

    def _of_sets(self, use: Floats, each: Floats) -> tuple[Floats, Floats, Floats]:
        """Outcomes of the sets in units `each`: at means, least and greatest, `(S,k,A),(1,m,1)->(S,m,A)`."""
        m, k = len(self._shaped), len(self._merged.first)
        plain = use[:, :, self._merged.of[self._shaped]] * (self._merged.multiple[self._shaped][:, None] * each)
        if use.shape[2] == k:  # no set asks for more than nothing
            return plain, plain, plain
        return plain, use[:, :, k : k + m] * each, use[:, :, k + m :] * each

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
            return np.concatenate([sloped(alone, end[r : r + 1], start)[1] for r in range(len(end))])

    def _drifted(self, state: ResolvingState, t: Floats) -> Bools:
        look = np.asarray(t % 10 == 0)
        if not look.any():
            return look
        usual = np.sqrt(state.since[:, None] * state.noise + state.jump**2)
        return np.asarray(look & (np.abs(state.gap) > self.drift * usual).any(1))

    @cached_property
    def rows(self) -> Rows:
        """The rows of the constraints, of the objective if its slope moves, and the outcomes of convex sets."""
        moves = [self.objective.rows] if self._moves else []
        about = [select(self.problem, self._names)] if self.regions else []
        return stack([self.constraints, *moves, *about]) if moves or about else self.constraints

    @cached_property
    def _ranges(self) -> tuple[Floats, Floats]:
        """The ranges of the rows that are followed, to which planned ends are clipped."""
        return self.problem.ranges(self.rows.names[len(self.constraints) :])

    @cached_property
    def _cases(self) -> int:
        """In how many cases of its plan a round falls."""
        return self.rounds.cases(self.problem.n_plays)

    @cached_property
    def _moves(self) -> bool:
        return self.objective.passes > 1

    @cached_property
    def _bounds(self) -> Floats:
        """The bounds, infinite for rows that are only followed."""
        return np.append(self.bound, np.full(len(self.rows) - len(self.bound), np.inf))

    @cached_property
    def _merged(self) -> MergedRows:
        return merge(self.problem, self.rows, self._bounds)

    @cached_property
    def _directed(self) -> Rows:
        return self.rows.take(self._merged.first)

    @cached_property
    def _asked(self) -> tuple[Rows, Ints]:
        """The rows that a plan forecasts, and where they are read, `->(k),(k)`: the directions, then ends of outcomes.

        What asks for more than nothing is read optimistically. At plain estimates nothing would ever be tried that is
        believed to bring nothing.
        """
        low, high = self._merged.bounds(self._bounds[None])
        first, side = self._merged.first, np.where(high[0] < 0.0, 1, np.where(low[0] > 0.0, -1, 0))
        if not all(shape.within.contains(np.zeros(len(shape.at))) for shape in self._shapes):
            m = len(self._shaped)
            first = np.concatenate([first, self._shaped, self._shaped])
            side = np.concatenate([side, np.full(m, 1), np.full(m, -1)])
        return self.rows.take(first), side

    @cached_property
    def _finite(self) -> Floats:
        """The bounds, 0 for rows without one."""
        return np.where(np.isfinite(self._bounds), self._bounds, 0.0)

    @cached_property
    def _followed(self) -> Ints:
        """The rows whose averages are tracked: of the objective if its slope moves, and of convex sets."""
        return np.arange(len(self.constraints), len(self.rows))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The outcomes that convex sets are about."""
        return tuple(dict.fromkeys(name for region in self.regions for name in region.outcomes))

    @cached_property
    def _shaped(self) -> Ints:
        """The rows of these outcomes, the last ones."""
        return np.arange(len(self.rows) - len(self._names), len(self.rows))

    @cached_property
    def _shapes(self) -> tuple[Shape, ...]:
        return tuple(Shape(r.within, np.array([self._names.index(n) for n in r.outcomes])) for r in self.regions)
