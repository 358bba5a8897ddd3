"""The queries of a round to goals, limits and model, by the abilities that each has. Nothing here changes a state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from evenhand.choices.base import Choice, Follows, Hears, exposure_reader
from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.core.records import Context, Decision, Mix, Offer, Worth
from evenhand.core.signatures import has
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import (
    Cancels,
    Compares,
    Estimates,
    Forecasts,
    Foresees,
    Goal,
    Learns,
    Limits,
    Mixes,
    Nets,
    Plans,
    Priced,
    Restates,
    Returns,
    Reverses,
    Splits,
    StepsAhead,
    Timed,
    Watches,
    Weighs,
)
from evenhand.models.base import Model, reads_once
from evenhand.planning.pace import Pace, PaceState
from evenhand.policy import checks, entries
from evenhand.policy.delay import Delay
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, stack


class Abilities(NamedTuple):
    """The goals with each ability, by their places among all goals, and those of the choice."""

    priced: list[tuple[int, Priced]]
    limits: list[tuple[int, Limits]]
    ahead: list[tuple[int, StepsAhead]]
    estimates: list[tuple[int, Estimates]]
    planning: list[tuple[int, Plans]]
    foreseeing: list[tuple[int, Foresees]]
    forecasts: tuple[int, Forecasts] | None
    learning: list[tuple[int, Learns]]
    watching: list[tuple[int, Watches]]
    cancelling: list[tuple[int, Cancels]]
    restating: list[tuple[int, Restates]]
    reversing: list[tuple[int, Reverses]]
    returning: list[tuple[int, Returns]]
    splitting: dict[int, Splits]
    compares: tuple[int, Compares] | None
    mixes: tuple[int, Mixes] | None
    follows: Follows | None
    hears: Hears | None
    timed: bool  # whether any limit depends on the time of the case
    nets: bool  # whether any asks for one bonus of the whole
    fixed: bool  # whether prices are the same in all rounds and for all candidates


def abilities(problem: Problem, goals: tuple[Goal, ...], choice: Choice) -> Abilities:
    """Look up the abilities of goals and choice."""
    places = list(enumerate(goals))
    return Abilities(
        priced=[(i, g) for i, g in places if has(g, Priced)],
        limits=[(i, g) for i, g in places if has(g, Limits)],
        ahead=[(i, g) for i, g in places if has(g, StepsAhead)],
        estimates=[(i, g) for i, g in places if has(g, Estimates) and g.on_estimates],
        planning=[(i, g) for i, g in places if has(g, Plans)],
        foreseeing=[(i, g) for i, g in places if has(g, Foresees)],
        forecasts=next(((i, g) for i, g in places if has(g, Forecasts)), None),
        learning=[(i, g) for i, g in places if has(g, Learns)],
        watching=[(i, g) for i, g in places if has(g, Watches)],
        cancelling=[(i, g) for i, g in places if has(g, Cancels)],
        restating=[(i, g) for i, g in places if has(g, Restates) and by_estimated_share(problem, g.rows)],
        reversing=[(i, g) for i, g in places if has(g, Reverses)],
        returning=[(i, g) for i, g in places if has(g, Returns)],
        splitting={i: g for i, g in places if has(g, Splits)},
        compares=compares(goals),
        mixes=next(((i, g) for i, g in places if has(g, Mixes)), None),
        follows=choice if has(choice, Follows) and choice.goes_on else None,
        hears=exposure_reader(choice),
        timed=any(has(g, Timed) and g.by_time for g in goals),
        nets=any(has(g, Nets) and g.nets for g in goals),
        fixed=all(has(g, Weighs) and g.rows.plain_only for g in goals) and not problem.known,
    )


def pace_books(can: Abilities, state: PolicyState) -> tuple[Pace, PaceState] | None:
    """Return the pace of the goal that follows a forecast of cases, and its books; None if there is none."""
    return None if can.forecasts is None else can.forecasts[1].pace_books(state.goals[can.forecasts[0]])


def compares(goals: tuple[Goal, ...]) -> tuple[int, Compares] | None:
    """Find the books of held-out rounds, with their position, None if there are none."""
    return next(((i, g) for i, g in enumerate(goals) if has(g, Compares)), None)


def by_estimated_share(problem: Problem, rows: Rows) -> bool:
    """Whether any row divides by a share that is estimated."""
    unknown = np.array([not g.known for g in problem.groups] + [False])  # the last one for rows of everybody
    return bool((rows.by_share & unknown[rows.grouping]).any())


@cache
def _no_limits(replicas: int, candidates: int) -> tuple[Floats, Floats]:
    """The uses of candidates and the amounts left where there are no limits: arrays without entries."""
    return np.zeros((1, candidates, 0)), np.zeros((replicas, 0))


def _same(w: Floats, other: Floats) -> bool:
    """Whether prices are the same bit for bit: to compare their bytes takes a tenth of what `array_equal` takes."""
    return w.shape == other.shape and w.tobytes() == other.tobytes()


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of one policy."""

    problem: Problem
    model: Model
    can: Abilities
    delay: Delay

    def group_shares(self, state: PolicyState, context: Context) -> Floats:
        """Return the shares of the groups: declared, or estimated from all cases so far and this one, `->(C)`."""
        if self._known_shares is not None:
            return self._known_shares
        return entries.belief(context.groups, context.offered, state.seen, state.t, self.problem.shares)

    def shares(self, state: PolicyState) -> Floats:
        """Return the shares of the groups: declared, or estimated from all cases so far, `->(C)`."""
        if self._known_shares is not None:
            return self._known_shares
        return entries.frequencies(state.seen, state.t, self.problem.shares)

    def offer(self, state: PolicyState, context: Context, *, late: bool = False) -> Offer:
        """Return the offer: before the end of the run, the offered candidates that fit every hard limit.

        With `late`, a round after the end is as one before it.
        """
        frame = context
        if self.can.timed:
            time = state.t if context.time is None else context.time + np.zeros(len(state.t))
            frame = context._replace(time=time)
        if not self.can.limits:
            worst, left = _no_limits(len(state.t), context.features.shape[1])
        elif len(rooms := [limits.room(state.goals[i], frame) for i, limits in self.can.limits]) == 1:
            worst, left = rooms[0]
        else:
            count = max(len(worst) for worst, _ in rooms)
            wide = [np.broadcast_to(w, (count, *w.shape[1:])) for w, _ in rooms]
            worst, left = np.concatenate(wide, 2), np.concatenate([room for _, room in rooms], 1)
        playable = entries.fits_alone(context.offered, worst, left, state.t, self.last_round(late))
        if self.problem.until is not None and context.time is not None and not late:
            playable[context.time + np.zeros(len(playable)) >= self.problem.clock.last] = False
        return Offer(playable, worst, left)

    def last_round(self, late: bool) -> float:
        """Return the number of rounds after which none is decided; infinite if rounds after the end are decided."""
        return math.inf if late else self.problem.last_round

    def over(self, state: PolicyState) -> Bools:
        over = state.t >= self.problem.last_round
        for i, limits in self.can.limits:
            over |= limits.over(state.goals[i])
        return over

    def prices(self, state: PolicyState, context: Context, shares: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return prices of learned outcomes, offsets, prices of rows and constants, `->(K,1|A,M),(K,A),(D),(i)`.

        The goals state prices of rows. The readings of each goal follow those of the goal before it; if each has one
        and any of them `Nets`, they are a single one.
        """
        if not self.can.fixed:
            return self._stated(state, context, shares)
        quoted, candidates = state.recent.prices, context.features.shape[1]
        if quoted is None or quoted[1].shape[2] != candidates:
            quoted = state.recent.prices = self._stated(state, context, shares)
        w, offset, q, constant = quoted
        return w.copy(), offset, q.copy(), constant  # decisions keep prices

    def _stated(self, state: PolicyState, context: Context, shares: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        (first, goal), *others = self.can.priced
        q, constant = goal.price(state.goals[first])
        o = constant[:, None]
        for i, goal in others:
            q, o = entries.below(q, o, *goal.price(state.goals[i]))
        if self.can.nets and q.shape[1] == len(self.can.priced):
            q, o = entries.net_price(q, o)
        return *self.rows.read(context, shares, q, o), o

    def worth(self, state: PolicyState, x: Floats, w: Floats, u: Floats | None = None) -> Worth:
        """Ask the model for the worth of candidates at prices w, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`.

        It is refused if it cannot be right. Without u the model uses no luck.
        """
        w = np.ascontiguousarray(w)  # kernels are compiled for every order of arrays
        if not (self._reads_once and x.strides[0] == 0):
            x = np.ascontiguousarray(x)
        worth = self.model.value(state.model, x, w, np.zeros((len(x), 0)) if u is None else u)
        checks.worth(type(self.model).__name__, worth, w, self._reach, x.shape[1], state.t)
        return worth

    def net_worth(self, state: PolicyState, context: Context, decision: Decision) -> Floats:
        """Return the worth of every candidate, with its bonus, at the prices of a decision, without luck, `->(A)`."""
        context = checks.context(context, len(state.t), self.model.n_features, self.problem)
        prices, offset = self.model_prices(state, context, decision)
        with self.delay.read_at(state, decision):
            said = self.worth(state, context.features, prices)
        return entries.net(said.mean, said.bonus) + offset

    def model_prices(self, state: PolicyState, context: Context, decision: Decision) -> tuple[Floats, Floats]:
        """Return prices of learned outcomes and offsets at the row prices of a decision, `->(K,1|A,M),(A)`.

        The context was checked.
        """
        checks.decision(decision, len(state.t), self.problem.n_plays, self.model.n_features, self.problem)
        checks.pair(context, decision, len(self.rows))
        net, offset = self.rows.pull(context, decision.shares, decision.row_prices[:, None])
        return (decision.prices if net.shape[2] == 1 else net), offset[:, 0]

    def mix(
        self, state: PolicyState, context: Context, shares: Floats, w: Floats, said: Worth, worth: Worth
    ) -> Mix | None:
        """Return the plan's mixture of candidates of equal gain, beside their worth; None without any.

        Gains are optimistic, at the prices of all goals but the plan's. A plan knows nothing of draws, so neither gains
        nor worths have any in them.

        Args:
            said: what the model said at prices w, before offsets, which need not be asked again at equal prices.
            worth: the same with offsets.
        """
        if self.can.mixes is None:
            return None
        place, planner = self.can.mixes
        heat = planner.heat(state.goals[place])
        if not np.count_nonzero(heat):
            return None
        gain = np.zeros((len(state.t), context.features.shape[1]))
        for i, goal in self.can.priced:
            if i != place:
                own, offset = goal.rows.pull(context, shares, goal.price(state.goals[i])[0])
                known = not said.random and _same(own, w)
                told = said if known else self.worth(state, context.features, own)
                gain += entries.net(told.mean, told.bonus) + np.add.reduce(offset, 1)
        net = entries.net(worth.mean, worth.bonus)
        if not worth.random:
            return Mix(gain, net, heat)
        drawn = worth.bonus - self.worth(state, context.features, w).bonus
        return Mix(gain, net - drawn.sum(1), heat)

    def refuse_misfits(self, state: PolicyState, decision: Decision, timed: bool) -> None:
        """Refuse a decision whose plays do not fit, with the first replica and the limit.

        Raises:
            InvalidInput: the choice played what did not fit: it is of this round, as nothing was committed since.
            StaleDecision: other decisions were committed since.
        """
        for i, limits in self.can.limits:
            r = entries.first_misfit(decision.counted, limits.fits(state.goals[i], decision))
            if r >= 0:
                if not timed and decision.time[r] == state.t[r]:
                    expected = f"plays that fit {', '.join(limits.rows.names)}, as `Offer` states them to the choice"
                    raise InvalidInput(f"decision.plays[{r}]", expected, decision.plays[r].tolist())
                raise StaleDecision(
                    f"plays {decision.plays[r].tolist()} of replica {r} no longer fit {', '.join(limits.rows.names)}, "
                    "as other decisions were committed since: decide again"
                )

    def estimates(self, state: PolicyState, decision: Decision) -> dict[int, Floats]:
        """Estimate the rows of every goal that steps on estimates, by the goal's place, `->(d)`.

        Each row of the plays is read at the end of its interval that the goal asks for; the model is asked once.
        """
        found = {i: goal.rows.post_known(decision) for i, goal in self.can.estimates if not goal.rows.reads_learned}
        learned = [(i, goal) for i, goal in self.can.estimates if i not in found]
        if learned:
            sign = np.concatenate([goal.ends(state.goals[i]) for i, goal in learned], 1)
            w, offset = self._estimated.pull(decision, decision.shares, entries.one_by_one(sign))
            worth = self.worth(state, decision.features, w)
            end = entries.at_ends(sign, worth.mean, worth.bonus, offset, decision.plays, decision.counted)
            first = 0
            for i, goal in learned:
                found[i] = end[:, first : first + len(goal.rows)].copy()
                first += len(goal.rows)
        return found

    @cached_property
    def _reads_once(self) -> bool:
        return reads_once(self.model)

    @cached_property
    def rows(self) -> Rows:
        """The rows of all priced goals, one goal after the other."""
        return stack([goal.rows for _, goal in self.can.priced])

    @cached_property
    def _estimated(self) -> Rows:
        """The rows of all goals that step on estimates of learned outcomes, one goal after the other."""
        return stack([goal.rows for _, goal in self.can.estimates if goal.rows.reads_learned])

    @cached_property
    def _known_shares(self) -> Floats | None:
        shares = self.problem.shares[None]
        return None if np.isnan(shares).any() else shares

    @cached_property
    def _reach(self) -> Floats:
        return np.maximum(np.abs(self.problem.low), np.abs(self.problem.high))
